//===- stream_order.h - does every access of memory have its order? ---------===//
//
// Judges work in concurrent streams by what it reads and writes. Two accesses are a race if no
// chain of streams, events and waits of the host orders them.
//
// One decision: clocks, not a graph. Each stream counts its work, and knows how much of every other
// stream is done when its own next work begins; each access is judged when it is issued, against
// the last write and the last reads of the same bytes.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STEP_STREAM_ORDER_H
#define TPLAN_RUNTIME_STEP_STREAM_ORDER_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

namespace tplan::runtime {

/// Bytes [begin, end) of the memory.
struct Extent {
  int64_t begin, end;
};

/// The name of a piece of work: steps have millions, so it becomes text only when it is read.
struct WorkTitle {
  const char *name = "";
  const char *file = ""; // of the plan, with a line, or empty
  int32_t line = 0;
  std::string text() const;
};

/// What an order of work is made of, in the order in which the host issues it.
struct StreamEvent {
  enum Kind { work, record, wait, sync } kind; // sync: the host waits for all streams
  int64_t stream = 0, event = 0;
  WorkTitle title; // of work
  std::vector<Extent> reads, writes;
  const tp_gemm *gemm = nullptr;     // of work that is one
  const tp_scales *scales = nullptr; // of a GEMM in f8
};

class StreamOrder {
public:
  StreamOrder(int64_t streams, int64_t events);

  /// Takes the next piece; an error names both sides of a race.
  Status add(const StreamEvent &next);

  int64_t works() const { return workCount; }

private:
  using Clock = std::vector<int64_t>; // by stream: pieces of work that are done
  struct Access {
    int64_t stream = -1, time = 0;
    WorkTitle title;
  };
  /// Bytes with one history, up to `end`.
  struct Piece {
    int64_t end;
    Access write;
    std::vector<Access> reads; // the last of each stream
  };

  void split(int64_t at);
  Status check(const Access &before, const StreamEvent &next, Extent where, const char *does) const;
  Status read(const StreamEvent &next, Extent extent, Access access);
  Status write(const StreamEvent &next, Extent extent, Access access);

  std::vector<Clock> streams, events;
  std::map<int64_t, Piece> pieces; // by begin
  int64_t workCount = 0;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STEP_STREAM_ORDER_H
