//===- threads-failures-test.cpp - a thread that fails takes the others along -------===//

#include "world.h"

#include "runtime/ranks/rank.h"
#include "runtime/support/profile.h"
#include "runtime/transports/threads.h"

#include <thread>

#include <sys/mman.h>
#include <unistd.h>

using namespace conformance;
using namespace tplan::runtime;

namespace {

const tp_call call = {"sum of gradients", "toy.tplan", 7, TP_COLLECTIVE, 0, 0, 0};

tp_collective sumOf(int64_t count) {
  return {TP_ALL_REDUCE, TP_SUM, TP_F32, 0, 1, count, 1, 1, count, 0, nullptr};
}

/// Runs a rank of generated code on each thread; what each returns is its error.
std::vector<std::string> runRanks(const tp_program &program, double hangLimit,
                                  const std::function<void(tp_rank &)> &body) {
  auto transports = threadTransports((int)ranksOf(program), hangLimit);
  std::vector<std::string> errors(transports.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < transports.size(); ++i)
    threads.emplace_back([&, i] {
      tp_rank rank;
      rank.program = &program;
      rank.transport = transports[i].get();
      EXPECT_OK(rank.team.start(1));
      EXPECT_OK(rank.transport->connect(program, rank.groups));
      body(rank);
      if (!rank.error.ok())
        rank.transport->abort(rank.error);
      errors[i] = rank.error.message();
    });
  for (std::thread &thread : threads)
    thread.join();
  return errors;
}

tp_collective messageOf(int64_t count) {
  return {TP_MESSAGE, TP_SUM, TP_F32, 0, 1, count, 1, 1, count, 0, nullptr};
}

int sendOnce(tp_rank &rank) {
  std::vector<float> values(1000, 1);
  tp_collective what = messageOf(1000);
  bool sends = rank.groups[0]->member() == 0;
  void *pointers[] = {sends ? values.data() : nullptr, sends ? nullptr : values.data()};
  return tp_collectives(&rank, &call, &what, 1, pointers);
}

int addOnce(tp_rank &rank, int64_t count = 1000) {
  std::vector<float> values(count, 1);
  tp_collective what = sumOf(count);
  void *pointers[] = {values.data(), values.data()};
  return tp_collectives(&rank, &call, &what, 1, pointers);
}

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

} // namespace

TEST(ThreadFailures, ARankThatFailsIsNamedByAllOthers) {
  Mesh mesh({4}, {{0}});
  for (int victim = 0; victim < 4; ++victim) {
    double begin = monotonicSeconds();
    auto errors = runRanks(mesh.program(), 60, [&](tp_rank &rank) {
      for (int round = 0; round < 100; ++round) {
        if (rank.transport->rank() == victim && round == 50) {
          usleep(20000); // the others wait
          fail(rank, &call, errorf("the loss is not a number"));
          return;
        }
        if (addOnce(rank))
          return;
      }
    });
    EXPECT_LT(monotonicSeconds() - begin, 5);
    std::string name = std::to_string(victim);
    for (int rank = 0; rank < 4; ++rank)
      EXPECT_EQ(errors[rank], rank == victim
                                  ? "toy.tplan:7: the loss is not a number"
                                  : "toy.tplan:7: rank " + std::to_string(rank) +
                                        " leaves the all-reduce over 'a': rank " + name +
                                        " failed: toy.tplan:7: the loss is not a number");
  }
}

TEST(ThreadFailures, FailuresReachGroupsThatTheRankIsNotIn) {
  Mesh mesh({2, 2}, {{1}});
  auto errors = runRanks(mesh.program(), 60, [&](tp_rank &rank) {
    // Rank 2 and 3 are the other group: they go on until the failure is known.
    if (rank.transport->rank() == 0) {
      usleep(5000);
      fail(rank, nullptr, errorf("no more data"));
      return;
    }
    while (!addOnce(rank))
      ;
  });
  for (int rank : {1, 2, 3})
    EXPECT_HAS(errors[rank], "rank 0 failed: no more data");
}

TEST(ThreadFailures, ARankThatDoesNotComeIsNamedAtTheLimit) {
  Mesh mesh({3}, {{0}});
  auto errors = runRanks(mesh.program(), 0.2, [&](tp_rank &rank) {
    if (rank.transport->rank() == 1)
      usleep(600000);
    addOnce(rank);
  });
  EXPECT_HAS(errors[0] + errors[2], "in the all-reduce over 'a' of toy.tplan:7 for rank 1");
  for (const std::string &error : errors) // a rank that comes too late fails, too
    EXPECT_HAS(error, "has waited 0.2 s");
}

// A message goes from rank 1 to rank 2, of three.
TEST(ThreadFailures, ARankThatDoesNotComeToAMessageIsNamedAtTheLimit) {
  Mesh mesh({3}, {{0}}, {{1, 2}});
  for (int victim : {1, 2}) {
    auto errors = runRanks(mesh.program(), 0.2, [&](tp_rank &rank) {
      if (rank.transport->rank() == victim)
        usleep(600000);
      if (rank.transport->rank())
        sendOnce(rank);
    });
    EXPECT_HAS(errors[3 - victim], "toy.tplan:7: rank " + std::to_string(3 - victim) +
                                       " leaves the message over 'a 1 to 2': rank " +
                                       std::to_string(3 - victim) +
                                       " has waited 0.2 s in the message over 'a 1 to 2' of "
                                       "toy.tplan:7 for rank " +
                                       std::to_string(victim));
    EXPECT_HAS(errors[victim], "has waited 0.2 s"); // a rank that comes too late fails, too
    EXPECT_EQ(errors[0], "");
  }
}

TEST(ThreadFailures, ARankThatFailsIsNamedByWhoWaitsForItsMessage) {
  Mesh mesh({3}, {{0}}, {{1, 2}});
  for (int victim = 0; victim < 3; ++victim) {
    auto errors = runRanks(mesh.program(), 60, [&](tp_rank &rank) {
      if (rank.transport->rank() == victim) {
        usleep(20000); // the others wait
        fail(rank, &call, errorf("the loss is not a number"));
        return;
      }
      while (rank.transport->rank() && !sendOnce(rank))
        ;
    });
    for (int rank : {1, 2})
      if (rank != victim)
        EXPECT_HAS(errors[rank], "leaves the message over 'a 1 to 2': rank " +
                                     std::to_string(victim) +
                                     " failed: toy.tplan:7: the loss is not a number");
  }
}

TEST(ThreadFailures, MembersThatDisagreeOnAMessageTouchNothing) {
  Mesh mesh({2}, {{0}}, {{0, 1}});
  float values[2][3] = {{1, 2, 3}, {4, 5, 6}};
  auto errors = runRanks(mesh.program(), 60, [&](tp_rank &rank) {
    int number = rank.transport->rank();
    tp_collective what = messageOf(2 + number);
    what.whole = 3; // which a message does not read
    void *pointers[] = {values[number], values[number]};
    tp_collectives(&rank, &call, &what, 1, pointers);
  });
  for (const std::string &error : errors)
    EXPECT_HAS(error, "do not issue the same collectives over 'a 0 to 1'");
  EXPECT_HAS(errors[0], "rank 1 has message over 'a 0 to 1' of toy.tplan:7: f32, extents 1 1 3 1");
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(values[i / 3][i % 3], i + 1);
}

TEST(ThreadFailures, TheRuntimesOwnWaitsHaveMoreTime) {
  Mesh mesh({2}, {{0}});
  auto errors = runRanks(mesh.program(), 0.1, [&](tp_rank &rank) {
    if (rank.transport->rank() == 1)
      usleep(300000); // writes a checkpoint
    fail(rank, nullptr, rank.transport->world().barrier());
  });
  EXPECT_EQ(errors[0] + errors[1], "");
}

TEST(ThreadFailures, RanksThatDisagreeTouchNothing) {
  Mesh mesh({3}, {{0}});
  float values[3][2] = {{1, 2}, {3, 4}, {5, 6}};
  auto errors = runRanks(mesh.program(), 60, [&](tp_rank &rank) {
    int number = rank.transport->rank();
    tp_collective what = sumOf(number == 2 ? 1 : 2);
    void *pointers[] = {values[number], values[number]};
    tp_collectives(&rank, &call, &what, 1, pointers);
  });
  for (const std::string &error : errors)
    EXPECT_HAS(error, "do not issue the same collectives over 'a'");
  EXPECT_HAS(errors[0], "rank 2 has all-reduce over 'a' of toy.tplan:7: f32, extents 1 1 1 1");
  for (int i = 0; i < 6; ++i)
    EXPECT_EQ(values[i / 2][i % 2], i + 1);
}

TEST(ThreadFailures, NobodyReadsTheMemoryOfARankThatLeft) {
  // Each rank gives its memory back as soon as it is out: a rank that read it then would crash.
  Mesh mesh({2, 2}, {{0}, {1}});
  constexpr int64_t count = 1 << 15;
  for (int trial = 0; trial < 200; ++trial)
    runRanks(mesh.program(), 60, [&](tp_rank &rank) {
      int number = rank.transport->rank();
      void *memory =
          mmap(nullptr, 4 * count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
      tp_collective what[2] = {sumOf(count), sumOf(count)};
      what[1].group = 1;
      void *pointers[] = {memory, memory};
      for (int round = 0; round < 20 && rank.error.ok(); ++round) {
        if (number == trial % 4 && round == trial % 20)
          fail(rank, &call, errorf("enough"));
        else
          tp_collectives(&rank, &call, &what[round % 2], 1, pointers);
      }
      if (!rank.error.ok())
        rank.transport->abort(rank.error);
      munmap(memory, 4 * count);
    });
}

// Sums of two groups are under way on all ranks when one of them fails: nobody waits for its part,
// or reads memory that is gone.
TEST(ThreadFailures, ARankThatFailsFinishesWhatAllHaveStarted) {
  Mesh mesh({4}, {{0}, {0}});
  for (int round = 0; round < 40; ++round) {
    double begin = monotonicSeconds();
    int victim = round % 4;
    auto errors = runRanks(mesh.program(), 60, [&](tp_rank &rank) {
      rank.streams = std::make_unique<HostStreams>();
      EXPECT_OK(rank.streams->start(*rank.transport, rank.team, 3, 2));
      tp_collective what = sumOf(20000);
      std::vector<std::vector<float>> values(8, std::vector<float>(20000, 1));
      Status status;
      for (int i = 0; status.ok() && i < 8; ++i) {
        if (rank.transport->rank() == victim && i == 1 + round % 7) {
          fail(rank, &call, errorf("the loss is not a number"));
          break;
        }
        Operation operation = {&what, values[i].data(), values[i].data(), &call};
        status = rank.streams->issue(1 + i % 2, *rank.groups[i % 2], {&operation, 1});
      }
      for (int stream = 1; rank.error.ok() && status.ok() && stream < 3; ++stream) {
        status = rank.streams->record(stream, stream - 1);
        if (status.ok())
          status = rank.streams->wait(0, stream - 1);
      }
      if (rank.error.ok())
        fail(rank, &call, std::move(status));
      rank.transport->abort(rank.error);
      rank.streams.reset(); // before the memory that others read
    });
    for (int i = 0; i < 4; ++i)
      EXPECT_HAS(errors[i], i == victim ? "the loss is not a number"
                                        : "rank " + std::to_string(victim) + " failed");
    EXPECT_LT(monotonicSeconds() - begin, 5);
  }
}
