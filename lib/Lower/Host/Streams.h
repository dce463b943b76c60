//===- Host/Streams.h - attributes of the calls of a device ----------------===//
//
// order-streams and repeat-updates write them, the host program reads them.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_STREAMS_H
#define TPLAN_LOWER_HOST_STREAMS_H

#include "llvm/ADT/StringRef.h"

namespace tplan::lower {

/// Attributes of a call: its stream (0 where there is none), the event recorded after it, the
/// events that it waits for. On a function: the event recorded when it begins. On its return: what
/// stream 0 waits for.
inline constexpr llvm::StringLiteral kStream = "tp.stream", kEvent = "tp.event",
                                     kWaits = "tp.waits";
/// Attributes of the module: axes of the groups whose collectives are in stream 1, 2, ...; number
/// of events.
inline constexpr llvm::StringLiteral kStreams = "tp.streams", kEvents = "tp.events";

/// kRepeats on a function says that one call may do the work of all layers of a run; on a call in
/// it, that this call does. kStrides on a kernel, and on the gpu.module by kernel: bytes from each
/// operand of one layer to that of the next.
inline constexpr llvm::StringLiteral kRepeats = "tp.repeats", kStrides = "tp.strides";

/// Symbols of the kernels' text, of their code and of its size: `emit` fills them.
inline constexpr llvm::StringLiteral kPtx = "tplan.ptx", kCubin = "tplan.cubin",
                                     kCubinBytes = "tplan.cubin_bytes";

/// Attribute of the gpu.module: blocks, and threads of a block, of each kernel by name.
inline constexpr llvm::StringLiteral kLaunches = "tp.launches";

/// Attribute of the gpu.module: element type and tp_reduction of the kernels that add up the parts
/// of ranks.
inline constexpr llvm::StringLiteral kSums = "tp.sums";

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_STREAMS_H
