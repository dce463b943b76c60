//===- stream_order.cpp - does every access of memory have its order? -------===//

#include "runtime/step/stream_order.h"

#include <algorithm>

using namespace tplan::runtime;

StreamOrder::StreamOrder(int64_t streamCount, int64_t eventCount)
    : streams(streamCount, Clock(streamCount)), events(eventCount, Clock(streamCount)) {}

std::string WorkTitle::text() const {
  return file && *file ? format("%s of %s:%d", name, file, line) : name;
}

static void join(std::vector<int64_t> &clock, const std::vector<int64_t> &other) {
  for (size_t i = 0; i < clock.size(); ++i)
    clock[i] = std::max(clock[i], other[i]);
}

/// Afterwards no piece lies on both sides of the place.
void StreamOrder::split(int64_t at) {
  auto after = pieces.upper_bound(at);
  if (after == pieces.begin())
    return;
  auto piece = std::prev(after);
  if (piece->first == at || piece->second.end <= at)
    return;
  Piece rest = piece->second;
  piece->second.end = at;
  pieces.emplace_hint(after, at, std::move(rest));
}

Status StreamOrder::check(const Access &before, const StreamEvent &next, Extent where,
                          const char *does) const {
  if (before.stream < 0 || streams[next.stream][before.stream] >= before.time)
    return {};
  return errorf("'%s' in stream %lld %s bytes [%lld, %lld) of the arena while '%s' in stream %lld "
                "may still use them: no event orders the two",
                next.title.text().c_str(), (long long)next.stream, does, (long long)where.begin,
                (long long)where.end, before.title.text().c_str(), (long long)before.stream);
}

Status StreamOrder::read(const StreamEvent &next, Extent extent, Access access) {
  split(extent.begin);
  split(extent.end);
  int64_t at = extent.begin;
  auto note = [&](Piece &piece) {
    for (Access &known : piece.reads)
      if (known.stream == access.stream) {
        known = access;
        return;
      }
    piece.reads.push_back(access);
  };
  for (auto it = pieces.lower_bound(extent.begin); it != pieces.end() && it->first < extent.end;
       ++it) {
    if (it->first > at) // bytes that nothing has touched yet
      pieces.emplace_hint(it, at, Piece{it->first, {}, {access}});
    TP_TRY(check(it->second.write, next, {it->first, it->second.end}, "reads"));
    note(it->second);
    at = it->second.end;
  }
  if (at < extent.end)
    pieces.emplace(at, Piece{extent.end, {}, {access}});
  return {};
}

Status StreamOrder::write(const StreamEvent &next, Extent extent, Access access) {
  split(extent.begin);
  split(extent.end);
  auto first = pieces.lower_bound(extent.begin), last = first;
  for (; last != pieces.end() && last->first < extent.end; ++last) {
    Extent where{last->first, last->second.end};
    TP_TRY(check(last->second.write, next, where, "writes"));
    for (const Access &read : last->second.reads)
      TP_TRY(check(read, next, where, "writes"));
  }
  pieces.erase(first, last);
  pieces.emplace(extent.begin, Piece{extent.end, access, {}});
  return {};
}

Status StreamOrder::add(const StreamEvent &next) {
  Clock &clock = streams[next.stream];
  switch (next.kind) {
  case StreamEvent::record:
    events[next.event] = clock;
    return {};
  case StreamEvent::wait:
    join(clock, events[next.event]);
    return {};
  case StreamEvent::sync: {
    Clock all(streams.size());
    for (size_t i = 0; i < streams.size(); ++i)
      all[i] = streams[i][i];
    for (Clock &each : streams)
      join(each, all);
    return {};
  }
  case StreamEvent::work:
    break;
  }
  Access access{next.stream, clock[next.stream] + 1, next.title};
  ++workCount;
  for (Extent extent : next.reads)
    if (extent.begin < extent.end)
      TP_TRY(read(next, extent, access));
  // A call may overwrite what it reads itself.
  ++clock[next.stream];
  for (Extent extent : next.writes)
    if (extent.begin < extent.end)
      TP_TRY(write(next, extent, access));
  return {};
}
