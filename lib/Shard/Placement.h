//===- Placement.h - what the plan says of dimensions and axes ------------===//
//
// The plan's lines mesh, shard and zero, as layouts: of any value by the names of its dimensions,
// of what layers hand on (`residual`), of weights and what belongs to them.
//
// One decision: axes are cut into pieces here, once. An axis that spans nodes is cut at the border
// of a node, so that sums may go in two hops and `within node` has a piece to name; `tp = 16` over
// eight key heads is 8 x 2. Everything after this knows pieces only.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_PLACEMENT_H
#define TPLAN_SHARD_PLACEMENT_H

#include "dialects/dist/Dist.h"
#include "dialects/tplan/Settings.h"
#include "llvm/ADT/StringMap.h"
#include <set>

namespace tplan::shard {

/// Sizes that dimensions of one name have.
using Sizes = llvm::StringMap<std::set<int64_t>>;

/// Where one rank keeps a weight, its gradient and what the optimizer knows of it.
struct WeightLayouts {
  dist::LayoutAttr weight; // as stored
  dist::LayoutAttr state;
  dist::LayoutAttr accumulator; // of gradients in the backward, apart from pending sums
  dist::LayoutAttr reduced;     // of gradients after the backward
};

class Placement {
public:
  /// Reads the plan; errors at its lines.
  static mlir::FailureOr<Placement> read(mlir::ModuleOp module);

  dist::MeshAttr mesh;
  /// Whether a rank has less of some value than all of it, or more because of padding.
  bool needsLayouts() const { return mesh.getNumRanks() > 1 || !mesh.getGranules().empty(); }

  /// Axes that a line without `of` gives a dimension; as many as its size takes.
  dist::Axes axesOf(nn::DimAttr dim) const;
  /// Axes that the items with `of residual` give it.
  dist::Axes residualAxesOf(nn::DimAttr dim) const;
  /// Cuts of a value by the names of its dimensions; null after an error at `loc`, where one axis
  /// cuts two dimensions.
  dist::LayoutAttr layoutOf(nn::Tensor type, mlir::Location loc) const;
  WeightLayouts weightOf(nn::ParamOp param, bool hasCopy) const;

  /// Rows of a value over further axes, beside the cuts in `base`; null where it has no rows.
  dist::RowsAttr rowsOver(nn::Tensor type, dist::LayoutAttr base,
                          llvm::ArrayRef<mlir::StringAttr> axes) const;
  /// Rows as only the first of their axes cut them: a block has those of the others.
  dist::RowsAttr rowsOverFirst(dist::RowsAttr rows, size_t count) const;
  dist::LayoutAttr inNodes(dist::LayoutAttr base, dist::RowsAttr rows) const;
  /// The plan's line `hops`.
  std::optional<int64_t> getHops() const { return settings->plan.hops; }
  /// Dimensions of one rank, in this layout.
  nn::Tensor localType(nn::Tensor type, dist::LayoutAttr layout) const;
  /// The item of `shard` that cuts a dimension, and its line; the mesh and its line where no item
  /// does.
  llvm::StringRef keyOf(llvm::StringRef dim) const;
  mlir::Location lineOf(llvm::StringRef dim) const;
  /// The error that an axis would cut two dimensions of one `what`, at their lines.
  mlir::LogicalResult refuseTwice(mlir::Location loc, llvm::StringRef what, mlir::StringAttr axis,
                                  llvm::StringRef one, llvm::StringRef other) const;

private:
  struct Line {
    std::string key; // of its place in the source
    dist::Axes axes;
  };
  llvm::StringMap<dist::Axes> pieces;         // pieces of an axis of the plan
  llvm::StringMap<Line> lines, residualLines; // by dimension
  dist::Axes zeroAxes, copyAxes; // of these, the ones over which weights that are read are cut
  int64_t zeroStage = 0;
  bool accumulateSharded = false;
  std::optional<lang::Settings> settings;

  mlir::LogicalResult readShards(llvm::ArrayRef<lang::Shard> items, const Sizes &sizes);
  void readZero(const lang::Zero &zero, int64_t devices);
  dist::Axes piecesOfAll(llvm::ArrayRef<std::string> axes) const;
  dist::Axes fitting(const Line &line, int64_t size) const;
  mlir::LogicalResult checkSizes(llvm::StringRef dim, const Line &line,
                                 const std::set<int64_t> &sizes) const;
};

} // namespace tplan::shard

#endif // TPLAN_SHARD_PLACEMENT_H
