//===- nccl_reduce.h - sums as NCCL's rings make them -----------------------------===//
//
// Decision: a sum begins with the member that owns the element and goes down the ranks, so
// that it is another order than that of ranks; it is rounded to its type at every hop.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NCCL_REDUCE_H
#define TPLAN_TEST_STANDIN_NCCL_REDUCE_H

#include <cstddef>

namespace standin::nccl {

size_t bytesOf(int type);
const char *nameOfType(int type);
const char *nameOfReduction(int reduction);

/// to[i] = the reduction of inputs[rank][i] over the ranks owner, owner - 1, ...
void reduce(int type, int reduction, int ranks, int owner, const char *const *inputs, char *to,
            size_t count);

} // namespace standin::nccl

#endif // TPLAN_TEST_STANDIN_NCCL_REDUCE_H
