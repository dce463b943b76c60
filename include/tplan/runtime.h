/*===- runtime.h - the boundary between generated code and the runtime -----===
 *
 * The compiler emits one constant `tp_program` and the functions it points to;
 * the runtime owns memory, threads, data, files and the command line. C only:
 * generated code calls the tp_* functions below by name and knows no C++.
 *
 * One decision: everything that the runtime must know about a plan is a table in
 * tp_program, so nothing is parsed or decided when a job starts.
 *
 * All offsets are bytes from the start of the rank's arena, multiples of 64.
 *===----------------------------------------------------------------------===*/
#ifndef TPLAN_RUNTIME_H
#define TPLAN_RUNTIME_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_ABI_VERSION 3

/* Element types: name in IR and reports, bytes. */
#define TP_TYPES(TYPE)                                                                             \
  TYPE(TP_F64, "f64", 8)                                                                           \
  TYPE(TP_F32, "f32", 4)                                                                           \
  TYPE(TP_BF16, "bf16", 2)                                                                         \
  TYPE(TP_I32, "i32", 4)                                                                           \
  TYPE(TP_I64, "i64", 8)                                                                           \
  TYPE(TP_I1, "i1", 1)

#define TP_TYPE_CASE(ID, NAME, BYTES) ID,
typedef enum tp_type { TP_TYPES(TP_TYPE_CASE) TP_NUM_TYPES } tp_type;
#undef TP_TYPE_CASE

typedef struct tp_rank tp_rank; /* opaque: arena, team, error state */

/* What a generated call is, for errors, profile and counters. */
typedef enum tp_category {
  TP_KERNEL,
  TP_GEMM,
  TP_ATTENTION,
  TP_OPTIMIZER,
  TP_COPY,
  TP_CATEGORIES
} tp_category;

typedef struct tp_call {
  const char *name; /* kernel symbol or library call */
  const char *file; /* .tplan file and line that the work comes from */
  int32_t line;
  int32_t category; /* tp_category */
  int64_t flops;    /* of one call */
  int64_t bytes;    /* read and written by one call */
} tp_call;

/* A generated kernel: task i of `tasks`, arguments by address. Tasks write
 * disjoint memory and may run in any order on any thread. */
typedef void (*tp_kernel)(void *const *args, int64_t task);

/* C[b] (m x n) = A[b] (m x k) B[b] (k x n), + C[b] if accumulate. Row-major with
 * leading dimensions in elements; transposed operands are stored k x m, n x k.
 * b counts 0 .. batch - 1, at strides in elements. A and B have type `in`,
 * C has type `out`; sums are in f32 (f64 for f64). */
typedef struct tp_gemm {
  int64_t m, n, k, lda, ldb, ldc;
  int64_t batch, stride_a, stride_b, stride_c;
  int32_t trans_a, trans_b, accumulate;
  int32_t in, out; /* tp_type */
} tp_gemm;

/* Called by generated code. 0 is success; otherwise the rank holds the error and
 * generated code returns at once. */
int tp_launch(tp_rank *, const tp_call *, tp_kernel, void *const *args, int64_t tasks);
/* `rows` of C, counted over the batch from its start, are wanted: more may be written. */
int tp_matmul(tp_rank *, const tp_call *, const tp_gemm *, const void *a, const void *b, void *c,
              int64_t rows);
int tp_copy(tp_rank *, const tp_call *, void *to, const void *from, int64_t bytes);
int tp_zero(tp_rank *, const tp_call *, void *to, int64_t bytes);
/* Called once in a step, where the TP_GRADIENT tensors are whole and the optimizer
 * has not used them yet: --dump-gradients writes them out here. */
int tp_gradients_ready(tp_rank *);

/*--- tables ---------------------------------------------------------------*/

typedef enum tp_tensor_role {
  TP_WEIGHT,
  TP_OPTIMIZER_STATE,
  TP_GRADIENT,
  TP_WORKING_COPY
} tp_tensor_role;
typedef enum tp_init_kind { TP_CONSTANT, TP_NORMAL } tp_init_kind;

/* `count` tensors of one shape at a constant stride. `path` holds `{i}` where
 * count > 1 or the tensor stands in a list: instance j is number first + j * step.
 * Optimizer state repeats the path of its weight; `slot` names it ("m", "v"). */
typedef struct tp_tensor {
  const char *path;
  const char *slot;   /* "" for weights */
  int32_t role, type; /* tp_tensor_role, tp_type */
  int32_t rank;
  const int64_t *shape;
  int64_t count, first, step;
  int64_t offset, stride; /* bytes */
  int64_t id, id_step;    /* key of initial values: normal numbers from (seed, id, element) */
  int32_t init;           /* tp_init_kind */
  double init_value;
} tp_tensor;

/* Rows of `length` tokens each, i32, one microbatch after the other: the loader
 * fills all rows of a step (or of one evaluation microbatch, at the start). */
typedef struct tp_input {
  const char *source; /* stream name */
  int64_t offset;
  int64_t rows, length; /* rows of one microbatch; S + 1 for language models */
  int64_t vocabulary;   /* ids are checked against it when read */
} tp_input;

typedef enum tp_scalar_kind {
  TP_SEED,      /* i32, of --seed */
  TP_STEP,      /* i32, from 1 */
  TP_LR,        /* learning rate of this step */
  TP_POWER,     /* value to the power of step: bias correction */
  TP_ROWS,      /* i64, rows of the microbatch in use: all in training */
  TP_MICROBATCH /* written by generated code */
} tp_scalar_kind;
typedef struct tp_scalar {
  int32_t kind, type;
  int64_t offset;
  double value;
} tp_scalar;

/* Learning rate: piecewise over steps [begin, end), interpolated from a to b. */
typedef enum tp_lr_shape { TP_LINEAR, TP_COSINE, TP_FLAT } tp_lr_shape;
typedef struct tp_lr_piece {
  int64_t begin, end;
  double from, to;
  int32_t shape;
} tp_lr_piece;

/* A number that a step leaves behind: sum over the batch, and the count that
 * divides it (count_offset < 0: none). Type f32 or f64; counts likewise. */
typedef struct tp_metric {
  const char *name; /* "loss" first; "grad_norm" ... */
  int32_t type;
  int64_t offset, count_offset;
} tp_metric;

/* A live slot of the arena, for the report and the memory audit. */
typedef struct tp_slot {
  const char *name;
  int64_t offset, bytes;
} tp_slot;

typedef struct tp_program {
  int32_t abi_version;
  const char *plan;        /* name of the plan */
  const char *fingerprint; /* hash of model and recipe: what a checkpoint must match */
  const char *cpu;         /* what the code needs: a level ("x86-64-v3"), or features by commas */
  int64_t arena_bytes;
  int64_t microbatches; /* of one step */
  int64_t tokens_per_step;
  int64_t steps;                             /* default of --steps */
  int64_t eval_every, save_every, save_keep; /* 0: never */
  const tp_tensor *tensors;
  int64_t num_tensors;
  const tp_input *inputs;
  int64_t num_inputs;
  const tp_scalar *scalars;
  int64_t num_scalars;
  const tp_lr_piece *lr;
  int64_t num_lr;
  const tp_metric *metrics;
  int64_t num_metrics;
  const tp_slot *slots;
  int64_t num_slots;
  /* Generated entry points; the arena is that of the rank. */
  int (*prepare)(tp_rank *, char *arena); /* once, after weights are set: working copies, tables */
  int (*step)(tp_rank *, char *arena);
  int (*evaluate)(tp_rank *, char *arena);  /* one microbatch: adds to metrics */
  int (*predict)(tp_rank *, char *arena);   /* one microbatch: writes logits; null: cannot sample */
  int64_t logits_offset, logits_vocabulary; /* [rows, S, V] of `logits_type` */
  int32_t logits_type;
} tp_program;

/* Entry of every generated binary: parses the command line and trains. */
int tp_main(int argc, char **argv, const tp_program *program);

#ifdef __cplusplus
}
#endif
#endif /* TPLAN_RUNTIME_H */
