//===- Borders.h - layouts of what functions are given and give ------------===//
//
// Layer functions meet at the chain, at weights and at sums. The functions on either side of such a
// border must agree on its layout, so it is decided here, from the plan and the chain, before any
// function is looked into. Only which sums are pending comes from inside the functions: an
// accumulator is pending over every axis over which a contribution is.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_BORDERS_H
#define TPLAN_SHARD_BORDERS_H

#include "dialects/nn/Parts.h"
#include "lib/Shard/Placement.h"
#include <map>

namespace tplan::shard {

/// Whose border it is: a whole layer, or a part of it.
struct LayerPart {
  LayerPart(nn::LayerOp op) : layer(op.getWholeLayer()), part(op.getPart()), loc(op.getLoc()) {}
  LayerPart(mlir::FlatSymbolRefAttr layer, nn::Part part, mlir::Location loc)
      : layer(layer), part(part), loc(loc) {}
  mlir::FlatSymbolRefAttr layer;
  std::optional<nn::Part> part;
  mlir::Location loc;
};

class Borders {
public:
  /// Errors: at weights with two dimensions that one axis would cut.
  static mlir::FailureOr<Borders> read(mlir::ModuleOp module, const Placement &placement);

  /// Layout of an argument or result of a layer.
  dist::LayoutAttr ofArg(nn::LayerOp layer, unsigned i) const;
  dist::LayoutAttr ofResult(nn::LayerOp layer, unsigned i) const;
  /// Whether a value belongs to the residual stream.
  bool isResidual(const LayerPart &at, const nn::Label &label, bool isResult) const;

  /// Notes that a contribution to an accumulator is pending as `term` is.
  void addPending(const LayerPart &at, nn::Role role, llvm::StringRef name, dist::LayoutAttr term);
  /// Axes over which the sum of this name (a loss, a count) is pending in the chain.
  dist::Axes pendingOf(nn::Role role, llvm::StringRef name) const;

  /// The weight that a layer binds to a name, or null.
  nn::ParamOp paramOf(mlir::FlatSymbolRefAttr layer, llvm::StringRef name) const;
  const WeightLayouts &weightOf(nn::ParamOp param) const { return weights.find(param)->second; }

  /// Layout of a value, as a part of a layer takes it or gives it.
  dist::LayoutAttr of(const LayerPart &at, const nn::Label &label, nn::Tensor type,
                      bool isResult) const;
  /// Layout of a value of a chain.
  dist::LayoutAttr ofChain(mlir::Value v) const;

private:
  explicit Borders(const Placement &placement) : placement(&placement) {}
  std::string pendingKey(mlir::FlatSymbolRefAttr layer, nn::Role role, llvm::StringRef name) const;

  const Placement *placement;
  llvm::DenseMap<mlir::Operation *, WeightLayouts> weights;
  /// Positions of a layer's carried values that are residual, and of the values that it carries
  /// out.
  struct Residual {
    llvm::SmallDenseSet<unsigned> in, out;
  };
  llvm::DenseMap<mlir::Attribute, llvm::StringMap<nn::ParamOp>> bound; // by whole layer and name
  llvm::DenseMap<mlir::Attribute, Residual> residual;                  // by whole layer
  llvm::DenseSet<mlir::Value> stream; // the values of the chain that are residual
  dist::LayoutAttr withResidual(dist::LayoutAttr layout, nn::Tensor type) const;
  struct Pending {
    dist::Axes sum, max;
  };
  std::map<std::string, Pending> pending;
};

} // namespace tplan::shard

#endif // TPLAN_SHARD_BORDERS_H
