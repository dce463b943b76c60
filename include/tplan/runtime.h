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

#include "attention.h"

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define TP_ABI_VERSION 25

/* Element types: name in IR and reports, bytes. Those from i1 on are moved, and never summed. */
#define TP_TYPES(TYPE)                                                                             \
  TYPE(TP_F64, "f64", 8)                                                                           \
  TYPE(TP_F32, "f32", 4)                                                                           \
  TYPE(TP_BF16, "bf16", 2)                                                                         \
  TYPE(TP_F16, "f16", 2)                                                                           \
  TYPE(TP_I32, "i32", 4)                                                                           \
  TYPE(TP_I64, "i64", 8)                                                                           \
  TYPE(TP_I1, "i1", 1)                                                                             \
  TYPE(TP_I8, "i8", 1)                                                                             \
  TYPE(TP_F8E4M3, "f8E4M3FN", 1)                                                                   \
  TYPE(TP_F8E5M2, "f8E5M2", 1)

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
  TP_COLLECTIVE,
  TP_CATEGORIES
} tp_category;

typedef struct tp_call {
  const char *name; /* kernel symbol or library call */
  const char *file; /* .tplan file and line that the work comes from */
  int32_t line;
  int32_t category; /* tp_category */
  int64_t flops;    /* of one call */
  int64_t bytes;    /* read and written by one call; of collectives: sent by one rank */
  int32_t stream;   /* of the device: the call is issued to it */
} tp_call;

/* A generated kernel: task i of `tasks`, arguments by address. Tasks write
 * disjoint memory and may run in any order on any thread. */
typedef void (*tp_kernel)(void *const *args, int64_t task);

/* C[b] (m x n) = A[b] (m x k) B[b] (k x n), + C[b] if accumulate, or + a row of n elements for each
 * of C's if bias: the sum is rounded once. Row-major with leading dimensions in elements;
 * transposed operands are stored k x m, n x k. A bias is for batch = 1 and operands of one type,
 * f32, bf16 or f16. b counts 0 .. batch - 1, at strides in elements. A and B have type `in`, C has
 * type `out`; sums are in f32 (f64 for f64). With `tf32` elements of A and B, which are f32, may be
 * rounded to the 10 bits of mantissa that a GPU multiplies fastest.
 *
 * With `chunks` other than 0 the rows are cut in so many equal parts, each of which may be computed
 * by a call of its own, with the same bits: `is_part`, and m is its rows; else m is a multiple of
 * `chunks`. Then batch is 1. */
typedef struct tp_gemm {
  int64_t m, n, k, lda, ldb, ldc;
  int64_t batch, stride_a, stride_b, stride_c;
  int32_t trans_a, trans_b, accumulate;
  int32_t in, out; /* tp_type */
  int32_t tf32, bias;
  int32_t chunks, is_part;
} tp_gemm;

/* The scales of an operand as a GPU's library has them: one; one for each row of A or column of B;
 * or, with panels of 128, one for each of these in each panel, those of a panel side by side; or
 * one for 128 of these, and the panels side by side. */
typedef enum tp_scale_mode {
  TP_SCALE_OTHER,
  TP_SCALE_TENSOR,
  TP_SCALE_ROW,
  TP_SCALE_BLOCK,
  TP_SCALE_SQUARE
} tp_scale_mode;

/* Scales of the operands of a tp_gemm in f8. Products of codes are summed in f32 over each panel of
 * `panel` elements of k, which it divides. The sum times the product of the two scales is added to
 * those of the panels before it by one fused multiply-add, in order; then the whole is added to C
 * or rounded to it. Where `folded`, all scales are powers of two, and products of codes and scales
 * are summed in f32 over the whole of k, as GPUs do with microscaling. The scale of row i of A in
 * panel p, an f32, lies at (i / a_block) * a_stride + p * a_panel; that of column j of B at (j /
 * b_block) * b_stride + p * b_panel. */
typedef struct tp_scales {
  int32_t type_b;            /* of B; the GEMM's `in` is that of A */
  int32_t mode_a, mode_b;    /* tp_scale_mode: a GPU multiplies none of TP_SCALE_OTHER */
  int32_t fast_accumulation; /* a GPU may add up a panel in fewer bits than f32 has */
  int32_t folded;
  int64_t panel;
  int64_t a_block, a_stride, a_panel;
  int64_t b_block, b_stride, b_panel;
} tp_scales;

/*--- ranks ----------------------------------------------------------------*/

/* One axis of the mesh, or a piece of one; the first listed varies slowest over
 * the ranks: rank = coordinate 0 * (product of the other sizes) + ... */
typedef struct tp_axis {
  const char *name; /* of the plan's axis: pieces repeat it */
  int64_t size;
} tp_axis;

/* The ranks that differ in the coordinates of `axes` alone. A rank's member number has
 * its coordinates as digits, the first listed axis the highest: it need not rise with
 * the rank. Group numbers are places in tp_program.groups.
 *
 * With `coordinates` only those ranks are members whose coordinate on the first listed axis is
 * one of these, and its place among them is the digit: [1, 0] has the ranks at 1 first. A rank
 * that is no member takes part in nothing of the group. Groups of the same members are apart,
 * and what is issued over each has an order of its own. */
typedef struct tp_group {
  const char *name; /* for messages: "dp", "dp and tp", "pp 0 to 1" */
  int32_t num_axes;
  const int32_t *axes;     /* numbers of tp_axis */
  int64_t num_coordinates; /* 0: all of the first axis */
  const int32_t *coordinates;
} tp_group;

/* What the n members of a group do together: collectives.h says what each kind means. */
typedef enum tp_reduction { TP_SUM, TP_MAX } tp_reduction;
typedef struct tp_collective {
  int32_t kind, reduction, type; /* tp_collective_kind of collectives.h, tp_reduction, tp_type */
  int32_t group;
  int64_t outer, inner, middle, last; /* the latter two of all-to-all, else 1 */
  int64_t whole;                      /* elements of the array of all blocks */
  int32_t split_last;
  const int32_t *source; /* of permute */
} tp_collective;

/* A value that is recorded, and which part of it a rank has: as `shape`, `whole` and `dim_groups`
 * of a tp_tensor say. */
typedef struct tp_audited {
  const char *what;
  const int64_t *shape, *whole;
  const int32_t *dim_groups;
  int32_t rank, type; /* tp_type */
  int32_t along, unused;
} tp_audited;

/* Called by generated code. 0 is success; otherwise the rank holds the error and
 * generated code returns at once. */
int tp_launch(tp_rank *, const tp_call *, tp_kernel, void *const *args, int64_t tasks);
/* `rows` of C, counted over the batch from its start, are wanted: more may be written. `bias` is
 * null where the GEMM has none. */
int tp_matmul(tp_rank *, const tp_call *, const tp_gemm *, const void *a, const void *b,
              const void *bias, void *c, int64_t rows);
/* The same of operands in f8, without batches, bias and chunks. */
int tp_scaled_matmul(tp_rank *, const tp_call *, const tp_gemm *, const tp_scales *, const void *a,
                     const void *b, const float *a_scale, const float *b_scale, void *c,
                     int64_t rows);
int tp_copy(tp_rank *, const tp_call *, void *to, const void *from, int64_t bytes);
int tp_zero(tp_rank *, const tp_call *, void *to, int64_t bytes);
/* Copies a value, and writes it to the file of --audit-scales. `numbers` are the addresses of three
 * i32: of the layer; of the step, or null before the first; and the position from which dimension
 * `along` is counted, or null. */
int tp_audit(tp_rank *, const tp_call *, const tp_audited *, const void *from, void *to,
             void *const *numbers);
/* `count` collectives, issued together: pointers[2 i] is `in` of the i-th, pointers[2 i + 1]
 * its `out`. No operand of one is a result of another. */
int tp_collectives(tp_rank *, const tp_call *, const tp_collective *, int64_t count,
                   void *const *pointers);
/* The same of messages that nobody waits for here: who needs them awaits the event. */
int tp_start(tp_rank *, const tp_call *, const tp_collective *, int64_t count,
             void *const *pointers, void *event);
/* The collectives of a group are issued to one stream. An event is recorded after the work in a
 * stream so far; later work in another stream waits for it. */
int tp_record(tp_rank *, int64_t stream, int64_t event);
int tp_wait(tp_rank *, int64_t stream, int64_t event);
/* The same for events that have memory: 64 bytes each, of those at tp_program.events_offset. */
int tp_signal(tp_rank *, int64_t stream, void *event);
int tp_await(tp_rank *, int64_t stream, void *event);
/* Without the others: in [outer, n, inner] -> out [outer, inner], this member's block; with a
 * `whole` as above, what the last blocks lack becomes zero. */
int tp_slice(tp_rank *, const tp_call *, const tp_collective *, const void *in, void *out);
/* This rank's member number in a group, or -1 where it is none of its members; set before the
 * first entry point is called. */
int64_t tp_member(const tp_rank *, int64_t group);
/* Called by entry points where a task begins: the stage and microbatch, for messages, of what is
 * issued from here on; -1: none. */
int tp_begin_task(tp_rank *, int64_t stage, int64_t microbatch);
/* Called on every rank once in a step that is not replayed, where the TP_GRADIENT tensors are whole
 * once all that a rank without a device has in flight is done, and the optimizer has not used them
 * yet: --dump-gradients waits for that, and writes them out here. */
int tp_gradients_ready(tp_rank *);

/*--- devices ---------------------------------------------------------------*/

/* In a program for a device the arena is memory of the device: the host adds to its addresses
 * and reads nothing there. Calls return before the work is done. */

/* A kernel of the device's image. Arguments, by address: inputs, outputs, and where a row loop is
 * bounded its count. Only outputs are written; an argument that is updated is an output alone. */
typedef struct tp_device_kernel {
  const char *name;
  int32_t number;          /* place in tp_device.kernels */
  int32_t grid, block;     /* blocks and threads of a block, both along x */
  int32_t inputs, outputs; /* and a count, where num_args is one more than both */
  int32_t num_args;
  const int64_t *bytes; /* memory of each argument */
  /* Bytes from each argument of one layer to that of the next; null: always one layer. */
  const int64_t *strides;
} tp_device_kernel;

/* Launches for `layers` layers at once; the arguments are those of the first. */
int tp_launch_device(tp_rank *, const tp_call *, const tp_device_kernel *, void *const *args,
                     int64_t layers);
/* Attention of a library, in stream 0. */
int tp_attend(tp_rank *, const tp_call *, const tp_attention *, void *const *pointers);
/* Adds up what ranks have, in their order: arguments in, out, and by value members, count, stride.
 * Element i of out is the sum (or maximum) of elements i, i + stride, ... of in, in the type that
 * tp_collective says, rounded once. A thread has one element. */
typedef struct tp_device_sum {
  int32_t type, reduction; /* tp_type, tp_reduction */
  const tp_device_kernel *kernel;
} tp_device_sum;

/* Bytes that zstd has compressed: `packed_bytes` of them, `bytes` when they are uncompressed. */
typedef struct tp_image {
  const void *packed;
  int64_t packed_bytes, bytes;
} tp_image;

typedef struct tp_device {
  const char *arch;      /* the architecture of the kernels: "sm_90" */
  const tp_image *ptx;   /* their text, with a zero at its end; no byte where there are none */
  const tp_image *cubin; /* the same as code of `arch`, or no byte */
  const tp_device_kernel *const *kernels;
  int64_t num_kernels;
  const tp_device_sum *sums; /* as far as collectives need them */
  int64_t num_sums;
  /* For each stream: memory of the arena for its collectives, as collectives.h counts it. */
  const int64_t *scratch_offsets, *scratch_bytes;
  /* What the host gives for each step (rows of tokens, scalars) is one piece of the arena. It is
   * copied from a second piece of that size, where that of the next step arrives meanwhile. */
  int64_t given_offset, given_bytes, staging_offset;
  int64_t workspace_offset, workspace_bytes; /* for library calls in stream 0 */
  int32_t native_sums; /* sums over ranks may be NCCL's, in an order of its own */
  int32_t channels;    /* that a group may have of NCCL, at most; 0: as many as it likes */
  /* Graphs of a step and the calls in them; an attention of a library has one for each chunk. */
  int64_t num_graphs, graph_calls;
} tp_device;

/* Where the graphs of a step have more calls than this in all, no section is captured:
 * --graph-calls. */
#define TP_GRAPH_CALLS 20000

/*--- tables ---------------------------------------------------------------*/

typedef enum tp_tensor_role {
  TP_WEIGHT,
  TP_OPTIMIZER_STATE,
  TP_GRADIENT,
  TP_WORKING_COPY,
  TP_GRADIENT_ERROR /* what a rank has lost of a gradient that it sent compressed; its first
                       dimension has a position for each rank that sends */
} tp_tensor_role;
typedef enum tp_init_kind { TP_CONSTANT, TP_NORMAL } tp_init_kind;

/* `count` tensors of one shape at a constant stride. `path` holds `{i}` where
 * count > 1 or the tensor stands in a list: instance j is number first + j * step.
 * Optimizer state repeats the path of its weight; `slot` names it ("m", "v"). */
typedef struct tp_tensor {
  /* Pointers come first: what follows is then one constant, and tables of tensors are large. */
  const char *path;
  const char *slot; /* "" for weights */
  const int64_t *shape;
  const int64_t *whole;      /* where ranks share it; see below */
  const int32_t *dim_groups; /* see below */
  int32_t role, type;        /* tp_tensor_role, tp_type */
  int32_t rank;
  int64_t count, first, step;
  int64_t offset, stride; /* bytes */
  int64_t id, id_step;    /* key of initial values: normal numbers from (seed, id, element) */
  int32_t init;           /* tp_init_kind */
  double init_value;
  /* How the ranks share it. `shape` is what this rank holds before `chunk`; whole[d] is the size of
   * dimension d of the logical tensor, and position i of the rank's dimension d is position
   * member(dim_groups[d]) * shape[d] + i there (dim_groups[d] < 0: all of it). Positions beyond
   * whole[d] are padding: zero, in no file. With chunk > 0 the rank holds, of that array read as a
   * line, only elements [member(chunk_group) * chunk, + chunk), those beyond its end being padding;
   * in_whole: they stand at their place in a buffer of members * chunk elements, of which the rest
   * means nothing outside the entry points. */
  int64_t chunk;
  int32_t chunk_group, in_whole;
  /* Bytes of an instance's memory where it is more than the above: the bytes that are not the
   * tensor's are zero when training starts. */
  int64_t memory;
} tp_tensor;

/* A section of a program. Several share code: `offsets` and `pointers` say where memory is. */
typedef struct tp_section {
  /* What differs by the number of the microbatch, and is issued by itself; null: nothing. */
  int (*head)(tp_rank *, char *arena, int64_t microbatch, const int64_t *offsets,
              const void *const *pointers);
  int (*body)(tp_rank *, char *arena, int64_t microbatch, const int64_t *offsets,
              const void *const *pointers);
  const int64_t *offsets;
  const void *const *pointers;
  /* On a device the body is captured as graph `graph` + graph_of[microbatch] (null: as `graph`).
   * Microbatches of one graph have their memory in the same places. Below 0: it is not captured. */
  int64_t graph;
  const int32_t *graph_of;
  int64_t stage;    /* of a task, where ranks hold different stages, for messages; below 0: none */
  int64_t task;     /* the stage of a task; below 0: it is none */
  const char *name; /* "F", the kind of a task; "begin", "end" */
} tp_section;

/* An entry point: item i has section items[i] % TP_SECTIONS, microbatch items[i] / TP_SECTIONS. */
#define TP_SECTIONS (1 << 16)
typedef struct tp_entry {
  const tp_section *sections;
  const int32_t *items;
  int64_t num_items;
} tp_entry;
typedef enum tp_entry_kind {
  TP_PREPARE,
  TP_TRAIN,
  TP_EVALUATE,
  TP_PREDICT,
  TP_TRAIN_EARLY,
  TP_ENTRIES
} tp_entry_kind;
/* The entry points of generated programs: each executes its tp_program.entries. */
int tp_prepare(tp_rank *, char *arena);
int tp_train(tp_rank *, char *arena);
int tp_train_early(tp_rank *, char *arena);
int tp_evaluate(tp_rank *, char *arena);
int tp_predict(tp_rank *, char *arena);

/* Rows of `length` tokens each, i32, one microbatch after the other: the loader
 * fills all rows of a step (or of one evaluation microbatch, at the start). */
typedef struct tp_input {
  const char *source; /* stream name */
  int64_t offset;
  int64_t rows, length; /* rows of one microbatch on this rank; S + 1 for language models */
  int64_t positions;    /* from the begin of one row to that of the next: S, so each is read once */
  int64_t vocabulary;   /* ids are checked against it when read */
  /* Row i of microbatch m is row (m * members + member) * rows + i of the step; < 0: every rank
   * reads all. */
  int32_t group;
} tp_input;

typedef enum tp_scalar_kind {
  TP_SEED,   /* i32, of --seed */
  TP_STEP,   /* i32, from 1 */
  TP_LR,     /* learning rate of this step */
  TP_POWER,  /* value to the power of step: bias correction */
  TP_ROWS,   /* i64, rows of the microbatch in use: all in training */
  TP_MEMBER, /* i32, this rank's member number in group `value`; written once */
  TP_INDEX   /* i32, instance i is (first + i) * value; written once */
} tp_scalar_kind;
typedef struct tp_scalar {
  int32_t kind, type;
  int64_t offset;
  double value;
  int64_t count, first; /* instances, 64 bytes apart; number of the first */
} tp_scalar;

/* Learning rate: piecewise over steps [begin, end), interpolated from a to b. */
typedef enum tp_lr_shape { TP_LINEAR, TP_COSINE, TP_FLAT } tp_lr_shape;
typedef struct tp_lr_piece {
  int64_t begin, end;
  double from, to;
  int32_t shape;
} tp_lr_piece;

/* A number that a step makes: a sum over the batch, and the count that divides it
 * (count_offset < 0: none). Type f32 or f64; counts have these types, too. The sum over the members
 * of its group is still to be made, by whoever reads the number (< 0: it is whole). It has
 * `parts` >= 1, 64 bytes apart from its offset on: each is summed over the group by itself, then
 * they are added in their order. So the parts of stages are added in one order, wherever the stages
 * lie. With stages every rank has every metric: a number that only some ranks know is summed over a
 * group of all ranks, to which the others bring zeros. */
typedef struct tp_metric {
  const char *name; /* losses first, and of these the one that evaluations score; "grad_norm" ... */
  int32_t type;
  int64_t offset, count_offset;
  int32_t group, count_group;
  int32_t unbounded; /* infinity and NaN do not end a training: a norm, whose step is skipped */
  int32_t is_loss;   /* a term of the training loss, which has it times `factor` */
  double factor;
  int32_t parts, count_parts; /* of the number at `offset`, at `count_offset` */
} tp_metric;

/* A live slot of the arena, for the memory audit and the audit of streams. */
typedef enum tp_slot_use {
  TP_WRITTEN,   /* by a step */
  TP_OPTIONAL,  /* a step need not write it */
  TP_EVALUATION /* a step does not write it */
} tp_slot_use;
/* It has numbers only, because there are many: `name` is the place of its first character in
 * tp_program.slot_names. It stands for one slot at `offset` after each of the num_bases numbers of
 * tp_program.slot_bases from first_base on, as for values that are kept for several microbatches;
 * with num_bases 0 for one slot at `offset` in the arena. */
typedef struct tp_slot {
  int64_t offset, bytes;
  int32_t name, use; /* tp_slot_use */
  int32_t first_base, num_bases;
} tp_slot;

/* Files of tokens that the recipe names. */
typedef struct tp_source {
  const char *name; /* of a source of `data` */
  const char *path; /* relative to the working folder; a pattern if no such file is there */
  int32_t format;   /* line of token_formats.def, from 0; -1: not stated */
  double weight;    /* share of its rows; all weights need not add up to 1 */
} tp_source;

/*--- names and layouts on disk ---------------------------------------------*/

/* A weight in a file of another tool's, where it is (part of) a tensor of another name and layout.
 */
typedef struct tp_stored {
  int64_t tensor; /* place in tp_program.tensors; with several programs, in their merged list */
  /* With {i} as in the tensor's path; `bare`, if there is one, is what some files say instead. */
  const char *name, *bare;
  int32_t rank; /* of the tensor on disk, and its shape */
  const int64_t *shape;
  /* Element (i, j, ...) of the weight is element first + i * strides[0] + j * strides[1] ... */
  int64_t first;
  const int64_t *strides;
} tp_stored;

typedef enum tp_constant_kind {
  TP_NULL,
  TP_BOOLEAN,
  TP_INTEGER,
  TP_REAL,
  TP_STRING,
  TP_STRINGS
} tp_constant_kind;
typedef struct tp_constant {
  int32_t kind;
  int64_t integer; /* of a boolean too */
  double real;
  const char *const *strings; /* of a string, the only one */
  int64_t num_strings;
} tp_constant;

/* A key of config.json, which may have several spellings; the first is written. A dot stands
 * between the names of an object and a key in it. */
typedef struct tp_config {
  const char *const *keys;
  int64_t num_keys;
  const tp_constant *value,
      *absent;          /* of this model; what it means where no key is there, or null */
  int32_t only_written; /* no file is compared with it */
} tp_config;

typedef struct tp_disk {
  const tp_stored *tensors; /* every weight once, those of one tensor one after the other */
  int64_t num_tensors;
  const char *const *ignored; /* tensors of files that are passed over; {i} is any number */
  int64_t num_ignored;
  const tp_config *config;
  int64_t num_config;
} tp_disk;

/* What a rank runs. Where a plan has stages, the coordinate on one axis of the mesh chooses among
 * several programs: see `programs`. Then there is a merged list of tensors, the same on every rank:
 * the rows of programs[0], programs[1], ... in their order, but a row with the path, slot, role,
 * type, rank and whole[] of an earlier one is that one. It has the instances of all these rows,
 * rising by their numbers (first + j * step). An instance that several programs hold is one tensor,
 * of one id and one initial value; of these programs the first one's ranks write it to files, and
 * what is loaded goes to all. */
typedef struct tp_program {
  int32_t abi_version;
  const char *plan;        /* name of the plan */
  const char *fingerprint; /* hash of model and recipe: what a checkpoint must match */
  const char *cpu;         /* what the code needs: a level ("x86-64-v3"), or features by commas */
  int64_t arena_bytes;
  int64_t microbatches;    /* of one step, on each rank */
  int64_t tokens_per_step; /* of all ranks */
  int64_t steps;           /* default of --steps */
  const tp_source *data;   /* where --data says nothing */
  int64_t num_data;
  const tp_source *eval;                     /* where --eval says nothing; null: no file */
  int64_t eval_tokens;                       /* of it, from the start; 0: all */
  const char *save;                          /* where --save says nothing; null: not at all */
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
  int64_t skipped_metric; /* its number, from 1, of the metric that is 1 where a step is skipped; or
                             0 */
  const tp_slot *slots;
  int64_t num_slots;
  const char *slot_names; /* one after the other, each with a zero */
  const int64_t *slot_bases;
  const tp_axis *axes; /* none: one rank */
  int64_t num_axes;
  const tp_group *groups;
  int64_t num_groups;
  /* Calls are issued to streams 0 .. num_streams - 1, each of which runs them in order, beside the
   * others. Without a device stream 0 is the rank itself, and each other one holds collectives;
   * with fewer than two streams each call is done when it returns. */
  int64_t num_streams, num_events;
  /* Events from first_placed on have memory, of which only the place means anything: 64 bytes each
   * from events_offset on. */
  int64_t first_placed, events_offset;
  const int32_t *stream_groups; /* of each stream, whose collectives it has; below 0: messages */
  int32_t read_first;           /* rank 0 alone reads data, the others get it from there */
  int32_t audits_scales;        /* it calls tp_audit */
  /* Entry points; the arena is that of the rank. */
  int (*prepare)(tp_rank *, char *arena); /* once, after weights are set: working copies, tables */
  int (*step)(tp_rank *, char *arena);
  int (*early_step)(tp_rank *, char *arena); /* in place of `step` in steps 1 to `early_steps` */
  int64_t early_steps;
  int (*evaluate)(tp_rank *, char *arena); /* one microbatch: adds to metrics */
  int (*predict)(tp_rank *, char *arena);  /* one microbatch: writes logits; null: cannot sample */
  const tp_entry *entries; /* by tp_entry_kind, for entry points that execute them */
  /* [rows, S, V] of `logits_type`; offset < 0: another program has them. */
  int64_t logits_offset, logits_vocabulary;
  int32_t logits_type;
  const tp_device *device; /* null: the team of the rank computes */
  /* TP_GRADIENT tensors hold gradients times `scale`, or where `scale_offset` is >= 0 the f64
   * there; where `scale` is 0 they hold gradients. */
  int64_t scale_offset;
  double scale;
  const tp_disk *disk; /* null: the model says nothing of names on disk */
  /* Ranks of coordinate c on axis `programs_axis` run programs[c], of as many as the axis has
   * coordinates; num_programs 0: all ranks run this one. A plan of several programs is handed over
   * as programs[0], and each of them has this same list. They may differ in arena_bytes, tensors,
   * scalars, slots, device, in what entry points do, in whether `prepare` is null, in whether there
   * are logits, and in offsets of all kinds; the rest is the same in all, groups by their numbers.
   * No tensor is cut over that axis. Where there are devices arch, workspace_bytes, channels and
   * native_sums are the same too. */
  const struct tp_program *const *programs;
  int64_t num_programs, programs_axis;
} tp_program;

/* Entry of every generated binary: parses the command line and trains. The programs are one plan
 * compiled for several targets, at most one for the CPU and one for a device; each may stand for
 * those of all stages. */
int tp_main(int argc, char **argv, const tp_program *const *programs, int64_t count);

#ifdef __cplusplus
}
#endif
#endif /* TPLAN_RUNTIME_H */
