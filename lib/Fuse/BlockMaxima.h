//===- BlockMaxima.h - maxima over blocks of rows -----------------------------===//
#ifndef TPLAN_LIB_FUSE_BLOCKMAXIMA_H
#define TPLAN_LIB_FUSE_BLOCKMAXIMA_H

#include "dialects/nn/NN.h"

namespace tplan::fuse {

/// Rows that a task of a partial sum takes: a fact of shapes, which fixes the order of sums.
int64_t partialRows(int64_t rows);

/// A maximum over blocks of rows that follow each other becomes one that a kernel finds as it goes,
/// a task a block, and what follows from it alone, a scale say, is found in the same place. False
/// where `op` is no such maximum.
bool makeMaximaOfBlocks(nn::ReduceOp op);

} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_BLOCKMAXIMA_H
