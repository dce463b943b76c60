/* hostile.c: a host that makes every mistake with two trainings, while both go on.
 *
 *     hostile ONE.tokens FOUR.tokens FOLDER [ALGORITHMS]
 *
 * Prints the losses as train-two does, so that they can be compared, and each mistake that had
 * another end than it was to have; the exit code is their number. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tplan/train.h>

TP_EMBED_PROGRAM(one);
TP_EMBED_PROGRAM(four);

extern void watch(int on) __attribute__((weak)); /* watch.c, where it is preloaded */
static void library(int begins) {
  if (watch)
    watch(begins);
}

static int mistakes;
static char told[4096]; /* lines of the log */

static void expect(const char *what, tp_training *training, tp_result found, tp_result wanted,
                   const char *part) {
  const char *message = wanted == TP_DONE ? "" : tp_message(training);
  if (found == wanted && strstr(message, part))
    return;
  library(0);
  fprintf(stderr, "%s: result %d, not %d; '%s' without '%s'\n", what, (int)found, (int)wanted,
          wanted == TP_DONE ? tp_message(training) : message, part);
  ++mistakes;
  library(1);
}

static void log_line(void *user, tp_level level, const char *line) {
  (void)level;
  strncat(user, line, sizeof told - strlen(user) - 1);
}

static void refuse_steps(tp_training *training, const tp_facts *facts, int32_t *tokens) {
  size_t bytes = (size_t)facts->bytes;
  expect("too few", training, tp_step(training, tokens, bytes - 4), TP_REFUSED,
         "tokens, int32_t, ");
  expect("too many", training, tp_step(training, tokens, bytes + 4), TP_REFUSED, ": found ");
  expect("none", training, tp_step(training, NULL, bytes), TP_REFUSED, "found NULL");
  int32_t kept = tokens[40];
  tokens[40] = 256;
  expect("bad token", training, tp_step(training, tokens, bytes), TP_REFUSED,
         "row 1, place 7: the token is outside the vocabulary of 256, whose ids end at 255: 256");
  tokens[40] = kept;
}

/* Each alone, beside the two that train. */
static void fail_to_open(void) {
  static const int32_t other_abi[256] = {7};
  tp_options options = TP_DEFAULTS;
  tp_training *training;
  expect("other ABI", NULL, tp_open((const tp_program *)other_abi, NULL, NULL), TP_REFUSED, "NULL");
  tp_result result = tp_open((const tp_program *)other_abi, &options, &training);
  expect("other ABI", training, result, TP_FAILED, "compiled for runtime interface 7");
  expect(
      "step after failure", training, tp_step(training, NULL, 0), TP_FAILED,
      "the training has ended before this call: this program was compiled for runtime interface 7");
  tp_close(training);
  result = tp_open(NULL, &options, &training);
  expect("no program", training, result, TP_FAILED, "found NULL");
  tp_close(training);
  options.size = 8;
  result = tp_open(&one_program, &options, &training);
  expect("other header", training, result, TP_FAILED, "another version of tplan/train.h");
  tp_close(training);
  options.size = sizeof options;
  options.resume = "/no/such/folder";
  result = tp_open(&four_program, &options, &training);
  expect("no folder", training, result, TP_FAILED, "'/no/such/folder'");
  expect("after failure", training, tp_save(training, "x", 0), TP_FAILED, "before this call");
  tp_close(training);
  expect("no training", NULL, tp_step(NULL, NULL, 0), TP_REFUSED, "there is no training: NULL");
  tp_close(NULL);
}

int main(int argc, char **argv) {
  if (argc < 4)
    return 100;
  const tp_program *programs[2] = {&one_program, &four_program};
  tp_training *trainings[2];
  FILE *files[2];
  int32_t *tokens[2];
  tp_facts facts[2];
  double losses[2][64];
  int steps = 0;
  for (int i = 0; i < 2; ++i) {
    files[i] = fopen(argv[1 + i], "rb");
    tp_options options = TP_DEFAULTS;
    options.threads = i + 1;
    char algorithms[512];
    if (argc > 4) { /* on GPUs, whose libraries are named by variables */
      snprintf(algorithms, sizeof algorithms, "%s/%s.gemms", argv[4], i ? "four" : "one");
      options.gemm_algorithms = algorithms;
      options.environment = 1;
    }
    options.log = log_line, options.user = told;
    library(1);
    expect("open", trainings[i], tp_open(programs[i], &options, &trainings[i]), TP_DONE, "");
    expect("facts", trainings[i], tp_describe(trainings[i], &facts[i]), TP_DONE, "");
    library(0);
    tokens[i] = malloc((size_t)facts[i].bytes);
  }
  for (; steps < facts[0].plan_steps; ++steps)
    for (int i = 0; i < 2; ++i) {
      if (!files[i] || fread(tokens[i], (size_t)facts[i].bytes, 1, files[i]) != 1)
        return 101;
      const tp_value *values;
      int64_t count;
      library(1);
      if (steps % 3 == i)
        refuse_steps(trainings[i], &facts[i], tokens[i]);
      if (steps == 5)
        fail_to_open();
      expect("step", trainings[i], tp_step(trainings[i], tokens[i], (size_t)facts[i].bytes),
             TP_DONE, "");
      expect("metrics", trainings[i], tp_metrics(trainings[i], &values, &count), TP_DONE, "");
      library(0);
      losses[i][steps] = values[0].value;
    }
  for (int i = 0; i < 2; ++i) {
    char folder[512];
    snprintf(folder, sizeof folder, "%s/%s", argv[3], i ? "four" : "one");
    library(1);
    expect("not a folder", trainings[i], tp_save(trainings[i], argv[1], 0), TP_REFUSED, argv[1]);
    expect("save", trainings[i], tp_save(trainings[i], folder, 1), TP_DONE, "");
    expect("describe", trainings[i], tp_describe(trainings[i], NULL), TP_REFUSED, "found NULL");
    tp_close(trainings[i]);
    library(0);
    for (int step = 0; step < steps; ++step)
      printf("%s %d %.17g\n", i ? "four" : "one", step + 1, losses[i][step]);
    free(tokens[i]);
    fclose(files[i]);
  }
  if (!strstr(told, "saved step 20 in "))
    ++mistakes, fprintf(stderr, "the log was told '%s'\n", told);
  return mistakes;
}
