//===- scalars.h - the numbers that a step is given -----------------------===//
//
// Learning rate, step number and bias corrections, computed in double and cast.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_STEP_SCALARS_H
#define TPLAN_RUNTIME_STEP_SCALARS_H

#include "runtime/device/device.h"
#include "tplan/runtime.h"

namespace tplan::runtime {

/// Learning rate of `step` (from 1). In a piece [begin, end) the fraction is
/// (step - begin) / (end - begin): a warm-up [0, n) from 0 to x gives x * step / n.
/// Before the first piece its `from` holds, after the last its `to`.
double learningRate(const tp_program &program, int64_t step);

/// Writes the scalars of `step`, where byte 0 of the arena is at `arena`; those that stay the same
/// are left.
void setScalars(const tp_program &program, char *arena, uint64_t seed, int64_t step);

/// Writes what stays the same for the whole run: member numbers of `rank`, and indices.
Status setConstants(const tp_program &program, char *arena, int64_t rank, Device *device = nullptr);

/// How many rows of the microbatch evaluation or prediction computes.
void setRowsInUse(const tp_program &program, char *arena, int64_t rows);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_STEP_SCALARS_H
