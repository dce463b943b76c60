//===- team-test.cpp - each task once, on any number of threads --------------===//

#include "helpers.h"

#include "runtime/support/team.h"

#include <sched.h>
#include <thread>
#include <unistd.h>

using tplan::runtime::Team;

class TeamOf : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Threads, TeamOf, testing::Values(1, 2, 3, 4, 7));

TEST_P(TeamOf, RunsEachTaskOnceInManyJobs) {
  Team team;
  ASSERT_OK(team.start(GetParam()));
  for (int job = 0; job < 3000; ++job) {
    int64_t tasks = job % 67;
    std::vector<std::atomic<int>> seen(tasks);
    std::atomic<int> wrongThread{0};
    team.forEach(tasks, [&](int64_t task, int thread) {
      seen[task].fetch_add(1);
      if (thread < 0 || thread >= team.size())
        wrongThread.fetch_add(1);
    });
    // The job is over when run() returns, so these reads need no lock.
    for (auto &count : seen)
      ASSERT_EQ(count.load(), 1) << "job " << job;
    ASSERT_EQ(wrongThread.load(), 0);
  }
}

TEST_P(TeamOf, WakesAfterSleep) {
  Team team;
  ASSERT_OK(team.start(GetParam()));
  for (int job = 0; job < 20; ++job) {
    usleep(2000); // longer than any spin: all workers wait in the kernel
    std::atomic<int64_t> sum{0};
    team.forEach(100, [&](int64_t task, int) { sum.fetch_add(task); });
    ASSERT_EQ(sum.load(), 4950);
  }
}

TEST_P(TeamOf, WaitsForALongTaskOfAnotherThread) {
  Team team;
  ASSERT_OK(team.start(GetParam()));
  for (int job = 0; job < 5; ++job) {
    std::atomic<int> ended{0};
    team.forEach(GetParam(), [&](int64_t, int) {
      usleep(3000);
      ended.fetch_add(1);
    });
    ASSERT_EQ(ended.load(), GetParam());
  }
}

TEST(Team, UsesAllThreads) {
  Team team;
  ASSERT_OK(team.start(3));
  std::atomic<int> arrived{0}, threads{0};
  // Each task waits for the others: it ends only if three threads take them.
  team.forEach(3, [&](int64_t, int thread) {
    threads.fetch_or(1 << thread);
    arrived.fetch_add(1);
    while (arrived.load() < 3)
      sched_yield();
  });
  EXPECT_EQ(threads.load(), 7);
}

TEST(Team, GivesTheCallersMaskBack) {
  cpu_set_t before, after;
  ASSERT_EQ(sched_getaffinity(0, sizeof before, &before), 0);
  {
    Team team;
    ASSERT_OK(team.start(tplan::runtime::availableCpus()));
  }
  ASSERT_EQ(sched_getaffinity(0, sizeof after, &after), 0);
  EXPECT_TRUE(CPU_EQUAL(&before, &after));
}

TEST(Team, TeamsOfAProcessShareItsCpus) {
  int cpus = tplan::runtime::availableCpus();
  if (cpus < 2)
    GTEST_SKIP() << "needs two CPUs";
  auto maskOf = [&](int number, int teams, int threads) {
    cpu_set_t mask;
    std::thread([&] {
      Team team;
      EXPECT_OK(team.start(threads, number, teams));
      EXPECT_EQ(sched_getaffinity(0, sizeof mask, &mask), 0);
    }).join();
    return mask;
  };
  // Each has a CPU of its own where they fit exactly; else they float.
  cpu_set_t first = maskOf(0, cpus, 1), last = maskOf(cpus - 1, cpus, 1), both;
  EXPECT_EQ(CPU_COUNT(&first), 1);
  EXPECT_EQ(CPU_COUNT(&last), 1);
  CPU_AND(&both, &first, &last);
  EXPECT_EQ(CPU_COUNT(&both), 0);
  cpu_set_t floating = maskOf(0, cpus + 1, 1);
  EXPECT_EQ(CPU_COUNT(&floating), cpus);
}
