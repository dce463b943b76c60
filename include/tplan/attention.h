/*===- attention.h - attention of a library, in the boundary to the runtime -===
 *
 * out = softmax(scale * q k^T, over the keys that a query sees) v, of each head:
 * query head h reads key head h / (heads / groups). lse is the natural log of the
 * sum of the exponentials of a query's scaled scores.
 *
 * One decision: the compiler says how much is computed in one go, because that decides
 * the workspace, which lies in the arena.
 *===----------------------------------------------------------------------===*/
#ifndef TPLAN_ATTENTION_H
#define TPLAN_ATTENTION_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum tp_attention_pass { TP_ATTENTION_FORWARD, TP_ATTENTION_BACKWARD } tp_attention_pass;

/* Pointers, in this order:
 *   forward: q, k, v, out, lse
 *   backward: q, k, v, out, d_out, lse, d_q, d_k, d_v
 * All of `type` but lse, which is f32; those named for q or out are [batch, heads,
 * queries, width], those for k and v [batch, groups, keys, width], lse is [batch,
 * heads, queries]; the width is contiguous, strides say where the rest is. */
#define TP_ATTENTION_TENSORS 9
typedef struct tp_attention {
  int32_t pass, type; /* tp_attention_pass, tp_type: TP_BF16, TP_F16 */
  int64_t batch, heads, groups, queries, keys, width;
  int64_t batch_chunk, group_chunk; /* computed in one go; they divide batch and groups */
  int32_t causal;                   /* a query sees no key after it */
  int64_t window;                   /* and so many at most, itself the last; 0: all */
  double scale;
  int64_t workspace;      /* bytes that one chunk may use of tp_device.workspace_bytes */
  const int64_t *strides; /* elements, of each pointer: batch, head, row */
} tp_attention;

/* How many pointers a pass has, and how many of them, from the first on, it reads. */
static inline int32_t tp_attention_pointers(int32_t pass) {
  return pass == TP_ATTENTION_FORWARD ? 5 : TP_ATTENTION_TENSORS;
}
static inline int32_t tp_attention_inputs(int32_t pass) {
  return pass == TP_ATTENTION_FORWARD ? 3 : 6;
}
/* Which pointer is lse, and whether a pointer has rows of keys. */
static inline int32_t tp_attention_lse(int32_t pass) {
  return pass == TP_ATTENTION_FORWARD ? 4 : 5;
}
static inline int32_t tp_attention_of_keys(int32_t pointer) {
  return pointer == 1 || pointer == 2 || pointer >= 7;
}

#ifdef __cplusplus
}
#endif

#endif /* TPLAN_ATTENTION_H */
