//===- ChooseAttention.cpp - choose-attention: the library, or a kernel -----===//
//
// On a GPU the library computes attention where it takes the operands, else a kernel of ours does;
// each pass is chosen by itself, because both have the same residuals. The choice stands beside the
// op: kLibrary, or the reason why not, which the report prints; for bf16 and f16 it is a warning,
// too.
//
// One decision: this comes before kernels are formed, because a kernel of ours needs the row sums
// of out * d_out computed before it, and the library makes them itself. At this point nobody knows
// how much memory will be left for a workspace, so its limit follows from what a rank has: `memory`
// of the plan or its cluster, else as much as the plan will need. A plan that then has no room for
// it is refused with the way out.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "lib/Fuse/Fuse.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"
#include <set>

namespace tplan::fuse {
#define GEN_PASS_DEF_CHOOSEATTENTIONPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

struct ChooseAttentionPass : tplan::fuse::impl::ChooseAttentionPassBase<ChooseAttentionPass> {
  void runOnOperation() final {
    const lang::Target &target = lang::targetOf(getOperation());
    if (!target.isGpu())
      return;
    generated = target.attention == lang::AttentionBy::Generated;
    limits.widestForward = target.attentionForward.value_or(limits.widestForward);
    limits.widestBackward = target.attentionBackward.value_or(limits.widestBackward);
    limits = limits.on(lang::Settings(getOperation()).memoryLimit());
    getOperation().walk(
        [&](AttentionOp op) { mark(op, Pass::Forward, refusal(op, Pass::Forward)); });
    getOperation().walk([&](AttentionGradOp op) {
      mark(op, Pass::Backward,
           op.getDLse()
               ? Refusal{"a cotangent of the row sums", "none, because it makes them itself"}
               : refusal(op, Pass::Backward));
    });
  }

private:
  using Pass = rt::AttentionPass;
  using Refusal = rt::LibraryRefusal;
  bool generated = false;
  rt::LibraryLimits limits;
  std::set<std::tuple<const void *, Pass, std::string>> warned; // once for a line

  template <typename Op> Refusal refusal(Op op, Pass pass) {
    if (generated)
      return {"--attention=generated", ""};
    if (!op.getQStarts().empty() || !op.getKStarts().empty())
      return {"positions that a step computes", "queries and keys from position 0 on"};
    rt::LibraryAttention attention;
    return rt::matchLibraryAttention(pass, cast<Tensor>(op.getQ().getType()),
                                     cast<Tensor>(op.getK().getType()), op.getSpec(), limits,
                                     attention);
  }

  void mark(Operation *op, Pass pass, const Refusal &why) {
    Builder b(op->getContext());
    if (why.empty()) {
      bool isUsual = limits.chunk == rt::LibraryLimits().chunk;
      op->setAttr(fuse::kLibrary,
                  isUsual ? Attribute(b.getUnitAttr()) : b.getI64IntegerAttr(limits.chunk));
      return;
    }
    op->setAttr(fuse::kGeneratedFor, b.getStringAttr(why.found));
    warn(op, pass, why);
  }

  /// A kernel of ours multiplies without tensor cores, which makes a difference for narrow elements
  /// only.
  void warn(Operation *op, Pass pass, const Refusal &why) {
    bool isNarrow = nn::isNarrow(cast<Tensor>(op->getOperand(0).getType()).getElementType());
    if (!isNarrow || why.instead.empty() ||
        !warned.insert({op->getLoc().getAsOpaquePointer(), pass, why.found}).second)
      return;
    auto diag = emitWarning(op->getLoc())
                << "attention " << rt::stringifyAttentionPass(pass)
                << " is a kernel of ours, without tensor cores: the library does not take "
                << why.found;
    diag.attachNote() << "it takes " << why.instead;
  }
};

} // namespace
