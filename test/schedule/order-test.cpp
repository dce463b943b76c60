//===- order-test.cpp - policies, slots and packing -----------------------===//
#include "lib/Memory/Pack.h"
#include "lib/Pipeline/Check.h"
#include "lib/Pipeline/Policy.h"
#include "lib/Pipeline/Simulate.h"
#include "lib/Pipeline/Slots.h"
#include "lib/Pipeline/Text.h"
#include <gtest/gtest.h>
#include <map>
#include <random>

using namespace tplan;
using namespace tplan::pipeline;

namespace {

Scheduled make(llvm::StringRef policy, int32_t ranks, int32_t microbatches, int32_t chunks = 0) {
  Choice choice = choose(*findPolicy(policy), ranks, microbatches, {.chunks = chunks});
  EXPECT_TRUE(choice.scheduled) << policy.str() << ": " << choice.fault.message;
  return std::move(*choice.scheduled);
}

std::vector<Task> orderOf(llvm::StringRef policy, int32_t stages, int32_t microbatches) {
  Scheduled made = make(policy, stages, microbatches);
  return mergeOrders(made.orders, made.pipeline);
}

/// Slots of what lives from a stage's F to the last of its backward.
int64_t residualSlots(llvm::StringRef policy, int32_t stages, int32_t microbatches, int stage) {
  std::vector<Task> order = orderOf(policy, stages, microbatches);
  std::vector<Lifetime> lifetimes(microbatches, {-1, -1});
  for (size_t i = 0; i < order.size(); ++i)
    if (order[i].stage == stage) {
      Lifetime &life = lifetimes[order[i].microbatch];
      life = {life.begin < 0 ? static_cast<int64_t>(i) : life.begin, static_cast<int64_t>(i)};
    }
  return countSlots(lifetimes).count;
}

TEST(Policies, AreCompleteForAllSmallShapes) {
  for (const char *policy : {"accumulate", "gpipe", "gpipe_split", "1f1b", "zb_h1", "zb_h2"})
    for (int32_t stages = 1; stages <= 4; ++stages)
      for (int32_t microbatches = 1; microbatches <= 6; ++microbatches) {
        bool split = llvm::StringRef(policy) == "gpipe_split" || policy[0] == 'z';
        size_t perMicrobatch = split ? 3 : 2;
        EXPECT_EQ(orderOf(policy, stages, microbatches).size(),
                  perMicrobatch * stages * microbatches);
      }
}

TEST(Policies, UnknownOnesAreNotFound) { EXPECT_EQ(findPolicy("2f2b"), nullptr); }

TEST(Slots, OneWhenEachMicrobatchIsFinishedFirst) {
  EXPECT_EQ(residualSlots("accumulate", 1, 4, 0), 1);
  EXPECT_EQ(residualSlots("accumulate", 3, 4, 1), 1);
}

TEST(Slots, AsManyAsMicrobatchesWhenAllForwardsComeFirst) {
  EXPECT_EQ(residualSlots("gpipe", 1, 4, 0), 4);
  EXPECT_EQ(residualSlots("gpipe_split", 2, 5, 1), 5);
}

TEST(Slots, OfOneForwardOneBackwardAreAsManyAsStagesFollow) {
  for (int stage = 0; stage < 4; ++stage)
    EXPECT_EQ(residualSlots("1f1b", 4, 8, stage), 4 - stage);
}

/// The orders of ranks, with their messages.
Orders programsOf(const Scheduled &made) { return placeMessages(made.orders, made.pipeline); }

std::string textOf(const std::vector<Task> &tasks) {
  std::string text;
  for (Task task : tasks)
    text += (text.empty() ? "" : " ") + sched::stringifyTaskKind(task.kind).str() +
            std::to_string(task.microbatch);
  return text;
}

/// A receive stands where the peer sends: microbatch 1 comes to stage 1 before its B of
/// microbatch 0, whose result stage 0 takes after it has sent.
TEST(Messages, AreReceivedWhereTheyAreSent) {
  Orders programs = programsOf(make("1f1b", 2, 2));
  EXPECT_EQ(textOf(programs[0]), "F0 SF0 F1 SF1 RB0 B0 RB1 B1");
  EXPECT_EQ(textOf(programs[1]), "RF0 F0 RF1 B0 SB0 F1 B1 SB1");
}

/// The fault of playing programs, where sends block or not, or "".
std::string replayed(const Orders &programs, const Pipeline &pipeline, bool sendsBlock = true) {
  std::optional<Fault> fault =
      replay(pipeline::programsOf(programs, pipeline), pipeline, sendsBlock);
  return fault ? fault->rule : "";
}

/// Those that write an order; what is searched for takes longer, and is in auto-test.
std::vector<const SchedulePolicy *> writtenPolicies() {
  std::vector<const SchedulePolicy *> policies = getPolicies();
  std::erase_if(policies, [](const SchedulePolicy *policy) { return policy->place != nullptr; });
  return policies;
}

TEST(Messages, DoNotDeadlockWhereSendsBlock) {
  for (const SchedulePolicy *policy : writtenPolicies())
    for (int32_t ranks = 1; ranks <= 5; ++ranks)
      for (int32_t microbatches = 1; microbatches <= 10; ++microbatches) {
        Choice choice = choose(*policy, ranks, microbatches, {});
        if (!choice.scheduled)
          continue;
        Scheduled made = make(policy->name, ranks, microbatches);
        EXPECT_EQ(replayed(programsOf(made), made.pipeline), "")
            << policy->name.str() << " " << ranks << " " << microbatches;
        EXPECT_EQ(replayed(programsOf(made), made.pipeline, /*sendsBlock=*/false), "");
      }
  Scheduled made = make("1f1b", 2, 2);
  Orders late = programsOf(made);
  // The receive of microbatch 1 after the backward of microbatch 0 has been sent.
  std::rotate(late[1].begin() + 2, late[1].begin() + 3, late[1].begin() + 5);
  EXPECT_EQ(replayed(late, made.pipeline), "deadlock");
  EXPECT_EQ(replayed(late, made.pipeline, /*sendsBlock=*/false), "");
}

Orders startedOf(const Scheduled &made) {
  return placeMessages(made.orders, made.pipeline, Messages::Started);
}

/// A receive is posted before the task during which its message is sent, or when the one before it
/// has come; a send is awaited after the next one, or before the backward of what it sent.
TEST(Messages, AreStartedEarlyAndAwaitedLate) {
  Orders programs = startedOf(make("1f1b", 2, 3));
  EXPECT_EQ(textOf(programs[0]),
            "F0 SF0 F1 SF1 ASF0 RB0 ARB0 B0 ASF1 RB1 F2 SF2 ARB1 B1 ASF2 RB2 ARB2 B2");
  EXPECT_EQ(textOf(programs[1]),
            "RF0 RF1 ARF0 F0 B0 SB0 ARF1 RF2 F1 B1 SB1 ASB0 ARF2 F2 B2 SB2 ASB1 ASB2");
}

/// Seconds of a step where messages are started, or nothing where ranks wait for each other.
std::optional<double> played(const Scheduled &made, const Costs &costs) {
  Orders programs = startedOf(made);
  Simulation simulation = simulate(programs, made.pipeline, costs);
  for (auto [order, tasks] : llvm::zip(made.orders, simulation.tasks))
    if (order.size() != tasks.size())
      return std::nullopt;
  return simulation.makespan;
}

/// The messages of each channel, by its ranks, as one end posts them: each as its send.
using Channels = std::map<std::pair<int32_t, int32_t>, std::string>;
Channels channelsOf(const Orders &programs, const Pipeline &pipeline, bool sends) {
  Channels channels;
  for (const RankOrder &program : programs)
    for (Task task : program) {
      const sched::TaskFacts &facts = sched::factsOf(task.kind);
      if (!sched::isMessage(task.kind) || facts.sends != sends)
        continue;
      int32_t peer = sched::peerOf(task, pipeline.before(task.stage), pipeline.after(task.stage));
      int32_t here = pipeline.rankOf(task.stage), there = pipeline.rankOf(peer);
      Task send = sends ? task : Task{facts.otherEnd, peer, task.microbatch};
      channels[sends ? std::pair(here, there) : std::pair(there, here)] += spell(send) + " ";
    }
  return channels;
}

TEST(Messages, ThatAreStartedMeetAndDoNotDeadlock) {
  for (const SchedulePolicy *policy : writtenPolicies())
    for (int32_t ranks = 1; ranks <= 5; ++ranks)
      for (int32_t microbatches = 1; microbatches <= 10; ++microbatches)
        for (double message : {0.0, 0.3, 5.0})
          if (choose(*policy, ranks, microbatches, {}).scheduled) {
            Scheduled made = make(policy->name, ranks, microbatches);
            std::string what = policy->name.str() + " " + std::to_string(ranks) + " " +
                               std::to_string(microbatches);
            EXPECT_TRUE(played(made, UnitCosts{1, 1, 1, message})) << what;
            Orders programs = startedOf(made);
            EXPECT_EQ(channelsOf(programs, made.pipeline, true),
                      channelsOf(programs, made.pipeline, false))
                << what;
          }
}

/// With one microbatch more in flight for each rank that follows, both messages of a microbatch may
/// take as long as its F and B, and nobody waits once all have begun.
TEST(Messages, ThatAreStartedHideWhereRanksAreAhead) {
  for (double message : {0.0, 1.0, 1.4}) {
    auto period = [&](int32_t ahead, bool isStarted) {
      auto step = [&](int32_t microbatches) {
        Scheduled made = *choose(*findPolicy("1f1b"), 4, microbatches, {.ahead = ahead}).scheduled;
        Orders programs = isStarted ? startedOf(made) : programsOf(made);
        return simulate(programs, made.pipeline, UnitCosts{1, 1, 1, message}).makespan;
      };
      return (step(40) - step(20)) / 20;
    };
    // From B of the last rank to the first one and back with F, four microbatches later.
    EXPECT_NEAR(period(0, true), 3 + 6 * message / 4, 1e-9);
    EXPECT_NEAR(period(1, true), 3, 1e-9);
    EXPECT_GE(period(1, false), 3 + message);
  }
}

TEST(Messages, OfRanksWithTwoChunks) {
  EXPECT_EQ(textOf(programsOf(make("looped_bfs", 2, 1))[1]), "RF0 F0 SF0 RF0 F0 B0 SB0 RB0 B0 SB0");
  // In a V the two chunks of the last rank follow each other, and send nothing.
  EXPECT_EQ(textOf(programsOf(make("zb_v", 2, 1))[1]), "RF0 F0 F0 SF0 RB0 I0 W0 I0 SB0 W0");
}

/// 1F1B is for one chunk: a rank would go back through its first one before it goes forward through
/// the second.
TEST(Policies, OneForwardOneBackwardRefusesTwoChunks) {
  EXPECT_EQ(choose(*findPolicy("1f1b"), 2, 2, {.chunks = 2}).fault.message,
            "1f1b has 1 stage on each rank, found chunks = 2");
}

TEST(Policies, OnlyOneForwardOneBackwardDoesForwardsAhead) {
  auto kept = [](int32_t microbatches, int32_t ahead) {
    Choice choice = choose(*findPolicy("1f1b"), 4, microbatches, {.ahead = ahead});
    return countKept(choice.scheduled->orders, KeptUntil::Weights);
  };
  EXPECT_EQ(kept(12, 1), (std::vector<int64_t>{7, 5, 3, 1}));
  EXPECT_EQ(kept(12, 2), (std::vector<int64_t>{10, 7, 4, 1}));
  EXPECT_EQ(kept(3, 1), (std::vector<int64_t>{3, 3, 3, 1}));
  EXPECT_EQ(choose(*findPolicy("zb_h1"), 2, 2, {.ahead = 1}).fault.message,
            "zb_h1 does no forwards ahead, found ahead = 1");
}

/// A random schedule, with numbers that it may not be for.
TEST(Policies, TenThousandRandomOnes) {
  std::mt19937 random(1);
  auto upTo = [&](int32_t most) { return static_cast<int32_t>(random() % (most + 1)); };
  std::vector<const SchedulePolicy *> policies = writtenPolicies();
  int legal = 0;
  for (int round = 0; round < 10000; ++round) {
    const SchedulePolicy &policy = *policies[random() % policies.size()];
    int32_t ranks = 1 + upTo(7), microbatches = upTo(20);
    Options options = {.chunks = upTo(3),
                       .group = policy.takesGroup && random() % 2 ? upTo(ranks + 3) : 0};
    std::string what = policy.name.str() + " " + std::to_string(ranks) + " " +
                       std::to_string(options.chunks) + " " + std::to_string(options.group) + " " +
                       std::to_string(microbatches);
    Choice choice = choose(policy, ranks, microbatches, options);
    if (!choice.scheduled) { // by the numbers alone: what is made is legal
      ASSERT_EQ(choice.fault.rule, "numbers") << what << ": " << choice.fault.message;
      continue;
    }
    ++legal;
    const auto &[pipeline, orders] = *choice.scheduled;
    ASSERT_FALSE(checkOrders(orders, pipeline)) << what;
    if (round % 8 == 0)
      for (bool sendsBlock : {false, true})
        ASSERT_EQ(replayed(placeMessages(orders, pipeline), pipeline, sendsBlock), "") << what;
    UnitCosts costs = {1.0 + upTo(8), 1.0 + upTo(8), 1.0 + upTo(8), 0.5 * upTo(4)};
    Simulation simulation = simulate(orders, pipeline, costs);
    double all = microbatches * pipeline.stages() * (costs.f + costs.i + costs.w), busy = 0;
    if (policy.isDual())
      all /= 2; // each copy does half of the microbatches
    for (double each : simulation.busy)
      busy += each;
    EXPECT_NEAR(busy, all, 1e-9 * all) << what;
    // No microbatch is faster than its way down the stages and back.
    double messages = 0;
    for (int32_t stage : pipeline.getChains().front().stages)
      if (int32_t after = pipeline.after(stage);
          after >= 0 && pipeline.rankOf(after) != pipeline.rankOf(stage))
        messages += costs.message;
    EXPECT_GE(simulation.makespan + 1e-9,
              pipeline.getChains().front().stages.size() * (costs.f + costs.i) + 2 * messages)
        << what;
    for (size_t rank = 0; rank < orders.size(); ++rank)
      EXPECT_GE(simulation.makespan + 1e-9, simulation.busy[rank]);
  }
  EXPECT_GT(legal, 4000);
}

TEST(Slots, ReuseOnlyWhatIsFree) {
  Slots slots = countSlots(std::vector<Lifetime>{{0, 3}, {1, 2}, {3, 4}, {4, 5}});
  // The third begins where the first ends, so it cannot take its place; the second's it can.
  EXPECT_EQ(slots.count, 2);
  EXPECT_EQ(slots.slotOf, (std::vector<int32_t>{0, 1, 1, 0}));
}

struct Lives {
  std::vector<int64_t> bytes;
  std::vector<llvm::BitVector> conflicts;
  int64_t live = 0;
};

Lives randomLives(std::mt19937 &random, size_t pieces, int64_t length) {
  Lives lives;
  std::vector<std::pair<int64_t, int64_t>> spans;
  for (size_t i = 0; i < pieces; ++i) {
    int64_t begin = random() % length;
    spans.push_back({begin, std::min<int64_t>(length - 1, begin + random() % 6)});
    lives.bytes.push_back(64 * (random() % 40));
    lives.conflicts.emplace_back(pieces);
  }
  for (size_t i = 0; i < pieces; ++i)
    for (size_t j = 0; j < pieces; ++j)
      if (i != j && spans[i].first <= spans[j].second && spans[j].first <= spans[i].second)
        lives.conflicts[i].set(j);
  for (int64_t t = 0; t < length; ++t) {
    int64_t sum = 0;
    for (size_t i = 0; i < pieces; ++i)
      sum += spans[i].first <= t && t <= spans[i].second ? lives.bytes[i] : 0;
    lives.live = std::max(lives.live, sum);
  }
  return lives;
}

TEST(Packing, NoTwoLivePiecesOverlap) {
  std::mt19937 random(1);
  double worst = 1, sum = 0;
  constexpr int kRounds = 200;
  for (int round = 0; round < kRounds; ++round) {
    Lives lives = randomLives(random, 5 + random() % 60, 40);
    memory::Packing packing = memory::pack(lives.bytes, lives.conflicts, lives.live);
    for (size_t i = 0; i < lives.bytes.size(); ++i) {
      EXPECT_EQ(packing.offsets[i] % 64, 0);
      EXPECT_LE(packing.offsets[i] + lives.bytes[i], packing.bytes);
      for (unsigned j : lives.conflicts[i].set_bits())
        EXPECT_TRUE(!lives.bytes[i] || !lives.bytes[j] ||
                    packing.offsets[i] + lives.bytes[i] <= packing.offsets[j] ||
                    packing.offsets[j] + lives.bytes[j] <= packing.offsets[i]);
    }
    EXPECT_LE(memory::leastBytes(lives.bytes, lives.conflicts), lives.live);
    double ratio = lives.live ? static_cast<double>(packing.bytes) / lives.live : 1;
    EXPECT_GE(ratio, 1);
    worst = std::max(worst, ratio);
    sum += ratio;
  }
  EXPECT_LT(sum / kRounds, 1.001);
  EXPECT_LT(worst, 1.01); // random lives are harder than those of layers
}

/// Each two of three pieces are live at once, at some time, and never all three.
TEST(Packing, WhatEachTwoNeedIsNeeded) {
  std::vector<int64_t> bytes = {64, 128, 256, 1000};
  std::vector<llvm::BitVector> conflicts(4, llvm::BitVector(4));
  for (auto [a, b] : {std::pair(0, 1), {1, 2}, {0, 2}})
    conflicts[a].set(b), conflicts[b].set(a);
  EXPECT_EQ(memory::leastBytes(llvm::ArrayRef(bytes).take_front(3), conflicts), 64 + 128 + 256);
  EXPECT_EQ(memory::leastBytes(bytes, conflicts), 1024);
  EXPECT_EQ(memory::pack(bytes, conflicts, 1000).bytes, 1024);
}

} // namespace
