//===- places.cpp - which collective a stream of a device is in --------------===//

#include "runtime/transports/places.h"

#include "runtime/ranks/graphs.h"
#include "runtime/support/profile.h"

#include <algorithm>

using namespace tplan::runtime;

Status Places::enter(Stream stream, const Operation &first, const std::string &group) {
  Place place = {first.what->kind, first.call, &group, first.task};
  auto known = numbers.find(place);
  if (known == numbers.end() && places.size() < unknown - 1) {
    known = numbers.emplace(place, places.size() + 1).first;
    places.push_back(&known->first);
  }
  streams = std::max(streams, stream.number + 1);
  last = ++turns << 16 | (known == numbers.end() ? unknown : known->second);
  return stream.device->note(stream.number, last);
}

double Places::still(const Device &device, double waited) {
  double now = monotonicSeconds();
  seen.resize(streams + 1);
  bool isInside = false;
  for (int64_t stream = 0; stream <= streams; ++stream) {
    uint32_t number = stream < streams ? device.noted(stream) : device.notedSection();
    isInside |= stream < streams && number != 0;
    if (number != seen[stream])
      seen[stream] = number, changed = now;
  }
  return isInside ? std::min(waited, now - changed) : 0;
}

std::string Places::textOf(uint32_t number, int64_t microbatch) const {
  uint32_t place = placeOf(number);
  if (place == 0 || place > places.size())
    return {};
  const Place &it = *places[place - 1];
  tp_collective what = {};
  what.kind = it.kind;
  TaskPlace task = it.task;
  if (task.stage >= 0 && microbatch >= 0)
    task.microbatch = microbatch;
  return describe({&what, nullptr, nullptr, it.call, task}, *it.group);
}

std::string Places::here(const Device &device) const {
  int64_t microbatch = Graphs::microbatchOf(device.notedSection());
  for (int64_t stream = 0; stream < streams; ++stream)
    if (std::string text = textOf(device.noted(stream), microbatch); !text.empty())
      return "waits in the " + text;
  std::string text = textOf(last, -1);
  return text.empty() ? text : "is in no collective; its last of the plan was the " + text;
}
