//===- Rules.h - how an op may be shared by ranks -------------------------===//
//
// An op as an einsum: its factors are the names of dimensions that operands and results have. A
// factor is cut over axes in all of them at once; a factor that the results lack is summed, so that
// a cut there leaves the sum pending. Besides, a rule says which factors stay whole, and in which
// operands the op is linear: a pending sum may pass through there.
//
// One decision: the same rule makes layouts (assign-layouts) and judges them
// (check-layouts), and a test generates its cases from it. An op without a rule is refused.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_RULES_H
#define TPLAN_SHARD_RULES_H

#include "dialects/dist/Dist.h"
#include <optional>

namespace tplan::shard {

/// How a pending sum, or maximum, in an operand goes through an op.
enum class Linear {
  None,   // not at all
  InEach, // in one of `linearIn`: x * y
  InAll,  // in all of `linearIn` over the same axes: x + y
  InAny   // in any of `linearIn`, others being whole: max(x, y)
};

struct Rule {
  /// The reduction over factors that the results lack.
  std::optional<nn::ReduceKind> reduction;
  /// Factors that no axis may cut.
  llvm::SmallVector<llvm::StringRef, 2> whole;
  /// Factors that must divide: their blocks have no padding.
  llvm::SmallVector<llvm::StringRef, 2> exact;
  Linear linear = Linear::None;
  llvm::SmallVector<unsigned, 2> linearIn;
  /// What may be pending in these operands.
  nn::ReduceKind pending = nn::ReduceKind::sum;
  /// In attention: `heads` is cut by the axes of `groups` and then by further axes. Over these,
  /// what has only groups is repeated, and summed where the op sums over the heads of a group.
  llvm::StringRef heads, groups;
  /// Whether rows (dimensions read as one) may be cut: where each position is computed on its own,
  /// or where the op sums over dimensions that are no rows.
  bool rows = false;
  /// A dimension whose positions the op gives other names, so that rows do not include it.
  llvm::StringRef renamed;
};

/// A cast to a wider type rounds nothing: the sum of what is cast is the cast of the sum.
bool isExact(nn::CastOp cast);

/// The number that an op makes in every element, if it does nothing else: any rank may make any
/// block of it.
nn::ConstantOp numberOf(mlir::Operation *op);

/// How many blocks nn.split or nn.merge has of its dimension.
int64_t blocksOf(mlir::Operation *op, llvm::StringRef dim);

/// Nothing where the op has no rule.
std::optional<Rule> ruleOf(mlir::Operation *op);

/// Axes that cut each factor, and the rows.
struct Strategy {
  llvm::SmallVector<std::pair<mlir::StringAttr, dist::Axes>, 4> cuts;
  dist::RowsAttr rows;

  llvm::ArrayRef<mlir::StringAttr> axesOf(llvm::StringRef factor) const;
  void set(mlir::StringAttr factor, llvm::ArrayRef<mlir::StringAttr> axes);
  dist::Axes used() const;
};

/// The layouts that an op takes and gives under a strategy, with what is pending in its operands.
struct Layouts {
  llvm::SmallVector<dist::LayoutAttr, 4> operands, results;
};
/// `pending` of operand i are sums or maxima, of the rule's kind, that pass through it.
Layouts apply(mlir::Operation *op, const Rule &rule, const Strategy &strategy,
              llvm::ArrayRef<dist::Axes> pending, dist::MeshAttr mesh);

/// Whether blocks of attention's heads hold whole groups, or lie within the one group that a rank
/// has: a rank counts its heads and groups from zero.
bool keepsGroups(mlir::Operation *op, const Rule &rule, const Strategy &strategy,
                 dist::MeshAttr mesh);

/// Whether a dimension named so is of a value's type.
bool hasDim(mlir::Value v, llvm::StringRef name);
/// Whether an op may work on blocks of these rows: it keeps their order, and each of its values has
/// all dimensions that they are made of, or none.
bool takesRows(mlir::Operation *op, const Rule &rule, dist::RowsAttr rows);
/// All factors, those of operands first.
llvm::SmallVector<nn::DimAttr> factorsOf(mlir::Operation *op);

/// The part of a layout that applies to a value of this type: cuts of its dimensions, rows if it
/// has them.
dist::LayoutAttr restrict(mlir::Type type, const Strategy &strategy);

} // namespace tplan::shard

#endif // TPLAN_SHARD_RULES_H
