//===- Pack.h - places for pieces of memory that are not all live at once -===//
#ifndef TPLAN_MEMORY_PACK_H
#define TPLAN_MEMORY_PACK_H

#include "llvm/ADT/ArrayRef.h"
#include "llvm/ADT/BitVector.h"
#include <cstdint>
#include <vector>

namespace tplan::memory {

struct Packing {
  std::vector<int64_t> offsets; // bytes, multiples of 64
  int64_t bytes = 0;            // up to the end of the last piece
};

/// Places pieces so that two that conflict do not overlap. `bytes[i]` is the
/// size of piece i, `conflicts[i]` has bit j where i and j are live at once
/// (symmetric). Pieces of no bytes get offset 0. `least`: a bound from below, such as the bytes
/// that are live at one time; a packing that reaches it is not improved further.
/// Quick: one that is larger by a hundredth will do, and fewer are tried.
enum class Effort { Full, Quick };
Packing pack(llvm::ArrayRef<int64_t> bytes, llvm::ArrayRef<llvm::BitVector> conflicts,
             int64_t least = 0, Effort effort = Effort::Full);

/// Bytes that every packing needs: those of pieces of which each two conflict. More may be live at
/// no one time, because a piece may be live at several. The heaviest such pieces that are easily
/// found; none of more than 1,024 pieces.
int64_t leastBytes(llvm::ArrayRef<int64_t> bytes, llvm::ArrayRef<llvm::BitVector> conflicts);

} // namespace tplan::memory

#endif // TPLAN_MEMORY_PACK_H
