//===- Clusters.cpp - devices, links and clusters of them --------------------===//
//
// A cluster says how many devices there are and which, and what joins them. What a device does in
// a second and what a link reaches stand in blocks of their own, most of them in
// models/devices.tplan; the cluster's op gets all of it, so that no phase looks anything up.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Clusters.h"
#include "lib/Parse/Limits.h"
#include "lib/Parse/Spelling.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

/// Kinds of work of which a device has a rate.
constexpr StringLiteral kRates[] = {"f64", "f32", "tf32", "bf16", "f16", "fp8"};
/// What else has a part of a peak that is reached.
constexpr StringLiteral kAttention = "attention", kKernels = "kernels";

class ClusterReader {
public:
  ClusterReader(Report &report, const Machines &machines) : report(report), machines(machines) {}

  lang::Device readDevice();
  std::optional<lang::Link> readLink(const Settings &of, StringRef key, StringRef where);

private:
  Report &report;
  const Machines &machines;

  std::optional<int64_t> readOne(const Settings &of, StringRef key, Unit unit, StringRef what);
  std::optional<double> readPart(const Item &item);
  void readCompute(lang::Device &device);
  void readEfficiency(lang::Device &device);
};

/// The line of a single quantity; nothing where it is not given, or after an error.
std::optional<int64_t> ClusterReader::readOne(const Settings &of, StringRef key, Unit unit,
                                              StringRef what) {
  const Setting *line = of.find(key);
  if (!line)
    return std::nullopt;
  const Item &item = line->items[0];
  if (line->items.size() > 1 || !item.name.text.empty()) {
    report.error(line->loc, "{0} is one quantity, found {1}", what,
                 line->items.size() > 1 ? "several" : item.name.text);
    return std::nullopt;
  }
  std::optional<Amount> read = amount(report, item.quantity, unit, what);
  return read ? std::optional(read->value) : std::nullopt;
}

/// 0.8
std::optional<double> ClusterReader::readPart(const Item &item) {
  double part = item.quantity.number.real;
  if (item.quantity.unit.text.empty() && part > 0 && part <= 1)
    return part;
  report.error(item.quantity.loc,
               "an efficiency is a part of the peak, above 0 and at most 1, found {0}{1}",
               spell(item.quantity.number), item.quantity.unit.text);
  return std::nullopt;
}

/// compute bf16 989 TFLOP/s, f32 67 TFLOP/s
void ClusterReader::readCompute(lang::Device &device) {
  const Setting *line = machines.device.find("compute");
  if (!line)
    return;
  Once once(report);
  for (const Item &item : line->items) {
    if (!llvm::is_contained(kRates, item.name.text)) {
      SMLoc at = item.name.text.empty() ? item.loc : item.name.loc;
      report
          .error(at, "`compute` gives a rate for each element type of GEMMs, found {0}",
                 item.name.text.empty() ? "a rate without its type" : item.name.text)
          .suggest(item.name.text, ArrayRef(kRates));
      continue;
    }
    if (auto rate = amount(report, item.quantity, Unit::Work, "a rate of arithmetic");
        rate && once(item.name.text, item.name.loc))
      device.compute.push_back({.of = item.name.text.str(), .flops = rate->value});
  }
}

/// efficiency bf16 0.8, attention 0.5, kernels 0.9
void ClusterReader::readEfficiency(lang::Device &device) {
  const Setting *line = machines.device.find("efficiency");
  if (!line)
    return;
  SmallVector<StringRef> known = {kAttention, kKernels};
  for (const lang::Rate &rate : device.compute)
    known.push_back(rate.of);
  Once once(report);
  for (const Item &item : line->items) {
    if (!llvm::is_contained(known, item.name.text)) {
      report
          .error(item.name.text.empty() ? item.loc : item.name.loc,
                 "`efficiency` is of attention, of kernels, or of a type in `compute`, found {0}",
                 item.name.text.empty() ? "a number alone" : item.name.text)
          .suggest(item.name.text, known);
      continue;
    }
    std::optional<double> part = readPart(item);
    if (!part || !once(item.name.text, item.name.loc))
      continue;
    if (item.name.text == kAttention)
      device.attention = *part;
    else if (item.name.text == kKernels)
      device.memoryEfficiency = *part;
    for (lang::Rate &rate : device.compute)
      if (rate.of == item.name.text)
        rate.efficiency = *part;
  }
}

lang::Device ClusterReader::readDevice() {
  const Settings &lines = machines.device;
  lang::Device device;
  device.memory = readOne(lines, "memory", Unit::Bytes, "memory").value_or(0);
  device.bandwidth = readOne(lines, "bandwidth", Unit::Rate, "the bandwidth of memory").value_or(0);
  device.launch = readOne(lines, "launch", Unit::Time, "the time of a launch").value_or(0);
  device.units = readOne(lines, "units", Unit::Count, "the number of units").value_or(1);
  readCompute(device);
  readEfficiency(device);
  device.inside = readLink(lines, "inside", "node");
  return device;
}

/// A link's rate is per direction; names whose rates are often given as the sum of
/// both must say so.
std::optional<lang::Link> ClusterReader::readLink(const Settings &of, StringRef key,
                                                  StringRef where) {
  const Setting *line = of.find(key);
  if (!line)
    return std::nullopt;
  const Item &item = line->items[0];
  if (item.second.text != where)
    report.error(item.second.loc, "expected {0}, found {1}", where, item.second.text);
  auto rate = amount(report, item.quantity, Unit::Rate, "the rate of a link");
  std::string per;
  for (const Name &word : item.names)
    per += (per.empty() ? "" : " ") + word.text.str();
  bool both = per == "gpu both ways", each = per == "gpu each way";
  if (!both && !each && !per.empty() && per != "gpu")
    report.error(item.names[0].loc,
                 "expected `per gpu`, `per gpu each way` or `per gpu both ways`, "
                 "found: per {0}",
                 per);
  StringRef kind = item.name.text;
  if (!both && !each && !llvm::is_contained({"infiniband", "roce", "ethernet"}, kind))
    report.error(item.name.loc,
                 "the rate of {0} leaves its direction open: add `per gpu each way` "
                 "or `per gpu both ways`",
                 kind);
  int64_t rails = item.to.loc.isValid() && item.to.number.integer ? item.to.number.whole : 1;
  lang::Link link{.kind = kind.str(),
                  .bitsPerSecond = rate ? (both ? rate->value / 2 : rate->value) : 0,
                  .rails = rails};
  auto known = machines.links.find(kind);
  if (known == machines.links.end()) {
    SmallVector<StringRef> names = llvm::to_vector(llvm::make_first_range(machines.links));
    report.error(item.name.loc, "unknown link: {0}", kind).suggest(kind, names);
    return std::nullopt;
  }
  const Settings &lines = known->second;
  link.latency = readOne(lines, "latency", Unit::Time, "the latency of a link").value_or(0);
  if (const Setting *part = lines.find("efficiency"))
    link.efficiency = readPart(part->items[0]).value_or(1);
  return link;
}

} // namespace

Cluster tplan::parse::emitCluster(ModelBuilder &model, const Machines &machines, StringRef symbol) {
  const Settings &settings = machines.cluster;
  Cluster cluster{symbol.str(), 0, 0, {}};
  Places places(model.report, settings.name.loc);
  const Setting *nodes = settings.find("nodes");
  if (!nodes) {
    model.report.error(settings.name.loc, "cluster {0} needs its nodes: 4 nodes of 8 \"H100\"",
                       settings.name.text);
    return cluster;
  }
  const Item &item = nodes->items[0];
  auto count = amount(model.report, item.quantity, Unit::Nodes, "a cluster");
  if (!item.to.number.integer || item.to.number.whole < 1 || item.to.number.whole > limits::size) {
    model.report.error(item.to.loc, "a node has a whole number of devices from 1, found {0}",
                       spell(item.to.number));
    return cluster;
  }
  if (count)
    cluster = {symbol.str(), count->value, item.to.number.whole, nodes->loc};
  for (StringRef key : {"nodes", "devices", "device"})
    places.add(key, nodes->loc);
  for (StringRef key : {"between", "inside", "memory"})
    if (const Setting *line = settings.find(key))
      places.add(key, line->loc);
  ClusterReader reader(model.report, machines);
  lang::Cluster fields{.nodes = cluster.nodes,
                       .devices = cluster.devices,
                       .device = item.string.str(),
                       .facts = reader.readDevice(),
                       .between = reader.readLink(settings, "between", "nodes"),
                       .inside = reader.readLink(settings, "inside", "node")};
  if (const Setting *line = settings.find("memory"))
    if (auto bytes = amount(model.report, line->items[0].quantity, Unit::Bytes, "memory"))
      fields.memory = bytes->value;
  model.builder.setInsertionPointToEnd(model.module->getBody());
  lang::ClusterOp::create(model.builder, places.location(), symbol,
                          lang::ClusterAttr::get(model.context, fields));
  return cluster;
}
