//===- sequences-test.cpp - many collectives, together and one after the other --===//

#include "case.h"
#include "world.h"

#include <cmath>
#include <unistd.h>

using namespace conformance;
using namespace tplan::runtime;

namespace {

/// A bucket of random operations over a group.
void randomBucket(Rank &rank, Communicator &group, uint64_t seed) {
  Draw draw(seed);
  std::vector<std::unique_ptr<Instance>> instances;
  std::vector<Operation> operations;
  for (int64_t i = 1 + draw.below(6); i > 0; --i) {
    Case one = randomCase(draw, group.size());
    instances.push_back(
        std::make_unique<Instance>(one, group.size(), group.member(), mix(seed, i, 0)));
    operations.push_back(instances.back()->operation());
  }
  EXPECT_OK(group.issue(operations, rank.team, nullptr));
  for (auto &instance : instances)
    EXPECT_EQ(instance->wrong(), "") << "bucket " << seed;
}

} // namespace

TEST_P(Conformance, RandomSequencesOfBuckets) {
  onEachMesh([&](Rank &rank) {
    Draw draw(3);
    for (int bucket = 0; bucket < 60; ++bucket) {
      Communicator &group = *rank.groups[draw.below((int64_t)rank.groups.size())];
      // The ranks come at different times.
      if (mix(bucket, rank.number(), 5) % 8 == 0)
        usleep(300);
      randomBucket(rank, group, 1000 + bucket);
    }
  });
}

TEST_P(Conformance, GroupsRunAtTheirOwnPace) {
  // Ranks that differ in a lead issue numbers of operations that others never see.
  onEachMesh([&](Rank &rank) {
    Communicator &group = *rank.groups[1];
    int lead = *std::min_element(group.members().begin(), group.members().end());
    for (int i = 0; i < 20 + 30 * lead; ++i)
      randomBucket(rank, group, 5000 + lead * 100 + i);
    EXPECT_OK(rank.transport.world().barrier());
  });
}

TEST_P(Conformance, ManySmallOperationsTogether) {
  onEachMesh([&](Rank &rank) {
    Communicator &group = *rank.groups.back();
    std::vector<std::unique_ptr<Instance>> instances;
    std::vector<Operation> operations;
    for (int i = 0; i < 300; ++i) {
      Case one = {.kind = i % 3 ? TP_ALL_REDUCE : TP_ALL_GATHER, .inner = i, .inPlace = true};
      instances.push_back(std::make_unique<Instance>(one, group.size(), group.member(), i));
      operations.push_back(instances.back()->operation());
    }
    EXPECT_OK(group.issue(operations, rank.team, nullptr));
    for (auto &instance : instances)
      EXPECT_EQ(instance->wrong(), "");
  });
}

TEST_P(Conformance, BarrierBroadcastAndSum) {
  onEachMesh([&](Rank &rank) {
    std::vector<Communicator *> all = {&rank.transport.world()};
    for (auto &group : rank.groups)
      all.push_back(group.get());
    for (Communicator *group : all) {
      EXPECT_OK(group->barrier());
      for (int root = 0; root < group->size(); ++root)
        for (int64_t bytes : {0, 1, 1000, 300001}) {
          std::string data(bytes, 'x');
          if (group->member() == root)
            data.assign(bytes, char('a' + root));
          EXPECT_OK(group->broadcast(data.data(), bytes, root));
          EXPECT_TRUE(data == std::string(bytes, char('a' + root))) << bytes << " of " << root;
        }
      // Large beside small: only one order gives these bits.
      double values[3] = {1e16, (double)group->member(), 1}, expected[3] = {1e16, 0, 1};
      if (group->member())
        values[0] = 1;
      for (int m = 1; m < group->size(); ++m)
        expected[0] += 1, expected[1] += m, expected[2] += 1;
      EXPECT_OK(group->sum(values, 3, rank.team));
      for (int i = 0; i < 3; ++i)
        EXPECT_EQ(values[i], expected[i]);
    }
  });
}

TEST_P(Conformance, GroupsHaveTheirMembersInOrder) {
  onEachMesh([&](Rank &rank) {
    EXPECT_EQ(rank.transport.world().member(), rank.number());
    for (auto &group : rank.groups) {
      EXPECT_EQ(group->members()[group->member()], rank.number());
      std::vector<int64_t> ranks(group->size());
      tp_collective what = {TP_ALL_GATHER, 0, TP_I64, 0, 1, 1, 1, 1, group->size(), 0, nullptr};
      int64_t mine = rank.number();
      Operation operation = {&what, &mine, ranks.data(), nullptr};
      EXPECT_OK(group->issue({&operation, 1}, rank.team, nullptr));
      EXPECT_TRUE(std::equal(ranks.begin(), ranks.end(), group->members().begin()));
    }
  });
}

TEST_P(Conformance, RefusesWhatMakesNoSense) {
  onEachMesh([&](Rank &rank) {
    Communicator &group = *rank.groups[1];
    int64_t n = group.size();
    int32_t source[16] = {(int32_t)n};
    struct Bad {
      tp_collective what;
      std::vector<std::string> parts;
    };
    auto base = [&](int32_t kind) {
      return tp_collective{kind, TP_SUM, TP_F32, 0, 1, 8, 1, 1, 8 * n, 0, source};
    };
    std::vector<Bad> all;
    auto bad = [&](tp_collective what, std::vector<std::string> parts) {
      all.push_back({what, std::move(parts)});
    };
    tp_collective what = base(TP_ALL_GATHER);
    what.whole = 8 * n + 1;
    bad(what, {"all-gather over 'a'", std::to_string(8 * n + 1)});
    what.whole = 8 * n - 1, what.outer = 2; // lines of no equal length
    bad(what, {"all-gather", "whole"});
    what = base(TP_REDUCE_SCATTER), what.type = TP_I1;
    bad(what, {"reduce-scatter", "i1"});
    what = base(TP_ALL_REDUCE), what.reduction = 2;
    bad(what, {"all-reduce", "reduction 2"});
    what = base(TP_ALL_REDUCE), what.inner = -1;
    bad(what, {"negative", "-1"});
    what = base(TP_ALL_REDUCE), what.inner = INT64_MAX / 4;
    bad(what, {"more elements than can be counted"});
    what = base(TP_ALL_REDUCE), what.type = 17;
    bad(what, {"unknown type", "17"});
    what = base(17);
    bad(what, {"unknown kind", "17"});
    what = base(TP_ALL_GATHER), what.last = 2;
    bad(what, {"all-to-all", "2"});
    bad(base(TP_PERMUTE), {"no such source", std::to_string(n)});
    for (const Bad &it : all) {
      float in[16] = {}, out[16 * 8] = {};
      Operation operation = {&it.what, in, out, nullptr};
      EXPECT_TRUE(helpers::failsWith(group.issue({&operation, 1}, rank.team, nullptr), it.parts));
    }
    EXPECT_OK(group.barrier());
  });
}
