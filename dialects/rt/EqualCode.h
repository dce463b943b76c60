//===- rt/EqualCode.h - whether two kernels compute the same -----------------===//
#ifndef TPLAN_DIALECTS_RT_EQUALCODE_H
#define TPLAN_DIALECTS_RT_EQUALCODE_H

#include "mlir/IR/Operation.h"

namespace tplan::rt {

/// A hash of the operations in a region, without their operands and locations.
llvm::hash_code hashCode(mlir::Region &region);

/// The attributes of an op without those of these names.
mlir::DictionaryAttr attributesBut(mlir::Operation *op, llvm::ArrayRef<llvm::StringRef> names);

/// Whether two symbols differ in nothing but their names and locations.
bool equalButForName(mlir::Operation *a, mlir::Operation *b);

} // namespace tplan::rt

#endif // TPLAN_DIALECTS_RT_EQUALCODE_H
