//===- Borders.h - layouts of what functions are given and give ------------===//
//
// Layer functions meet at the chain, at weights and at sums. Who stands on either side of such
// a border must agree on its layout, so it is decided here, from the plan and the chain,
// before any function is looked into. Only which sums are pending comes from inside
// the functions: an accumulator waits for every axis over which a contribution is pending.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_BORDERS_H
#define TPLAN_SHARD_BORDERS_H

#include "lib/Shard/Placement.h"
#include <map>

namespace tplan::shard {

/// Whose border it is: a layer, without its part, and the part ("" of a whole one).
struct LayerPart {
  LayerPart(nn::LayerOp op);
  LayerPart(llvm::StringRef layer, llvm::StringRef part, mlir::Location loc)
      : layer(layer), part(part), loc(loc) {}
  llvm::StringRef layer, part;
  mlir::Location loc;
};

class Borders {
public:
  /// Errors at weights of which one axis would cut two dimensions.
  static mlir::FailureOr<Borders> read(mlir::ModuleOp module, const Placement &placement);

  /// Layout of an argument or result of a layer.
  dist::LayoutAttr ofArg(nn::LayerOp layer, unsigned i) const;
  dist::LayoutAttr ofResult(nn::LayerOp layer, unsigned i) const;
  /// Whether a value belongs to the residual stream.
  bool isResidual(const LayerPart &at, nn::Role role, llvm::StringRef name, bool isResult) const;

  /// Notes that a contribution to an accumulator is pending over `axes`.
  void addPending(const LayerPart &at, nn::Role role, llvm::StringRef name,
                  llvm::ArrayRef<mlir::StringAttr> axes);
  /// Axes over which the sum of this name (a loss, a count) is pending in the chain.
  dist::Axes pendingOf(nn::Role role, llvm::StringRef name) const;

  /// The weight that a layer binds to a name, or null.
  nn::ParamOp paramOf(llvm::StringRef layer, llvm::StringRef name) const;
  const WeightLayouts &weightOf(nn::ParamOp param) const { return weights.find(param)->second; }

  /// Layout of a value with this role and name, as a part of a layer takes it or gives it.
  dist::LayoutAttr of(const LayerPart &at, nn::Role role, llvm::StringRef name, nn::Tensor type,
                      bool isResult) const;
  /// Layout of a value of a chain.
  dist::LayoutAttr ofChain(mlir::Value v) const;

private:
  explicit Borders(const Placement &placement) : placement(&placement) {}
  std::string pendingKey(llvm::StringRef layer, nn::Role role, llvm::StringRef name) const;

  const Placement *placement;
  llvm::DenseMap<mlir::Operation *, WeightLayouts> weights;
  /// By layer without its part: name -> weight; "in c0", "out c0" of the residual stream.
  llvm::StringMap<llvm::StringMap<nn::ParamOp>> bound;
  llvm::StringMap<std::set<std::string>> residual;
  llvm::DenseSet<mlir::Value> stream; // the values of the chain that are residual
  dist::LayoutAttr withResidual(dist::LayoutAttr layout, nn::Tensor type) const;
  std::map<std::string, dist::Axes> pending;
};

/// The name of a layer without that of its part.
llvm::StringRef layerName(nn::LayerOp layer);

} // namespace tplan::shard

#endif // TPLAN_SHARD_BORDERS_H
