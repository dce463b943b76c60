//===- started-test.cpp - collectives that run while the rank does other work ----===//

#include "case.h"
#include "runtime/ranks/host_streams.h"
#include "world.h"

#include <deque>
#include <unistd.h>

using namespace conformance;
using namespace tplan::runtime;

namespace {

/// What one call has started, until its event is waited for.
struct Flying {
  int64_t event;
  std::vector<std::unique_ptr<Instance>> instances;
};

Flying start(HostStreams &streams, int64_t stream, Communicator &group, int64_t event,
             uint64_t seed) {
  Draw draw(seed);
  Flying flying = {event, {}};
  std::vector<Operation> operations;
  for (int64_t i = 1 + draw.below(4); i > 0; --i) {
    Case one = randomCase(draw, group.size());
    one.clears = true;
    flying.instances.push_back(
        std::make_unique<Instance>(one, group.size(), group.member(), mix(seed, i, 1)));
    operations.push_back(flying.instances.back()->operation());
  }
  EXPECT_OK(streams.issue(stream, group, operations));
  EXPECT_OK(streams.record(stream, event));
  return flying;
}

void land(HostStreams &streams, const Flying &flying) {
  EXPECT_OK(streams.wait(0, flying.event));
  for (auto &instance : flying.instances)
    EXPECT_EQ(instance->wrong(), "");
}

/// A sum of one number over the members of a group.
struct Sum {
  explicit Sum(int64_t value) : value(value) {
    what.kind = TP_ALL_REDUCE, what.type = TP_I64;
    what.outer = what.inner = what.middle = what.last = what.whole = 1;
  }
  Operation operation() { return {&what, &value, &value, nullptr}; }
  tp_collective what = {};
  int64_t value;
};

} // namespace

// Streams of all groups, each with several calls in flight, whose events are waited for in any
// order; ranks come late to some.
TEST_P(Conformance, StartedOverAllGroups) {
  onEachMesh([&](Rank &rank) {
    int64_t groups = (int64_t)rank.groups.size(), events = 6;
    HostStreams streams;
    ASSERT_TRUE(streams.start(rank.transport, rank.team, 1 + groups, events).ok());
    Draw draw(17);
    std::deque<Flying> inFlight;
    for (int call = 0; call < 80; ++call) {
      if (mix(call, rank.number(), 6) % 8 == 0)
        usleep(300);
      while ((int64_t)inFlight.size() == events || (!inFlight.empty() && draw.below(3) == 0)) {
        auto one = inFlight.begin() + draw.below((int64_t)inFlight.size());
        land(streams, *one);
        inFlight.erase(one);
      }
      int64_t event = 0, group = draw.below(groups);
      while (std::any_of(inFlight.begin(), inFlight.end(),
                         [&](const Flying &each) { return each.event == event; }))
        ++event;
      // Stream 0 is the rank itself; a group is in one stream, so these have one of their own.
      inFlight.push_back(start(streams, 1 + group, *rank.groups[group], event, 5000 + call));
    }
    for (const Flying &each : inFlight)
      land(streams, each);
  });
}

// What a stream waits for comes before its later work, over whichever group it goes.
TEST_P(Conformance, StreamsWaitForEachOther) {
  onEachMesh([&](Rank &rank) {
    int64_t groups = (int64_t)rank.groups.size();
    HostStreams streams;
    ASSERT_TRUE(streams.start(rank.transport, rank.team, 1 + groups, groups).ok());
    for (int turn = 0; turn < 30; ++turn) {
      if (mix(turn, rank.number(), 7) % 4 == 0)
        usleep(200);
      Sum sum(1);
      int64_t expected = 1;
      for (int64_t group = 0; group < groups; ++group) {
        if (group) {
          EXPECT_OK(streams.wait(1 + group, group - 1));
        }
        Operation operation = sum.operation();
        EXPECT_OK(streams.issue(1 + group, *rank.groups[group], {&operation, 1}));
        EXPECT_OK(streams.record(1 + group, group));
        expected *= rank.groups[group]->size();
      }
      EXPECT_OK(streams.wait(0, groups - 1));
      EXPECT_EQ(sum.value, expected);
    }
  });
}

// More calls than the list of a stream has room for, and calls of stream 0 between them.
TEST_P(Conformance, StartedInGreatNumbers) {
  onEachMesh([&](Rank &rank) {
    HostStreams streams;
    ASSERT_TRUE(streams.start(rank.transport, rank.team, 2, 1).ok());
    Communicator &group = *rank.groups[0];
    std::vector<std::unique_ptr<Sum>> sums;
    for (int i = 0; i < 700; ++i) {
      sums.push_back(std::make_unique<Sum>(i));
      Operation operation = sums.back()->operation();
      EXPECT_OK(streams.issue(1, group, {&operation, 1}));
      if (i % 200 == 50) {
        Sum now(7);
        Operation waits = now.operation();
        EXPECT_OK(streams.issue(0, rank.transport.world(), {&waits, 1}));
        EXPECT_EQ(now.value, 7 * rank.transport.size());
      }
    }
    EXPECT_OK(streams.record(1, 0));
    EXPECT_OK(streams.wait(0, 0));
    for (int i = 0; i < 700; ++i)
      EXPECT_EQ(sums[i]->value, (int64_t)i * group.size());
  });
}

// A collective that makes no sense is refused where it is waited for, or before.
TEST_P(Conformance, StartedWithoutSense) {
  onEachMesh([&](Rank &rank) {
    HostStreams streams;
    ASSERT_TRUE(streams.start(rank.transport, rank.team, 2, 1).ok());
    Sum sum(1);
    sum.what.kind = 77;
    Operation operation = sum.operation();
    auto run = [&]() -> Status {
      TP_TRY(streams.issue(1, *rank.groups[0], {&operation, 1}));
      TP_TRY(streams.record(1, 0));
      return streams.wait(0, 0);
    };
    EXPECT_FAILS(run(), "77");
    operation.what = nullptr; // nothing goes on after it
    EXPECT_FAILS(run(), "77");
  });
}

// One list at a time is under way.
TEST_P(Conformance, BegunWhileOthersAreUnderWay) {
  onEachMesh([&](Rank &rank) {
    Communicator &group = *rank.groups[0];
    Sum first(1), second(2);
    Operation one = first.operation(), other = second.operation();
    EXPECT_OK(group.begin({&one, 1}));
    EXPECT_FAILS(group.begin({&other, 1}),
                 "begin while others are under way: all-reduce over '" + group.name() + "'");
    Advance how = Advance::nothing;
    while (how != Advance::done)
      ASSERT_OK(group.advance(rank.team, how));
    EXPECT_EQ(first.value, group.size());
    EXPECT_EQ(second.value, 2);
  });
}
