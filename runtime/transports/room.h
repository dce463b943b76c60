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

#include "runtime/transports/mailbox.h"

#include <algorithm>
#include <atomic>
#include <functional>

namespace tplan::runtime {

class Room {
public:
  enum Outcome { together, closed, late };

  /// About 30 microseconds.
  static constexpr int spinRounds = 1000;

  /// `spin`: each member has a CPU, and waits on it for a while. `ring` is called when all have
  /// come or left, for members that do not wait here.
  Room(int members, bool spin, std::function<void()> ring)
      : places(members), ring(std::move(ring)), spins(spin ? spinRounds : 0) {}

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
  bool isClosed() const { return arrived.load() & closedBit; }
  /// The same without waiting: isComplete says when all have come.
  Outcome arrive(uint32_t round);
  /// Waits for all members that met, however long they take.
  void leave(uint32_t round);
  /// The same without waiting.
  void depart(uint32_t round);
  bool allHaveLeft(uint32_t round) const { return complete(left.load(), round); }
  /// Members that wait in a meeting leave it, and no meeting will be complete again.
  void close();
  /// Where a channel has messages that nobody waits for.
  Mailbox mailbox;

  int waitSpins() const { return spins; }

  /// Bytes that left a member here, by kind of collective.
  void count(int member, int32_t kind, int64_t bytes) {
    places[member].sent[kind].fetch_add(bytes, std::memory_order_relaxed);
  }
  Traffic trafficOf(int member) const {
    Traffic all;
    std::copy(places[member].sent.begin(), places[member].sent.end(), all.sent.begin());
    return all;
  }

private:
  static constexpr uint32_t closedBit = 1, one = 2;

  bool complete(uint32_t word, uint32_t round) const {
    // Rounds and arrivals wrap alike, at 2^31.
    return int32_t(word - round * (uint32_t)places.size() * one) >= 0;
  }

  struct alignas(64) Place {
    std::span<const Operation> operations;
    Stream stream{};
    std::atomic<uint32_t> round{0};
    std::array<std::atomic<int64_t>, TP_COLLECTIVE_KINDS> sent = {};
  };
  std::vector<Place> places;
  const std::function<void()> ring;
  const int spins;
  alignas(64) std::atomic<uint32_t> arrived{0};
  alignas(64) std::atomic<uint32_t> left{0};
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_ROOM_H
