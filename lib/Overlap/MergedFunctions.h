//===- MergedFunctions.h - the functions of two layers as one ----------------===//
//
// A function that does what a layer of F does and what one of a backward does, of unlike
// microbatches. Neither needs the other, so the order of their calls is free.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_MERGEDFUNCTIONS_H
#define TPLAN_OVERLAP_MERGEDFUNCTIONS_H

#include "dialects/rt/RT.h"
#include "lib/Cost/OverlapChoice.h"
#include "llvm/ADT/DenseMap.h"

namespace tplan::overlap {

/// Made when they are first asked for.
class MergedFunctions {
public:
  MergedFunctions(const cost::Prices &prices, const cost::OverlapChoice &choice)
      : prices(prices), choice(choice) {}

  /// The function that does what both do, with the arguments, calls and results of the forward
  /// first. Null where neither exchanges activations, where one exchanges anything else, or where
  /// costs say that it takes no less time.
  rt::FuncOp get(rt::FuncOp forward, rt::FuncOp backward);

private:
  const cost::Prices &prices;
  const cost::OverlapChoice &choice;
  llvm::DenseMap<std::pair<mlir::Operation *, mlir::Operation *>, rt::FuncOp> made; // or null

  bool isWorthIt(rt::FuncOp both, rt::FuncOp forward, rt::FuncOp backward) const;
};

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_MERGEDFUNCTIONS_H
