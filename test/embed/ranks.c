/* ranks.c: under mpirun -n 4, the plan `four` over a communicator of the host's.
 *
 *     ranks FOUR.tokens [silent]
 *
 * Rank 0 prints the losses. Then one rank has a bad token, which all refuse and go on; with
 * `silent` one does not step at all, which all the others get as an error, and nobody's process
 * ends. */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <tplan/train.h>

TP_EMBED_PROGRAM(four);

static int complain(int rank, const char *what, const tp_training *training) {
  fprintf(stderr, "rank %d: %s: '%s'\n", rank, what, tp_message(training));
  return 1;
}

static int train(MPI_Comm comm, const char *path, int silent) {
  int rank, failed = 0;
  MPI_Comm_rank(comm, &rank);
  tp_options options = TP_DEFAULTS;
  options.threads = 1;
  options.communicator = (void *)comm;
  /* Rank 0 is the first to find a silent one; it tells the others. */
  options.hang_seconds = silent && rank == 0 ? 0.1 : 30;
  tp_training *training;
  tp_facts facts;
  tp_result result = tp_open(&four_program, &options, &training);
  if (result != TP_DONE || tp_describe(training, &facts) != TP_DONE)
    return complain(rank, "open", training);
  FILE *file = fopen(path, "rb");
  size_t bytes = (size_t)facts.bytes;
  int32_t *tokens = malloc(bytes);
  for (int64_t step = 1; file && step <= facts.plan_steps; ++step) {
    const tp_value *values;
    int64_t count;
    failed |= fread(tokens, bytes, 1, file) != 1;
    if (step == 4) {
      int32_t kept = tokens[3];
      tokens[3] = rank == 2 ? 300 : kept;
      if (tp_step(training, tokens, bytes) != TP_REFUSED ||
          !strstr(tp_message(training),
                  "rank 2: row 0, place 3: the token is outside the vocabulary"))
        failed |= complain(rank, "bad token of rank 2", training);
      tokens[3] = kept;
    }
    if (step == 6 && silent) {
      if (rank == 3)
        sleep(2);
      const char *why =
          "rank 0: nothing has come for 1 s, the limit that tp_options.hang_seconds sets";
      if (tp_step(training, tokens, bytes) != TP_FAILED ||
          !strstr(tp_message(training), rank ? "rank 0 failed" : why))
        failed |= complain(rank, "silence of rank 3", training);
      if (tp_step(training, tokens, bytes) != TP_FAILED)
        failed |= complain(rank, "after failure", training);
      break;
    }
    if (tp_step(training, tokens, bytes) != TP_DONE ||
        tp_metrics(training, &values, &count) != TP_DONE)
      failed |= complain(rank, "step", training);
    else if (rank == 0)
      printf("four %lld %.17g\n", (long long)step, values[0].value);
  }
  free(tokens);
  if (file)
    fclose(file);
  tp_close(training);
  return failed;
}

int main(int argc, char **argv) {
  MPI_Init(&argc, &argv);
  MPI_Comm comm; /* not the world, and in another order */
  int rank, failed;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &comm);
  tp_training *training;
  tp_options options = TP_DEFAULTS;
  options.communicator = (void *)MPI_COMM_SELF; /* of another size */
  failed = tp_open(&four_program, &options, &training) != TP_FAILED ||
           !strstr(tp_message(training), "the plan 'four' is for 4 ranks; the communicator has 1");
  if (failed)
    complain(rank, "wrong size", training);
  tp_close(training);
  failed |= train(comm, argv[1], argc > 2);
  MPI_Comm_free(&comm);
  MPI_Finalize(); /* which the library has not called */
  if (!failed)
    printf("fine\n");
  return failed;
}
