//===- arena-test.cpp - guard pages and the memory audit ----------------------===//

#include "helpers.h"

#include "runtime/device/arena.h"

#include <cmath>
#include <cstring>

using namespace tplan::runtime;

namespace {

const Slot slots[] = {{"first", 0, 100, 0},
                      {"second", 128, 64, 0},
                      {"inside second", 136, 8, 0},
                      {"third", 256, 44, 0}};

void writeAll(Arena &arena) {
  for (const Slot &slot : slots)
    memset(arena.data() + slot.offset, 1, slot.bytes);
}

} // namespace

TEST(Arena, IsZeroedAndAligned) {
  Arena arena;
  ASSERT_OK(arena.map(300000));
  EXPECT_EQ((size_t)arena.data() % (1 << 21), 0u);
  for (int64_t i = 0; i < arena.size(); ++i)
    ASSERT_EQ(arena.data()[i], 0);
}

TEST(ArenaDeathTest, FaultsOutside) {
  Arena arena;
  ASSERT_OK(arena.map(8192));
  volatile char *data = arena.data();
  EXPECT_DEATH(data[-1] = 1, "");
  EXPECT_DEATH(data[8192] = 1, "");
}

TEST(Arena, RefusesImpossibleSizes) {
  Arena negative, huge;
  EXPECT_FAILS(negative.map(-1), "negative size: -1");
  EXPECT_FAILS(huge.map(int64_t(1) << 60), "1152921504606846976 bytes");
}

TEST(Arena, PatternIsNaNInEveryType) {
  Arena arena;
  ASSERT_OK(arena.map(4096));
  EXPECT_OK(arena.fillPattern());
  for (int64_t i = 0; i < 4096 / 8; ++i)
    ASSERT_TRUE(std::isnan(((double *)arena.data())[i]));
  for (int64_t i = 0; i < 4096 / 4; ++i)
    ASSERT_TRUE(std::isnan(((float *)arena.data())[i]));
}

TEST(Arena, AuditAcceptsWrittenSlots) {
  Arena arena;
  ASSERT_OK(arena.map(300));
  EXPECT_OK(arena.fillPattern());
  writeAll(arena);
  EXPECT_OK(arena.audit(slots, std::size(slots)));
}

TEST(Arena, AuditNamesTheUnwrittenSlot) {
  Arena arena;
  ASSERT_OK(arena.map(300));
  EXPECT_OK(arena.fillPattern());
  char hole[8];
  memcpy(hole, arena.data() + 160, 8);
  writeAll(arena);
  memcpy(arena.data() + 160, hole, 8);
  EXPECT_FAILS(arena.audit(slots, std::size(slots)), "'second'", "8 of 64 bytes", "offset 160");
}

TEST(Arena, AuditNamesTheGapThatWasWritten) {
  Arena arena;
  ASSERT_OK(arena.map(300));
  for (int64_t at : {100, 127, 192, 255}) {
    EXPECT_OK(arena.fillPattern());
    writeAll(arena);
    arena.data()[at] ^= 1;
    EXPECT_FAILS(arena.audit(slots, std::size(slots)), "offset " + std::to_string(at),
                 at < 128 ? "between 'first' and 'second'" : "and 'third'");
  }
}

TEST(Arena, AuditRefusesASlotOutside) {
  Arena arena;
  ASSERT_OK(arena.map(300));
  Slot outside = {"far", 256, 100, 0};
  EXPECT_FAILS(arena.audit(&outside, 1), "'far'", "arena of 300 bytes");
}
