//===- nccl_reduce.cpp - sums as NCCL's rings make them ---------------------------===//

#include "nccl_reduce.h"

#include "nccl_api.h"
#include "numbers.h"

#include <algorithm>
#include <type_traits>

using namespace standin;
using namespace standin::nccl;

namespace {

/// What two numbers of a type are combined in.
template <typename T>
using Wide = std::conditional_t<std::is_same_v<T, Half> || std::is_same_v<T, Brain>, float, T>;

template <typename T> T combine(int reduction, T a, T b) {
  Wide<T> x = (Wide<T>)a, y = (Wide<T>)b;
  switch (reduction) {
  case prod:
    return (T)(x * y);
  case nccl::max:
    return (T)std::max(x, y);
  case nccl::min:
    return (T)std::min(x, y);
  default:
    return (T)(x + y);
  }
}

template <typename T> constexpr bool isInteger = std::is_integral_v<T>;

/// An average of numbers with a fraction is a sum of divided numbers, as in the library.
template <typename T> T prepare(int reduction, int ranks, T value) {
  if constexpr (!isInteger<T>)
    if (reduction == avg)
      return (T)((Wide<T>)value * (Wide<T>)(T)((Wide<T>)1 / (Wide<T>)ranks));
  return value;
}

template <typename T>
void reduceAs(int reduction, int ranks, int owner, const char *const *inputs, char *to,
              size_t count) {
  for (size_t i = 0; i < count; ++i) {
    T value = prepare(reduction, ranks, ((const T *)inputs[owner])[i]);
    for (int hop = 1; hop < ranks; ++hop) {
      int rank = (owner - hop + ranks) % ranks;
      value = combine(reduction, value, prepare(reduction, ranks, ((const T *)inputs[rank])[i]));
    }
    if constexpr (isInteger<T>)
      value = reduction == avg ? (T)(value / (T)ranks) : value;
    ((T *)to)[i] = value;
  }
}

} // namespace

size_t nccl::bytesOf(int type) {
  constexpr size_t bytes[types] = {1, 1, 4, 4, 8, 8, 2, 4, 8, 2};
  return bytes[type];
}

const char *nccl::nameOfType(int type) {
  constexpr const char *names[types] = {"i8",  "u8",  "i32", "u32", "i64",
                                        "u64", "f16", "f32", "f64", "bf16"};
  return names[type];
}

const char *nccl::nameOfReduction(int reduction) {
  constexpr const char *names[reductions] = {"sum", "prod", "max", "min", "avg"};
  return names[reduction];
}

void nccl::reduce(int type, int reduction, int ranks, int owner, const char *const *inputs,
                  char *to, size_t count) {
  constexpr decltype(&reduceAs<float>) all[types] = {
      reduceAs<int8_t>,  reduceAs<uint8_t>,  reduceAs<int32_t>, reduceAs<uint32_t>,
      reduceAs<int64_t>, reduceAs<uint64_t>, reduceAs<Half>,    reduceAs<float>,
      reduceAs<double>,  reduceAs<Brain>};
  all[type](reduction, ranks, owner, inputs, to, count);
}
