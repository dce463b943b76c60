//===- MergedFunctions.h - the functions of two layers as one ----------------===//
//
// A function that does what a layer of one task does and what another layer of another task does:
// of F and a backward of unlike microbatches, or of a backward and the sums over ranks of another
// layer's gradients. Neither needs the other, so the order of their calls is free.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_MERGEDFUNCTIONS_H
#define TPLAN_OVERLAP_MERGEDFUNCTIONS_H

#include "dialects/sched/Sched.h"
#include "lib/Cost/OverlapChoice.h"
#include "llvm/ADT/MapVector.h"

namespace tplan::overlap {

/// Which functions become one, and what for.
struct MergedBy {
  lang::Overlap kind;         // for which the plan, or costs, ask for it
  llvm::StringLiteral second; // before the names of what the second function uses
  bool (*mayMerge)(rt::FuncOp first, rt::FuncOp second);
};

/// Made when they are first asked for.
class MergedFunctions {
public:
  MergedFunctions(const cost::Prices &prices, const cost::OverlapChoice &choice, MergedBy by)
      : prices(prices), choice(choice), by(by) {}

  /// The function that does what both do, with the arguments, calls and results of the first one
  /// first. Null where they may not be merged, or where costs say that it takes no less time.
  rt::FuncOp get(rt::FuncOp first, rt::FuncOp second);
  /// When all calls are written: what was merged, or made of two, and is called by none.
  void eraseUncalled(mlir::ModuleOp module);

private:
  const cost::Prices &prices;
  const cost::OverlapChoice &choice;
  const MergedBy by;
  llvm::MapVector<std::pair<mlir::Operation *, mlir::Operation *>, rt::FuncOp> made; // or null

  rt::FuncOp merge(rt::FuncOp first, rt::FuncOp second) const;
  bool isWorthIt(rt::FuncOp both, rt::FuncOp first, rt::FuncOp second) const;
};

/// The calls of such functions in a section, in place of two each.
class MergedCalls {
public:
  explicit MergedCalls(MergedFunctions &functions) : functions(functions) {}
  /// A call, and what it uses where the merged one stands.
  struct Part {
    sched::CallOp call;
    llvm::function_ref<sched::Use(sched::Use)> used;
  };
  void create(mlir::OpBuilder &b, mlir::Location loc, Part first, Part second);
  std::string name; // before those of frames: calls of a function share one

private:
  MergedFunctions &functions;
  llvm::DenseMap<mlir::Operation *, mlir::Value> frames; // of the functions
};

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_MERGEDFUNCTIONS_H
