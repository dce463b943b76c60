//===- sample.cpp - tokens from the model -----------------------------------===//
//
// One decision: there is no cache of keys and values. Each token is a forward pass over the last S
// tokens: sampling shows what was learnt, it is not for serving. All ranks predict the same row and
// find the same logits, so that all go on alike; where only some ranks have logits, the first of
// these sends them to all.
//===----------------------------------------------------------------------===//

#include "runtime/ranks/programs.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/evaluate.h"
#include "runtime/step/scalars.h"
#include "runtime/support/random.h"

#include <algorithm>
#include <cmath>
#include <cstring>

using namespace tplan::runtime;

/// Draws from softmax(logits / temperature) by inversion at `uniform` in (0, 1].
static int64_t draw(const std::vector<double> &logits, double temperature, double uniform) {
  auto best = std::max_element(logits.begin(), logits.end());
  if (temperature == 0)
    return best - logits.begin();
  double total = 0;
  for (double logit : logits)
    total += std::exp((logit - *best) / temperature);
  double target = uniform * total, sum = 0;
  int64_t last = best - logits.begin();
  for (size_t id = 0; id < logits.size(); ++id) {
    double weight = std::exp((logits[id] - *best) / temperature);
    sum += weight;
    if (weight > 0)
      last = (int64_t)id;
    if (weight > 0 && sum >= target)
      break;
  }
  return last;
}

/// Checks what is to be continued; all ranks find the same error.
static Status checkSample(const tp_program &program, const std::vector<int32_t> &tokens) {
  if (!program.predict)
    return errorf("the plan '%s' was compiled without prediction: it cannot sample", program.plan);
  if (!program.num_inputs || program.inputs[0].length < 2)
    return errorf("the plan '%s' reads no rows of tokens: it cannot sample", program.plan);
  if (tokens.empty())
    return errorf("a sample continues at least one token, found none");
  for (size_t i = 0; i < tokens.size(); ++i)
    if (tokens[i] < 0 || tokens[i] >= program.inputs[0].vocabulary)
      return errorf("token %zu of --sample is outside the vocabulary of %lld: %d", i,
                    (long long)program.inputs[0].vocabulary, tokens[i]);
  return {};
}

/// The logits of position `at` of the row that was predicted, as they are in memory, on all ranks.
static Status readLogits(tp_rank &rank, int64_t at, std::vector<char> &numbers) {
  const tp_program &program = *rank.program;
  auto bytes = (int64_t)numbers.size();
  int64_t row = program.logits_vocabulary * bytesOf(program.logits_type);
  if (program.logits_offset >= 0)
    TP_TRY(readArena(rank, program.logits_offset + at * row, numbers.data(), bytes));
  else if (rank.device)
    TP_TRY(rank.device->finish());
  int64_t from = rankOfLogits(program);
  return from < 0 ? Status() : rank.peers.broadcast(numbers.data(), bytes, (int)from);
}

Status tplan::runtime::sampleTokens(tp_rank &rank, const Sampling &how,
                                    std::vector<int32_t> &tokens, bool &ended) {
  const tp_program &program = *rank.program;
  TP_TRY(rank.peers.alike(checkSample(program, tokens)));
  const tp_input &input = program.inputs[0];
  int64_t context = input.positions;
  const tp_program &predicting = programOf(program, std::max<int64_t>(rankOfLogits(program), 0));
  int32_t type = predicting.logits_type;
  std::vector<double> logits(
      std::min({predicting.logits_vocabulary, input.vocabulary, how.vocabulary}));
  std::vector<char> numbers; // as they are in memory
  for (int64_t i = 0; i < how.count; ++i) {
    TP_TRY(rank.points.next(ended));
    if (ended)
      return {};
    int64_t length = std::min<int64_t>(context, tokens.size());
    char *given = givenBase(rank);
    setRowsInUse(program, given, 1);
    for (int64_t j = 0; j < program.num_inputs; ++j) {
      const tp_input &to = program.inputs[j];
      auto *row = (int32_t *)(given + to.offset);
      memset(row, 0, to.rows * to.length * sizeof(int32_t));
      for (int64_t at = 0; at < std::min(length, to.length); ++at)
        row[at] = tokens[tokens.size() - length + at];
    }
    TP_TRY(give(rank));
    TP_TRY(prepareCopies(rank));
    TP_TRY(runEntry(rank, program.predict, "prediction"));
    numbers.resize(logits.size() * bytesOf(type));
    TP_TRY(readLogits(rank, length - 1, numbers));
    for (size_t id = 0; id < logits.size(); ++id) {
      logits[id] = getElement(numbers.data(), type, (int64_t)id);
      if (!std::isfinite(logits[id]))
        return rank.peers.alike(
            errorf("prediction %lld: logit %zu is %g", (long long)i, id, logits[id]));
    }
    tokens.push_back(
        (int32_t)draw(logits, how.temperature, uniformAt(how.seed, sampleStream, (uint64_t)i)));
  }
  return {};
}
