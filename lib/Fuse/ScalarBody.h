//===- ScalarBody.h - element-wise nn ops on scalars ----------------------===//
#ifndef TPLAN_LIB_FUSE_SCALARBODY_H
#define TPLAN_LIB_FUSE_SCALARBODY_H

#include "dialects/nn/NN.h"
#include "mlir/IR/Builders.h"

namespace tplan::fuse {
/// One element of the result of an element-wise op, from one of each operand.
mlir::Value buildScalar(mlir::OpBuilder &builder, mlir::Operation *op,
                        llvm::ArrayRef<mlir::Value> operands);

/// Between element types, rounded to nearest even.
mlir::Value convertScalar(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x,
                          mlir::Type to);

/// x * cos + turned * sin, in the type of cos, rounded to that of x.
mlir::Value buildRope(mlir::OpBuilder &builder, mlir::Location loc, mlir::Value x,
                      mlir::Value turned, mlir::Value cos, mlir::Value sin);
} // namespace tplan::fuse

#endif // TPLAN_LIB_FUSE_SCALARBODY_H
