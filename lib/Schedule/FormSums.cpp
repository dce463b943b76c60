//===- FormSums.cpp - form-sums: a kernel for each kind of sum over ranks ----===//
//
// One decision: sums are found by what they add, not where they stand. A kernel serves all sizes
// and groups, so a program has one for each element type and reduction.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Kinds.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Schedule/Schedule.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_FORMSUMSPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;

/// "tplan.sum_bf16"
static std::string nameOf(Type type, nn::ReduceKind kind) {
  return ("tplan." + nn::stringifyReduceKind(kind) + "_" + nn::elementName(type)).str();
}

namespace {
struct FormSumsPass : tplan::schedule::impl::FormSumsPassBase<FormSumsPass> {
  void runOnOperation() final {
    llvm::SetVector<std::pair<Type, nn::ReduceKind>> wanted;
    for (auto func : getOperation().getOps<rt::FuncOp>())
      for (auto op : func.getBlock().getOps<rt::CollectiveOp>())
        if (dist::factsOf(op.getKind()).sums)
          wanted.insert({nn::typeOf(op.getX()).getElementType(), op.getReduction()});
    // Sums between functions are of f64, and so are those of losses, which the runtime makes.
    getOperation().walk([&](Operation *op) {
      auto value = dyn_cast<sched::ValueOp>(op);
      if (isa<sched::AllReduceOp>(op) || (value && value.getPending()))
        wanted.insert({Float64Type::get(&getContext()), nn::ReduceKind::sum});
    });
    OpBuilder b = OpBuilder::atBlockEnd(getOperation().getBody());
    for (auto [type, kind] : wanted)
      rt::SumOp::create(b, getOperation().getLoc(), nameOf(type, kind), kind, type);
  }
};
} // namespace
