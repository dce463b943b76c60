//===- room.h - where the threads of a group meet -------------------------===//
//
// Each member offers its operations, all meet, and all leave together.
//
// One decision: arrivals are one counter that never falls, with a bit beside it that says
// closed, so that a meeting is either complete for all members or for none.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_ROOM_H
#define TPLAN_RUNTIME_TRANSPORTS_ROOM_H

#include "runtime/ranks/transport.h"

#include <atomic>

namespace tplan::runtime {

class Room {
public:
  enum Outcome { together, closed, late };

  /// `spin`: each member has a CPU, and waits on it for a while.
  Room(int members, bool spin) : places(members), spins(spin ? spinRounds : 0) {}

  /// Called before meeting: what this member brings to its meeting number `round`, from 1 on.
  void offer(int member, uint32_t round, std::span<const Operation> operations, Stream stream) {
    places[member].operations = operations;
    places[member].stream = stream;
    places[member].round.store(round, std::memory_order_release);
  }
  /// Called between meeting and leaving: what a member brought.
  std::span<const Operation> offer(int member) const { return places[member].operations; }
  Stream streamOf(int member) const { return places[member].stream; }
  bool hasCome(int member, uint32_t round) const {
    return int32_t(places[member].round.load(std::memory_order_acquire) - round) >= 0;
  }

  /// Waits for all members, `seconds` at most.
  Outcome meet(uint32_t round, double seconds);
  bool isComplete(uint32_t round) const { return complete(arrived.load(), round); }
  /// Waits for all members that met, however long they take.
  void leave(uint32_t round);
  /// Members that wait in a meeting leave it, and no meeting will be complete again.
  void close();

private:
  /// About 30 microseconds.
  static constexpr int spinRounds = 1000;
  static constexpr uint32_t closedBit = 1, one = 2;

  bool complete(uint32_t word, uint32_t round) const {
    // Rounds and arrivals wrap alike, at 2^31.
    return int32_t(word - round * (uint32_t)places.size() * one) >= 0;
  }

  struct alignas(64) Place {
    std::span<const Operation> operations;
    Stream stream{};
    std::atomic<uint32_t> round{0};
  };
  std::vector<Place> places;
  const int spins;
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> left{0};
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_ROOM_H
