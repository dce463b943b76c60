//===- Cut.h - how values are cut in parts ----------------------------------===//
#ifndef TPLAN_OVERLAP_CUT_H
#define TPLAN_OVERLAP_CUT_H

#include "dialects/rt/RT.h"

namespace tplan::overlap {

/// How values are cut: the dimension, and how many parts it has.
struct Cut {
  llvm::StringRef dim;
  int64_t parts;
  bool byRank; // part i is the block of the rank after own by i; else block i

  /// The type of a part; none where the dimension is not the outermost of more than one, or a part
  /// does not fill cache lines.
  nn::Tensor partOf(nn::Tensor whole) const;
  bool operator==(const Cut &) const = default;
};

/// The outermost dimension of more than one, or none.
nn::DimAttr outermost(nn::Tensor type);

/// Part i of a value, as a view of its memory; over axes that of the member after own by i.
mlir::Value viewOfPart(mlir::OpBuilder &b, mlir::Value x, const Cut &cut, mlir::ArrayAttr axes,
                       int64_t i);

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_CUT_H
