//===- reduce.cpp - sums of arrays in one order ----------------------------===//
//
// Written with the compiler's vectors of 64 bytes, which it cuts to what a CPU has, once for
// each level. There is no product in them, so no level can contract anything: all give the
// same bits.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/reduce.h"

#include "runtime/support/narrow.h"

#include <type_traits>

using namespace tplan::runtime;

namespace {

// Features in the first word of libgcc's CPU model: before GCC 12 it knows no levels by name.
#define LEVELS __attribute__((target_clones("avx512bw", "avx2", "default")))
#define INLINE __attribute__((always_inline)) inline

constexpr int vectorBytes = 64, vectors = 4; // of each array at a time
template <typename T> struct VectorOf {
  typedef T Type __attribute__((vector_size(vectorBytes)));
};
template <typename T> using Vector = typename VectorOf<T>::Type;
typedef uint16_t Halves __attribute__((vector_size(vectorBytes / 2)));

/// T is the type of the arrays, S that of the sums; both as one element and as vectors.
template <typename T, typename S> struct Elements {
  static INLINE void load(Vector<S> &to, const T *from) { memcpy(&to, from, sizeof to); }
  static INLINE void load(S &to, const T *from) { to = *from; }
  static INLINE void store(T *to, const Vector<S> &from) { memcpy(to, &from, sizeof from); }
  static INLINE void store(T *to, const S &from) { *to = from; }
};
/// Elements of 16 bits, which are added up in f32.
template <typename T> struct NarrowElements {
  static INLINE void load(Vector<float> &to, const T *from) {
    Halves halves;
    memcpy(&halves, from, sizeof halves);
    to = (Vector<float>)NarrowBits<T>::template widen<Vector<uint32_t>, Vector<float>>(
        __builtin_convertvector(halves, Vector<uint32_t>));
  }
  static INLINE void load(float &to, const T *from) { to = widen(*from); }
  static INLINE void store(T *to, const Vector<float> &from) {
    auto bits =
        NarrowBits<T>::template round<Vector<uint32_t>, Vector<float>>((Vector<uint32_t>)from);
    Halves halves = __builtin_convertvector(bits, Halves);
    memcpy(to, &halves, sizeof halves);
  }
  static INLINE void store(T *to, const float &from) { *to = roundTo<T>(from); }
};
#define TYPE(ID, T)                                                                                \
  template <> struct Elements<T, float> : NarrowElements<T> {};
TP_SUMMED_TYPES(TYPE)
#undef TYPE

template <bool Max, typename V> INLINE void add(V &sum, const V &value) {
  if constexpr (!Max)
    sum += value;
  else if constexpr (std::is_arithmetic_v<V>)
    sum = sum > value || sum != sum ? sum : value;
  else
    sum = ((sum > value) | (sum != sum)) ? sum : value;
}

/// `Count` times V, at element i of each array.
template <typename T, typename S, bool Max, typename V, int Count>
INLINE void combineAt(int64_t i, S *sums, bool fresh, const T *const *in, int inputs, T *const *out,
                      int outputs) {
  constexpr int64_t lanes = sizeof(V) / sizeof(S);
  V sum[Count], value;
  for (int v = 0; v < Count; ++v)
    if (fresh)
      Elements<T, S>::load(sum[v], in[0] + i + v * lanes);
    else
      memcpy(&sum[v], sums + i + v * lanes, sizeof(V));
  for (int array = fresh; array < inputs; ++array)
    for (int v = 0; v < Count; ++v) {
      Elements<T, S>::load(value, in[array] + i + v * lanes);
      add<Max>(sum[v], value);
    }
  for (int array = 0; array < outputs; ++array)
    for (int v = 0; v < Count; ++v)
      Elements<T, S>::store(out[array] + i + v * lanes, sum[v]);
  if (outputs == 0)
    memcpy(sums + i, sum, sizeof sum);
}

template <typename T, typename S, bool Max>
INLINE void combine(void *sums, bool fresh, const char *const *in, int inputs, char *const *out,
                    int outputs, int64_t count) {
  constexpr int64_t block = vectors * vectorBytes / (int64_t)sizeof(S);
  auto *at = (S *)sums;
  auto *from = (const T *const *)in;
  auto *to = (T *const *)out;
  int64_t i = 0;
  for (; i + block <= count; i += block)
    combineAt<T, S, Max, Vector<S>, vectors>(i, at, fresh, from, inputs, to, outputs);
  for (; i < count; ++i)
    combineAt<T, S, Max, S, 1>(i, at, fresh, from, inputs, to, outputs);
}

// Clones are functions, not templates.
#define CLONES(NAME, T, S, MAX)                                                                    \
  LEVELS void NAME(void *sums, bool fresh, const char *const *in, int inputs, char *const *out,    \
                   int outputs, int64_t count) {                                                   \
    if (fresh && inputs == 2 && outputs == 2)                                                      \
      return combine<T, S, MAX>(sums, true, in, 2, out, 2, count);                                 \
    combine<T, S, MAX>(sums, fresh, in, inputs, out, outputs, count);                              \
  }
CLONES(addF64, double, double, false)
CLONES(maxF64, double, double, true)
CLONES(addF32, float, float, false)
CLONES(maxF32, float, float, true)
#define TYPE(ID, T)                                                                                \
  CLONES(add_##T, T, float, false)                                                                 \
  CLONES(max_##T, T, float, true)
TP_SUMMED_TYPES(TYPE)
#undef TYPE
CLONES(addI32, uint32_t, uint32_t, false)
CLONES(maxI32, int32_t, int32_t, true)
CLONES(addI64, uint64_t, uint64_t, false)
CLONES(maxI64, int64_t, int64_t, true)

struct Row {
  int32_t type;
  Reducer sum, max;
};
constexpr Row table[] = {
    {TP_F64, {8, addF64}, {8, maxF64}},
    {TP_F32, {4, addF32}, {4, maxF32}},
#define TYPE(ID, T) {ID, {2, add_##T}, {2, max_##T}},
    TP_SUMMED_TYPES(TYPE)
#undef TYPE
        {TP_I32, {4, addI32}, {4, maxI32}},
    {TP_I64, {8, addI64}, {8, maxI64}},
};

} // namespace

const Reducer *tplan::runtime::findReducer(int32_t type, int32_t reduction) {
  for (const Row &row : table)
    if (row.type == type)
      return reduction == TP_SUM ? &row.sum : reduction == TP_MAX ? &row.max : nullptr;
  return nullptr;
}
