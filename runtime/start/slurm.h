//===- slurm.h - lists as Slurm writes them -------------------------------===//
#ifndef TPLAN_RUNTIME_START_SLURM_H
#define TPLAN_RUNTIME_START_SLURM_H

#include "runtime/support/status.h"

#include <cstdint>

namespace tplan::runtime {

/// The first host of `n1`, `n1,n2`, `n[001-015],x`, `n[001,007-015]` or `r[1-2]n[1-4]`.
Status firstHost(const std::string &nodes, std::string &host);

/// The tasks of node `node` in `4(x2),3`.
Status tasksOfNode(const std::string &tasks, int64_t node, int64_t &count);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_SLURM_H
