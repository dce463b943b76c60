//===- messages-test.cpp - messages, and groups of some coordinates alone -----------===//
//
// Ranks are a line of places, with as many beside each other at each place. Neighbours have two
// channels forward and one back, and the ends of the line are a group.
//
//===----------------------------------------------------------------------===//

#include "case.h"
#include "world.h"

#include "runtime/ranks/rank.h"
#include "runtime/support/types.h"
#include "tplan/collectives.h"

#include <algorithm>

using namespace conformance;
using namespace tplan::runtime;

namespace {

enum Channel { forward, otherForward, back, channels };

class Line {
public:
  /// `isLast`: the line is the last axis of the mesh, else the first.
  Line(int places, int beside, bool isLast)
      : places(places), beside(beside), isLast(isLast),
        made(isLast ? std::vector<int64_t>{beside, places} : std::vector<int64_t>{places, beside},
             axes(), coordinates()) {}

  const Mesh &mesh() const { return made; }
  int placeOf(const Rank &rank) const {
    return isLast ? rank.number() % places : rank.number() / beside;
  }
  /// From a place to the next one, or the way back.
  size_t channel(int place, Channel which) const { return place * channels + which; }
  size_t ends() const { return (places - 1) * channels; }
  size_t endsTurned() const { return ends() + 1; } // the last place first
  size_t all() const { return ends() + 2; }        // places

  const int places, beside;

private:
  int32_t along() const { return isLast; }
  std::vector<std::vector<int32_t>> axes() const {
    std::vector<std::vector<int32_t>> list(channels * (places - 1), {along()});
    list.insert(list.end(), {{along(), 1 - along()}, {along()}, {along()}});
    return list;
  }
  std::vector<std::vector<int32_t>> coordinates() const {
    std::vector<std::vector<int32_t>> list;
    for (int32_t i = 0; i + 1 < places; ++i)
      list.insert(list.end(), {{i, i + 1}, {i, i + 1}, {i + 1, i}});
    list.insert(list.end(), {{0, places - 1}, {places - 1, 0}, {}});
    return list;
  }

  const bool isLast;
  Mesh made;
};

Case messageOf(int32_t type, int64_t size, bool bare = true) {
  return {.kind = TP_MESSAGE, .type = type, .inner = size, .bare = bare};
}

/// Issues cases together; their results.
void runTogether(Rank &rank, Communicator &group, const std::vector<Case> &cases, uint64_t seed) {
  std::vector<std::unique_ptr<Instance>> instances;
  std::vector<Operation> operations;
  for (const Case &one : cases) {
    instances.push_back(
        std::make_unique<Instance>(one, group.size(), group.member(), seed + instances.size()));
    operations.push_back(instances.back()->operation());
  }
  EXPECT_OK(group.issue(operations, rank.team, nullptr)) << group.name();
  for (auto &instance : instances)
    EXPECT_EQ(instance->wrong(), "") << group.name();
}

class Messages : public Conformance {
protected:
  /// Lines that so many ranks can be; with two beside each other along the last axis of the mesh.
  void onEachLine(const std::function<void(Rank &, const Line &)> &body) {
    int ranks = GetParam().ranks;
    for (int places = 2; places <= ranks; ++places) {
      if (ranks % places)
        continue;
      int beside = ranks / places;
      Line line(places, beside, /*isLast=*/beside == 2);
      GetParam().run(ranks, line.mesh().program(), [&](Rank &rank) { body(rank, line); });
    }
  }
  /// The channels that a rank has, in an order in which no rank waits for one that waits.
  static void onEachChannel(Rank &rank, const Line &line,
                            const std::function<void(Communicator &, Channel)> &body) {
    for (int place = 0; place + 1 < line.places; ++place)
      for (Channel which : {forward, otherForward, back})
        if (auto &group = rank.groups[line.channel(place, which)])
          body(*group, which);
  }
};

INSTANTIATE_TEST_SUITE_P(Worlds, Messages, testing::ValuesIn(worlds()),
                         [](const auto &info) { return info.param.name; });

} // namespace

TEST_P(Messages, OnlyMembersHaveACommunicator) {
  onEachLine([](Rank &rank, const Line &line) {
    int place = line.placeOf(rank), last = line.places - 1;
    auto expect = [&](size_t number, int first, int second, int besides) {
      SCOPED_TRACE(line.mesh().program().groups[number].name);
      Communicator *group = rank.groups[number].get();
      ASSERT_EQ(group != nullptr, place == first || place == second);
      if (!group)
        return;
      EXPECT_EQ(group->size(), 2 * besides);
      EXPECT_EQ(group->member() / besides, place == first ? 0 : 1);
      EXPECT_EQ(group->members()[group->member()], rank.number());
      // Each member sees the same ones: all-gather says what others hold.
      std::vector<int64_t> ranks(group->size());
      int64_t mine = rank.number();
      tp_collective what = {TP_ALL_GATHER, 0, TP_I64, 0, 1, 1, 1, 1, group->size(), 0, nullptr};
      Operation operation = {&what, &mine, ranks.data(), nullptr};
      EXPECT_OK(group->issue({&operation, 1}, rank.team, nullptr));
      EXPECT_TRUE(std::equal(ranks.begin(), ranks.end(), group->members().begin()));
    };
    for (int i = 0; i < last; ++i) {
      expect(line.channel(i, forward), i, i + 1, 1);
      expect(line.channel(i, otherForward), i, i + 1, 1);
      expect(line.channel(i, back), i + 1, i, 1);
    }
    expect(line.ends(), 0, last, line.beside);
    expect(line.endsTurned(), last, 0, 1);
    EXPECT_NE(rank.groups[line.all()], nullptr);
  });
}

TEST_P(Messages, OfEachTypeAndOddSizesEachWay) {
  onEachLine([](Rank &rank, const Line &line) {
    onEachChannel(rank, line, [&](Communicator &group, Channel) {
      for (int32_t type : {TP_F64, TP_F32, TP_BF16, TP_F16, TP_I32, TP_I64, TP_I1})
        for (int64_t size : {0, 1, 7, 1031})
          for (bool bare : {false, true})
            runTogether(rank, group, {messageOf(type, size, bare)}, size);
      runTogether(rank, group, {{.kind = TP_MESSAGE, .outer = 3, .inner = 65}}, 1);
    });
  });
}

TEST_P(Messages, BelowAndAboveWhatLibrariesSendAtOnce) {
  onEachLine([](Rank &rank, const Line &line) {
    onEachChannel(rank, line, [&](Communicator &group, Channel) {
      for (int64_t bytes : {1 << 10, 100 << 10})
        for (int32_t type : {TP_F32, TP_BF16})
          runTogether(rank, group, {messageOf(type, bytes / bytesOf(type))}, bytes);
    });
    for (Channel which : {forward, back})
      if (auto &group = rank.groups[line.channel(0, which)])
        runTogether(rank, *group, {messageOf(TP_F64, (3 << 20) / 8 - 1)}, 2);
  });
}

TEST_P(Messages, ManyTogether) {
  onEachLine([](Rank &rank, const Line &line) {
    onEachChannel(rank, line, [&](Communicator &group, Channel) {
      runTogether(rank, group,
                  {messageOf(TP_F32, 1), messageOf(TP_BF16, 50000), messageOf(TP_I1, 3),
                   messageOf(TP_F64, 0), messageOf(TP_F32, 300001), messageOf(TP_I64, 77, false)},
                  3);
      std::vector<Case> cases;
      for (int i = 0; i < 200; ++i)
        cases.push_back(messageOf(i % 2 ? TP_F32 : TP_BF16, i));
      runTogether(rank, group, cases, 4);
      // Beside other kinds: the sum of both goes with it.
      runTogether(rank, group, {messageOf(TP_F32, 1000), {.inner = 100}}, 5);
    });
  });
}

// Values go down the line and come back, as microbatches do: each place adds to what it gets.
TEST_P(Messages, PassThroughAPipeline) {
  onEachLine([](Rank &rank, const Line &line) {
    constexpr int64_t size = 5000;
    int place = line.placeOf(rank), last = line.places - 1;
    tp_collective what = {TP_MESSAGE, 0, TP_I32, 0, 1, size, 1, 1, size, 0, nullptr};
    std::vector<int32_t> values(size);
    auto issue = [&](int at, Channel which, const void *in, void *out) {
      Operation operation = {&what, in, out, nullptr};
      EXPECT_OK(rank.groups[line.channel(at, which)]->issue({&operation, 1}, rank.team, nullptr));
    };
    auto expect = [&](int32_t first) {
      for (int64_t i = 0; i < size; ++i)
        ASSERT_EQ(values[i], first + i) << "at place " << place;
    };
    auto add = [&] {
      for (int32_t &value : values)
        value += 10000;
    };
    for (int32_t batch = 0; batch < 6; ++batch) {
      Channel which = batch % 2 ? otherForward : forward;
      for (int64_t i = 0; i < size; ++i)
        values[i] = place ? -1 : batch + (int32_t)i;
      if (place)
        issue(place - 1, which, nullptr, values.data());
      expect(batch + 10000 * place);
      add();
      if (place < last)
        issue(place, which, values.data(), nullptr);
      std::fill(values.begin(), values.end(), place < last ? -1 : batch);
      if (place == last)
        for (int64_t i = 0; i < size; ++i)
          values[i] += (int32_t)i;
      if (place < last)
        issue(place, back, nullptr, values.data());
      expect(batch + 10000 * (last - place));
      add();
      if (place)
        issue(place - 1, back, values.data(), nullptr);
    }
  });
}

TEST_P(Messages, EndsOfTheLineReduceAndGather) {
  onEachLine([](Rank &rank, const Line &line) {
    for (size_t number : {line.ends(), line.endsTurned()})
      if (auto &group = rank.groups[number])
        for (int32_t type : {TP_F32, TP_BF16})
          for (int32_t kind : {TP_ALL_REDUCE, TP_REDUCE_SCATTER, TP_ALL_GATHER}) {
            runTogether(rank, *group, {{.kind = kind, .type = type, .inner = 1031}}, 6);
            runTogether(rank, *group, {{.kind = kind, .type = type, .outer = 3, .inner = 7}}, 7);
          }
    EXPECT_OK(rank.transport.world().barrier());
  });
}

TEST_P(Messages, GroupsOfSomeRanksServeTheRuntime) {
  onEachLine([](Rank &rank, const Line &line) {
    auto check = [&](Communicator &group) {
      EXPECT_OK(group.barrier());
      for (int root = 0; root < group.size(); ++root) {
        std::string data(1000, 'x');
        if (group.member() == root)
          data.assign(1000, char('a' + root));
        EXPECT_OK(group.broadcast(data.data(), 1000, root));
        EXPECT_EQ(data, std::string(1000, char('a' + root)));
      }
      double value = 1 << group.member();
      EXPECT_OK(group.sum(&value, 1, rank.team));
      EXPECT_EQ(value, (1 << group.size()) - 1);
    };
    onEachChannel(rank, line, [&](Communicator &group, Channel) { check(group); });
    for (size_t number : {line.ends(), line.endsTurned(), line.all()})
      if (rank.groups[number])
        check(*rank.groups[number]);
  });
}

TEST_P(Messages, TheSenderAloneSendsBytes) {
  onEachLine([](Rank &rank, const Line &line) {
    onEachChannel(rank, line, [&](Communicator &group, Channel) {
      for (int64_t size : {1, 33, 5000, 300001}) {
        Instance instance(messageOf(TP_BF16, size), 2, group.member(), 1);
        int64_t before = GetParam().countedBytes(rank);
        Traffic said = rank.transport.traffic();
        Operation operation = instance.operation();
        EXPECT_OK(group.issue({&operation, 1}, rank.team, nullptr));
        int64_t sent = group.member() == 0 ? 2 * size : 0;
        Traffic now = rank.transport.traffic();
        EXPECT_EQ(GetParam().countedBytes(rank) - before, sent);
        EXPECT_EQ(now.sent[TP_MESSAGE] - said.sent[TP_MESSAGE], sent);
        EXPECT_EQ(now.staged[TP_MESSAGE], said.staged[TP_MESSAGE]);
        const tp_collective &what = instance.collective();
        EXPECT_EQ(tp_bytes_sent(&what, 2, group.member(), 2), sent);
        EXPECT_EQ(tp_most_bytes_sent(&what, 2, 2), 2 * size);
        EXPECT_EQ(tp_device_scratch(&what, 2, 2), 0);
      }
    });
  });
}

TEST_P(Messages, GoFromOneMemberToAnother) {
  onEachLine([](Rank &rank, const Line &line) {
    Communicator &all = *rank.groups[line.all()];
    if (all.size() == 2)
      return;
    float value = 0;
    tp_collective what = {TP_MESSAGE, 0, TP_F32, 0, 1, 1, 1, 1, 1, 0, nullptr};
    Operation operation = {&what, &value, &value, nullptr};
    EXPECT_FAILS(all.issue({&operation, 1}, rank.team, nullptr),
                 "the message over '" + all.name() + "' goes from one member to another",
                 "has " + std::to_string(all.size()));
  });
}

TEST_P(Messages, AreRefusedWhereTheRankIsNoMember) {
  onEachLine([](Rank &rank, const Line &line) {
    const tp_call call = {"F of stage 1", "toy.tplan", 9, TP_COLLECTIVE, 0, 4, 0};
    float value = 1;
    void *pointers[] = {&value, &value};
    tp_rank mine;
    mine.program = &line.mesh().program();
    mine.transport = &rank.transport;
    std::swap(mine.groups, rank.groups);
    for (int32_t group = 0; group < (int32_t)mine.groups.size(); ++group) {
      if (mine.groups[group]) {
        EXPECT_EQ(tp_member(&mine, group), mine.groups[group]->member());
        continue;
      }
      EXPECT_EQ(tp_member(&mine, group), -1);
      tp_collective what = {TP_MESSAGE, 0, TP_F32, group, 1, 1, 1, 1, 1, 0, nullptr};
      mine.error = {};
      EXPECT_EQ(tp_collectives(&mine, &call, &what, 1, pointers), 1);
      EXPECT_FAILS(mine.error, "toy.tplan:9: ", "that it is no member of: '",
                   std::string(mine.program->groups[group].name) + "'");
    }
    std::swap(mine.groups, rank.groups);
  });
}
