//===- Granules.cpp - rows that begin where libraries want them -----------===//
#include "lib/Shard/Granules.h"
#include "lib/Shard/Rules.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/STLExtras.h"
#include <map>
#include <numeric>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::shard;

/// The multiple of bytes that cuBLASLt's documentation asks for in a row; a vector load needs it,
/// too.
static constexpr int64_t kRowBytes = 16;
/// A dimension is padded only if it has at least so many granules: then rounding up adds at most
/// 1/64 of it for each block.
static constexpr int64_t kLeastGranules = 64;

namespace {
struct Dimension {
  int64_t granule = 0;           // the granule that its name needs; 0: none
  int64_t least = 0, common = 0; // over the sizes that it has: the smallest, their greatest divisor
  bool fixed = false;            // must be whole or in equal blocks

  void add(int64_t size) {
    least = common ? std::min(least, size) : size;
    common = std::gcd(common, size);
  }
};
} // namespace

SmallVector<dist::GranuleAttr> shard::findGranules(ModuleOp module, int64_t ranks) {
  std::map<StringRef, Dimension> dimensions; // in a fixed order
  module.walk([&](Operation *op) {
    std::optional<Rule> rule = ruleOf(op);
    if (!rule)
      return;
    for (DimAttr dim : factorsOf(op))
      dimensions[dim.getName()].add(dim.getSize());
    for (StringRef dim : llvm::concat<StringRef>(rule->whole, rule->exact))
      dimensions[dim].fixed = true;
    if (!isa<ContractOp>(op))
      return;
    for (Type type : llvm::concat<Type>(op->getOperandTypes(), op->getResultTypes()))
      if (auto matrix = cast<Tensor>(type); matrix.getRank()) {
        int64_t &granule = dimensions[matrix.getDims().back().getName()].granule;
        granule = std::max(granule, kRowBytes / elementBytes(matrix.getElementType()));
      }
  });
  SmallVector<dist::GranuleAttr> found;
  for (auto &[name, dim] : dimensions)
    if (dim.granule && !dim.fixed && dim.least >= kLeastGranules * dim.granule &&
        dim.common % (dim.granule * ranks))
      found.push_back(dist::GranuleAttr::get(module.getContext(), name, dim.granule));
  return found;
}
