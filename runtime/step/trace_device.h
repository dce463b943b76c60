//===- trace_device.h - a device that notes what it is asked for ------------===//
//
// It computes nothing and has no memory: addresses are counted from a number. So the host program
// of any plan runs on it in no time, for a rank of any cluster, on a machine without a GPU.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STEP_TRACE_DEVICE_H
#define TPLAN_RUNTIME_STEP_TRACE_DEVICE_H

#include "runtime/device/device.h"
#include "runtime/ranks/transport.h"
#include "runtime/step/stream_order.h"

namespace tplan::runtime {

/// Where work goes, piece by piece.
using StreamSink = std::function<Status(const StreamEvent &)>;

/// The device of a rank. A stream after those of the program carries what the host gives; events
/// after those of the program order it.
std::unique_ptr<Device> traceDevice(StreamSink sink);

/// Streams and events that such a device has for a program.
inline int64_t tracedStreams(const tp_program &program) { return program.num_streams + 1; }
inline int64_t tracedEvents(const tp_program &program) { return program.num_events + 2; }

/// The communicators of a rank without any others: collectives become work in their stream.
Status traceGroups(const tp_program &program, int rank, StreamSink sink,
                   std::vector<std::unique_ptr<Communicator>> &groups);

/// Runs the entry points of the program of a rank on a traced device: preparation, two steps, an
/// evaluation, a prediction. `sink` gets every access of memory; an error of it ends the run.
Status traceProgram(const tp_program &plan, int rank, const StreamSink &sink);

/// --audit-streams: all ranks, or, where there are more than `mostAudited`, the first and the last
/// of each program.
inline constexpr int64_t mostAudited = 8;
Status auditStreams(const tp_program &program, const std::string &traceFile);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STEP_TRACE_DEVICE_H
