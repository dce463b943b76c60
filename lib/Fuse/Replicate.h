//===- Replicate.h - values that their readers compute for themselves -----===//
//
// What a kernel reads again after a library call (a residual sum, a row before its gain) can be a
// sum or product of arrays that the reader reads anyway, or of others that are no larger. Then the
// reader computes it, and no kernel writes it.
//
// One decision: bytes decide, and a clone is some arithmetic at most, on a GPU an exponential too,
// which costs nothing beside them. The same ops on the same values give the same bits.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LIB_FUSE_REPLICATE_H
#define TPLAN_LIB_FUSE_REPLICATE_H

#include "dialects/nn/NN.h"

namespace tplan::fuse {
void computeWhereRead(nn::LayerOp layer);
} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_REPLICATE_H
