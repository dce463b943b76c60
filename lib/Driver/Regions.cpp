//===- Regions.cpp - bytes of fused kernels against what they need at least ===//
//
// Regions grow from single kernels, two at a time, along the largest arrays first. Where two
// regions want the same neighbour, the one that saves more bytes gets it, so that the bound is low.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Regions.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using llvm::formatv;

namespace tplan {
namespace {

bool isFusedKernel(Operation *op) {
  auto launch = dyn_cast_or_null<rt::LaunchOp>(op);
  return launch && launch.getCategory() == rt::Category::Kernel;
}

/// A kernel that makes a few numbers of an array. What reads these waits for all of the array,
/// which no kernel holds, so nothing before it can be one kernel with what is after it.
bool isBarrier(rt::LaunchOp launch) {
  constexpr int64_t kNumbers = 256; // bytes
  auto isFew = [](Value v) { return nn::bytesOf(v) <= kNumbers; };
  return llvm::all_of(launch.getResults(), isFew) && !llvm::all_of(launch.getArgs(), isFew);
}

/// Calls of a function, each of which begins as a region of its own.
class Regions {
public:
  explicit Regions(rt::FuncOp func) : func(func) {
    for (Operation &op : func.getBlock().without_terminator()) {
      regionOf[&op] = calls.size();
      calls.push_back({&op});
    }
    mergeKernels();
  }

  std::vector<FusedRegion> describe();

private:
  bool reachesAround(unsigned from, unsigned to);
  void tryMerge(unsigned a, unsigned b);
  void mergeKernels();
  int64_t boundOf(unsigned region);

  rt::FuncOp func;
  DenseMap<Operation *, unsigned> regionOf;
  std::vector<SmallVector<Operation *>> calls; // of each region, in order; none once merged
};

/// Whether a path leads from one region to another through a third.
bool Regions::reachesAround(unsigned from, unsigned to) {
  llvm::BitVector seen(calls.size());
  seen.set(from);
  SmallVector<unsigned> work = {from};
  while (!work.empty()) {
    unsigned at = work.pop_back_val();
    for (Operation *op : calls[at])
      for (Operation *user : op->getUsers()) {
        auto next = regionOf.find(user);
        if (next == regionOf.end() || (at == from && next->second == to))
          continue;
        if (next->second == to)
          return true;
        if (!seen.test(next->second))
          work.push_back(next->second);
        seen.set(next->second);
      }
  }
  return false;
}

void Regions::tryMerge(unsigned a, unsigned b) {
  if (a == b || reachesAround(a, b) || reachesAround(b, a))
    return;
  for (Operation *op : calls[b])
    regionOf[op] = a;
  llvm::append_range(calls[a], calls[b]);
  llvm::sort(calls[a], [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  calls[b].clear();
}

/// Along arrays that one makes and another reads, and along those that both read. Numbers (a
/// learning rate) connect nothing: they are no traffic.
void Regions::mergeKernels() {
  llvm::MapVector<Value, llvm::SetVector<Operation *>> touching;
  for (Operation &op : func.getBlock().without_terminator()) {
    if (!isFusedKernel(&op) || isBarrier(cast<rt::LaunchOp>(op)))
      continue;
    for (Value v : op.getOperands())
      touching[v].insert(&op);
    for (Value v : op.getResults())
      touching[v].insert(&op);
  }
  using Array = std::tuple<int64_t, unsigned, ArrayRef<Operation *>>; // less bytes, number, kernels
  std::vector<Array> arrays;
  for (const auto &[v, kernels] : touching)
    if (cast<nn::Tensor>(v.getType()).getRank() > 0)
      arrays.push_back({-nn::bytesOf(v), arrays.size(), kernels.getArrayRef()});
  llvm::sort(arrays, [](const Array &x, const Array &y) {
    return std::tie(std::get<0>(x), std::get<1>(x)) < std::tie(std::get<0>(y), std::get<1>(y));
  });
  for (const auto &[bytes, number, kernels] : arrays)
    for (unsigned i = 0; i < kernels.size(); ++i)
      for (unsigned j = i + 1; j < kernels.size(); ++j)
        tryMerge(regionOf[kernels[i]], regionOf[kernels[j]]);
}

int64_t Regions::boundOf(unsigned region) {
  DenseSet<Value> seen;
  int64_t bytes = 0;
  auto isInside = [&](Operation *op) {
    auto at = regionOf.find(op);
    return at != regionOf.end() && at->second == region;
  };
  for (Operation *op : calls[region]) {
    for (Value v : op->getOperands())
      if (!(v.getDefiningOp() && isInside(v.getDefiningOp())) && seen.insert(v).second)
        bytes += nn::bytesOf(v);
    for (Value v : op->getResults())
      if (!llvm::all_of(v.getUsers(), isInside))
        bytes += nn::bytesOf(v);
  }
  return bytes;
}

std::vector<FusedRegion> Regions::describe() {
  std::vector<FusedRegion> regions;
  for (auto [number, list] : llvm::enumerate(calls)) {
    if (list.empty() || !isFusedKernel(list.front()))
      continue;
    FusedRegion row;
    row.function = func.getSymName().str();
    for (Operation *op : list) {
      row.kernels.push_back(cast<rt::LaunchOp>(op).getKernel().str());
      row.bytes += cast<rt::Call>(op).getBytes();
    }
    row.bound = boundOf(number);
    regions.push_back(std::move(row));
  }
  return regions;
}

} // namespace

std::vector<FusedRegion> fusedRegionsOf(rt::FuncOp func) { return Regions(func).describe(); }

void printFusedRegions(std::vector<FusedRegion> regions, llvm::raw_ostream &os) {
  if (regions.empty())
    return;
  llvm::sort(regions, [](const FusedRegion &x, const FusedRegion &y) {
    return std::tuple(-x.ratio(), x.function, x.kernels) <
           std::tuple(-y.ratio(), y.function, y.kernels);
  });
  os << formatv("\n{0,-20} {1,6} {2,20} {3,20}  {4}\n", "fused regions", "ratio", "bytes moved",
                "bound", "kernels");
  for (const FusedRegion &row : regions)
    os << formatv("  {0,-18} {1,6:f3} {2,20:N0} {3,20:N0}  {4}\n", row.function, row.ratio(),
                  row.bytes, row.bound, llvm::join(row.kernels, " "));
}

void writeFusedRegion(const FusedRegion &region, llvm::json::OStream &json) {
  json.attribute("function", region.function);
  json.attributeArray("kernels", [&] {
    for (const std::string &kernel : region.kernels)
      json.value(kernel);
  });
  json.attribute("calls", region.calls);
  json.attribute("bytes", region.bytes);
  json.attribute("bound", region.bound);
  json.attribute("ratio", region.ratio());
}

} // namespace tplan
