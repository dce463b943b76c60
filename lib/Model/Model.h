//===- Model.h - the model phase: tplan -> nn -----------------------------===//
#ifndef TPLAN_LIB_MODEL_H
#define TPLAN_LIB_MODEL_H

#include "mlir/Pass/Pass.h"

namespace tplan::model {
#define GEN_PASS_DECL
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

#endif // TPLAN_LIB_MODEL_H
