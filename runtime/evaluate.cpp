//===- evaluate.cpp - the loss on whole files ------------------------------===//

#include "runtime/evaluate.h"

#include "runtime/metrics.h"
#include "runtime/scalars.h"
#include "runtime/tensors.h"

#include <algorithm>
#include <cmath>

using namespace tplan::runtime;

namespace {

/// Runs one microbatch whose rows are set, and adds its sum.
Status scoreMicrobatch(tp_rank &rank, int64_t tokens, Evaluation &result) {
  const tp_program &program = *rank.program;
  char *arena = rank.arena.data();
  const tp_metric &loss = program.metrics[0];
  // Zeroed for each microbatch and summed here in double: a sum in f32 over a
  // long file would lose digits.
  setElement(arena + loss.offset, loss.type, 0, 0);
  if (loss.count_offset >= 0)
    setElement(arena + loss.count_offset, loss.type, 0, 0);
  if (program.evaluate(&rank, arena) != 0)
    return rank.error.ok() ? errorf("evaluation failed without a message") : std::move(rank.error);
  MetricValue value = readMetric(loss, arena);
  double counted = loss.count_offset >= 0 ? value.count : (double)tokens;
  if (counted != (double)tokens)
    return errorf("evaluation counted %.17g tokens where the rows hold %lld", counted,
                  (long long)tokens);
  result.sum += value.sum;
  result.tokens += tokens;
  return {};
}

} // namespace

Status tplan::runtime::evaluateFiles(tp_rank &rank, const std::vector<std::string> &names,
                                     Evaluation &result) {
  const tp_program &program = *rank.program;
  if (!program.evaluate || !program.num_metrics || !program.num_inputs)
    return errorf("the plan '%s' was compiled without evaluation", program.plan);
  const tp_input &input = program.inputs[0];
  for (int64_t i = 1; i < program.num_inputs; ++i)
    if (program.inputs[i].length != input.length)
      return errorf("evaluation needs inputs of one length, found %lld and %lld",
                    (long long)input.length, (long long)program.inputs[i].length);
  int64_t predictions = input.length - 1;
  if (predictions < 1)
    return errorf("evaluation needs rows of at least 2 tokens, found %lld",
                  (long long)input.length);

  std::vector<int32_t> rows(input.rows * input.length, -1);
  int64_t row = 0, tokens = 0;
  auto flush = [&]() -> Status {
    if (!row)
      return {};
    std::fill(rows.begin() + row * input.length, rows.end(), -1);
    for (int64_t i = 0; i < program.num_inputs; ++i)
      std::copy(rows.begin(), rows.end(),
                (int32_t *)(rank.arena.data() + program.inputs[i].offset));
    setRowsInUse(program, rank.arena.data(), row);
    TP_TRY(scoreMicrobatch(rank, tokens, result));
    row = tokens = 0;
    return {};
  };
  for (const std::string &name : names) {
    TokenFile file;
    TP_TRY(file.open(name));
    for (int64_t begin = 0; begin + 1 < file.size(); begin += predictions) {
      int64_t n = std::min(input.length, file.size() - begin);
      int32_t *to = rows.data() + row * input.length;
      TP_TRY(file.read(begin, n, input.vocabulary, to));
      std::fill(to + n, to + input.length, -1);
      tokens += n - 1;
      if (++row == input.rows)
        TP_TRY(flush());
    }
  }
  TP_TRY(flush());
  if (!result.tokens)
    return errorf("the files of --eval hold nothing to predict: '%s'",
                  names.empty() ? "" : names[0].c_str());
  return {};
}
