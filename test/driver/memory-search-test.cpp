//===- memory-search-test.cpp - what a program has room for, found by trial ---===//
//
// Arenas are given by a formula of what is asked, in place of the phases up to `memory`.
//
//===----------------------------------------------------------------------===//
#include "dialects/sched/Sched.h"
#include "lib/Cost/MemorySearch.h"
#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace mlir;
using namespace tplan;
using cost::Room;

namespace {

using Arena = llvm::function_ref<int64_t(size_t program, llvm::ArrayRef<Room>)>;

/// What is found of 100 bytes, for programs that have three layers.
std::vector<Room> search(size_t programs, Arena arena, Room::Cut least = Room::Nothing) {
  MLIRContext context;
  context.loadDialect<sched::SchedDialect>();
  std::string text;
  for (size_t i = 0; i < programs; ++i)
    text += "sched.program @step." + std::to_string(i) +
            " policy \"p\" stages 1 microbatches 1 tasks [F 0 0, B 0 0] {\n"
            "  sched.section @F.0 task F 0 {}\n  sched.section @B.0 task B 0 {}\n"
            "  sched.entry step [#sched.execute<tasks>]\n}\n";
  OwningOpRef<ModuleOp> module =
      parseSourceString<ModuleOp>(text, ParserConfig(&context, /*verifyAfterParse=*/false));
  cost::MemorySearch found(100, least);
  std::vector<Room> rooms;
  for (int trials = 0; found.goesOn() && trials < 50; ++trials) {
    found.ask(*module);
    rooms.clear();
    for (size_t i = 0; i < programs; ++i) {
      rooms.push_back(cost::roomOf(*module, i));
      rooms.back().layers = std::min<int64_t>(rooms.back().layers, 3);
    }
    cost::setRooms(*module, rooms);
    size_t i = 0;
    for (auto program : module->getOps<sched::ProgramOp>())
      program.setArena(arena(i++, rooms));
    found.judge(*module);
  }
  EXPECT_FALSE(found.goesOn());
  return rooms;
}

int64_t bytesOf(const Room &room) {
  return room.cut >= Room::Gathers ? 200 : 60 + 10 * room.layers;
}

TEST(MemorySearch, AllThatFits) {
  auto rooms = search(1, [](size_t, llvm::ArrayRef<Room> rooms) { return rooms[0].layers; });
  EXPECT_EQ(rooms, std::vector<Room>({{Room::All, 3, 0}}));
}

TEST(MemorySearch, WhatIsLeftGoesToFunctionsThatKeepTheirExchanges) {
  auto rooms = search(
      1, [](size_t, llvm::ArrayRef<Room> rooms) { return bytesOf(rooms[0]) + rooms[0].spare; });
  EXPECT_EQ(rooms, std::vector<Room>({{Room::GathersOfForward, 3, 10}}));
}

TEST(MemorySearch, NothingIsLeftWhereThatDoesNotFit) {
  auto rooms = search(
      1, [](size_t, llvm::ArrayRef<Room> rooms) { return bytesOf(rooms[0]) + 2 * rooms[0].spare; });
  EXPECT_EQ(rooms, std::vector<Room>({{Room::GathersOfForward, 3, 0}}));
}

/// A function that both call holds more, and the first program then has room for fewer layers.
TEST(MemorySearch, AProgramThatNoLongerFitsIsSearchedAgain) {
  auto rooms = search(2, [](size_t program, llvm::ArrayRef<Room> rooms) {
    return program == 1 ? bytesOf(rooms[1]) + rooms[1].spare
                        : 60 + 10 * rooms[0].layers + 2 * rooms[1].spare;
  });
  EXPECT_EQ(rooms, std::vector<Room>({{Room::All, 2, 0}, {Room::GathersOfForward, 3, 10}}));
}

} // namespace
