//===- Walk.h - what a program does, in order --------------------------------===//
//
// The one replay of a program. Memory, the report, the tables of the host program, what a device
// captures and the tests of an order ask here what is executed, how often and when; so none of them
// needs to know the parts of a step. Who needs each period of a run apart asks sched::forEachStep.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_WALK_H
#define TPLAN_SCHEDULE_WALK_H

#include "dialects/sched/Sched.h"
#include "llvm/ADT/DenseMap.h"

namespace tplan::schedule {

/// Visits the sections that an entry executes, in order, each with its microbatch.
void forEachExecution(sched::EntryOp entry,
                      llvm::function_ref<void(sched::SectionOp, int64_t microbatch)> visit);

/// How often an entry executes each section that it names, in the order of the first time.
llvm::SmallVector<std::pair<sched::SectionOp, int64_t>> countExecutions(sched::EntryOp entry);

/// Visits the steps among ops of a section's body, and those in runs among them, each with how many
/// times one execution of the section does it.
void forEachStep(llvm::iterator_range<mlir::Block::iterator> ops,
                 llvm::function_ref<void(sched::Step, int64_t times)> visit);

/// Visits the ops that an entry executes, each once, with how many times that is.
void forEachStep(sched::EntryOp entry, llvm::function_ref<void(sched::Step, int64_t times)> visit);

/// The same for the entry of this kind; nothing where there is none.
void forEachStep(sched::ProgramOp program, sched::EntryKind entry,
                 llvm::function_ref<void(sched::Step, int64_t times)> visit);

/// For each op of the body of a section the steps that touch memory there: those that it is or
/// holds, and those of other ops that are complete there.
llvm::DenseMap<mlir::Operation *, llvm::SmallVector<sched::Step>>
touchingSteps(sched::ProgramOp program);

/// Visits the functions that an entry calls, with how many times: one for each call op.
void forEachCall(sched::ProgramOp program, sched::EntryKind entry,
                 llvm::function_ref<void(rt::FuncOp, int64_t times)> visit);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_WALK_H
