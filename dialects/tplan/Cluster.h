//===- Cluster.h - the machines, what they do and what joins them -------------===//
#ifndef TPLAN_DIALECTS_TPLAN_CLUSTER_H
#define TPLAN_DIALECTS_TPLAN_CLUSTER_H

#include "dialects/tplan/Fields.h"

namespace tplan::lang {

/// Joins the devices of a node, or nodes: for one device, in one direction.
struct Link {
  std::string kind{};
  int64_t bitsPerSecond = 0;
  int64_t rails = 1;
  int64_t latency = 0;   // nanoseconds of the shortest message; 0: not known
  double efficiency = 1; // what large messages reach of the rate
  static constexpr auto fields() {
    return std::tuple(field("kind", &Link::kind, InText::Always),
                      needed("bits_per_second", &Link::bitsPerSecond),
                      field("rails", &Link::rails, InText::Always),
                      field("latency", &Link::latency), field("efficiency", &Link::efficiency));
  }
  bool operator==(const Link &) const = default;
};

/// What a device does with one kind of work, and what large work reaches of it.
struct Rate {
  std::string of;          // "bf16": GEMMs by the type of their operands
  int64_t flops = 0;       // per second, at peak
  double efficiency = 1.0; // from 0 to 1
  static constexpr auto fields() {
    return std::tuple(needed("of", &Rate::of), needed("flops", &Rate::flops),
                      field("efficiency", &Rate::efficiency));
  }
  bool operator==(const Rate &) const = default;
};

/// A `device` of models/devices.tplan, or of a user's own. What it does not say is 0, or empty.
struct Device {
  int64_t memory = 0;          // bytes
  int64_t bandwidth = 0;       // bits per second of its memory
  double memoryEfficiency = 1; // what kernels reach of that
  std::vector<Rate> compute{};
  double attention = 0.5;       // what attention reaches of the peak of its type
  int64_t units = 1;            // over which a GEMM is cut
  int64_t launch = 0;           // nanoseconds from one kernel to the next
  std::optional<Link> inside{}; // a node, where the cluster does not say
  static constexpr auto fields() {
    return std::tuple(field("memory", &Device::memory), field("bandwidth", &Device::bandwidth),
                      field("memory_efficiency", &Device::memoryEfficiency),
                      field("compute", &Device::compute), field("attention", &Device::attention),
                      field("units", &Device::units), field("launch", &Device::launch),
                      field("inside", &Device::inside));
  }
  bool operator==(const Device &) const = default;
};

struct Cluster {
  int64_t nodes = 0, devices = 0;          // devices of one node; 0 where no cluster says
  std::string device{};                    // its name
  Device facts{};                          // of the device
  std::optional<Link> between{}, inside{}; // nodes
  std::optional<int64_t> memory{};         // bytes of a device, where they are not the device's own
  static constexpr auto fields() {
    return std::tuple(field("nodes", &Cluster::nodes, InText::Always),
                      field("devices", &Cluster::devices, InText::Always),
                      field("device", &Cluster::device, InText::Always),
                      field("facts", &Cluster::facts), field("between", &Cluster::between),
                      field("inside", &Cluster::inside), field("memory", &Cluster::memory));
  }
  bool operator==(const Cluster &) const = default;
};

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_CLUSTER_H
