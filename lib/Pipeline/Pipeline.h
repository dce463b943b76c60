//===- Pipeline.h - stages on ranks, and orders of their tasks -------------===//
//
// What a schedule is given: which rank holds which stage, how stages follow each other, how many
// microbatches there are, what tasks cost. What it gives: for each rank the list of its tasks.
//
// One decision: nothing here knows a program or a model. A policy, the checker, the simulator and
// the search work on numbers, so a schedule can be judged without compiling anything; the phase
// `schedule` asks them for a plan's order, and `tplanc --schedule` for a picture of it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PIPELINE_PIPELINE_H
#define TPLAN_PIPELINE_PIPELINE_H

#include "dialects/sched/Sched.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace tplan::pipeline {

using sched::Task;
using sched::TaskKind;
/// The tasks of one rank, in its order.
using RankOrder = std::vector<Task>;
using Orders = std::vector<RankOrder>; // by rank

/// Where stages lie, for p ranks and v chunks on each.
enum class Placement {
  Loop, // stage s on rank s mod p
  V,    // two chunks: stage s on rank s, and from p on back again, 2p - 1 - s
  Dual  // two copies of p stages: rank r has stage r of the first and p - 1 - r of the second
};

/// Stages in forward order, and the microbatches that go through them.
struct Chain {
  std::vector<int32_t> stages;
  int32_t begin = 0, end = 0; // microbatches
};

/// Seconds, or any other unit, of tasks and messages.
struct Costs {
  /// What a task of a stage costs. For a send or a receive it is what its rank does before or after
  /// the message itself, as where it goes in parts; for the await of one, what it does then.
  std::function<double(TaskKind kind, int32_t stage)> task;
  /// From where a message is sent to where the rank of the next stage has it; of messages between
  /// stages of one rank nobody asks.
  std::function<double(int32_t from, int32_t to)> message;
  /// What the last task of a kind and stage takes longer than the others, because it starts sums
  /// that these do not; null: nothing.
  std::function<double(TaskKind kind, int32_t stage)> last = nullptr;
  /// The same of the first task, because of what it awaits.
  std::function<double(TaskKind kind, int32_t stage)> first = nullptr;
  /// What a rank starts for a task with a message, or the await of one; null: nothing.
  struct Ahead {
    Task task;
    double seconds; // that it takes
    double delay;   // of the task, if it begins when that does
  };
  std::function<std::optional<Ahead>(Task message)> ahead = nullptr;
  /// What a task takes with the one that is done together with it, where that is not the sum.
  std::function<std::optional<double>(Task)> pair = nullptr;
};
/// The same for all stages, except for tasks of some. A backward in one costs as much as both
/// halves where nobody says.
struct UnitCosts {
  double f = 1, i = 1, w = 1, message = 0;
  std::optional<double> b{};
  std::map<std::pair<int32_t, TaskKind>, double> ofStages{};
  operator Costs() const;
};
/// Reads `F=1,I=1,W=1,B=2,comm=0,3F=1.5`, the last of which is of stage 3 alone; what is left out
/// is as above.
llvm::Expected<UnitCosts> readCosts(llvm::StringRef text);

class Pipeline {
public:
  /// `ranks` times `chunks` stages; for Dual, whose second copy counts as stages too, chunks is 2.
  /// Half of the microbatches go through each copy.
  Pipeline(Placement placement, int32_t ranks, int32_t chunks, int32_t microbatches);
  /// As a user says it.
  Pipeline(std::vector<int32_t> rankOf, std::vector<Chain> chains, int32_t microbatches);

  int32_t stages() const { return ranksOfStages.size(); }
  int32_t ranks() const { return chunks.size(); }
  int32_t microbatches() const { return numMicrobatches; }
  int32_t rankOf(int32_t stage) const { return ranksOfStages[stage]; }
  llvm::ArrayRef<int32_t> rankOfStages() const { return ranksOfStages; }
  /// The stages of a rank, ascending: its chunks.
  llvm::ArrayRef<int32_t> chunksOf(int32_t rank) const { return chunks[rank]; }
  llvm::ArrayRef<Chain> getChains() const { return chains; }
  const Chain &chainOf(int32_t stage) const { return chains[chainsOfStages[stage]]; }
  /// The stage whose forward a stage's takes, and the one that takes its own; -1 at the ends.
  int32_t before(int32_t stage) const { return neighbours[stage].first; }
  int32_t after(int32_t stage) const { return neighbours[stage].second; }
  /// Whether there are such a stage and microbatch, and the one goes through the other.
  bool has(int32_t stage, int32_t microbatch) const;
  /// What must be done before a task.
  llvm::SmallVector<sched::AnyTask, 2> needsOf(Task task) const {
    return sched::needsOf(task, before(task.stage), after(task.stage));
  }
  /// The stage that takes what a task leaves, or -1.
  int32_t receiverOf(Task task) const;

private:
  std::vector<int32_t> ranksOfStages, chainsOfStages;
  std::vector<std::vector<int32_t>> chunks; // by rank
  std::vector<Chain> chains;
  std::vector<std::pair<int32_t, int32_t>> neighbours; // by stage
  int32_t numMicrobatches = 0;
  void link();
};

/// A pipeline with its order.
struct Scheduled {
  Pipeline pipeline;
  Orders orders;
};

/// A value for each task of a pipeline.
template <typename T> class TaskTable {
public:
  TaskTable(const Pipeline &pipeline, T none)
      : stages(pipeline.stages()), microbatches(pipeline.microbatches()),
        values(static_cast<size_t>(sched::getMaxEnumValForTaskKind() + 1) * stages * microbatches,
               none) {}
  decltype(auto) operator[](Task task) { return values[indexOf(task)]; }
  decltype(auto) operator[](Task task) const { return values[indexOf(task)]; }

private:
  size_t stages, microbatches;
  std::vector<T> values;
  size_t indexOf(Task task) const {
    return (static_cast<size_t>(task.kind) * stages + task.stage) * microbatches + task.microbatch;
  }
};

using sched::spell;

/// Whether a task is B or I, what the stage before waits for.
inline bool leavesCotangent(TaskKind kind) { return sched::factsOf(kind).leavesCotangent; }

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_PIPELINE_H
