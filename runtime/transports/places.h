//===- places.h - which collective a stream of a device is in ----------------===//
//
// Before a collective its stream notes a number, and behind it zero, where the host sees them: also
// where a graph is replayed, and the host issues nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_PLACES_H
#define TPLAN_RUNTIME_TRANSPORTS_PLACES_H

#include "runtime/ranks/transport.h"

namespace tplan::runtime {

class Places {
public:
  /// Around what is issued for these operations.
  Status enter(Stream stream, const Operation &first, const std::string &group);
  Status leave(Stream stream) { return stream.device->note(stream.number, 0); }

  /// Seconds for which the streams have been in the same collectives, one of them at least, in a
  /// wait that has taken so long.
  double still(const Device &device, double waited);
  /// "waits in the all-reduce over 'dp' of x.tplan:12", or what its last one was; or empty.
  std::string here(const Device &device) const;

private:
  struct Place {
    int32_t kind;
    const tp_call *call;
    const std::string *group;
    TaskPlace task;
    bool operator==(const Place &) const = default;
  };
  // A number has a place in its low half, and in its high half how often any was entered, so that
  // the same place is another number at each of its turns.
  static constexpr uint32_t unknown = 0xffff;
  static uint32_t placeOf(uint32_t number) { return number & 0xffff; }
  std::string textOf(uint32_t number) const;

  std::vector<Place> places; // place i has number i + 1
  uint32_t turns = 0;
  int64_t streams = 0; // that were used
  std::vector<uint32_t> seen;
  uint32_t last = 0; // that was issued
  double changed = 0;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_PLACES_H
