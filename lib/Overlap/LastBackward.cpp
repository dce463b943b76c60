//===- LastBackward.cpp - where the gradients of a stage are complete ------------===//
#include "lib/Overlap/LastBackward.h"
#include "lib/Overlap/Layers.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using sched::RunOp;
using sched::SectionOp;
using sched::TaskKind;

namespace {
/// The backwards of a stage that complete gradients.
struct Backwards {
  SectionOp section; // or null
  int64_t tasks = 0;
  explicit Backwards(SectionOp sums) {
    auto program = cast<sched::ProgramOp>(sums->getParentOp());
    int64_t stage = *sums.getStage();
    for (sched::Task task : program.getTaskList())
      if (task.stage == stage && (task.kind == TaskKind::B || task.kind == TaskKind::W)) {
        section = program.findSection(task.kind, stage);
        ++tasks;
      }
  }
};
} // namespace

SectionOp overlap::backwardBefore(SectionOp sums) { return Backwards(sums).section; }

bool overlap::hasEarlySums(SectionOp sums) {
  auto program = cast<sched::ProgramOp>(sums->getParentOp());
  return llvm::any_of(program.getBody().getOps<SectionOp>(), [&](SectionOp section) {
    return section.getEarly() && section.getKind() == TaskKind::R &&
           section.getStage() == sums.getStage();
  });
}

SectionOp overlap::makeLastBackward(SectionOp sums) {
  auto [section, tasks] = Backwards(sums);
  if (!section || (tasks == 1 && !hasEarlySums(sums)))
    return section;
  for (auto other : cast<sched::ProgramOp>(sums->getParentOp()).getBody().getOps<SectionOp>())
    if (other.getLast() && other.getKind() == section.getKind() &&
        other.getStage() == section.getStage() && other.getEarly() == sums.getEarly())
      return other;
  OpBuilder b(section);
  b.setInsertionPointAfter(section);
  auto last = cast<SectionOp>(b.clone(*section));
  last.setSymName((section.getSymName() + (sums.getEarly() ? ".last.early" : ".last")).str());
  last.setLast(true);
  last.setEarly(sums.getEarly());
  return last;
}

static bool isGradient(Value value) {
  return sched::valueOf(value).getOwner() == sched::Owner::Gradient;
}

Gradients overlap::gradientsOf(Operation &op) {
  Gradients touched;
  auto run = dyn_cast<RunOp>(op);
  int64_t last = run ? static_cast<int64_t>(run.getTimes()) - 1 : 0;
  op.walk([&](sched::Step step) {
    for (const sched::Use &each : step.getUses())
      for (int64_t period = 0; period <= last && isGradient(each.value); ++period) {
        auto used = sched::evaluate(each, {period, last}, /*microbatch=*/0);
        touched.insert({used.value, used.instance});
      }
  });
  return touched;
}

bool overlap::touchesAny(Operation &op, const Gradients &gradients) {
  return llvm::any_of(gradientsOf(op), [&](const auto &each) { return gradients.contains(each); });
}

RunOp overlap::backwardOf(RunOp run, SectionOp last) {
  Gradients gradients = gradientsOf(*run);
  for (Operation &op : llvm::reverse(last.getBody().front()))
    if (touchesAny(op, gradients)) {
      auto backward = dyn_cast<RunOp>(op);
      return backward && isOverSameLayers(run, backward) ? backward : RunOp();
    }
  return {};
}
