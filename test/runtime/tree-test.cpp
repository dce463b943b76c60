//===- tree-test.cpp - what processes do together, and who is lost -----------===//
//
// Ranks are threads here, each with sockets of its own.
//
//===----------------------------------------------------------------------===//

#include "job.h"

#include "runtime/support/profile.h"
#include "runtime/transports/tree.h"

#include <atomic>
#include <numeric>
#include <thread>

using namespace job;

namespace {

constexpr double patience = 60; // seconds, of ranks that wait for nobody in vain

/// The body on each of so many ranks, connected.
void onLinks(int ranks, const std::function<void(Links &)> &body) {
  int port = freePort();
  std::vector<std::thread> threads;
  for (int rank = 0; rank < ranks; ++rank)
    threads.emplace_back([&, rank] {
      Rendezvous meeting;
      Links links;
      Launch launch = launchOf(rank, ranks, port);
      Status status = meeting.open(launch, patience);
      if (status.ok())
        status = links.open(launch, meeting, patience);
      if (status.ok())
        status = meeting.leave(patience);
      EXPECT_OK(status);
      if (status.ok())
        body(links);
    });
  for (std::thread &thread : threads)
    thread.join();
}

/// Sums that only one order gives, and bytes of each member.
void useTree(Tree &tree, int self, int members) {
  for (int64_t count : {0, 1, 7, 20000}) {
    std::vector<double> values(count), expected(count);
    auto valueOf = [](int member, int64_t i) { return member ? 1.0 + (double)i : 1e16; };
    for (int64_t i = 0; i < count; ++i) {
      values[i] = valueOf(self, i), expected[i] = valueOf(0, i);
      for (int member = 1; member < members; ++member)
        expected[i] += valueOf(member, i);
    }
    EXPECT_OK(tree.sum(values.data(), count));
    EXPECT_TRUE(values == expected) << count;
  }
  for (int root = 0; root < members; ++root)
    for (int64_t bytes : {0, 1, 1000, 300001}) {
      std::string data(bytes, self == root ? char('a' + root) : '-');
      EXPECT_OK(tree.broadcast(data.data(), bytes, root));
      EXPECT_TRUE(data == std::string(bytes, char('a' + root))) << bytes << " of " << root;
    }
}

/// So many meetings of all ranks, or until the job ends.
Status meet(Links &links, int times, double seconds = patience) {
  Tree tree(links, 0, everyone(links.size(), links.rank()), seconds);
  double nothing = 0;
  for (int i = 0; i < times; ++i)
    TP_TRY(tree.sum(&nothing, 1));
  return {};
}
constexpr int once = 1, again = 2;

TEST(Tree, SumsAndBytesOfAllRanks) {
  for (int ranks : {2, 3, 4, 8, 11})
    onLinks(ranks, [&](Links &links) {
      Tree tree(links, 0, everyone(ranks, links.rank()), patience);
      useTree(tree, links.rank(), ranks);
      links.leave();
    });
}

TEST(Tree, GroupsHaveTreesOfTheirOwn) {
  onLinks(8, [](Links &links) {
    // Even and odd ranks, each from the last to the first.
    Members group{"parity", {}, 0};
    for (int rank = 6 + links.rank() % 2; rank >= 0; rank -= 2) {
      if (rank == links.rank())
        group.self = (int)group.ranks.size();
      group.ranks.push_back(rank);
    }
    Tree all(links, 0, everyone(8, links.rank()), patience);
    for (uint32_t number : {1u, 2u}) {
      EXPECT_OK(links.connect(number, group, patience));
      Tree tree(links, number, group, patience);
      useTree(tree, group.self, 4);
      // Odd ranks go on while even ones still are where all meet.
      if (links.rank() % 2)
        useTree(tree, group.self, 4);
      useTree(all, links.rank(), 8);
      links.drop(number);
    }
    links.leave();
  });
}

TEST(Tree, WhoLeavesIsNotLost) {
  onLinks(4, [](Links &links) {
    EXPECT_OK(meet(links, once));
    std::this_thread::sleep_for(std::chrono::milliseconds(100 * links.rank()));
    EXPECT_OK(links.poll(0));
    links.leave();
  });
}

TEST(Tree, WhoIsGoneIsNamedByAll) {
  for (int victim = 0; victim < 7; ++victim)
    onLinks(7, [&](Links &links) {
      links.place = [&] { return std::string("computes"); };
      if (links.rank() == victim) {
        EXPECT_OK(meet(links, once));
        return; // its sockets close, and it has said nothing
      }
      EXPECT_FAILS(meet(links, again), format("rank %d is gone: its connection to rank ", victim),
                   format("; rank %d computes", links.rank()));
    });
}

TEST(Tree, WhoFailsIsNamedByAll) {
  for (int victim : {0, 1, 4})
    onLinks(5, [&](Links &links) {
      if (links.rank() == victim) {
        EXPECT_OK(meet(links, once));
        return links.fail("x.tplan:12: the loss is not a number");
      }
      EXPECT_FAILS(meet(links, again),
                   format("rank %d has failed: x.tplan:12: the loss is not a number", victim));
      // This rank's own report does not hide the cause from others.
      links.fail("another rank has failed");
    });
}

TEST(Tree, WhoIsGoneIsTheReasonOfFailures) {
  onLinks(4, [](Links &links) {
    if (links.rank() == 3)
      return (void)meet(links, once).ok();
    Status status = meet(links, links.rank() == 2 ? once : again);
    // A library has found the loss first, and knows no name: all are asked.
    if (links.rank() == 2 && status.ok())
      status = links.callRoll(patience);
    // It may have answered just before it went.
    for (double begin = monotonicSeconds(); status.ok() && monotonicSeconds() - begin < patience;)
      status = links.poll(0.01);
    EXPECT_FAILS(status, "rank 3 is gone: its connection to rank 1: ");
    links.fail("NCCL has failed");
  });
}

TEST(Tree, AllAnswerTheRoll) {
  onLinks(6, [](Links &links) {
    links.place = [&] { return format("is at place %d", links.rank()); };
    Tree tree(links, 0, everyone(6, links.rank()), patience);
    double nothing = 0;
    if (links.rank() == 4) {
      EXPECT_OK(links.callRoll(patience));
      EXPECT_EQ(links.others(), "rank 0 is at place 0; rank 1 is at place 1; rank 2 is at place 2; "
                                "rank 3 is at place 3; rank 5 is at place 5");
    }
    EXPECT_OK(tree.sum(&nothing, 1));
    links.leave();
  });
}

/// Each way to its place in the tree, at once.
TEST(Tree, WhoIsSilentIsNamedByAll) {
  std::vector<std::thread> jobs;
  for (int victim : {0, 1, 4})
    jobs.emplace_back([victim] {
      std::atomic<int> left = 4;
      onLinks(5, [&](Links &links) {
        if (links.rank() == victim) {
          EXPECT_OK(meet(links, once));
          while (left) // looks at nothing meanwhile
            std::this_thread::sleep_for(std::chrono::milliseconds(10));
          return;
        }
        EXPECT_FAILS(meet(links, again, 4),
                     format("rank %d is gone: it does not answer rank ", victim));
        links.fail("");
        --left;
      });
    });
  for (std::thread &job : jobs)
    job.join();
}

TEST(Tree, OtherOrdersAreRefused) {
  onLinks(2, [](Links &links) {
    Tree tree(links, 0, everyone(2, links.rank()), patience);
    double values[2] = {};
    Status status = tree.sum(values, links.rank() ? 2 : 1);
    if (links.rank() == 0) {
      EXPECT_FAILS(status, "ranks do not do the same together: 16 bytes", "8 are expected");
      links.fail(status.message());
    } else {
      EXPECT_FAILS(status, "rank 0 has failed: ranks do not do the same");
    }
  });
  onLinks(2, [](Links &links) {
    double value = 0;
    if (links.rank())
      EXPECT_OK(links.send(0, 0, 5, "", patience));
    Tree tree(links, 0, everyone(2, links.rank()), patience);
    Status status = tree.sum(&value, 1);
    if (links.rank() == 0) {
      EXPECT_FAILS(status, "ranks do not meet in the same order", "meeting 1", "is at 5");
      links.fail(status.message());
    } else {
      EXPECT_FAILS(status, "rank 0 has failed");
    }
  });
}

TEST(Tree, TheWayFromOneToAnother) {
  //        0
  //    1       2
  //  3   4   5   6
  EXPECT_EQ(wayTo(0, 4), 1);
  EXPECT_EQ(wayTo(1, 4), 4);
  EXPECT_EQ(wayTo(4, 3), 1);
  EXPECT_EQ(wayTo(1, 6), 0);
  EXPECT_EQ(wayTo(2, 6), 6);
  EXPECT_EQ(wayTo(5, 0), 2);
}

} // namespace
