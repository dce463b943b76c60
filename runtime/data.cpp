//===- data.cpp - files as rows of tokens ---------------------------------===//

#include "runtime/data.h"

#include "runtime/member.h"
#include "runtime/random.h"

#include <algorithm>
#include <cstring>

using namespace tplan::runtime;

static constexpr TokenFormat formats[] = {
    {"bytes", 1, false, 0, "each byte is a token, byte 0 stands before each file"},
    {"u16", 2, false, -1, "little-endian 16-bit tokens without a header (nanoGPT)"},
    {"i32", 4, true, -1,
     "little-endian signed 32-bit tokens without a header; below 0 is padding, no target"},
};

std::span<const TokenFormat> tplan::runtime::tokenFormats() { return formats; }

Status TokenFile::open(const std::string &option) {
  format = &formats[0];
  std::string name = option;
  for (const TokenFormat &candidate : formats) {
    std::string prefix = std::string(candidate.name) + ":";
    if (option.compare(0, prefix.size(), prefix) != 0)
      continue;
    format = &candidate;
    name = option.substr(prefix.size());
  }
  TP_TRY(file.open(name));
  if (file.size() % format->bytesPerToken)
    return errorf("'%s' has %lld bytes, which is no multiple of the %lld bytes of a token",
                  name.c_str(), (long long)file.size(), (long long)format->bytesPerToken);
  count = file.size() / format->bytesPerToken;
  return {};
}

static int64_t tokenAt(const TokenFormat &format, const unsigned char *bytes) {
  uint64_t value = 0;
  for (int64_t byte = 0; byte < format.bytesPerToken; ++byte)
    value |= uint64_t(bytes[byte]) << (8 * byte);
  int64_t unused = 64 - 8 * format.bytesPerToken;
  return format.hasSign ? int64_t(value << unused) >> unused : int64_t(value);
}

template <typename Function>
Status TokenFile::forEach(int64_t first, int64_t n, Function &&function) const {
  int64_t end = first + n, before = firstToken();
  if (n > 0 && first < before && !function(first++, format->separator))
    return {};
  unsigned char piece[16 << 10];
  int64_t most = (int64_t)sizeof piece / format->bytesPerToken;
  while (first < end) {
    int64_t here = std::min(end - first, most);
    TP_TRY(
        file.read((first - before) * format->bytesPerToken, piece, here * format->bytesPerToken));
    for (int64_t i = 0; i < here; ++i)
      if (!function(first + i, tokenAt(*format, piece + i * format->bytesPerToken)))
        return {};
    first += here;
  }
  return {};
}

Status TokenFile::read(int64_t first, int64_t n, int64_t vocabulary, int32_t *to) const {
  int64_t wrongAt = -1, wrong = 0;
  TP_TRY(forEach(first, n, [&](int64_t at, int64_t id) {
    if (id >= vocabulary)
      wrongAt = at, wrong = id;
    to[at - first] = (int32_t)id;
    return wrongAt < 0;
  }));
  if (wrongAt < 0)
    return {};
  int64_t at = wrongAt - firstToken();
  return errorf("'%s', byte %lld: token %lld is outside the vocabulary of %lld", path().c_str(),
                (long long)(std::max<int64_t>(at, 0) * format->bytesPerToken), (long long)wrong,
                (long long)vocabulary);
}

Status TokenFile::countTokens(int64_t first, int64_t n, int64_t &count) const {
  if (format->hasSign)
    return forEach(first, n, [&](int64_t, int64_t id) {
      count += id >= 0;
      return true;
    });
  count += n;
  return {};
}

Status tplan::runtime::expandFileList(const std::string &option, std::vector<std::string> &names) {
  size_t begin = 0;
  while (begin <= option.size()) {
    size_t end = std::min(option.find(',', begin), option.size());
    std::string name = option.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty())
      return errorf("a file list with an empty name: '%s'", option.c_str());
    if (name[0] != '@') {
      names.push_back(name);
      continue;
    }
    std::string list;
    TP_TRY(readText(name.substr(1), list, int64_t(1) << 28));
    size_t before = names.size();
    for (size_t at = 0; at < list.size();) {
      size_t lineEnd = std::min(list.find('\n', at), list.size());
      if (lineEnd > at)
        names.push_back(list.substr(at, lineEnd - at));
      at = lineEnd + 1;
    }
    if (names.size() == before)
      return errorf("'%s' lists no file", name.c_str() + 1);
  }
  return {};
}

Status TokenStream::open(const std::vector<std::string> &names, int64_t length, int64_t step) {
  stride = std::max<int64_t>(1, step);
  int64_t total = 0;
  for (const std::string &name : names) {
    TP_TRY(parts.emplace_back().open(name));
    starts.push_back(total);
    total += parts.back().size();
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
  Permutation order(seed, dataOrderStream, (uint64_t)epoch, (uint64_t)windowCount);
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

Status Loader::open(tp_rank &rank, const std::vector<std::string> &names, int64_t length) {
  const tp_program &program = *rank.program;
  bool reads = !program.read_first || rank.peers.leads();
  int64_t stride = 0;
  for (int64_t i = 0; i < program.num_inputs; ++i)
    stride = std::max(stride, program.inputs[i].positions);
  TP_TRY(rank.peers.agree(reads ? stream.open(names, length, stride) : Status()));
  total = stream.tokens();
  if (!program.read_first)
    return {};
  all.resize(rowsPerStep(program) * length);
  return rank.peers.broadcast(&total, sizeof total);
}

Status Loader::fill(tp_rank &rank, uint64_t seed, int64_t step) {
  const tp_program &program = *rank.program;
  int64_t rows = rowsPerStep(program);
  auto read = [&](const tp_input &input, int64_t row, int32_t *to) {
    return stream.readRow(seed, (step - 1) * rows + row, input.length, input.vocabulary, to);
  };
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &input = program.inputs[i];
    if (program.read_first) {
      for (int64_t row = 0; row < rows && rank.peers.leads(); ++row)
        TP_TRY(read(input, row, all.data() + row * input.length));
      TP_TRY(rank.peers.broadcast(all.data(), rows * input.length * (int64_t)sizeof(int32_t)));
    }
    int64_t first = memberOf(program, input.group, rank.peers.rank()) * input.rows;
    auto *to = (int32_t *)(givenImage(rank) + input.offset);
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
