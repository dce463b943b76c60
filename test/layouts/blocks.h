//===- blocks.h - a value in the blocks of its ranks, and back ------------===//
//
// Written from the words of dialects/dist/Dist.td alone, without a function of lib/Shard: what a
// layout means, so that the compiler's reading of it can be wrong.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_LAYOUTS_BLOCKS_H
#define TPLAN_TEST_LAYOUTS_BLOCKS_H

#include "dialects/dist/Dist.h"
#include <functional>
#include <string>
#include <vector>

namespace layouts {

/// Numbers of a value in memory order, whatever their type.
using Numbers = std::vector<double>;

class Blocks {
public:
  Blocks(tplan::nn::Tensor type, tplan::dist::LayoutAttr layout, tplan::dist::MeshAttr mesh)
      : type(type), layout(layout), mesh(mesh) {}

  /// Elements that a rank has.
  int64_t count() const;
  /// Calls back for each element of a rank, in memory order: its place in the whole, -1 for
  /// padding.
  void visit(int64_t rank, const std::function<void(int64_t local, int64_t whole)> &f) const;

  /// The block of each rank. What is pending is cut at random into parts; padding is `padding`.
  std::vector<Numbers> scatter(const Numbers &whole, double padding, uint64_t seed) const;
  /// The whole, from all ranks; an error where ranks that repeat it differ. With `zeros` padding
  /// must be zero.
  Numbers gather(const std::vector<Numbers> &ranks, bool zeros, std::string &error) const;

private:
  tplan::nn::Tensor type;
  tplan::dist::LayoutAttr layout;
  tplan::dist::MeshAttr mesh;

  /// Number of a rank among those that differ on the axes, which are digits.
  int64_t member(int64_t rank, llvm::ArrayRef<mlir::StringAttr> axes) const;
  int64_t blockOf(tplan::nn::DimAttr dim) const;
};

/// A multiple of 2^-20 in (-4, 4): sums of a few are exact in f32.
double randomNumber(uint64_t seed, uint64_t index);

} // namespace layouts

#endif // TPLAN_TEST_LAYOUTS_BLOCKS_H
