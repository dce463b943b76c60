//===- data.cpp - files as rows of tokens ---------------------------------===//

#include "runtime/disk/data.h"

#include "runtime/ranks/member.h"
#include "runtime/support/random.h"

#include <algorithm>
#include <cstring>

using namespace tplan::runtime;

/// The streams of random numbers that the order of rows is drawn from, one for each source.
static int64_t orderOf(int64_t source) {
  return source == 0 ? (int64_t)dataOrderStream : (int64_t)sampleStream - source;
}

Status TokenStream::open(const std::vector<std::string> &names, int64_t length, int64_t step,
                         int64_t number) {
  source = number;
  stride = std::max<int64_t>(1, step);
  int64_t total = 0;
  TP_TRY(openTokenFiles(names, parts));
  for (const TokenFile &part : parts) {
    starts.push_back(total);
    total += part.size();
  }
  starts.push_back(total);
  if (total < length) {
    const char *also = parts.size() > 1 ? " and the files after it" : "";
    return errorf("'%s'%s %s %lld tokens (separators included), a row needs %lld",
                  parts.empty() ? "" : parts.front().path().c_str(), also, *also ? "have" : "has",
                  (long long)total, (long long)length);
  }
  windowCount = (total - length) / stride + 1;
  return {};
}

Status TokenStream::readRow(uint64_t seed, int64_t position, int64_t n, int64_t vocabulary,
                            int32_t *to) const {
  int64_t epoch = position / windowCount;
  Permutation order(seed, orderOf(source), (uint64_t)epoch, (uint64_t)windowCount);
  int64_t at = (int64_t)order[position % windowCount] * stride;
  size_t part = std::upper_bound(starts.begin(), starts.end() - 1, at) - starts.begin() - 1;
  for (int64_t done = 0; done < n; ++part) {
    int64_t here = std::min(n - done, starts[part + 1] - at);
    TP_TRY(parts[part].read(at - starts[part], here, vocabulary, to + done));
    done += here;
    at += here;
  }
  return {};
}

/// Rows of one microbatch on all ranks.
static int64_t rowsOf(const tp_program &program, const tp_input &input) {
  return input.rows * memberCount(program, input.group);
}

int64_t tplan::runtime::rowsPerStep(const tp_program &program) {
  return program.num_inputs ? program.microbatches * rowsOf(program, program.inputs[0]) : 0;
}

Status tplan::runtime::checkInputs(const tp_program &program, int64_t &length) {
  length = 0;
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &input = program.inputs[i], &first = program.inputs[0];
    if (strcmp(input.source, first.source))
      return errorf("the plan reads the streams '%s' and '%s'; this runtime serves one",
                    first.source, input.source);
    if (rowsOf(program, input) != rowsOf(program, first))
      return errorf("the inputs of stream '%s' have %lld and %lld rows", first.source,
                    (long long)rowsOf(program, first), (long long)rowsOf(program, input));
    length = std::max(length, input.length);
  }
  return {};
}

Status Loader::openAll(const tp_program &program, const std::vector<DataSource> &sources,
                       int64_t length) {
  int64_t stride = 0;
  for (int64_t i = 0; i < program.num_inputs; ++i)
    stride = std::max(stride, program.inputs[i].positions);
  std::string parts;
  for (const DataSource &source : sources) {
    auto number = (int64_t)streams.size();
    TokenStream &stream = streams.emplace_back();
    TP_TRY(stream.open(source.files, length, stride, number));
    total += stream.tokens();
    parts += format("%s%s %.17g of %lld tokens", parts.empty() ? "" : ", ", source.name.c_str(),
                    source.weight, (long long)stream.tokens());
  }
  if (sources.size() > 1)
    mixedOf = parts;
  return {};
}

Status Loader::open(tp_rank &rank, const std::vector<DataSource> &sources, int64_t length) {
  const tp_program &program = *rank.program;
  bool reads = !program.read_first || rank.peers.leads();
  std::vector<double> weights;
  for (const DataSource &source : sources)
    weights.push_back(source.weight);
  mixture = Mixture(weights);
  TP_TRY(rank.peers.agree(reads ? openAll(program, sources, length) : Status()));
  int64_t there = total;
  TP_TRY(rank.peers.broadcast(&there, sizeof there));
  TP_TRY(rank.peers.agree(
      !reads || there == total
          ? Status()
          : errorf("the files of the data have %lld tokens for rank 0, and %lld here: do all "
                   "machines have the same files?",
                   (long long)there, (long long)total)));
  if (!program.read_first)
    return {};
  total = there;
  all.resize(rowsPerStep(program) * length);
  return rank.peers.broadcast(mixedOf);
}

Status Loader::readRow(const tp_input &input, uint64_t seed, int64_t row, int32_t *to) const {
  auto [source, position] = mixture[row];
  return streams[source].readRow(seed, position, input.length, input.vocabulary, to);
}

Status Loader::fill(tp_rank &rank, uint64_t seed, int64_t step) {
  const tp_program &program = *rank.program;
  int64_t rows = rowsPerStep(program);
  auto read = [&](const tp_input &input, int64_t row, int32_t *to) {
    return readRow(input, seed, (step - 1) * rows + row, to);
  };
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &input = program.inputs[i];
    if (program.read_first) {
      for (int64_t row = 0; row < rows && rank.peers.leads(); ++row)
        TP_TRY(read(input, row, all.data() + row * input.length));
      TP_TRY(rank.peers.broadcast(all.data(), rows * input.length * (int64_t)sizeof(int32_t)));
    }
    int64_t first = memberOf(program, input.group, rank.peers.rank()) * input.rows;
    auto *to = (int32_t *)(givenBase(rank) + input.offset);
    for (int64_t m = 0; m < program.microbatches; ++m)
      for (int64_t r = 0; r < input.rows; ++r, to += input.length) {
        int64_t row = m * rowsOf(program, input) + first + r;
        if (program.read_first)
          std::copy_n(all.data() + row * input.length, input.length, to);
        else
          TP_TRY(read(input, row, to));
      }
  }
  return {};
}
