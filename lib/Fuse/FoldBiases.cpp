//===- FoldBiases.cpp - fold-biases: a bias is added where its GEMM ends -----===//
//
// Where the product of a GEMM is read only by the addition of a bias, the GEMM adds the bias before
// it writes, if the sum must lie in memory anyway: for attention, another GEMM, rotary embeddings,
// other ranks. Otherwise the kernel that reads the product adds the bias as it reads, and nothing
// would be saved.
//
// One decision: no value changes. So the product must be in the type in which the GEMM adds: f32,
// with operands of f32, or of a narrow type where `narrow-precision` has left it in f32 and the sum
// is rounded at once.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/rt/RT.h"
#include "lib/Fuse/Fuse.h"
#include "lib/Fuse/Units.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::fuse {
#define GEN_PASS_DEF_FOLDBIASESPASS
#include "lib/Fuse/Passes.h.inc"
} // namespace tplan::fuse

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

namespace {

/// What one call makes of a GEMM and a bias.
struct Folded {
  Value bias;
  Operation *last; // whose result is the sum, in its final type
};

/// What v was before it was widened; v itself where it was not.
Value beforeCast(Value v) {
  auto cast = v.getDefiningOp<CastOp>();
  return cast ? cast.getX() : v;
}

std::optional<Folded> matchBias(ContractOp contract) {
  Value product = contract.getResult();
  auto add = product.hasOneUse() ? dyn_cast<AddOp>(*product.user_begin()) : AddOp();
  if (!add || add.getResult().getType() != product.getType())
    return std::nullopt;
  // A sum that a caller hands in is no bias, though for a weight of one row it has the form of one:
  // the GEMM starts from it, in place, which is another order of additions.
  if (fuse::addsOnto(add))
    return std::nullopt;
  Folded folded = {add.getLhs() == product ? add.getRhs() : add.getLhs(), add};
  Type element = typeOf(contract.getLhs()).getElementType();
  if (element != typeOf(product).getElementType()) {
    auto round = add->hasOneUse() ? dyn_cast<CastOp>(*add->user_begin()) : CastOp();
    if (!round)
      return std::nullopt;
    folded = {beforeCast(folded.bias), round};
  }
  // What each kernel computes for itself is not in memory.
  Operation *source = folded.bias.getDefiningOp();
  if (source && fuse::isCloned(source))
    return std::nullopt;
  Value sum = folded.last->getResult(0);
  if (!rt::takesBias(typeOf(contract.getLhs()), typeOf(contract.getRhs()), typeOf(folded.bias),
                     typeOf(sum)) ||
      llvm::none_of(sum.getUses(), fuse::needsMemory))
    return std::nullopt;
  return folded;
}

struct FoldBiasesPass : tplan::fuse::impl::FoldBiasesPassBase<FoldBiasesPass> {
  void runOnOperation() final {
    if (!fuse::isOn(getOperation()))
      return;
    SmallVector<ContractOp> contractions;
    getOperation().walk([&](ContractOp op) { contractions.push_back(op); });
    for (ContractOp contract : contractions)
      if (std::optional<Folded> folded = matchBias(contract))
        fold(contract, *folded);
  }

  static void fold(ContractOp contract, const Folded &folded) {
    OpBuilder b(folded.last); // the bias may be made after the contraction
    Operation *add = *contract->user_begin();
    auto matmul = rt::MatmulOp::create(b, contract.getLoc(), folded.last->getResult(0).getType(),
                                       contract.getLhs(), contract.getRhs(), Value(), folded.bias);
    folded.last->replaceAllUsesWith(matmul);
    if (folded.last != add)
      folded.last->erase();
    add->erase();
    contract.erase();
  }
};

} // namespace
