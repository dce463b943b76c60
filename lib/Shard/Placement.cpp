//===- Placement.cpp - what the plan says of dimensions and axes ----------===//
#include "lib/Shard/Placement.h"
#include "lib/Shard/Links.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

namespace {

/// Borders inside the axes of the plan: an axis is cut where its last `border` coordinates begin.
using Borders = llvm::StringMap<std::set<int64_t>>;

ArrayRef<Attribute> list(DictionaryAttr settings, StringRef key) {
  auto array = settings.getAs<ArrayAttr>(key);
  return array ? array.getValue() : ArrayRef<Attribute>();
}

/// Sizes that a dimension has anywhere in the module.
llvm::StringMap<std::set<int64_t>> sizesByName(ModuleOp module) {
  llvm::StringMap<std::set<int64_t>> sizes;
  auto add = [&](Type type) {
    if (auto tensor = dyn_cast<nn::Tensor>(type))
      for (nn::DimAttr dim : tensor.getDims())
        sizes[dim.getName()].insert(dim.getSize());
  };
  module.walk([&](Operation *op) {
    llvm::for_each(op->getResultTypes(), add);
    if (auto param = dyn_cast<nn::ParamOp>(op))
      add(param.getType());
  });
  return sizes;
}

/// The pieces of an axis, slowest first, as sizes: 16 with the border 2 is 8, 2.
SmallVector<int64_t> piecesOf(int64_t size, const std::set<int64_t> &borders) {
  SmallVector<int64_t> pieces;
  int64_t below = 1;
  for (int64_t border : borders)
    if (border > below && border < size && border % below == 0 && size % border == 0) {
      pieces.push_back(border / below);
      below = border;
    }
  pieces.push_back(size / below);
  std::reverse(pieces.begin(), pieces.end());
  return pieces;
}

} // namespace

FailureOr<Placement> Placement::read(ModuleOp module) {
  Placement p;
  p.settings.emplace(module);
  DictionaryAttr plan = p.settings->plan;
  MLIRContext *context = module.getContext();

  llvm::StringMap<int64_t> sizes; // of the plan's axes
  SmallVector<StringRef> order;
  for (Attribute attr : list(plan, "mesh")) {
    auto axis = cast<DictionaryAttr>(attr);
    StringRef name = lang::getString(axis, "name", "");
    sizes[name] = lang::getInt(axis, "size", 1);
    order.push_back(name);
  }
  // Fewer positions than coordinates: the first piece cuts them, the rest repeats.
  Borders borders;
  auto bySize = sizesByName(module);
  for (Attribute attr : list(plan, "shard")) {
    auto line = cast<DictionaryAttr>(attr);
    auto axes = line.getAs<ArrayAttr>("axes").getAsValueRange<StringAttr>();
    if (llvm::range_size(axes) != 1)
      continue;
    StringRef axis = *axes.begin();
    for (StringRef dim : line.getAs<ArrayAttr>("dims").getAsValueRange<StringAttr>())
      for (int64_t size : bySize[dim])
        if (size > 1 && size < sizes[axis] && sizes[axis] % size == 0)
          borders[axis].insert(sizes[axis] / size);
  }
  // The border of a node.
  auto zero = plan.getAs<DictionaryAttr>("zero");
  int64_t devices = lang::getInt(p.settings->cluster, "devices", 0), stride = 1;
  for (StringRef name : llvm::reverse(order)) {
    if (devices > 0 && stride < devices && devices % stride == 0)
      borders[name].insert(std::gcd(sizes[name], devices / stride));
    stride *= sizes[name];
  }

  SmallVector<dist::AxisAttr> axes;
  llvm::StringMap<Axes> pieces;
  for (StringRef name : order) {
    SmallVector<int64_t> cut = piecesOf(sizes[name], borders[name]);
    for (auto [i, size] : llvm::enumerate(cut)) {
      if (size == 1)
        continue;
      std::string piece = cut.size() == 1 ? name.str() : name.str() + "." + std::to_string(i);
      axes.push_back(dist::AxisAttr::get(context, piece, size));
      pieces[name].push_back(StringAttr::get(context, piece));
    }
  }
  p.mesh = dist::MeshAttr::get(context, axes);

  auto all = [&](ArrayAttr names) {
    Axes found;
    for (StringRef name : names.getAsValueRange<StringAttr>())
      llvm::append_range(found, pieces[name]);
    return found;
  };
  for (auto [i, attr] : llvm::enumerate(list(plan, "shard"))) {
    auto line = cast<DictionaryAttr>(attr);
    Axes over = all(line.getAs<ArrayAttr>("axes"));
    auto &to = line.contains("of") ? p.residualLines : p.lines;
    for (StringRef dim : line.getAs<ArrayAttr>("dims").getAsValueRange<StringAttr>()) {
      Line &entry = to[dim];
      entry.key = lang::shardKey(i);
      llvm::append_range(entry.axes, over);
      if (failed(p.checkSizes(dim, entry, bySize[dim])))
        return failure();
    }
  }
  if (zero) {
    p.zeroStage = lang::getInt(zero, "stage", 0);
    p.accumulateSharded =
        p.zeroStage == 3 || lang::getString(zero, "accumulate", "sharded") == "sharded";
    p.accumulateSharded &= p.zeroStage >= 2;
    p.zeroAxes = all(zero.getAs<ArrayAttr>("axes"));
    if (zero.contains("within"))
      llvm::erase_if(p.zeroAxes,
                     [&](StringAttr axis) { return !liesInNode(p.mesh, axis, devices); });
  }
  return p;
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// All axes of a line cut a dimension, or as many as it has positions: the others repeat it.
LogicalResult Placement::checkSizes(StringRef dim, const Line &line,
                                    const std::set<int64_t> &sizes) const {
  for (int64_t size : sizes)
    if (int64_t ranks = mesh.sizeOf(fitting(line, size));
        ranks != size && ranks != mesh.sizeOf(line.axes))
      return emitError(settings->planLine(line.key))
             << "blocks of " << dim << " must have a position each: it has " << size
             << ", choose at most as many ranks or a multiple; found " << mesh.sizeOf(line.axes);
  return success();
}

/// The first axes of a line, as many as leave each block a position.
Axes Placement::fitting(const Line &line, int64_t size) const {
  Axes axes;
  int64_t ranks = 1;
  for (StringAttr axis : line.axes) {
    ranks *= mesh.sizeOf(axis);
    if (ranks > size)
      break;
    axes.push_back(axis);
  }
  return axes;
}

Axes Placement::axesOf(nn::DimAttr dim) const {
  auto line = lines.find(dim.getName());
  return line == lines.end() ? Axes() : fitting(line->second, dim.getSize());
}

Axes Placement::residualAxesOf(nn::DimAttr dim) const {
  auto line = residualLines.find(dim.getName());
  return line == residualLines.end() ? Axes() : fitting(line->second, dim.getSize());
}

Axes Placement::allAxes() const {
  return llvm::map_to_vector<2>(mesh.getAxes(), [](dist::AxisAttr axis) {
    return StringAttr::get(axis.getContext(), axis.getName());
  });
}

StringRef Placement::keyOf(StringRef dim) const {
  auto line = lines.find(dim);
  if (line == lines.end())
    line = residualLines.find(dim);
  return line == residualLines.end() ? "mesh" : StringRef(line->second.key);
}

Location Placement::lineOf(StringRef dim) const { return settings->planLine(keyOf(dim)); }

LayoutAttr Placement::layoutOf(nn::Tensor type, Location loc) const {
  LayoutAttr layout = LayoutAttr::get(type.getContext(), {}, {}, {}, {});
  llvm::StringMap<StringRef> taken; // axis -> dimension
  for (nn::DimAttr dim : type.getDims()) {
    Axes axes = axesOf(dim);
    for (StringAttr axis : axes)
      if (auto [it, isNew] = taken.try_emplace(axis, dim.getName()); !isNew) {
        auto diag = emitError(loc)
                    << "one value cannot be cut twice over axis " << axis.getValue()
                    << ", found the dimensions " << it->second << " and " << dim.getName();
        diag.attachNote(lineOf(it->second)) << it->second << " is cut here";
        diag.attachNote(lineOf(dim.getName()))
            << dim.getName() << " is cut here; cut one of them over another axis, or not at all";
        return {};
      }
    layout = layout.withAxes(StringAttr::get(type.getContext(), dim.getName()), axes);
  }
  return layout;
}

nn::Tensor Placement::localType(nn::Tensor type, LayoutAttr layout) const {
  SmallVector<nn::DimAttr> dims;
  for (nn::DimAttr dim : type.getDims())
    dims.push_back(nn::DimAttr::get(
        type.getContext(), dim.getName(),
        dist::blockOf(dim.getSize(), mesh.sizeOf(layout.axesOf(dim.getName()))), dim.getBounded()));
  dist::RowsAttr rows = layout.getRows();
  if (!rows || rows.getInWhole())
    return type.withDims(dims);
  SmallVector<nn::DimAttr> merged = {
      nn::DimAttr::get(type.getContext(), "rows", rows.getBlock(), false)};
  for (nn::DimAttr dim : dims)
    if (!llvm::is_contained(rows.getDims(), StringAttr::get(type.getContext(), dim.getName())))
      merged.push_back(dim);
  return type.withDims(merged);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// All dimensions but the last are rows, of a vector its elements. Blocks begin at multiples of
/// 64 elements, where kernels may begin.
dist::RowsAttr Placement::rowsOver(nn::Tensor type, LayoutAttr base,
                                   ArrayRef<StringAttr> axes) const {
  if (axes.empty() || type.getRank() == 0)
    return {};
  ArrayRef<nn::DimAttr> dims = localType(type, base).getDims();
  int64_t length = dims.size() > 1 ? dims.back().getSize() : 1;
  if (dims.size() > 1)
    dims = dims.drop_back();
  int64_t rows = 1;
  SmallVector<StringAttr> names;
  for (nn::DimAttr dim : dims) {
    rows *= dim.getSize();
    names.push_back(StringAttr::get(type.getContext(), dim.getName()));
  }
  int64_t unit = 64 / std::gcd<int64_t>(64, length);
  int64_t block = dist::blockOf(dist::blockOf(rows, mesh.sizeOf(axes)), unit) * unit;
  return dist::RowsAttr::get(type.getContext(), names, block, axes, false);
}

WeightLayouts Placement::weightOf(nn::ParamOp param, bool hasCopy) const {
  auto type = cast<nn::Tensor>(param.getType());
  LayoutAttr base = layoutOf(type, param.getLoc());
  if (!base)
    return {};
  dist::RowsAttr rows;
  if (!param.isState())
    rows = rowsOver(type, base, dist::difference(zeroAxes, base.used()));
  LayoutAttr cut = rows ? base.withRows(rows) : base;
  bool isCopy = param.getKind() == "copy";
  WeightLayouts layouts;
  layouts.gathered = base;
  // A weight with a working copy is read by its update alone.
  layouts.weight = zeroStage == 3 || (hasCopy && !isCopy) ? cut : base;
  layouts.state = cut;
  layouts.accumulator = accumulateSharded ? cut : base;
  layouts.reduced = cut;
  if (rows && !accumulateSharded)
    layouts.reduced = base.withRows(dist::RowsAttr::get(rows.getContext(), rows.getDims(),
                                                        rows.getBlock(), rows.getAxes(), true));
  return layouts;
}
