//===- device_blocks.h - blocks of collectives in the memory of a device ----===//
#ifndef TPLAN_RUNTIME_RANKS_DEVICE_BLOCKS_H
#define TPLAN_RUNTIME_RANKS_DEVICE_BLOCKS_H

#include "runtime/device/device.h"
#include "runtime/ranks/collectives.h"

namespace tplan::runtime {

/// Copies the elements of a block to those of another one of the same count, in their order. Blocks
/// whose rows differ in length have one between them that is one piece: there are none else.
Status copyBlock(Stream stream, int64_t elementBytes, const void *from, const Block &source,
                 void *to, const Block &target);

/// What the last blocks lack is zero where a reduce-scatter or a slice makes it, so that padding
/// stays zero.
Status clearRest(Stream stream, const tp_collective &what, int members, int member, void *out);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_DEVICE_BLOCKS_H
