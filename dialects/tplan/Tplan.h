//===- Tplan.h - the tplan dialect ----------------------------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_H
#define TPLAN_DIALECTS_TPLAN_H

#include "dialects/nn/NN.h"

#include "dialects/tplan/TplanDialect.h.inc"
#define GET_OP_CLASSES
#include "dialects/tplan/TplanOps.h.inc"

#endif // TPLAN_DIALECTS_TPLAN_H
