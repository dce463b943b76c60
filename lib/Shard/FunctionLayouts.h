//===- FunctionLayouts.h - a strategy for each op of a function -----------===//
//
// There are three steps. First, cuts spread from the residual stream through ops that no line of
// the plan cuts over the same axis (norms, dropout, activations beside the contractions); so a
// cotangent is cut as the value it belongs to. Then each op gets its factors' axes: first those by
// name, then those that have spread. Last, pending sums wait where waiting is free: terms of one
// sum are added before they are reduced, and what goes into an accumulator stays pending until the
// accumulator is read.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_FUNCTION_LAYOUTS_H
#define TPLAN_SHARD_FUNCTION_LAYOUTS_H

#include "lib/Shard/Borders.h"
#include "lib/Shard/Rules.h"

namespace tplan::shard {

/// What one op does.
struct OpPlan {
  Strategy strategy;
  llvm::SmallVector<dist::Axes, 4> pending; // sums that wait in its operands
  Layouts layouts;
  /// Result 0 is handed on with its sums pending; else they are made at once.
  bool waits = false;
  /// The op adds operand 1 onto an accumulator, operand 0.
  bool accumulates = false;
};

class FunctionLayouts {
public:
  FunctionLayouts(nn::LayerOp layer, const Placement &placement, const Borders &borders)
      : layer(layer), placement(placement), borders(borders) {}

  /// Plans all ops; errors at their places.
  mlir::LogicalResult plan();

  const OpPlan &of(mlir::Operation *op) const { return plans.find(op)->second; }
  /// The layout in which most readers take a value, without pending sums.
  dist::LayoutAttr homeOf(mlir::Value v) const;
  /// Adds to `borders` what the function leaves pending in its accumulators.
  void addPending(Borders &borders);

private:
  struct Spread { // cuts that have spread to a value
    llvm::SmallVector<std::pair<mlir::StringAttr, dist::Axes>, 1> cuts;
    dist::RowsAttr rows;
  };

  mlir::LogicalResult seed();
  void spread();
  bool spreadOver(mlir::Operation *op);
  bool mayCut(mlir::Operation *op, const Rule &rule, mlir::StringAttr dim,
              llvm::ArrayRef<mlir::StringAttr> axes) const;
  bool give(mlir::Value v, mlir::StringAttr dim, llvm::ArrayRef<mlir::StringAttr> axes);
  void findAccumulators();
  mlir::LogicalResult planOp(mlir::Operation *op);
  mlir::FailureOr<Strategy> strategyOf(mlir::Operation *op, const Rule &rule,
                                       llvm::ArrayRef<mlir::StringAttr> without) const;
  mlir::LogicalResult checkBlocks(mlir::Operation *op, llvm::StringRef name,
                                  const Strategy &s) const;
  mlir::LogicalResult checkExact(mlir::Operation *op, const Rule &rule, const Strategy &s) const;
  void findSums();
  bool waits(mlir::Value v) const;

  nn::LayerOp layer;
  const Placement &placement;
  const Borders &borders;
  llvm::DenseMap<mlir::Value, Spread> spreads;
  llvm::DenseMap<mlir::Value, dist::Axes> sums; // pending where a value is made, if they may wait
  llvm::DenseSet<mlir::Value> maxima;           // pending where they are made
  llvm::DenseMap<mlir::Operation *, OpPlan> plans;
  llvm::DenseMap<mlir::Operation *, unsigned>
      accumulators; // the add or max -> number of the result
};

} // namespace tplan::shard

#endif // TPLAN_SHARD_FUNCTION_LAYOUTS_H
