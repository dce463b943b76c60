//===- audit.h - what collectives of a run have moved -----------------------===//
//
// Once the training has ended, all ranks compare their logs, each checks what its transport has
// counted against what its operations say, and the leader prints a table by what the ranks were
// doing, kind and axes.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_AUDIT_H
#define TPLAN_RUNTIME_RANKS_AUDIT_H

#include "runtime/ranks/rank.h"
#include "runtime/ranks/recording.h"

namespace tplan::runtime {

/// Called by all ranks, each with the log of its transport.
Status auditCollectives(tp_rank &rank, Recording &log);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_AUDIT_H
