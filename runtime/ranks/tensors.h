//===- tensors.h - the tensor table of a program --------------------------===//
//
// Names, places and initial values of the tensors in the arena.
//
// One decision: everything outside the arena speaks of logical tensors, one for
// each instance of a row of the table, by its path with numbers; what a rank holds
// of one is its share. Where ranks run several programs, each knows the tensors of all.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_RANKS_TENSORS_H
#define TPLAN_RUNTIME_RANKS_TENSORS_H

#include "runtime/device/device.h"
#include "runtime/ranks/merged.h"
#include "runtime/ranks/share.h"
#include "runtime/support/team.h"
#include "runtime/support/types.h"
#include "tplan/runtime.h"

#include <string>
#include <vector>

namespace tplan::runtime {

/// Bytes between the instances of a scalar.
inline constexpr int64_t scalarStride = 64;

/// One instance of a row of the tensor table.
struct LogicalTensor {
  std::string name; // path with numbers, then "." and the slot if any
  int32_t type;     // tp_type
  std::vector<int64_t> shape;
  char *data; // memory of this rank's share; null where it holds nothing
  Share share;
  Device *device = nullptr; // the device that has the memory, if one has
  double divisor = 1;       // a power of two by which elements are divided where they are written
  int64_t bytes() const { return share.elements() * bytesOf(type); }
};

/// All tensors of the plan with `role`, in the order of the merged list, the same on every rank.
std::vector<LogicalTensor> logicalTensors(const tp_program &program, char *arena, int64_t rank,
                                          tp_tensor_role role, Device *device = nullptr);

/// Checks the mesh, the shares of tensors, and that every tensor, input, scalar and metric lies in
/// the arena; with several programs also that all of them are of one plan.
Status checkProgram(const tp_program &program);

/// Sets what `rank`, whose program it is, holds of all tensors but working copies to initial
/// values, functions of seed, id and number of the logical element; padding to zero.
Status initializeTensors(const tp_program &program, char *arena, int64_t rank, uint64_t seed,
                         Team &team, Device *device = nullptr);

/// Element `index` of an array of `type`, as a number; bf16 and f16 are rounded when set.
double getElement(const void *data, int32_t type, int64_t index);
void setElement(void *data, int32_t type, int64_t index, double value);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_TENSORS_H
