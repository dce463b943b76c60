//===- Overlap.h - the passes of `overlap` --------------------------------===//
#ifndef TPLAN_OVERLAP_OVERLAP_H
#define TPLAN_OVERLAP_OVERLAP_H

#include "mlir/Pass/Pass.h"
#include <memory>

namespace tplan::overlap {
#define GEN_PASS_DECL
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_OVERLAP_H
