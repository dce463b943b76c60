//===- Links.cpp - what the links between ranks cost ----------------------===//
#include "lib/Shard/Links.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;

/// The ranks from a group's first to its last, which begin at multiples of their number, cross no
/// border of a node.
bool shard::liesInNode(dist::MeshAttr mesh, StringAttr axis, int64_t devices) {
  int64_t reach = 1;
  for (dist::AxisAttr other : llvm::drop_begin(mesh.getAxes(), mesh.find(axis)))
    reach *= other.getSize();
  return devices % reach == 0;
}

Links::Links(const lang::Settings &settings, dist::MeshAttr mesh, DictionaryAttr sizes)
    : mesh(mesh), sizes(sizes) {
  devices = lang::getInt(settings.cluster, "devices", 0);
  auto rate = [&](StringRef key, double otherwise) {
    auto link = settings.cluster.getAs<DictionaryAttr>(key);
    double bits = link ? lang::getFloat(link, "bits_per_second", 0) : 0;
    return bits > 0 ? bits / 8 : otherwise;
  };
  // Without a cluster the ranks share a machine's memory.
  inside = rate("inside", devices ? 300e9 : 10e9);
  between = rate("between", devices ? 50e9 : 10e9);
}

nn::Tensor Links::costedAs(nn::Tensor type) const {
  if (!sizes)
    return type;
  SmallVector<nn::DimAttr> dims;
  for (nn::DimAttr dim : type.getDims())
    dims.push_back(nn::DimAttr::get(type.getContext(), dim.getName(),
                                    lang::getInt(sizes, dim.getName(), dim.getSize()),
                                    dim.getBounded()));
  return type.withDims(dims);
}

bool Links::crossesNodes(ArrayRef<StringAttr> axes) const {
  return devices &&
         llvm::any_of(axes, [&](StringAttr axis) { return !liesInNode(mesh, axis, devices); });
}

double Links::seconds(ArrayRef<StringAttr> axes, int64_t bytes) const {
  bool crosses = crossesNodes(axes);
  int64_t others = std::max<int64_t>(1, mesh.sizeOf(axes) - 1);
  return (crosses ? 15e-6 : 5e-6) * static_cast<double>(others) +
         static_cast<double>(bytes) / (crosses ? between : inside);
}
