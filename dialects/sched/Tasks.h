//===- Tasks.h - the tasks of a step, and what is true of each kind ----------===//
//
// The facts about kinds of tasks stand in one table, which the verifier, the policies' checker, the
// simulator, `schedule` and the readers of orders ask.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_SCHED_TASKS_H
#define TPLAN_DIALECTS_SCHED_TASKS_H

#include "dialects/nn/NN.h"
#include "dialects/sched/SchedEnums.h.inc"
#include <array>
#include <optional>
#include <string>

namespace tplan::sched {

struct TaskFacts {
  TaskKind kind;
  std::optional<nn::Part> part;    // what the layers of its stage do; none: it is a message, or
                                   // the await of one
  bool isOrdered = false;          // users and policies say when it is done
  bool leavesCotangent = false;    // what the stage before waits for
  bool sends = false;              // a message that goes, or one that comes
  bool isForward = false;          // a message with results of F, or with cotangents
  TaskKind otherEnd = TaskKind::F; // of a message
  std::optional<TaskKind> await{}; // of a message: what it is complete at, where it is started
};

inline constexpr std::array kTaskFacts = {
    TaskFacts{.kind = TaskKind::F, .part = nn::Part::Forward, .isOrdered = true},
    TaskFacts{.kind = TaskKind::B,
              .part = nn::Part::Backward,
              .isOrdered = true,
              .leavesCotangent = true},
    TaskFacts{.kind = TaskKind::I,
              .part = nn::Part::BackwardInputs,
              .isOrdered = true,
              .leavesCotangent = true},
    TaskFacts{.kind = TaskKind::W, .part = nn::Part::BackwardWeights, .isOrdered = true},
    TaskFacts{.kind = TaskKind::SendF,
              .part = std::nullopt,
              .sends = true,
              .isForward = true,
              .otherEnd = TaskKind::ReceiveF,
              .await = TaskKind::AwaitSendF},
    TaskFacts{.kind = TaskKind::ReceiveF,
              .part = std::nullopt,
              .isForward = true,
              .otherEnd = TaskKind::SendF,
              .await = TaskKind::AwaitReceiveF},
    TaskFacts{.kind = TaskKind::SendB,
              .part = std::nullopt,
              .sends = true,
              .otherEnd = TaskKind::ReceiveB,
              .await = TaskKind::AwaitSendB},
    TaskFacts{.kind = TaskKind::ReceiveB,
              .part = std::nullopt,
              .otherEnd = TaskKind::SendB,
              .await = TaskKind::AwaitReceiveB},
    TaskFacts{.kind = TaskKind::R, .part = nn::Part::Reduce},
    TaskFacts{.kind = TaskKind::AwaitSendF, .part = std::nullopt},
    TaskFacts{.kind = TaskKind::AwaitReceiveF, .part = std::nullopt},
    TaskFacts{.kind = TaskKind::AwaitSendB, .part = std::nullopt},
    TaskFacts{.kind = TaskKind::AwaitReceiveB, .part = std::nullopt},
};

/// Every kind has its line, at its number.
static_assert([] {
  for (unsigned i = 0; i < kTaskFacts.size(); ++i)
    if (static_cast<unsigned>(kTaskFacts[i].kind) != i)
      return false;
  return kTaskFacts.size() == getMaxEnumValForTaskKind() + 1;
}());

constexpr const TaskFacts &factsOf(TaskKind kind) {
  return kTaskFacts[static_cast<unsigned>(kind)];
}
/// What carries a task's results to another rank.
constexpr bool isMessage(TaskKind kind) { return factsOf(kind).await.has_value(); }
/// The kind of message that is complete at such a task, if it is an await.
constexpr std::optional<TaskKind> awaitedBy(TaskKind kind) {
  for (const TaskFacts &facts : kTaskFacts)
    if (facts.await == kind)
      return facts.kind;
  return std::nullopt;
}

/// One piece of work: a part of all runs of a stage, for one microbatch. R, which is done once a
/// step, has the first microbatch of its stage.
struct Task {
  TaskKind kind;
  int32_t stage, microbatch;
  /// It is done as one with the task before it: neither needs the other, and what they leave goes
  /// out when both are done. So an F can hide what a B waits for.
  bool together = false;
  bool operator==(const Task &) const = default;
};

/// The stage at the other end of a message, of those before and after its own.
inline int32_t peerOf(Task message, int32_t before, int32_t after) {
  const TaskFacts &facts = factsOf(message.kind);
  return facts.isForward == facts.sends ? after : before;
}

/// Where a message is complete, if it is started.
inline Task awaitOf(Task message) {
  return {*factsOf(message.kind).await, message.stage, message.microbatch};
}

/// Where a program has its tasks, this is added to the kind of one that is done together.
inline constexpr int32_t kTogether = 1 << 8;
/// Task i of the triples of a program.
inline Task taskIn(llvm::ArrayRef<int32_t> triples, int64_t i) {
  int32_t kind = triples[3 * i];
  return {static_cast<TaskKind>(kind & ~kTogether), triples[3 * i + 1], triples[3 * i + 2],
          (kind & kTogether) != 0};
}
inline void addTriple(llvm::SmallVectorImpl<int32_t> &triples, Task task) {
  triples.append({static_cast<int32_t>(task.kind) + (task.together ? kTogether : 0), task.stage,
                  task.microbatch});
}
/// Those that are done as one, from place i on.
llvm::ArrayRef<Task> tasksAt(llvm::ArrayRef<Task> tasks, size_t i);

/// One of several tasks.
using AnyTask = llvm::SmallVector<Task, 3>;
/// What must be done before a task, all of it: where the stages are held by one rank, tasks of its
/// neighbours, else the messages that bring their results. A backward is done whole or in parts.
/// `before` and `after` are the stages from which the forward comes and to which it goes, or -1. R
/// also needs all backwards of its stage.
llvm::SmallVector<AnyTask, 2> needsOf(Task task, int32_t before, int32_t after);
/// "F of stage 0, microbatch 3"; "R of stage 0".
std::string describe(Task task);
/// "3F2": stage, kind, microbatch; "3R".
std::string spell(Task task);

} // namespace tplan::sched

#endif // TPLAN_DIALECTS_SCHED_TASKS_H
