//===- Regions.h - bytes of fused kernels against what they need at least -===//
//
// What lies between library calls and collectives could be one kernel that reads each input and
// writes each output once: this is the bound. docs/fusion.md compares.
//
// One decision: a region is as large as values allow, not as large as loops do. What
// one kernel cannot hold for its shape counts against `fuse`.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_REGIONS_H
#define TPLAN_DRIVER_REGIONS_H

#include "dialects/rt/RT.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace tplan {

/// Fused kernels of a function, connected by arrays that they make or read, such that no path
/// leads from one of them through any other call to another.
struct FusedRegion {
  std::string function;             // "block.F"
  std::vector<std::string> kernels; // one a launch, in order
  int64_t calls = 0;                // of the function in a step
  int64_t bytes = 0;                // moved by one call
  int64_t bound = 0; // bytes read from outside and bytes that the outside reads, each counted once

  double ratio() const { return bound ? static_cast<double>(bytes) / bound : 1; }
};

/// In the order of their first kernels. Valid from `fuse` to `memory`, while kernels are ops.
std::vector<FusedRegion> fusedRegionsOf(rt::FuncOp func);

/// For people, the worst ratio first; and for programs.
void printFusedRegions(std::vector<FusedRegion> regions, llvm::raw_ostream &os);
void writeFusedRegion(const FusedRegion &region, llvm::json::OStream &json);

} // namespace tplan

#endif // TPLAN_DRIVER_REGIONS_H
