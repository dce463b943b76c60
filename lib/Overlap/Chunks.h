//===- Chunks.h - a collective and its GEMMs, in parts ----------------------===//
//
// A gather of activations is followed by GEMMs of what is gathered, and a sum of activations
// follows GEMMs. In chunks, a GEMM of one part runs while another part is exchanged.
//
// Two ways to cut. Where the blocks of ranks are the outermost pieces, a chunk is what one rank
// gives another one: each rank begins with its own block, then takes that of the next rank, and so
// on. Else a chunk is a part of the outermost dimension, and all ranks exchange it together.
//
// One decision: cutting rows changes no bit. A GEMM of a part has the tiles and the algorithm of
// the whole (`chunks` of `rt.matmul`, which it has in each plan, whether it is done in parts or
// not), and parts of a sum are added in the order of the members, after all have come.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_CHUNKS_H
#define TPLAN_OVERLAP_CHUNKS_H

#include "lib/Overlap/Cut.h"
#include "llvm/ADT/SetVector.h"
#include <optional>

namespace tplan::overlap {

/// A collective that can be done in chunks, with the GEMMs that read it, or the GEMMs and kernels
/// that make what it sums, each after what it reads.
struct ChunkSite {
  rt::CollectiveOp exchange;
  Cut cut;
  llvm::SetVector<mlir::Operation *> calls;
};

/// The sites of a function, in order. A call belongs to one of them at most.
llvm::SmallVector<ChunkSite> chunkSitesOf(rt::FuncOp func);

/// The operand whose rows a GEMM can be cut along; none where it cannot.
std::optional<unsigned> rowsOperand(rt::MatmulOp matmul, const Cut &cut);
class PartKernels;

/// Replaces the collective and the GEMMs by those of parts.
void cutInChunks(const ChunkSite &site, PartKernels &kernels);
/// Replaces launches that read or make what is cut so, by those of parts.
void cutKernels(rt::FuncOp func, const Cut &cut, PartKernels &kernels);

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_CHUNKS_H
