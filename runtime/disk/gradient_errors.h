//===- gradient_errors.h - what compression lost, in a checkpoint ---------===//
//
// A tensor has a position along its first dimension for each rank that sends a gradient. What is
// still to be added to the gradients is the sum along it, so a plan with another number of ranks
// reads the sum, and each of its ranks gets an equal part.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_GRADIENT_ERRORS_H
#define TPLAN_RUNTIME_DISK_GRADIENT_ERRORS_H

#include "runtime/disk/safetensors.h"

namespace tplan::runtime {

/// The program keeps each tensor of the file, of whatever number of ranks. It may keep more, which
/// begin at zero.
Status matchErrors(const SafetensorsFile &file, const std::vector<LogicalTensor> &wanted);
/// Copies into the arena what matchErrors() has passed.
Status copyErrors(const SafetensorsFile &file, const std::vector<LogicalTensor> &wanted);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_GRADIENT_ERRORS_H
