//===- SplitReductions.cpp - split-reductions: one function, one group of ranks ----===//
//
// What ranks add up of a layer is started as a whole, in the stream of its group. A sum that goes
// on over another group waits in that group's stream until it is its turn, and all that the group
// does next waits after it: the activations of the layer before, over tp, would wait for the
// gradients of this one, over dp. So gradients that are summed over other groups leave the
// function, and are summed by another one, after the backward.
//
// One decision: the group that stays is the one that moves the most bytes. The others are norms and
// biases, as a rule. The two hops of a sum are one group.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/Functions.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_SPLITREDUCTIONSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using overlap::Subset;
using overlap::Sum;
using sched::Use;

namespace {

/// What leaves a function; nothing where all stays, or where an argument would do both.
std::optional<Subset> findOthers(rt::FuncOp func) {
  std::vector<Sum> sums;
  llvm::MapVector<Attribute, int64_t> bytes; // by group
  dist::MeshAttr mesh = dist::meshOf(func->getParentOfType<ModuleOp>());
  for (unsigned i = 0; i < func.getNumResults(); ++i) {
    const Sum &sum = sums.emplace_back(overlap::sumOf(func, i, mesh));
    if (sum.axes.size() == 1)
      bytes[sum.axes.front()] += sum.bytes;
  }
  if (bytes.empty())
    return std::nullopt;
  Attribute group =
      llvm::max_element(bytes, [](auto &a, auto &b) { return a.second < b.second; })->first;
  Subset others = {llvm::BitVector(func.getNumArguments()), llvm::BitVector(func.getNumResults())};
  llvm::BitVector staying(func.getNumArguments());
  for (auto [i, sum] : llvm::enumerate(sums)) {
    bool stays = llvm::all_of(sum.axes, [&](Attribute axes) { return axes == group; });
    if (!stays)
      others.results.set(i);
    for (unsigned arg : sum.args)
      (stays ? staying : others.args).set(arg);
  }
  bool areApart = !staying.anyCommon(others.args);
  return others.results.any() && areApart ? std::optional(others) : std::nullopt;
}

/// The function of what leaves this one.
rt::FuncOp split(rt::FuncOp func, const Subset &others) {
  rt::FuncOp rest = overlap::cloneApart(func, ".others");
  overlap::erase(rest, others.others());
  overlap::erase(func, others);
  return rest;
}

/// Calls the function in a loop of its own after the one that is there, with a frame of its own,
/// which all its calls in a program share.
void callApart(sched::CallOp call, rt::FuncOp rest, const Subset &others,
               schedule::ProgramValues &values) {
  SmallVector<Use> stay, leave;
  for (auto [i, each] : llvm::enumerate(call.getUses()))
    if (i < others.args.size())
      (others.args[i] ? leave : stay).push_back(each);
  auto run = cast<sched::RunOp>(call->getParentOp());
  Value frame = values.declareFrame(rest.getSymName()).getMemory();
  OpBuilder b(call);
  auto add = [&](rt::FuncOp func, ArrayRef<Use> reads, Value room) {
    sched::createStep<sched::CallOp>(b, call.getLoc(), reads, {}, func.getSymName(), room,
                                     call.getLayers(), /*started=*/false);
  };
  add(call.getFunction(), stay, call.getFrame());
  b.setInsertionPointAfter(run);
  auto apart = sched::RunOp::create(b, call.getLoc(), run.getWhat(), run.getTitle(), run.getTimes(),
                                    run.getDescending());
  b.createBlock(&apart.getBody());
  add(rest, leave, frame);
  call.erase();
}

struct SplitReductionsPass : tplan::overlap::impl::SplitReductionsPassBase<SplitReductionsPass> {
  void runOnOperation() final {
    if (!cost::OverlapChoice(getOperation()).starts(lang::Overlap::Dp))
      return markAllAnalysesPreserved();
    llvm::MapVector<StringAttr, SmallVector<sched::CallOp>> calls; // of sums, by function
    getOperation().walk([&](sched::CallOp call) {
      auto section = call->getParentOfType<sched::SectionOp>();
      if (section.getKind() == sched::TaskKind::R && isa<sched::RunOp>(call->getParentOp()))
        calls[call.getCalleeAttr().getAttr()].push_back(call);
    });
    llvm::MapVector<Operation *, schedule::ProgramValues> values; // by program
    for (auto &[name, ofFunction] : calls) {
      rt::FuncOp func = ofFunction.front().getFunction();
      std::optional<Subset> others =
          sched::isExchange(func) ? findOthers(func) : std::optional<Subset>();
      if (!others)
        continue;
      rt::FuncOp rest = split(func, *others);
      for (sched::CallOp call : ofFunction) {
        auto program = call->getParentOfType<sched::ProgramOp>();
        auto [known, isNew] = values.insert({program, schedule::ProgramValues(program)});
        callApart(call, rest, *others, known->second);
      }
    }
  }
};
} // namespace
