/* A training in a program of a user's that begins with the weights in argv[1]: prints the loss of its
 * first step, or what is wrong. */
#include <stdio.h>
#include <stdlib.h>
#include <tplan/train.h>

TP_EMBED_PROGRAM(llama);

int main(int argc, char **argv) {
  tp_options options = TP_DEFAULTS;
  options.load = argv[argc - 1];
  options.threads = 1;
  tp_training *training;
  tp_facts facts;
  const tp_value *values;
  int64_t count;
  int failed = tp_open(&llama_program, &options, &training) || tp_describe(training, &facts);
  if (!failed) {
    int32_t *tokens = malloc((size_t)facts.bytes);
    for (int64_t i = 0; i < facts.rows * facts.length; ++i)
      tokens[i] = (int32_t)(i * i % facts.vocabulary);
    failed = tp_step(training, tokens, (size_t)facts.bytes) || tp_metrics(training, &values, &count);
    free(tokens);
  }
  if (failed)
    printf("%s\n", tp_message(training));
  else
    printf("%.17g\n", values[0].value);
  tp_close(training);
  return failed;
}
