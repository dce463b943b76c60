//===- ChooseAttention.cpp - choose-attention: the library, or a kernel -----===//
//
// On a GPU attention is the library's where it takes the operands, else a kernel of ours; each pass
// for itself, for both have the same residuals. The choice stands beside the op: kLibrary, or why
// not, which the report prints.
//
// One decision: this comes before kernels are formed, because a kernel of ours needs the row sums
// of out * d_out in front of it, and the library makes them itself.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "lib/Fuse/Fuse.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

struct ChooseAttention : PassWrapper<ChooseAttention, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(ChooseAttention)
  StringRef getArgument() const final { return "choose-attention"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<rt::RTDialect>();
  }

  void runOnOperation() final {
    DictionaryAttr target = lang::targetOf(getOperation());
    arch = lang::getString(target, "arch", "");
    if (arch.empty())
      return;
    generated = lang::getString(target, "attention", "library") == "generated";
    getOperation().walk([&](AttentionOp op) { mark(op, refusal(op, Pass::Forward)); });
    getOperation().walk([&](AttentionGradOp op) {
      // What the cotangent of lse adds is in the row sums, which the library makes itself.
      mark(op, op.getDLse() ? "a cotangent of the row sums" : refusal(op, Pass::Backward));
    });
  }

private:
  using Pass = rt::AttentionPass;
  std::string arch;
  bool generated = false;

  template <typename Op> std::string refusal(Op op, Pass pass) {
    if (generated)
      return "--attention=generated";
    if (op.getQPositionsAttr() || op.getKPositionsAttr())
      return "positions in segments";
    rt::LibraryAttention attention;
    return rt::matchLibraryAttention(pass, cast<Tensor>(op.getQ().getType()),
                                     cast<Tensor>(op.getK().getType()), op.getMask(), op.getQuery(),
                                     op.getKey(), op.getHeads(), op.getGroups(), arch, attention);
  }

  static void mark(Operation *op, const std::string &why) {
    Builder b(op->getContext());
    if (why.empty())
      op->setAttr(fuse::kLibrary, b.getUnitAttr());
    else
      op->setAttr(fuse::kGeneratedFor, b.getStringAttr(why));
  }
};

} // namespace

std::unique_ptr<Pass> tplan::fuse::createChooseAttentionPass() {
  return std::make_unique<ChooseAttention>();
}
