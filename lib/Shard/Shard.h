//===- Shard.h - the shard phase: local sizes -----------------------------===//
#ifndef TPLAN_LIB_SHARD_H
#define TPLAN_LIB_SHARD_H

#include "mlir/Pass/Pass.h"

namespace tplan::shard {
#define GEN_PASS_DECL
#include "lib/Shard/Passes.h.inc"
} // namespace tplan::shard

#endif // TPLAN_LIB_SHARD_H
