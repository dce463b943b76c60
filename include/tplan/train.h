/*===- train.h - a training inside a program of your own --------------------===
 *
 * `tplanc p.tplan -c --embed NAME -o p.o` makes an object with one symbol, NAME_program. A program
 * that links it and libtplan_runtime trains it with the calls below; docs/embedding.md shows one.
 *
 * One decision: the host stays the owner of its process. The library does not print, exit, abort,
 * install handlers of signals or read the environment, unless an option asks; what goes wrong is a
 * value that a call returns, with a text.
 *
 * Any number of trainings may live at once, also of one program. Calls of one training are made one
 * after the other, by any thread; those of two trainings know nothing of each other.
 *===----------------------------------------------------------------------===*/
#ifndef TPLAN_TRAIN_H
#define TPLAN_TRAIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct tp_program tp_program;   /* what tplanc made of a plan */
typedef struct tp_training tp_training; /* one training of it */

#define TP_EMBED_PROGRAM(NAME) extern const tp_program NAME##_program

typedef enum tp_result {
  TP_DONE = 0,
  TP_REFUSED, /* nothing was done: the training is as it was before the call, and goes on */
  TP_FAILED   /* the training has ended on all its ranks: tp_message says why, tp_close is left */
} tp_result;

typedef enum tp_level { TP_NEWS, TP_WARNING } tp_level;

/* Begin with TP_DEFAULTS. What a null pointer or 0 means is said beside the field. */
typedef struct tp_options {
  size_t size;        /* of this struct: it tells the library which header you have */
  int64_t seed;       /* of initial values: that of --seed */
  int64_t threads;    /* of each rank; 0: its part of the CPUs that this process may use */
  const char *load;   /* weights, as --load takes them: a file, or a folder with a model */
  const char *resume; /* a folder of checkpoints: goes on from its newest */
  const char *gemm;   /* how bf16 is multiplied: "library", "widen"; null: the faster one here */
  const char *gemm_algorithms; /* for a program on GPUs: the file of --gemm-algorithms */
  double hang_seconds;         /* a rank waits for others without progress, in a step; 0: 60 */
  /* Null: all ranks are threads of this process. Else a communicator of Open MPI's, (void *)comm,
   * whose processes are the ranks in their order and make every call together. */
  void *communicator;
  int64_t gpu;     /* for a program on GPUs: the first one to use; the next rank has the next */
  int pin_threads; /* bind each thread to a CPU, where the ranks have as many threads as CPUs */
  int environment; /* read what tp_main does: TPLAN_GEMM, TPLAN_MPI, TPLAN_CUDA, ... */
  /* Called with a whole line, without its end, by threads of the training during your calls. */
  void (*log)(void *user, tp_level level, const char *line);
  void *user;
} tp_options;

/* clang-format off */
#define TP_DEFAULTS { sizeof(tp_options), 1, 0, NULL, NULL, NULL, NULL, 0, NULL, 0, 0, 0, NULL, NULL }
/* clang-format on */

/* Ready to step: memory is mapped, ranks wait, weights are set. `options` may be null, and need not
 * outlive the call; the program does. Anything but TP_DONE leaves in *training what tp_message and
 * tp_close take. */
tp_result tp_open(const tp_program *program, const tp_options *options, tp_training **training);

typedef struct tp_facts {
  const char *plan;
  int64_t ranks;
  int64_t rows, length; /* of a step, over all ranks: tokens are int32_t[rows][length] */
  int64_t bytes;        /* of these */
  int64_t vocabulary;   /* ids are 0 .. vocabulary - 1; below 0: padding */
  int64_t plan_steps;   /* that the recipe asks for */
  int64_t step;         /* the last one that was done; 0: none */
  int64_t arena_bytes;  /* of each rank; where stages differ, of the rank that has most */
} tp_facts;
tp_result tp_describe(tp_training *training, tp_facts *facts);

/* Trains one step. Row m * rows / microbatches + i is row i of microbatch m; each row has one token
 * more than the model has positions. All of it is read before the call returns. A plan without data
 * takes NULL and 0. Under MPI each process brings the rows of all. */
tp_result tp_step(tp_training *training, const int32_t *tokens, size_t bytes);

/* What the last step left: "loss" first, then the others of the plan; summed over all ranks. */
typedef struct tp_value {
  const char *name;
  double value;
} tp_value;
/* None before the first step. They stay until the next call. */
tp_result tp_metrics(tp_training *training, const tp_value **values, int64_t *count);

/* A checkpoint, as --save writes it and --resume reads it, of the state after the last step, in a
 * folder for this training alone; the newest `keep` stay there (0: all). TP_REFUSED where it cannot
 * be written: what is there stays whole. */
tp_result tp_save(tp_training *training, const char *folder, int64_t keep);

/* The text of the last call that was not TP_DONE; "" where there is none. It stays until the next
 * call. */
const char *tp_message(const tp_training *training);

/* Ends the training and releases all of its memory; null is allowed. */
void tp_close(tp_training *training);

/* The version of the library: "1.0.0". */
const char *tp_version(void);

#ifdef __cplusplus
}
#endif
#endif /* TPLAN_TRAIN_H */
