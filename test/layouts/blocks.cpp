//===- blocks.cpp - a value in the blocks of its ranks, and back ----------===//
#include "test/layouts/blocks.h"
#include "runtime/support/random.h"
#include <map>

using namespace tplan;
using namespace layouts;
using mlir::StringAttr;

double layouts::randomNumber(uint64_t seed, uint64_t index) {
  return (double(runtime::philox(seed, 1, index)[0] >> 9) + 0.5) / double(1 << 20) - 4;
}

int64_t Blocks::member(int64_t rank, llvm::ArrayRef<StringAttr> axes) const {
  std::map<llvm::StringRef, int64_t> at, sizes;
  for (dist::AxisAttr axis : llvm::reverse(mesh.getAxes())) {
    at[axis.getName()] = rank % axis.getSize();
    sizes[axis.getName()] = axis.getSize();
    rank /= axis.getSize();
  }
  int64_t number = 0;
  for (StringAttr axis : axes)
    number = number * sizes[axis] + at[axis];
  return number;
}

int64_t Blocks::blockOf(nn::DimAttr dim) const {
  int64_t ranks = 1, granule = 1;
  for (StringAttr axis : layout.axesOf(dim.getName()))
    ranks *= mesh.getAxes()[mesh.find(axis)].getSize();
  for (dist::GranuleAttr g : mesh.getGranules())
    if (g.getDim() == dim.getName())
      granule = g.getSize();
  int64_t block = (dim.getSize() + ranks - 1) / ranks;
  return (block + granule - 1) / granule * granule;
}

int64_t Blocks::count() const {
  int64_t n = 0;
  visit(0, [&](int64_t, int64_t) { ++n; });
  return n;
}

void Blocks::visit(int64_t rank, const std::function<void(int64_t, int64_t)> &f) const {
  dist::RowsAttr rows = layout.getRows();
  auto isRow = [&](nn::DimAttr dim) {
    return rows &&
           llvm::is_contained(rows.getDims(), StringAttr::get(dim.getContext(), dim.getName()));
  };
  // Loops over what is in memory: the rows first, then the other dimensions.
  std::vector<nn::DimAttr> rowDims, others;
  for (nn::DimAttr dim : type.getDims())
    (isRow(dim) ? rowDims : others).push_back(dim);
  int64_t local = 0, allRows = 1;
  for (nn::DimAttr dim : rowDims)
    allRows *= blockOf(dim);
  std::vector<int64_t> position(type.getRank());
  auto place = [&](nn::DimAttr dim, int64_t at) {
    position[type.find(dim.getName())] =
        member(rank, layout.axesOf(dim.getName())) * blockOf(dim) + at;
  };
  auto emit = [&](bool padding) {
    int64_t whole = 0;
    for (auto [dim, at] : llvm::zip(type.getDims(), position)) {
      padding |= at >= dim.getSize();
      whole = whole * dim.getSize() + at;
    }
    f(local++, padding ? -1 : whole);
  };
  std::function<void(size_t, bool)> inner = [&](size_t i, bool padding) {
    if (i == others.size())
      return emit(padding);
    for (int64_t at = 0; at < blockOf(others[i]); ++at) {
      place(others[i], at);
      inner(i + 1, padding);
    }
  };
  for (int64_t r = 0, e = rows ? rows.getBlock() : 1; r < e; ++r) {
    int64_t row = rows ? member(rank, rows.getAxes()) * rows.getBlock() + r : 0, rest = row;
    for (nn::DimAttr dim : llvm::reverse(rowDims)) {
      place(dim, rest % blockOf(dim));
      rest /= blockOf(dim);
    }
    inner(0, rows && row >= allRows);
  }
}

/// What parts have of an element whose sum or maximum over them is `value`; which of them has the
/// largest depends on the element.
static double partOf(double value, int64_t part, int64_t parts, bool isMax, uint64_t seed,
                     int64_t at) {
  auto other = [&](int64_t p) { return randomNumber(seed + p, at); };
  if (isMax)
    return part == at % parts ? value : value - std::abs(other(part));
  if (part)
    return other(part);
  for (int64_t p = 1; p < parts; ++p)
    value -= other(p);
  return value;
}

std::vector<Numbers> Blocks::scatter(const Numbers &whole, double padding, uint64_t seed) const {
  std::vector<Numbers> ranks(mesh.getNumRanks());
  int64_t parts = 1;
  bool isMax = !layout.getMax().empty();
  llvm::ArrayRef<StringAttr> axes = isMax ? layout.getMax() : layout.getSum();
  for (StringAttr axis : axes)
    parts *= mesh.getAxes()[mesh.find(axis)].getSize();
  for (size_t rank = 0; rank < ranks.size(); ++rank)
    visit(rank, [&](int64_t, int64_t at) {
      if (at < 0)
        return ranks[rank].push_back(padding);
      ranks[rank].push_back(partOf(whole[at], member(rank, axes), parts, isMax, seed, at));
    });
  return ranks;
}

Numbers Blocks::gather(const std::vector<Numbers> &ranks, bool zeros, std::string &error) const {
  dist::Axes repeated;
  for (dist::AxisAttr axis : mesh.getAxes()) {
    StringAttr name = StringAttr::get(mesh.getContext(), axis.getName());
    if (!llvm::is_contained(layout.used(), name))
      repeated.push_back(name);
  }
  bool isMax = !layout.getMax().empty();
  std::map<int64_t, Numbers> wholes; // by the member among those that repeat it
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    Numbers &whole = wholes[member(rank, repeated)];
    whole.resize(type.getNumElements(), isMax ? -INFINITY : 0);
    visit(rank, [&](int64_t local, int64_t at) {
      double value = ranks[rank][local];
      if (at >= 0)
        whole[at] = isMax ? std::max(whole[at], value) : whole[at] + value;
      else if (zeros && value != 0)
        error = "padding is " + std::to_string(value) + " on rank " + std::to_string(rank);
    });
  }
  for (auto &[member, whole] : wholes)
    if (whole != wholes.begin()->second)
      error = "ranks that repeat the value differ";
  return wholes.begin()->second;
}
