/* train-two.c: a program of yours that trains two plans at once, with batches from its own memory.
 *
 *     train-two ONE.tokens FOUR.tokens CHECKPOINTS
 *
 * Each file holds int32_t tokens, the rows of one step after those of the step before. The losses
 * go to standard output: library and plans print nothing.
 */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <tplan/train.h>

TP_EMBED_PROGRAM(one);
TP_EMBED_PROGRAM(four);

typedef struct job {
  const tp_program *program;
  const char *tokens; /* file */
  char folder[512];   /* of its checkpoints */
  double *losses;     /* of each step */
  int64_t steps;
  char error[512]; /* or "" */
} job;

/* False where something failed; the job says what. */
static int check(job *it, tp_training *training, tp_result result) {
  if (result != TP_DONE)
    snprintf(it->error, sizeof it->error, "%s", tp_message(training));
  return result == TP_DONE;
}

static void trainSteps(job *it, tp_training *training, FILE *file) {
  tp_facts facts;
  if (!check(it, training, tp_describe(training, &facts)))
    return;
  int32_t *tokens = malloc((size_t)facts.bytes);
  it->losses = calloc((size_t)facts.plan_steps + 1, sizeof *it->losses);
  while (tokens && it->losses && it->steps < facts.plan_steps &&
         fread(tokens, (size_t)facts.bytes, 1, file) == 1) {
    const tp_value *values;
    int64_t count;
    if (!check(it, training, tp_step(training, tokens, (size_t)facts.bytes)) ||
        !check(it, training, tp_metrics(training, &values, &count)))
      break;
    it->losses[it->steps++] = values[0].value;
  }
  if (!it->error[0])
    check(it, training, tp_save(training, it->folder, 0));
  free(tokens);
}

static void *train(void *argument) {
  job *it = argument;
  FILE *file = fopen(it->tokens, "rb");
  if (!file) {
    snprintf(it->error, sizeof it->error, "cannot read '%s'", it->tokens);
    return NULL;
  }
  tp_options options = TP_DEFAULTS;
  options.threads = 1;
  tp_training *training = NULL;
  tp_result opened = tp_open(it->program, &options, &training);
  if (check(it, training, opened))
    trainSteps(it, training, file);
  tp_close(training);
  fclose(file);
  return NULL;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: train-two ONE.tokens FOUR.tokens CHECKPOINTS\n");
    return 2;
  }
  const char *names[2] = {"one", "four"};
  job jobs[2] = {{.program = &one_program, .tokens = argv[1]},
                 {.program = &four_program, .tokens = argv[2]}};
  pthread_t threads[2];
  int started[2], failed = 0;
  for (int i = 0; i < 2; ++i) {
    snprintf(jobs[i].folder, sizeof jobs[i].folder, "%s/%s", argv[3], names[i]);
    started[i] = pthread_create(&threads[i], NULL, train, &jobs[i]) == 0;
  }
  for (int i = 0; i < 2; ++i) {
    if (started[i])
      pthread_join(threads[i], NULL);
    for (int64_t step = 0; step < jobs[i].steps; ++step)
      printf("%s %lld %.17g\n", names[i], (long long)step + 1, jobs[i].losses[step]);
    if (!started[i] || jobs[i].error[0])
      fprintf(stderr, "train-two: %s: %s\n", names[i],
              started[i] ? jobs[i].error : "no thread could be started");
    failed |= !started[i] || jobs[i].error[0];
    free(jobs[i].losses);
  }
  return failed;
}
