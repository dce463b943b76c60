//===- auto-test.cpp - `auto` beside the named schedules ---------------------------===//
//
// For random numbers and costs, `auto` may keep as much as a named schedule does, and must not take
// longer; no messages deadlock. The disabled test does so for 200 sets of costs.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Policy.h"
#include "lib/Pipeline/Simulate.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <chrono>
#include <map>
#include <random>

using namespace tplan::pipeline;

namespace {

struct Played {
  double makespan;
  int32_t kept;
};
std::optional<Played> play(const SchedulePolicy &policy, int32_t ranks, int32_t microbatches,
                           Options options, const Costs &costs) {
  Choice choice = choose(policy, ranks, microbatches, options, &costs);
  if (!choice.scheduled)
    return std::nullopt;
  const auto &[pipeline, orders] = *choice.scheduled; // which has been checked
  for (bool sendsBlock : {false, true})
    EXPECT_FALSE(
        replay(programsOf(placeMessages(orders, pipeline), pipeline), pipeline, sendsBlock));
  std::vector<int64_t> kept = countKept(orders, KeptUntil::Weights);
  return Played{simulate(orders, pipeline, costs).makespan,
                static_cast<int32_t>(*std::max_element(kept.begin(), kept.end()))};
}

/// Named schedules for so many stages on a rank, of one copy.
std::vector<const SchedulePolicy *> namedFor(int32_t chunks) {
  std::vector<const SchedulePolicy *> policies = getPolicies();
  std::erase_if(policies, [&](const SchedulePolicy *policy) {
    return policy->name == "auto" || policy->isDual() ||
           (!policy->takesChunks && policy->standardChunks() != chunks);
  });
  return policies;
}

/// Compares with each; how many comparisons there were.
int compare(int sets, uint64_t start) {
  std::mt19937_64 random(start);
  auto between = [&](double low, double high) {
    return low + (high - low) * static_cast<double>(random() >> 11) * 0x1p-53;
  };
  const SchedulePolicy &automatic = *findPolicy("auto");
  int compared = 0;
  for (int i = 0; i < sets; ++i) {
    int32_t ranks = 2 + random() % 3, chunks = 1 + random() % 2,
            microbatches = ranks + random() % (2 * ranks + 1);
    Costs costs = UnitCosts{between(0.5, 2), between(0.5, 2), between(0.3, 2),
                            random() & 1 ? between(0, 0.5) : 0.0};
    std::map<int32_t, double> found; // by memory
    for (const SchedulePolicy *policy : namedFor(chunks)) {
      std::optional<Played> named = play(*policy, ranks, microbatches, {chunks, 0}, costs);
      if (!named)
        continue;
      auto [it, isNew] = found.try_emplace(named->kept, 0);
      if (isNew) {
        std::optional<Played> got =
            play(automatic, ranks, microbatches, {chunks, 0, named->kept}, costs);
        EXPECT_TRUE(got.has_value());
        EXPECT_LE(got->kept, named->kept);
        it->second = got->makespan;
      }
      EXPECT_LE(it->second, named->makespan * (1 + 1e-9))
          << policy->name.str() << ", " << ranks << " ranks, " << chunks << " chunks, "
          << microbatches << " microbatches, set " << i;
      ++compared;
    }
  }
  return compared;
}

} // namespace

TEST(Auto, NeverSlowerThanNamed) { EXPECT_GT(compare(12, 7), 50); }
TEST(Auto, DISABLED_NeverSlowerThanNamed200) { EXPECT_GT(compare(200, 11), 1000); }

// Where messages take time, or W is long, it is better than each that fits the memory of 1F1B.
TEST(Auto, BetterThanAllInTheMemoryOf1F1B) {
  for (UnitCosts unit : {UnitCosts{1, 2, 1, 1}, UnitCosts{10, 8, 12, 1}})
    for (int32_t chunks : {1, 2}) {
      Costs costs = unit;
      int32_t memory = 4 * chunks;
      Played got = *play(*findPolicy("auto"), 4, 8, {chunks, 0, memory}, costs);
      int fit = 0;
      for (const SchedulePolicy *policy : namedFor(chunks))
        if (auto named = play(*policy, 4, 8, {chunks, 0}, costs); named && named->kept <= memory) {
          EXPECT_LT(got.makespan, named->makespan) << policy->name.str();
          ++fit;
        }
      EXPECT_GE(fit, 3);
    }
}

/// How much slower the machine is than that of scripts/tests.tsv, if scripts/test says so.
static double slowness() {
  const char *said = getenv("SLOWNESS");
  return said ? std::max(1.0, atof(said)) : 1;
}

// A plan with 16 stages of ranks is searched in seconds.
TEST(Auto, Seconds) {
  auto begin = std::chrono::steady_clock::now();
  Costs costs = UnitCosts{1, 1.1, 0.9, 0.1};
  EXPECT_TRUE(play(*findPolicy("auto"), 16, 64, {2, 0}, costs));
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  std::printf("16 ranks, 64 microbatches: %.2f s\n", seconds);
  EXPECT_LE(seconds, 5 * slowness());
}

TEST(Auto, Refuses) {
  Choice few = choose(*findPolicy("auto"), 4, 8, {2, 0, 1});
  EXPECT_EQ(few.fault.message,
            "auto keeps an activation for each stage of a rank: give it at least "
            "2, found memory = 1");
  EXPECT_EQ(choose(*findPolicy("1f1b"), 4, 8, {0, 0, 4}).fault.message,
            "1f1b takes no memory, found memory = 4");
  EXPECT_EQ(choose(*findPolicy("auto"), 4, 8, {3, 0}).fault.message,
            "auto has at most 2 stages on each rank, found chunks = 3");
}
