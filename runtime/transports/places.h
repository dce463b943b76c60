//===- places.h - which collective a stream of a device is in ----------------===//
//
// Before a collective its stream writes a number where the host sees it, and after it zero. This
// works also where a graph is replayed and the host issues nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_PLACES_H
#define TPLAN_RUNTIME_TRANSPORTS_PLACES_H

#include "runtime/ranks/transport.h"

#include <map>

namespace tplan::runtime {

class Places {
public:
  /// Called before and after issuing these operations.
  Status enter(Stream stream, const Operation &first, const std::string &group);
  Status leave(Stream stream) { return stream.device->note(stream.number, 0); }

  /// Seconds for which the streams have been in the same collectives, at least one of them in one,
  /// during a wait that has taken so long.
  double still(const Device &device, double waited);
  /// "waits in the all-reduce over 'dp' of x.tplan:12", or what its last one was; or empty.
  std::string here(const Device &device) const;

private:
  struct Place {
    int32_t kind;
    const tp_call *call;
    const std::string *group;
    TaskPlace task;
    auto operator<=>(const Place &) const = default;
  };
  // The low half of a number is its place, the high half counts how often any place was entered, so
  // that the same place has another number each time it is issued. Where it is replayed the note of
  // the section changes instead.
  static constexpr uint32_t unknown = 0xffff;
  static uint32_t placeOf(uint32_t number) { return number & 0xffff; }
  /// `microbatch` is that of the section that is replayed, which a captured place cannot know;
  /// below 0: none.
  std::string textOf(uint32_t number, int64_t microbatch) const;

  std::map<Place, uint32_t> numbers; // from 1; looked up before each collective of a step
  std::vector<const Place *> places; // place i has number i + 1
  uint32_t turns = 0;
  int64_t streams = 0;        // streams that were used
  std::vector<uint32_t> seen; // of each stream, and of the section
  uint32_t last = 0;          // the number that was issued last
  double changed = 0;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_PLACES_H
