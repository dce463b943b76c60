//===- wish-test.cpp - where ranks end when an end is asked for --------===//
//
// Ranks that meet some others between points, as in collectives of a plan, and are asked at random:
// all end before one point, which is the first that nobody had passed.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/wish.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <mutex>
#include <random>
#include <thread>
#include <vector>

using namespace tplan::runtime;

namespace {

/// Notes of processes, and their meetings, in one process: a rank that waits reads notes.
struct Wires {
  explicit Wires(int ranks) : boxes(ranks), met(ranks, 0) {}
  std::mutex lock;
  std::condition_variable changed;
  std::vector<std::deque<Note>> boxes;
  std::vector<int64_t> met; // meetings that each rank has come to
  int64_t sent = 0;
};

class Wired : public Notes {
public:
  Wired(Wires &wires, int rank) : wires(wires), rank(rank) {}
  Status send(int to, const Note &note) override {
    std::lock_guard guard(wires.lock);
    wires.boxes[to].push_back(note);
    ++wires.sent;
    wires.changed.notify_all();
    return {};
  }
  Status look(bool waits) override {
    std::unique_lock guard(wires.lock);
    if (waits)
      wires.changed.wait_for(guard, std::chrono::milliseconds(1),
                             [this] { return !wires.boxes[rank].empty(); });
    while (!wires.boxes[rank].empty()) {
      Note note = wires.boxes[rank].front();
      wires.boxes[rank].pop_front();
      guard.unlock();
      TP_TRY(heard(note));
      guard.lock();
    }
    return {};
  }
  double limit() const override { return 20; }

  /// Until the other has come to its meeting of this number.
  Status meet(int other, int64_t number) {
    for (;;) {
      {
        std::lock_guard guard(wires.lock);
        wires.met[rank] = std::max(wires.met[rank], number);
        wires.changed.notify_all();
        if (wires.met[other] >= number)
          return {};
      }
      TP_TRY(look(/*waits=*/true));
    }
  }

private:
  Wires &wires;
  const int rank;
};

struct Outcome {
  int64_t passed = 0;
  bool ended = false;
  int asked = 0;
};

/// `groups`: ranks meet in groups of so many between points; 1: never.
struct Case {
  int ranks, groups;
  bool processes;
};

std::vector<Outcome> play(const Case &it, uint32_t seed, int64_t length, bool asks,
                          int64_t *sent = nullptr) {
  Wires wires(it.ranks);
  std::vector<Wish> wishes(it.processes ? it.ranks : 1);
  std::vector<Outcome> outcomes(it.ranks);
  std::vector<std::thread> threads;
  std::mt19937 random(seed);
  int asker = (int)(random() % it.ranks), second = (int)(random() % it.ranks);
  auto moment = (int64_t)(random() % length);
  for (int rank = 0; rank < it.ranks; ++rank)
    threads.emplace_back([&, rank] {
      Wish &wish = wishes[it.processes ? rank : 0];
      Wired notes(wires, rank);
      Points points;
      points.start(wish, it.processes ? &notes : nullptr, rank, it.ranks);
      std::mt19937 mine(seed * 100 + rank);
      Outcome &out = outcomes[rank];
      for (int64_t point = 0; point < length; ++point) {
        if (asks && point == moment && (rank == asker || rank == second))
          wish.ask(10 + rank);
        ASSERT_TRUE(points.next(out.ended).ok());
        if (out.ended)
          break;
        out.passed = point + 1;
        if (mine() % 4 == 0)
          std::this_thread::sleep_for(std::chrono::microseconds(mine() % 200));
        int first = rank / it.groups * it.groups;
        for (int other = first; other < std::min(first + it.groups, it.ranks); ++other)
          if (other != rank)
            ASSERT_TRUE(notes.meet(other, point + 1).ok());
      }
      ASSERT_TRUE(points.finish().ok());
      out.asked = points.asked();
    });
  for (std::thread &thread : threads)
    thread.join();
  if (sent)
    *sent = wires.sent;
  return outcomes;
}

class Wishes : public testing::TestWithParam<Case> {};

TEST_P(Wishes, EndAllRanksBeforeOnePoint) {
  constexpr int64_t length = 30;
  int early = 0;
  for (uint32_t seed = 1; seed <= 60; ++seed) {
    std::vector<Outcome> outcomes = play(GetParam(), seed, length, /*asks=*/true);
    for (const Outcome &outcome : outcomes) {
      EXPECT_EQ(outcome.passed, outcomes[0].passed) << "seed " << seed;
      EXPECT_EQ(outcome.ended, outcomes[0].passed < length) << "seed " << seed;
      if (outcome.ended)
        EXPECT_GE(outcome.asked, 10);
    }
    early += outcomes[0].ended;
  }
  EXPECT_GT(early, 5); // ranks that nothing connects may all be done before they hear
}

/// Between processes two notes go up each edge, and two down, when all is done.
TEST_P(Wishes, SayNothingUntilTheEnd) {
  int64_t sent;
  for (const Outcome &outcome : play(GetParam(), 1, 30, /*asks=*/false, &sent))
    EXPECT_TRUE(outcome.passed == 30 && !outcome.ended && !outcome.asked);
  EXPECT_EQ(sent, GetParam().processes ? 4 * (GetParam().ranks - 1) : 0);
}

INSTANTIATE_TEST_SUITE_P(Each, Wishes,
                         testing::Values(Case{1, 1, false}, Case{6, 6, false}, Case{6, 1, false},
                                         Case{1, 1, true}, Case{2, 2, true}, Case{7, 7, true},
                                         Case{7, 3, true}, Case{7, 1, true}));

TEST(Wish, EndsWhereNobodyHasPassed) {
  Wish wish;
  EXPECT_FALSE(wish.begun());
  EXPECT_TRUE(wish.pass(1) && wish.pass(2) && wish.begun());
  wish.ask(10);
  wish.ask(15);
  EXPECT_EQ(wish.asked(), 10);
  EXPECT_TRUE(wish.pass(1) && wish.pass(2)); // a rank that is late comes there
  EXPECT_FALSE(wish.pass(3));
}

} // namespace
