//===- settle_gemms.h - all ranks choose one algorithm for each GEMM ------===//
//
// One decision: one rank measures, before anything lies in the arena, and all ranks take its
// choice. Ranks that hold the same values must compute the same bits, and clocks never agree.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STEP_SETTLE_GEMMS_H
#define TPLAN_RUNTIME_STEP_SETTLE_GEMMS_H

#include "runtime/device/gemm_choices.h"
#include "runtime/ranks/rank.h"

#include <string>
#include <vector>

namespace tplan::runtime {

/// The GEMMs that the ranks of a plan for a device call, in training, evaluation and prediction:
/// those of the first rank of each program.
Status gemmsOf(const tp_program &program, std::vector<GemmUse> &uses);

/// Chooses for a run, on all ranks together, while nothing lies in the arena yet. `file` is that of
/// --gemm-algorithms or empty: choices in it are taken, or it is written. `saved` is the file of
/// the checkpoint of a resumed run, or empty.
Status settleGemms(tp_rank &rank, const std::string &file, const std::string &saved);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STEP_SETTLE_GEMMS_H
