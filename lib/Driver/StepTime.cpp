//===- StepTime.cpp - how long a step will take on its cluster ------------===//
#include "lib/Driver/StepTime.h"
#include "lib/Cost/PlaySection.h"
#include "lib/Pipeline/Simulate.h"
#include "lib/Schedule/Orders.h"
#include "lib/Schedule/Walk.h"
#include <map>

using namespace mlir;
using namespace tplan;
using sched::TaskKind;

namespace {

/// A task, by which maps are in order.
using Key = std::tuple<TaskKind, int32_t, int32_t>;
Key keyOf(sched::Task task) { return {task.kind, task.stage, task.microbatch}; }

/// The task for which a section is executed.
sched::Task taskOf(sched::SectionOp section, int64_t microbatch) {
  return {*section.getKind(), static_cast<int32_t>(*section.getStage()),
          static_cast<int32_t>(microbatch)};
}

/// One execution of a section.
struct SectionCosts {
  cost::Spent spent;        // but messages of a task, which keep no rank busy
  double left = 0;          // seconds of it that are waited for after the section
  double first = 0;         // what the first task takes longer, because of what it awaits
  double last = 0;          // what the last task takes longer, because of what it starts
  double messages = 0;      // seconds of these
  double flops = 0;         // of GEMMs and attention
  sched::SectionOp aheadOf; // of a message: the task for which it starts something, or null
  double delay = 0;         // how much longer that task takes, if it begins when this does

  /// What keeps the rank: not what a message has started.
  double own() const { return spent.seconds() - (aheadOf ? left : 0); }
};

/// What the ranks of one program do in a step, by its prices.
struct RankCosts {
  std::map<std::pair<TaskKind, int64_t>, SectionCosts> tasks; // one of a stage
  cost::Spent before, after, all;                             // the tasks; of the step
  bool joinsStages = false;                    // sums over all stages stand after the tasks
  double joint = 0;                            // seconds of these sums
  double left = 0;                             // of what last tasks have started, after all tasks
  double forwardFlops = 0;                     // of GEMMs and attention, in a step
  std::map<Key, pipeline::Costs::Ahead> ahead; // by message, or its await
  /// Seconds of an F whose section is that of a pair, by its stage and microbatch.
  std::map<std::pair<int64_t, int64_t>, double> pairs;
  cost::Spent spentAhead;  // on what is started ahead of all tasks, if all of it is waited for
  double secondsAhead = 0; // the same

  SectionCosts of(TaskKind kind, int64_t stage) const {
    auto found = tasks.find({kind, stage});
    return found == tasks.end() ? SectionCosts() : found->second;
  }
};

double flopsOf(rt::FuncOp func) {
  double flops = 0;
  func.walk([&](rt::Call call) {
    if (call.getCategory() == rt::Category::Gemm || call.getCategory() == rt::Category::Attention)
      flops += static_cast<double>(call.getFlops());
  });
  return flops;
}

/// The task for which the section of a message starts something, or null.
sched::SectionOp taskAheadOf(sched::SectionOp section) {
  sched::SectionOp task;
  if (section.getKind() && !sched::factsOf(*section.getKind()).part)
    section.walk([&](sched::CallOp call) {
      if (call.getStarted())
        task = call.getCompletion()->getParentOfType<sched::SectionOp>();
    });
  return task;
}

SectionCosts costsOf(sched::SectionOp section, cost::Prices &prices) {
  SectionCosts costs;
  Block &body = section.getBody().front();
  WalkResult started = section.walk([](sched::CallOp call) {
    return call.getStarted() ? WalkResult::interrupt() : WalkResult::advance();
  });
  bool isPlayed = started.wasInterrupted();
  if (isPlayed) {
    auto [spent, left] = cost::play(section, prices);
    costs.spent = spent, costs.left = left;
  }
  if (sched::SectionOp task = costs.aheadOf = taskAheadOf(section)) {
    double whole = cost::play({section, task}, prices).inside();
    costs.delay = whole - costs.own() - cost::play(task, prices).inside();
  }
  schedule::forEachStep(
      llvm::make_range(body.begin(), body.end()), [&](sched::Step step, int64_t times) {
        auto n = static_cast<double>(times);
        cost::Spent spent = prices.of(step).times(n);
        if (section.isOfTask() && isa<sched::SendOp, sched::ReceiveOp>(step.getOperation()))
          costs.messages += spent.seconds();
        else if (!isPlayed)
          costs.spent += spent;
        if (auto call = dyn_cast<sched::CallOp>(step.getOperation()))
          costs.flops += flopsOf(call.getFunction()) * n * static_cast<double>(call.getLayers());
      });
  return costs;
}

RankCosts costsOf(sched::ProgramOp program, cost::Prices &prices) {
  RankCosts costs;
  auto mesh = dist::meshOf(program->getParentOfType<ModuleOp>());
  llvm::DenseMap<Operation *, SectionCosts> ofSections;
  std::map<std::pair<TaskKind, int64_t>, double> ofFirst; // seconds of first tasks
  bool inTasks = false;
  for (auto entry : program.getBody().getOps<sched::EntryOp>()) {
    if (entry.getKind() != sched::EntryKind::Step)
      continue;
    auto costsOfOne = [&](sched::SectionOp section) -> const SectionCosts & {
      auto [it, isNew] = ofSections.try_emplace(section);
      if (isNew)
        it->second = costsOf(section, prices);
      return it->second;
    };
    schedule::forEachExecution(entry, [&](sched::SectionOp section, int64_t microbatch) {
      const SectionCosts its = costsOfOne(section);
      const cost::Spent &spent = its.spent;
      if (!section.getKind()) {
        (inTasks ? costs.after : costs.before) += spent;
        costs.all += spent;
        section.walk([&](sched::AllReduceOp sum) {
          if (!inTasks || !llvm::is_contained(dist::axesOf(sum.getAxes()), mesh.getStages()))
            return;
          costs.joinsStages = true;
          costs.joint += prices.of(cast<sched::Step>(sum.getOperation())).seconds();
        });
        return;
      }
      inTasks = true;
      (its.aheadOf ? costs.spentAhead : costs.all) += spent;
      if (its.aheadOf) {
        costs.ahead[keyOf(taskOf(section, microbatch))] = {taskOf(its.aheadOf, microbatch),
                                                           its.left, its.delay};
        costs.secondsAhead += its.left;
      }
      if (section.isOfPair()) {
        int64_t stage = *section.getStage();
        costs.pairs[{stage, microbatch}] = spent.seconds();
        costs.forwardFlops += costsOfOne(program.findSection(TaskKind::F, stage)).flops;
        return;
      }
      std::pair task(*section.getKind(), static_cast<int64_t>(*section.getStage()));
      SectionCosts &ofTask = costs.tasks[task];
      if (section.getFirst()) {
        ofFirst[task] = its.own();
      } else if (section.getLast()) {
        double inside = spent.seconds() - its.left;
        ofTask.last = std::max(0.0, inside - ofTask.spent.seconds());
        costs.left += its.left;
      } else {
        ofTask = its;
      }
      costs.forwardFlops += section.getKind() == TaskKind::F ? its.flops : 0;
    });
  }
  for (auto [task, seconds] : ofFirst)
    costs.tasks[task].first = std::max(0.0, seconds - costs.tasks[task].own());
  return costs;
}

std::vector<RankCosts> costsOfRanks(ModuleOp module, cost::Prices &prices) {
  std::vector<RankCosts> ranks;
  for (auto program : module.getOps<sched::ProgramOp>())
    ranks.push_back(costsOf(program, prices));
  return ranks;
}

/// Seconds of the tasks of a pipeline whose ranks cost this, and of messages between them.
pipeline::Costs costsFor(const pipeline::Pipeline &pipeline, const std::vector<RankCosts> &ranks) {
  auto of = [&](TaskKind kind, int32_t stage) {
    return ranks[pipeline.rankOf(stage)].of(kind, stage);
  };
  return {[=](TaskKind kind, int32_t stage) { return of(kind, stage).own(); },
          [=, &pipeline](int32_t from, int32_t to) {
            bool forward = pipeline.after(from) == to;
            return of(forward ? TaskKind::SendF : TaskKind::SendB, from).messages;
          },
          [=](TaskKind kind, int32_t stage) { return of(kind, stage).last; },
          [=](TaskKind kind, int32_t stage) { return of(kind, stage).first; },
          [=, &pipeline, &ranks](sched::Task message) -> std::optional<pipeline::Costs::Ahead> {
            const RankCosts &rank = ranks[pipeline.rankOf(message.stage)];
            auto found = rank.ahead.find(keyOf(message));
            return found == rank.ahead.end() ? std::nullopt : std::optional(found->second);
          },
          [=, &pipeline, &ranks](sched::Task task) -> std::optional<double> {
            const RankCosts &rank = ranks[pipeline.rankOf(task.stage)];
            auto found = rank.pairs.find({task.stage, task.microbatch});
            bool isPair = task.kind == TaskKind::F && found != rank.pairs.end();
            return isPair ? std::optional(found->second) : std::nullopt;
          }};
}

/// Sends wait until they are received.
pipeline::Simulation play(ModuleOp module, const std::vector<RankCosts> &ranks) {
  auto [pipeline, orders] = schedule::ordersOf(module, schedule::With::All);
  return pipeline::simulate(orders, pipeline, costsFor(pipeline, ranks));
}

} // namespace

StepTime tplan::predictStep(ModuleOp module) {
  lang::Settings settings(module);
  auto mesh = dist::meshOf(module);
  cost::Prices prices(settings, mesh);
  StepTime step;
  if (!prices.areKnown())
    return step;
  step.device = settings.cluster.device;
  std::vector<RankCosts> ranks = costsOfRanks(module, prices);
  pipeline::Simulation simulation = play(module, ranks);
  step.tasks = simulation.makespan;
  for (auto [rank, delay, beside] : llvm::zip(ranks, simulation.delays, simulation.besideWaits))
    if (double all = rank.secondsAhead; all > 0) {
      double waited = std::min(1.0, delay / all);
      rank.all += rank.spentAhead.hiddenBut(waited, std::min(1 - waited, beside / all));
    }

  // Without a sum over stages a rank goes on as soon as it has done its own tasks.
  double begin = 0, alone = 0, joined = 0;
  bool joins = false;
  for (const RankCosts &rank : ranks)
    begin = std::max(begin, rank.before.seconds());
  for (auto [i, rank] : llvm::enumerate(ranks)) {
    double after = rank.after.seconds() + rank.left;
    alone = std::max(alone, simulation.ends[i] + after - rank.joint);
    joined = std::max(joined, simulation.makespan + after);
    joins |= rank.joinsStages;
    step.spent += rank.all.times(1.0 / static_cast<double>(ranks.size()));
    step.ofPrograms.push_back(rank.all);
    step.modelFlops += 3 * rank.forwardFlops / static_cast<double>(ranks.size());
  }
  step.seconds = begin + (joins ? joined : alone);
  step.norm = joins ? joined - alone : 0;
  step.idle = step.seconds - step.spent.seconds();
  auto all = static_cast<double>(mesh.getNumRanks());
  step.modelFlops *= all;
  step.peak = prices.peak() * all;
  return step;
}

namespace {
/// The streams of a rank beside its tasks, which are known. A stream does one thing after the
/// other, so what a task starts waits for what others have started.
class RankStreams {
public:
  RankStreams(sched::ProgramOp program, cost::Prices &prices) : prices(prices) {
    for (auto entry : program.getBody().getOps<sched::EntryOp>())
      if (entry.getKind() == sched::EntryKind::Step)
        schedule::forEachExecution(entry, [&](sched::SectionOp section, int64_t microbatch) {
          if (!section.getKind())
            return;
          sections[keyOf(taskOf(section, microbatch))] = section;
          if (sched::SectionOp task = taskAheadOf(section))
            ahead[keyOf(taskOf(task, microbatch))] = section;
        });
  }

  pipeline::Streams play(const std::vector<pipeline::Timed> &tasks,
                         const std::vector<pipeline::Timed> &startedAhead) {
    // Both lists by time: what was started before a task began comes before what the task starts.
    const pipeline::Timed *next = startedAhead.data(), *last = next + startedAhead.size();
    double after = 0; // of the first of two tasks that are done as one
    for (const pipeline::Timed &task : tasks) {
      for (; next != last && next->begin <= task.begin; ++next)
        place(spansOf(ahead.at(keyOf(next->task))), next->begin);
      auto section = sections.find(keyOf(task.task));
      if (section == sections.end()) // done in the section of a pair, with the task before it
        continue;
      const cost::Spans &spans = spansOf(section->second);
      after = task.task.together ? after : 0;
      place(spans, task.begin + after);
      after += spans.inside;
    }
    return std::move(streams);
  }

private:
  using Sections = std::map<Key, sched::SectionOp>;
  cost::Prices &prices;
  Sections sections, ahead;
  llvm::DenseMap<Operation *, cost::Spans> played;
  pipeline::Streams streams;

  const cost::Spans &spansOf(sched::SectionOp section) {
    auto [it, isNew] = played.try_emplace(section);
    if (isNew)
      it->second = cost::spansOf(section, prices);
    return it->second;
  }

  void place(const cost::Spans &spans, double at) {
    for (const cost::Span &span : spans.channels) {
      std::vector<pipeline::Interval> &stream = streams[span.channel];
      double begin = std::max(at + span.begin, stream.empty() ? 0 : stream.back().end);
      stream.push_back({begin, begin + span.end - span.begin});
    }
  }
};
} // namespace

std::optional<TaskTimes> tplan::predictTasks(ModuleOp module) {
  auto mesh = dist::meshOf(module);
  cost::Prices prices(lang::Settings(module), mesh);
  if (!prices.areKnown())
    return std::nullopt;
  TaskTimes times = {play(module, costsOfRanks(module, prices)), {}};
  for (auto [rank, program] : llvm::enumerate(module.getOps<sched::ProgramOp>())) {
    pipeline::Streams streams =
        RankStreams(program, prices)
            .play(times.simulation.tasks[rank], times.simulation.ahead[rank]);
    for (const auto &[to, messages] : times.simulation.messages[rank])
      for (const pipeline::Timed &message : messages)
        streams[(mesh.getStages().str() + " to " + Twine(to)).str()].push_back(
            {message.begin, message.end});
    times.streams.push_back(std::move(streams));
  }
  return times;
}
