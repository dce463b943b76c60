//===- Policy.h - schedules as data ------------------------------------------===//
//
// A policy gives each rank its order of tasks. Its row says where its stages lie and which numbers
// of chunks and microbatches it is for; one checker judges all policies, one simulator plays them.
//
// One decision: the policies of the compiler stand in Policies.def, a line each, so the registry
// takes each file from the static library. An executable may bring policies in its own sources, as
// schedule-opt does. docs/schedules.md has a row for each, and says where tests learn its name.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PIPELINE_POLICY_H
#define TPLAN_PIPELINE_POLICY_H

#include "lib/Pipeline/Check.h"
#include <deque>

namespace tplan::pipeline {

/// How a plan wants it; 0 where it does not say.
struct Options {
  int32_t chunks = 0, group = 0;
  int32_t memory = 0; // activations of a chunk and microbatch that a rank may keep
  int32_t ahead = 0;  // forwards more than are needed, for each rank that follows
  static Options of(std::optional<int64_t> chunks, std::optional<int64_t> group,
                    std::optional<int64_t> memory, std::optional<int64_t> ahead) {
    return {static_cast<int32_t>(chunks.value_or(0)), static_cast<int32_t>(group.value_or(0)),
            static_cast<int32_t>(memory.value_or(0)), static_cast<int32_t>(ahead.value_or(0))};
  }
};

/// What a policy makes an order for.
struct Request {
  const Pipeline &pipeline;
  int32_t group = 0; // consecutive microbatches that a rank takes through one chunk before the next
  const Costs *costs = nullptr; // where they are known
  int32_t memory = 0;           // activations that a rank may keep; 0 where nobody says
  int32_t ahead = 0;

  int32_t ranks() const { return pipeline.ranks(); }
  int32_t chunks() const { return pipeline.chunksOf(0).size(); } // on each rank
  int32_t microbatches() const { return pipeline.microbatches(); }
};

struct SchedulePolicy {
  llvm::StringRef name;    // what `pipeline` in a plan says
  llvm::StringRef summary; // the order of a rank, in a line
  Placement placement = Placement::Loop;
  /// Whether it takes any number of stages on each rank, in a V one or two; two where the plan does
  /// not say.
  bool takesChunks = false;
  bool takesGroup = false;
  bool takesMemory = false;
  bool takesAhead = false;
  /// The rule that a number of ranks, chunks or microbatches breaks, as a sentence; "" where none.
  std::string (*refuses)(int32_t ranks, int32_t microbatches, int32_t group) = nullptr;
  std::function<Orders(const Request &)> order = nullptr;
  /// Instead of `order`, where the policy may also choose other ranks for the stages.
  std::function<Scheduled(const Request &)> place = nullptr;

  /// Whether stages lie twice, so that a plan's stages are half of the pipeline's.
  bool isDual() const { return placement == Placement::Dual; }
  /// Stages on each rank where the plan does not say.
  int32_t standardChunks() const { return placement != Placement::Loop || takesChunks ? 2 : 1; }
};

/// Adds a policy for as long as it lives: a static object of an executable.
struct RegisterPolicy {
  const SchedulePolicy policy;
  explicit RegisterPolicy(SchedulePolicy policy);
  RegisterPolicy(const RegisterPolicy &) = delete;
};

/// All registered policies, by name.
std::vector<const SchedulePolicy *> getPolicies();
const SchedulePolicy *findPolicy(llvm::StringRef name);

/// The order that a policy makes for these numbers, checked; or why there is none: the numbers
/// break a rule of the policy (the rule "numbers"), or the order one of all orders. `costs` are
/// asked for by few policies, and may be null.
struct Choice {
  std::optional<Scheduled> scheduled;
  Fault fault;
};
Choice choose(const SchedulePolicy &policy, int32_t ranks, int32_t microbatches, Options options,
              const Costs *costs = nullptr);
/// The order, or why it is refused.
Choice checked(Scheduled made);
/// Chunks on each rank: as the options say, else the policy's own number.
inline int32_t chunksOf(const SchedulePolicy &policy, Options options) {
  return options.chunks ? options.chunks : policy.standardChunks();
}

/// Writes the order of a rank. Microbatches of each kind and chunk are counted from the first one
/// of the chunk's chain; weight gradients are taken from one queue, the oldest I first.
class RankWriter {
public:
  /// `stages`: those of the rank's chunks, in the policy's order.
  RankWriter(const Pipeline &pipeline, std::vector<int32_t> stages)
      : pipeline(pipeline), stages(std::move(stages)), next(this->stages.size()) {}

  void F(int32_t chunk = 0) { add(TaskKind::F, chunk); }
  void B(int32_t chunk = 0) { add(TaskKind::B, chunk); }
  void I(int32_t chunk = 0) { add(TaskKind::I, chunk); }
  /// Takes the oldest I that has none; nothing where there is no such I.
  void W();
  /// Takes the oldest such I of a chunk.
  void W(int32_t chunk);
  /// F of one chunk and B of another, done as one.
  void pair(int32_t forward, int32_t backward);
  int32_t forwards(int32_t chunk) const { return next[chunk].forwards; }
  bool hasW() const { return !weights.empty(); }
  RankOrder take() { return std::move(order); }

private:
  struct Counts {
    int32_t forwards = 0, backwards = 0;
  };
  const Pipeline &pipeline;
  std::vector<int32_t> stages;
  std::vector<Counts> next; // by chunk
  std::deque<Task> weights; // W of each I that has none
  RankOrder order;
  void add(TaskKind kind, int32_t chunk, bool together = false);
};

/// Writes each rank's order by itself.
Orders eachRank(const Request &request,
                llvm::function_ref<void(RankWriter &writer, int32_t rank)> write);

} // namespace tplan::pipeline

#endif // TPLAN_PIPELINE_POLICY_H
