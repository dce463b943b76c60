//===- log.h - what the host called, and what kernels touched -------------===//
//
// STANDIN_LOG=FILE: a line a call, appended whole, so that threads and processes may share
// the file:
//
//   PID THREAD CALL KEY=VALUE.. [-> ERROR]
//
// THREAD counts threads of the process from 0. Addresses are hexadecimal, counts decimal;
// sN is a stream, eN an event, gN a graph, xN a graph that can be launched. Calls:
//
//   alloc p bytes | free p | hostalloc p bytes | hostfree p
//   stream s flags priority | streamdestroy s | event e flags | eventdestroy e
//   record s e | wait s e           wait: for=-  where the event was never recorded
//   copy s kind=htod|dtoh|dtod|peer dst src bytes  s=- for one that blocks
//   copy2d s kind dst dpitch src spitch width height
//   memset s dst value width=1|4 count             bytes are width * count
//   write s dst value                              4 bytes, also of pinned memory
//   memset2d s dst pitch value width height
//   module kernels | unload | launch s kernel grid=X,Y,Z block=X,Y,Z shared n args=A,B,..
//   hostfunc s function data
//   begin s mode | end s g nodes | instantiate g x | graphlaunch s x | graphdestroy g |
//   execdestroy x
//   streamsync s | streamquery s | eventsync e | eventquery e | ctxsync | elapsed e e
//   peer from to                                   access that is asked for
//
// Stand-ins for other libraries add what the host function that they ask for next will touch:
//
//   PID - library data=.. r=LOW-HIGH.. w=LOW-HIGH..
//
// `launch` has a number n. With STANDIN_TOUCH=1 each run of it is followed, when it has
// run, by the bytes of global memory that it read and wrote, sorted and merged:
//
//   PID THREAD touch kernel=NAME n=NUMBER r=LOW-HIGH,.. w=LOW-HIGH,..     - for none
//
// LOW is inside, HIGH is not. More than 4096 intervals are joined over the smallest gaps.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_LOG_H
#define TPLAN_TEST_STANDIN_LOG_H

#include "test/standin/driver/driver.h"

#include <string>

namespace standin {

/// One call. Nothing is formatted where no log is asked for.
class Line {
public:
  explicit Line(const char *call);
  Line &text(const char *key, const std::string &value);
  Line &number(const char *key, long long value);
  Line &hex(const char *key, unsigned long long value);
  Line &hex(const char *key, const void *value) {
    return hex(key, reinterpret_cast<unsigned long long>(value));
  }
  /// Writes the line; returns the result.
  CUresult end(CUresult result);
  bool wanted() const { return on; }

private:
  bool on;
  std::string line;
};

void openLog();
const char *nameOf(CUresult result);

/// Says on stderr why a call is refused.
__attribute__((format(printf, 2, 3))) CUresult refuse(CUresult result, const char *format, ...);

} // namespace standin

#endif // TPLAN_TEST_STANDIN_LOG_H
