//===- Host/Streams.h - attributes of the calls of a device ----------------===//
//
// order-streams and repeat-updates write them, the host program reads them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_STREAMS_H
#define TPLAN_LOWER_HOST_STREAMS_H

#include "llvm/ADT/StringRef.h"

namespace tplan::lower {

/// Of a call: its stream (0 where it says none), the event recorded behind it, the events that it
/// waits for. Of a function: the event recorded at its begin. Of its end: what stream 0 waits for.
inline constexpr llvm::StringLiteral kStream = "tp.stream", kEvent = "tp.event",
                                     kWaits = "tp.waits";
/// Of the module: axes of the groups whose collectives are in stream 1, 2, ...; number of events.
inline constexpr llvm::StringLiteral kStreams = "tp.streams", kEvents = "tp.events";

/// Of a function, and of those of its calls that then are for all: it may be called once for all
/// layers of a run. Of a kernel, and by kernel of the gpu.module: bytes from each operand of one layer to that of the next.
inline constexpr llvm::StringLiteral kRepeats = "tp.repeats", kStrides = "tp.strides";

/// Symbols of the text of the kernels, their code and its size: `emit` has them.
inline constexpr llvm::StringLiteral kPtx = "tplan.ptx", kCubin = "tplan.cubin",
                                     kCubinBytes = "tplan.cubin_bytes";

/// Of the gpu.module: blocks and threads of a block of each kernel, by name.
inline constexpr llvm::StringLiteral kLaunches = "tp.launches";

/// Of the gpu.module: element type and tp_reduction of the kernels that add up the parts of ranks.
inline constexpr llvm::StringLiteral kSums = "tp.sums";

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_STREAMS_H
