//===- play-test.cpp - what runs beside other work, in time ------------------===//
//
// Seconds are worked out by hand.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/Play.h"
#include <gtest/gtest.h>

using namespace tplan;
using cost::Load;
using cost::Play;

namespace {

constexpr rt::Category kernel = rt::Category::Kernel;

Load inside(const char *axes, double seconds, double memory = 0) {
  return {axes, seconds, /*betweenNodes=*/false, memory};
}
Load between(const char *axes, double seconds) { return {axes, seconds, /*betweenNodes=*/true, 0}; }

TEST(Play, WhatIsStartedCostsWhatIsLeftOfItAtItsAwait) {
  Play time;
  Play::Job job = time.start(inside("tp", 5), nullptr);
  time.work(kernel, 3, 0);
  EXPECT_FALSE(time.isDone(job));
  time.await(job);
  EXPECT_DOUBLE_EQ(time.getNow(), 5);
  EXPECT_DOUBLE_EQ(time.getSpent().hidden.at("tp"), 3);
  EXPECT_DOUBLE_EQ(time.getSpent().communication.at("tp"), 2);
  EXPECT_DOUBLE_EQ(time.getSpent().seconds(), 5);
}

TEST(Play, AChannelDoesOneThingAfterTheOther) {
  Play time;
  time.start(inside("tp", 2), nullptr);
  Play::Job second = time.start(inside("tp", 3), nullptr);
  EXPECT_DOUBLE_EQ(time.earliestEnd(second), 5);
  time.await(second);
  EXPECT_DOUBLE_EQ(time.getNow(), 5);
}

// Both have half of the link until the shorter one is done, after 4 s.
TEST(Play, ChannelsOfOneLinkSlowEachOther) {
  std::vector<cost::Span> spans;
  Play time(&spans);
  Play::Job longer = time.start(inside("tp", 4), nullptr);
  Play::Job shorter = time.start(inside("dp", 2), nullptr);
  time.work(kernel, 3, 0);
  time.await(shorter);
  EXPECT_DOUBLE_EQ(time.getNow(), 4);
  EXPECT_DOUBLE_EQ(time.getSpent().communication.at("dp"), 1);
  EXPECT_DOUBLE_EQ(time.getSpent().besideWaits.at("tp"), 1);
  time.await(longer);
  EXPECT_DOUBLE_EQ(time.getNow(), 6);
  ASSERT_EQ(spans.size(), 2U);
  EXPECT_EQ(spans[0].channel, "dp");
  EXPECT_DOUBLE_EQ(spans[0].end, 4);
  EXPECT_DOUBLE_EQ(spans[1].end, 6);
}

TEST(Play, LinksInsideAndBetweenNodesAreApart) {
  Play time;
  time.start(inside("tp", 4), nullptr);
  Play::Job other = time.start(between("dp", 3), nullptr);
  time.await(other);
  EXPECT_DOUBLE_EQ(time.getNow(), 3);
  time.finish();
  EXPECT_DOUBLE_EQ(time.getNow(), 4);
}

// 1.25 of the bandwidth are asked for, so 4 s of work take 5, and 4 of the collective's 10 s pass.
TEST(Play, WhatSharesTheMemoryOfADeviceSlowsBoth) {
  Play time;
  Play::Job job = time.start(inside("tp", 10, 0.25), nullptr);
  time.work(kernel, 4, 1);
  EXPECT_DOUBLE_EQ(time.getNow(), 5);
  EXPECT_DOUBLE_EQ(time.getSpent().work.at(kernel), 5);
  time.await(job);
  EXPECT_DOUBLE_EQ(time.getNow(), 11);
}

TEST(Play, MemoryIsEnoughForWhatComputesMost) {
  Play time;
  time.start(inside("tp", 10, 0.25), nullptr);
  time.work(kernel, 4, 0.75);
  EXPECT_DOUBLE_EQ(time.getNow(), 4);
}

// The second hop waits for the first, and the rank with it.
TEST(Play, AHopWaitsForTheOneBefore) {
  Play time;
  Play::Job first = time.start(inside("dp.1", 2), nullptr);
  Play::Job second = time.start(between("dp.0", 3), nullptr, first);
  time.await(second);
  EXPECT_DOUBLE_EQ(time.getNow(), 5);
  EXPECT_DOUBLE_EQ(time.getSpent().communication.at("dp.1"), 2);
  EXPECT_DOUBLE_EQ(time.getSpent().communication.at("dp.0"), 3);
}

} // namespace
