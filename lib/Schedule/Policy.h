//===- Policy.h - orders of tasks, as data --------------------------------===//
//
// A policy gives each rank its order of tasks, from a `Pipeline`: which stages it holds, how many
// microbatches there are, what tasks cost. Where one rank holds all stages, they are ordered as if
// each had a rank of its own, and merged. One checker judges all policies, one counter turns an
// order into slots of memory.
//
// One decision: policies register themselves, so that adding one needs no edit of the code that
// asks for it. It stands in lib/Schedule/Policies.cpp, with the registry: a linker would not take a
// file of its own, which nobody refers to, from the static library. (An executable may bring
// policies in its own sources, as schedule-opt does.) Its name is also added to
// test/schedule/order-test.cpp, test/driver/phases-test.cpp, PIPELINES of test/invariance/run and
// the choice in test/invariance/random, and it gets a row in docs/language.md.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHEDULE_POLICY_H
#define TPLAN_SCHEDULE_POLICY_H

#include "dialects/sched/Sched.h"
#include <functional>
#include <string>
#include <vector>

namespace tplan::schedule {

using sched::Task;
using sched::TaskKind;
/// The tasks of one rank, in its order.
using RankOrder = std::vector<Task>;

/// What an order is for.
struct Pipeline {
  int64_t microbatches = 1;
  std::vector<int32_t> rankOf; // of each stage
  /// FLOPs of a task of a stage, F, B, I or W; null where nobody knows them.
  std::function<double(TaskKind kind, int32_t stage)> flopsOf;

  int32_t stages() const { return rankOf.size(); }
  int32_t ranks() const;
  /// The stages of a rank, ascending: its chunks.
  std::vector<int32_t> chunksOf(int32_t rank) const;
};
/// Each stage has a rank of its own (rankOfStage).
Pipeline pipelineOf(int32_t stages, int64_t microbatches);

struct SchedulePolicy {
  llvm::StringRef name;    // what `pipeline` in a plan says
  llvm::StringRef summary; // the order of a rank, in a line
  std::function<std::vector<RankOrder>(const Pipeline &)> order;
};

struct RegisterPolicy {
  explicit RegisterPolicy(SchedulePolicy policy);
};

/// All registered policies, by name.
std::vector<const SchedulePolicy *> getPolicies();
const SchedulePolicy *findPolicy(llvm::StringRef name);

/// Judges an order: complete, each task after what it needs, messages between
/// stages received in the order sent, and no ranks that wait for each other.
/// Reports the first fault, naming the task, and fails.
mlir::LogicalResult checkOrder(llvm::ArrayRef<RankOrder> order, const Pipeline &pipeline,
                               llvm::function_ref<mlir::InFlightDiagnostic()> emitError);

/// One order for a single rank that holds all stages: each list keeps its own order, and of the
/// lists that can go on, the one whose input is newest does, so that little waits between stages.
/// The order must be checked.
std::vector<Task> mergeOrders(llvm::ArrayRef<RankOrder> order, int64_t stages);

/// The order of each rank with the messages between stages of different ranks. The order must be
/// checked. Ranks are visited in turn; one whose next task is ready does it. If that leaves
/// something to another rank, a send for the one and a receive for the other are appended at once.
/// As the orders grow together, no rank waits for ever, not even where a send blocks until it is
/// received. Source: `_add_send_recv` of PyTorch's torch.distributed.pipelining.
std::vector<RankOrder> placeMessages(llvm::ArrayRef<RankOrder> order, const Pipeline &pipeline);

/// What one microbatch occupies: from its producer's place in the order to its
/// last reader's, both included.
struct Lifetime {
  int64_t begin, end;
};
struct Slots {
  int64_t count = 0;
  std::vector<int32_t> slotOf; // by microbatch
};
/// The fewest slots such that lifetimes that overlap have different slots.
Slots countSlots(llvm::ArrayRef<Lifetime> lifetimes);

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_POLICY_H
