//===- Links.cpp - what the links between ranks cost ----------------------===//
#include "lib/Cost/Links.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

namespace {
/// Assumed where the cluster file says nothing: bytes a second of one device and direction, as of
/// NVLink and of 400 Gb/s; seconds for a message, for which links measure 3 to 6 us with 64 bytes.
constexpr double kInsideNode = 300e9, kBetweenNodes = 50e9;
constexpr double kLatencyInside = 5e-6, kLatencyBetween = 15e-6;
/// Without a cluster the ranks share a machine's memory.
constexpr double kOneMachine = 10e9;
/// A call that reads and writes memory of its own device.
constexpr double kLatencyAlone = 1e-7, kWrites = 100e9;
/// A call that the layout of its operand makes a view, as it does for most slices, moves no byte:
/// it costs next to nothing, but a smaller value is better.
constexpr double kViews = 1e12;
} // namespace

/// A group lies in one node if the ranks from its first to its last, which begin at multiples of
/// their number, cross no border of a node.
bool cost::liesInNode(dist::MeshAttr mesh, StringAttr axis, int64_t devices) {
  int64_t reach = 1;
  for (dist::AxisAttr other : llvm::drop_begin(mesh.getAxes(), mesh.find(axis)))
    reach *= other.getSize();
  return devices % reach == 0;
}

Links::Links(const lang::Settings &settings, dist::MeshAttr mesh, DictionaryAttr sizes)
    : mesh(mesh), sizes(sizes) {
  devices = settings.cluster.devices;
  auto rate = [](const std::optional<lang::Link> &link, Rate otherwise) {
    if (!link || !link->bitsPerSecond)
      return otherwise;
    return Rate{static_cast<double>(link->bitsPerSecond) / 8 * link->efficiency,
                link->latency ? static_cast<double>(link->latency) * 1e-9 : otherwise.latency};
  };
  const lang::Cluster &cluster = settings.cluster;
  inside = rate(cluster.inside ? cluster.inside : cluster.facts.inside,
                {devices ? kInsideNode : kOneMachine, kLatencyInside});
  between = rate(cluster.between, {devices ? kBetweenNodes : kOneMachine, kLatencyBetween});
}

nn::Tensor Links::costedAs(nn::Tensor type) const {
  if (!sizes)
    return type;
  SmallVector<nn::DimAttr> dims;
  for (nn::DimAttr dim : type.getDims()) {
    auto size = sizes.getAs<IntegerAttr>(dim.getName());
    dims.push_back(nn::DimAttr::get(type.getContext(), dim.getName(),
                                    size ? size.getInt() : dim.getSize(), dim.getBounded()));
  }
  return type.withDims(dims);
}

bool Links::crossesNodes(ArrayRef<StringAttr> axes) const {
  return devices &&
         llvm::any_of(axes, [&](StringAttr axis) { return !liesInNode(mesh, axis, devices); });
}

double Links::seconds(ArrayRef<StringAttr> axes, int64_t bytes) const {
  const Rate &link = slowest(axes);
  int64_t others = std::max<int64_t>(1, mesh.sizeOf(axes) - 1);
  return link.latency * static_cast<double>(others) +
         static_cast<double>(bytes) / link.bytesPerSecond;
}

double Links::secondsOfMessage(ArrayRef<StringAttr> axes, int64_t bytes) const {
  const Rate &link = slowest(axes);
  return link.latency + static_cast<double>(bytes) / link.bytesPerSecond;
}

double Links::secondsAlone(int64_t bytes, bool writes) {
  return kLatencyAlone + static_cast<double>(bytes) / (writes ? kWrites : kViews);
}
