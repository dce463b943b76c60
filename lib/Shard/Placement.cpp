//===- Placement.cpp - what the plan says of dimensions and axes ----------===//
#include "lib/Shard/Placement.h"
#include "lib/Cost/Links.h"
#include "lib/Shard/Granules.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/StringSet.h"
#include <numeric>
#include <set>

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using dist::Axes;
using dist::LayoutAttr;

namespace {

/// An axis of the plan, and its borders: it is cut into pieces where its last `border` coordinates
/// begin.
struct PlanAxis {
  int64_t size;
  std::set<int64_t> borders;
};
/// The first axis varies slowest over the ranks.
using PlanAxes = llvm::MapVector<StringRef, PlanAxis>;

PlanAxes readAxes(const lang::Plan &plan) {
  PlanAxes axes;
  for (const lang::Axis &axis : plan.mesh)
    axes[axis.name].size = axis.size;
  return axes;
}

/// Where a dimension has fewer positions than an axis has coordinates: the first piece of the axis
/// cuts the dimension, the rest repeats it.
void addBordersOfSizes(const lang::Plan &plan, const Sizes &sizes, PlanAxes &axes) {
  for (const lang::Shard &line : plan.shard) {
    if (line.axes.size() != 1)
      continue;
    PlanAxis &axis = axes[line.axes.front()];
    for (StringRef dim : line.dims)
      for (int64_t size : sizes.lookup(dim))
        if (size > 1 && size < axis.size && axis.size % size == 0)
          axis.borders.insert(axis.size / size);
  }
}

/// Adds a border where a node ends, so that a sum may go in two hops, and `within node` has a piece
/// to name. The axis of the stages cuts no value, so it stays whole.
void addBordersOfNodes(int64_t devices, StringRef stages, PlanAxes &axes) {
  int64_t stride = 1;
  for (auto &[name, axis] : llvm::reverse(axes)) {
    if (name != stages && devices > 0 && stride < devices && devices % stride == 0)
      axis.borders.insert(std::gcd(axis.size, devices / stride));
    stride *= axis.size;
  }
}

/// Sizes that a dimension has anywhere in the module.
Sizes sizesByName(ModuleOp module) {
  Sizes sizes;
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
  const lang::Plan &plan = p.settings->plan;
  Sizes sizes = sizesByName(module);
  int64_t devices = p.settings->cluster.devices;
  PlanAxes axes = readAxes(plan);
  addBordersOfSizes(plan, sizes, axes);
  addBordersOfNodes(devices, plan.stageAxis, axes);

  SmallVector<dist::AxisAttr> all;
  for (auto &[name, axis] : axes) {
    SmallVector<int64_t> cut = piecesOf(axis.size, axis.borders);
    for (auto [i, size] : llvm::enumerate(cut)) {
      if (size == 1)
        continue;
      bool isWhole = cut.size() == 1;
      std::string piece = isWhole ? name.str() : name.str() + "." + std::to_string(i);
      StringAttr whole = isWhole ? StringAttr() : StringAttr::get(module.getContext(), name);
      all.push_back(dist::AxisAttr::get(module.getContext(), piece, size, whole));
      p.pieces[name].push_back(StringAttr::get(module.getContext(), piece));
    }
  }
  StringAttr stages;
  if (!p.pieces.lookup(plan.stageAxis).empty())
    stages = StringAttr::get(module.getContext(), plan.stageAxis);
  // Passes read the plan again when ops have changed; granules must stay what they were.
  auto axesAlone = dist::MeshAttr::get(module.getContext(), all, {}, stages);
  auto known = module->getAttrOfType<dist::MeshAttr>(dist::kMesh);
  SmallVector<dist::GranuleAttr> granules =
      known ? SmallVector<dist::GranuleAttr>(known.getGranules())
            : findGranules(module, axesAlone.getNumRanks() / axesAlone.getNumStageRanks());
  p.mesh = dist::MeshAttr::get(module.getContext(), all, granules, stages);
  if (failed(p.readShards(plan.shard, sizes)))
    return failure();
  if (plan.zero)
    p.readZero(*plan.zero, devices);
  return p;
}

Axes Placement::piecesOfAll(ArrayRef<std::string> axes) const {
  Axes found;
  for (StringRef name : axes)
    llvm::append_range(found, pieces.lookup(name));
  return found;
}

LogicalResult Placement::readShards(ArrayRef<lang::Shard> items, const Sizes &sizes) {
  for (auto [i, line] : llvm::enumerate(items)) {
    Axes over = piecesOfAll(line.axes);
    auto &to = line.of.empty() ? lines : residualLines;
    for (StringRef dim : line.dims) {
      Line &entry = to[dim];
      entry.key = lang::shardKey(i);
      llvm::append_range(entry.axes, over);
      if (failed(checkSizes(dim, entry, sizes.lookup(dim))))
        return failure();
    }
  }
  return success();
}

void Placement::readZero(const lang::Zero &zero, int64_t devices) {
  zeroStage = zero.stage;
  accumulateSharded =
      zeroStage == 3 || (zeroStage == 2 && zero.accumulate == lang::Accumulate::Sharded);
  zeroAxes = piecesOfAll(zero.axes);
  auto inNode = [&](StringAttr axis) { return cost::liesInNode(mesh, axis, devices); };
  if (zero.withinNode)
    llvm::erase_if(zeroAxes, [&](StringAttr axis) { return !inNode(axis); });
  // Blocks of the ranks in a node follow each other in pieces, so that a node's part is cut again
  // among nodes, and gathered among nodes first.
  if (devices && (settings->plan.hops != 1 || zero.copiesInNode))
    llvm::stable_sort(zeroAxes,
                      [&](StringAttr a, StringAttr b) { return inNode(a) && !inNode(b); });
  copyAxes = zeroAxes;
  if (zero.copiesInNode)
    llvm::erase_if(copyAxes, [&](StringAttr axis) { return !inNode(axis); });
}

//===----------------------------------------------------------------------===//
// Dimensions
//===----------------------------------------------------------------------===//

/// Either all axes of a line cut a dimension, or as many as it has positions, and the others repeat
/// it.
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

/// The first axes of a line, as many as leave each block at least one position.
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

StringRef Placement::keyOf(StringRef dim) const {
  auto line = lines.find(dim);
  if (line == lines.end())
    line = residualLines.find(dim);
  return line == residualLines.end() ? "mesh" : StringRef(line->second.key);
}

Location Placement::lineOf(StringRef dim) const { return settings->planLine(keyOf(dim)); }

LogicalResult Placement::refuseTwice(Location loc, StringRef what, StringAttr axis, StringRef one,
                                     StringRef other) const {
  auto diag = emitError(loc) << "one " << what << " cannot be cut twice over axis "
                             << mesh.planAxisOf(axis) << ", found the dimensions " << one << " and "
                             << other;
  diag.attachNote(lineOf(one)) << one << " is cut here";
  diag.attachNote(lineOf(other))
      << other << " is cut here; cut one of them over another axis, or not at all";
  return diag;
}

LayoutAttr Placement::layoutOf(nn::Tensor type, Location loc) const {
  LayoutAttr layout = LayoutAttr::get(type.getContext(), {}, {}, {}, {});
  llvm::StringMap<StringRef> taken; // axis -> dimension
  for (nn::DimAttr dim : type.getDims()) {
    Axes axes = axesOf(dim);
    for (StringAttr axis : axes)
      if (auto [it, isNew] = taken.try_emplace(axis, dim.getName()); !isNew)
        return (void)refuseTwice(loc, "value", axis, it->second, dim.getName()), LayoutAttr();
    layout = layout.withAxes(StringAttr::get(type.getContext(), dim.getName()), axes);
  }
  return layout;
}

nn::Tensor Placement::localType(nn::Tensor type, LayoutAttr layout) const {
  SmallVector<nn::DimAttr> dims;
  for (nn::DimAttr dim : type.getDims())
    dims.push_back(nn::DimAttr::get(type.getContext(), dim.getName(),
                                    mesh.blockOf(dim, layout.axesOf(dim.getName())),
                                    dim.getBounded()));
  dist::RowsAttr rows = layout.getRows();
  if (!rows || rows.getInWhole())
    return type.withDims(dims);
  SmallVector<nn::DimAttr> merged = {
      nn::DimAttr::get(type.getContext(), dist::kRowsDim, rows.getBlock(), false)};
  for (nn::DimAttr dim : dims)
    if (!llvm::is_contained(rows.getDims(), StringAttr::get(type.getContext(), dim.getName())))
      merged.push_back(dim);
  return type.withDims(merged);
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// All dimensions but the last are rows; of a vector its elements are. Blocks begin at multiples of
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

dist::RowsAttr Placement::rowsOverFirst(dist::RowsAttr rows, size_t count) const {
  ArrayRef<StringAttr> axes = rows.getAxes();
  return dist::RowsAttr::get(rows.getContext(), rows.getDims(),
                             rows.getBlock() * mesh.sizeOf(axes.drop_front(count)),
                             axes.take_front(count), false);
}

/// The layout of a weight that F and B read, whose states have these rows.
LayoutAttr Placement::inNodes(LayoutAttr base, dist::RowsAttr rows) const {
  size_t count = llvm::count_if(
      rows.getAxes(), [&](StringAttr axis) { return llvm::is_contained(copyAxes, axis); });
  return count ? base.withRows(rowsOverFirst(rows, count)) : base;
}

WeightLayouts Placement::weightOf(nn::ParamOp param, bool hasCopy) const {
  auto type = cast<nn::Tensor>(param.getType());
  LayoutAttr base = layoutOf(type, param.getLoc());
  if (!base)
    return {};
  dist::RowsAttr rows;
  if (!param.isState() && !param->hasAttr(nn::kWhole))
    rows = rowsOver(type, base, dist::difference(zeroAxes, base.used()));
  LayoutAttr cut = rows ? base.withRows(rows) : base;
  WeightLayouts layouts;
  // A weight with a working copy is read only by its update.
  layouts.weight = zeroStage == 3 || (hasCopy && !param.isCopy()) ? cut : base;
  if (rows && zeroStage == 3 && !hasCopy) // read by F and B, and not only by the update
    layouts.weight = inNodes(base, rows);
  layouts.state = cut;
  layouts.accumulator = accumulateSharded ? cut : base;
  layouts.reduced = cut;
  if (rows && !accumulateSharded)
    layouts.reduced = base.withRows(rows.withInWhole(true));
  return layouts;
}
