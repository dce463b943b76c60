//===- Clusters.h - devices, links and clusters of them ----------------------===//
#ifndef TPLAN_PARSE_CLUSTERS_H
#define TPLAN_PARSE_CLUSTERS_H

#include "lib/Parse/Settings.h"

namespace tplan::parse {

/// What is known of the machines that a plan names.
struct Machines {
  Settings cluster, device;                  // the device of its nodes
  std::map<llvm::StringRef, Settings> links; // by name
};

struct Cluster {
  std::string symbol;
  int64_t nodes, devices; // 0 after an error
  llvm::SMLoc loc;        // place of the line with both
};
Cluster emitCluster(ModelBuilder &model, const Machines &machines, llvm::StringRef symbol);

} // namespace tplan::parse

#endif // TPLAN_PARSE_CLUSTERS_H
