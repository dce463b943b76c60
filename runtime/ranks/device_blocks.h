//===- device_blocks.h - blocks of collectives in the memory of a device ----===//
#ifndef TPLAN_RUNTIME_RANKS_DEVICE_BLOCKS_H
#define TPLAN_RUNTIME_RANKS_DEVICE_BLOCKS_H

#include "runtime/device/device.h"
#include "runtime/ranks/collectives.h"

namespace tplan::runtime {

/// Copies the elements of a block to another block of the same count, in their order. If their rows
/// differ in length, one of the two is contiguous: there are no other blocks.
Status copyBlock(Stream stream, int64_t elementBytes, const void *from, const Block &source,
                 void *to, const Block &target);

/// Sets to zero what the last blocks lack, where a reduce-scatter or a slice makes them, so that
/// padding stays zero.
Status clearRest(Stream stream, const tp_collective &what, int members, int member, void *out);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_DEVICE_BLOCKS_H
