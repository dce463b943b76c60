//===- NumberGraphs.cpp - number-graphs: which graph a section is for a microbatch ----===//
//
// One decision: two microbatches share a graph if the slots and instances of what the section
// touches are the same, and nothing else counts. So no schedule needs to say which of its
// microbatches are alike.
//
//===----------------------------------------------------------------------===//
#include "lib/Memory/Memory.h"
#include "lib/Schedule/Walk.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <map>

namespace tplan::memory {
#define GEN_PASS_DEF_NUMBERGRAPHSPASS
#include "lib/Memory/Passes.h.inc"
} // namespace tplan::memory

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::SectionOp;

namespace {
class GraphNumbers {
public:
  explicit GraphNumbers(sched::ProgramOp program) : program(program) {
    for (auto family : program.getBody().getOps<sched::FamilyOp>())
      families[family.getSymNameAttr()] = family;
  }

  void assign() {
    llvm::MapVector<Operation *, llvm::SetVector<int64_t>> executed; // microbatches, by section
    for (auto entry : program.getBody().getOps<sched::EntryOp>())
      if (sched::isStep(entry.getKind()))
        schedule::forEachExecution(entry, [&](SectionOp section, int64_t microbatch) {
          executed[section].insert(microbatch);
        });
    int64_t next = 0;
    for (auto &[op, microbatches] : executed) {
      auto section = cast<SectionOp>(op);
      if (section.getBodyOps().empty())
        continue;
      section.setGraph(next);
      number(section, microbatches.getArrayRef());
      next += section.getNumGraphs();
    }
  }

private:
  sched::ProgramOp program;
  llvm::DenseMap<StringAttr, sched::FamilyOp> families;

  /// What says where some memory of a section is for a microbatch: the slot of a family, or what an
  /// instance is numbered by; and what is added to the microbatch.
  using Place = std::tuple<sched::FamilyOp, AffineExpr, int64_t>;

  void number(SectionOp section, ArrayRef<int64_t> microbatches) {
    llvm::SetVector<Place> places = placesIn(section);
    std::map<std::vector<int64_t>, int32_t> graphs;
    SmallVector<int32_t> of(program.getMicrobatches(), 0);
    for (int64_t microbatch : microbatches) {
      std::vector<int64_t> found;
      for (auto [family, number, shift] : places)
        found.push_back(number ? sched::evaluate(number, /*period=*/0, microbatch + shift)
                               : family.getSlotOf()[microbatch + shift]);
      of[microbatch] = graphs.try_emplace(std::move(found), graphs.size()).first->second;
    }
    if (graphs.size() > 1)
      section.setGraphOf(of);
  }

  llvm::SetVector<Place> placesIn(SectionOp section) {
    llvm::SetVector<Place> places;
    auto add = [&](Value value, AffineMap instance, int64_t shift) {
      AffineExpr number = instance.getResult(0);
      if (number.isFunctionOfSymbol(1)) // whatever the period is, it adds the same
        places.insert({{}, number, shift});
      FlatSymbolRefAttr name = sched::valueOf(value).getFamilyAttr();
      if (sched::FamilyOp family = name ? families.lookup(name.getAttr()) : nullptr;
          family && section.isOfTask())
        places.insert({family, {}, shift});
    };
    for (Operation &op : section.getBodyOps())
      op.walk([&](sched::Step step) {
        for (const sched::Use &use : step.getUses()) {
          if (isa<sched::UnpackOp>(step.getOperation()))
            places.insert({{}, sched::microbatchOf(section.getContext()), use.shift});
          if (use.border)
            add(use.outer, sched::use(use.outer).instance, use.shift);
          add(use.value, use.instance, use.shift);
        }
      });
    return places;
  }
};

struct NumberGraphsPass : tplan::memory::impl::NumberGraphsPassBase<NumberGraphsPass> {
  void runOnOperation() final {
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      GraphNumbers(program).assign();
  }
};
} // namespace

/// Calls of one execution of an op of a section: functions that do the work of several layers call
/// each kernel once.
static int64_t callsOf(sched::Step step) {
  if (isa<sched::ReadyOp, sched::AwaitOp>(step.getOperation()))
    return 0;
  auto call = dyn_cast<sched::CallOp>(step.getOperation());
  if (!call)
    return 1;
  int64_t calls = 0;
  call.getFunction().walk([&](rt::Call each) {
    auto library = dyn_cast<rt::AttentionOp>(each.getOperation());
    calls += sched::movesNoByte(each) ? 0 : library ? library.getShape().chunks() : 1;
  });
  return calls;
}

GraphCounts memory::countGraphs(sched::ProgramOp program) {
  GraphCounts counts;
  for (auto section : program.getBody().getOps<SectionOp>()) {
    int64_t graphs = section.getNumGraphs(), calls = 0;
    if (graphs == 0)
      continue;
    schedule::forEachStep(section.getBodyOps(),
                          [&](sched::Step step, int64_t times) { calls += times * callsOf(step); });
    counts.graphs += graphs;
    counts.calls += graphs * calls;
  }
  return counts;
}
