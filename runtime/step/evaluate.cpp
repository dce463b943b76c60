//===- evaluate.cpp - the loss on whole files ------------------------------===//

#include "runtime/step/evaluate.h"

#include "runtime/ranks/member.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/metrics.h"
#include "runtime/step/scalars.h"

#include <algorithm>
#include <limits>

using namespace tplan::runtime;

namespace {

/// A microbatch: its rows, and how many tokens in them follow another one, over all ranks.
struct Batch {
  int64_t rows = 0, tokens = 0;
};

/// The windows of files, in order.
class Windows {
public:
  explicit Windows(const tp_input &input) : input(input) {}
  Status open(const std::vector<std::string> &names, int64_t most) {
    if (most > 0)
      left = most;
    return openTokenFiles(names, files);
  }

  /// The next `limit` windows, fewer at the end. Those of [first, first + count) are read into
  /// `to`; positions beyond the files hold -1.
  Status next(int64_t limit, int64_t first, int64_t count, int32_t *to, Batch &batch) {
    batch = {};
    std::fill(to, to + count * input.length, -1);
    while (batch.rows < limit && file < files.size() && left > 0) {
      const TokenFile &from = files[file];
      if (begin + 1 >= from.size()) {
        ++file;
        begin = 0;
        continue;
      }
      int64_t n = std::min({input.length, from.size() - begin, left + 1});
      int64_t row = batch.rows - first;
      if (row >= 0 && row < count)
        TP_TRY(from.read(begin, n, input.vocabulary, to + row * input.length));
      TP_TRY(from.countTokens(begin + 1, n - 1, batch.tokens));
      left -= n - 1;
      ++batch.rows;
      begin += input.positions;
    }
    return {};
  }

private:
  const tp_input &input;
  std::vector<TokenFile> files;
  size_t file = 0;
  int64_t begin = 0;
  int64_t left = std::numeric_limits<int64_t>::max() - 1; // tokens to predict
};

/// Scores files, together with all other ranks.
class Scorer {
public:
  explicit Scorer(tp_rank &rank)
      : rank(rank), program(*rank.program), input(program.inputs[0]), windows(input),
        metrics(program), members(memberCount(program, input.group)),
        first(memberOf(program, input.group, rank.peers.rank()) * input.rows) {}

  Status run(const std::vector<std::string> &names, int64_t most, Evaluation &result) {
    bool reads = !program.read_first || rank.peers.leads();
    TP_TRY(rank.peers.agree(reads ? windows.open(names, most) : Status()));
    rows.resize(input.rows * input.length);
    if (program.read_first)
      all.resize(rows.size() * members);
    while (true) {
      TP_TRY(rank.points.next(result.ended));
      if (result.ended)
        return {};
      Batch batch;
      TP_TRY(nextBatch(batch));
      if (!batch.rows)
        return {};
      TP_TRY(score(batch, result));
    }
  }

private:
  Status nextBatch(Batch &batch);
  Status score(const Batch &batch, Evaluation &result);
  Status clear(int64_t offset, int32_t parts, int32_t type);

  tp_rank &rank;
  const tp_program &program;
  const tp_input &input;
  Windows windows;
  Metrics metrics;
  int64_t members, first;         // this rank's first row of a microbatch
  std::vector<int32_t> rows, all; // of this rank; of all, where one reads
};

Status Scorer::nextBatch(Batch &batch) {
  int64_t limit = members * input.rows;
  if (!program.read_first)
    return windows.next(limit, first, input.rows, rows.data(), batch);
  if (rank.peers.leads())
    TP_TRY(windows.next(limit, 0, limit, all.data(), batch));
  TP_TRY(rank.peers.broadcast(&batch, sizeof batch));
  TP_TRY(rank.peers.broadcast(all.data(), (int64_t)(all.size() * sizeof all[0])));
  std::copy_n(all.begin() + first * input.length, rows.size(), rows.begin());
  return {};
}

/// Zero in each part of a number of a metric.
Status Scorer::clear(int64_t offset, int32_t parts, int32_t type) {
  static constexpr char zero[8] = {};
  for (int32_t part = 0; part < parts; ++part)
    TP_TRY(writeArena(rank, offset + part * scalarStride, zero, bytesOf(type)));
  return {};
}

Status Scorer::score(const Batch &batch, Evaluation &result) {
  char *given = givenBase(rank);
  for (int64_t i = 0; i < program.num_inputs; ++i)
    std::copy(rows.begin(), rows.end(), (int32_t *)(given + program.inputs[i].offset));
  // A rank without rows still takes part in what all ranks compute together.
  setRowsInUse(program, given, std::clamp<int64_t>(batch.rows - first, 0, input.rows));
  TP_TRY(give(rank));
  const tp_metric &loss = program.metrics[0];
  // Zeroed for each microbatch and summed here in double: a sum in f32 over a
  // long file would lose digits.
  TP_TRY(clear(loss.offset, loss.parts, loss.type));
  if (loss.count_offset >= 0)
    TP_TRY(clear(loss.count_offset, loss.count_parts, loss.type));
  TP_TRY(prepareCopies(rank));
  TP_TRY(runEntry(rank, program.evaluate, "evaluation"));
  TP_TRY(metrics.read(rank));
  double counted = loss.count_offset >= 0 ? metrics.term(0).count : (double)batch.tokens;
  // Where rows hold one token more than they have positions, each predicts the next.
  if (input.length - input.positions == 1 && counted != (double)batch.tokens)
    return errorf("evaluation counted %.17g tokens where the rows hold %lld", counted,
                  (long long)batch.tokens);
  result.sum += metrics.term(0).sum;
  result.tokens += (int64_t)counted;
  return {};
}

} // namespace

Status tplan::runtime::evaluateFiles(tp_rank &rank, const std::vector<std::string> &names,
                                     int64_t most, Evaluation &result) {
  const tp_program &program = *rank.program;
  if (!program.evaluate || !program.num_metrics || !program.num_inputs)
    return rank.peers.alike(errorf("the plan '%s' was compiled without evaluation", program.plan));
  const tp_input &input = program.inputs[0];
  for (int64_t i = 1; i < program.num_inputs; ++i)
    if (program.inputs[i].length != input.length || program.inputs[i].group != input.group)
      return rank.peers.alike(
          errorf("evaluation needs inputs of one length and group, found lengths %lld and %lld",
                 (long long)input.length, (long long)program.inputs[i].length));
  if (input.length < 2)
    return rank.peers.alike(
        errorf("evaluation needs rows of at least 2 tokens, found %lld", (long long)input.length));
  TP_TRY(Scorer(rank).run(names, most, result));
  if (!result.tokens && !result.ended)
    return rank.peers.alike(errorf("the files that are scored hold nothing to predict: '%s'",
                                   names.empty() ? "" : names[0].c_str()));
  return {};
}
