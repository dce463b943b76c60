//===- data.h - files as rows of tokens -----------------------------------===//
//
// A stream is the files one after the other, a separator before each; training
// reads it in windows of one row.
//
// One decision: windows of `length` tokens start as far apart as a row has positions, so that each
// token is predicted once in an epoch, and the order of an epoch is a permutation
// that is a function of (seed, epoch). Row r of step s is window number
// (s - 1) * rows + r of that endless sequence: a position needs no state.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DATA_H
#define TPLAN_RUNTIME_DATA_H

#include "runtime/files.h"
#include "runtime/rank.h"

#include <span>
#include <string>
#include <vector>

namespace tplan::runtime {

/// How a file holds tokens.
struct TokenFormat {
  const char *name;      // "bytes:" before a file name chooses it
  int64_t bytesPerToken; // little-endian
  bool hasSign;          // two's complement: ids below zero are padding
  int64_t separator;     // put before each file; -1: none, the file has its own
  const char *meaning;
};
/// The table of formats; the first is the default.
std::span<const TokenFormat> tokenFormats();

/// One file as tokens.
class TokenFile {
public:
  /// `name` is FILE or FORMAT:FILE.
  Status open(const std::string &name);
  /// Tokens, the separator included.
  int64_t size() const { return count + firstToken(); }
  /// Number of the first one that stands in the file: 1 where a separator is put before it.
  int64_t firstToken() const { return format->separator >= 0 ? 1 : 0; }
  /// Reads tokens [first, first + n), each checked against the vocabulary.
  Status read(int64_t first, int64_t n, int64_t vocabulary, int32_t *to) const;
  /// Adds the tokens of [first, first + n) that are not padding.
  Status countTokens(int64_t first, int64_t n, int64_t &count) const;
  const std::string &path() const { return file.path(); }

private:
  /// Calls function(number of the token, id), which yields whether to go on.
  template <typename Function> Status forEach(int64_t first, int64_t n, Function &&function) const;

  const TokenFormat *format = nullptr;
  InputFile file;
  int64_t count = 0;
};

/// File names of an option: separated by commas, `@LIST` names a file with one
/// name a line.
Status expandFileList(const std::string &option, std::vector<std::string> &names);

class TokenStream {
public:
  /// `length`: tokens of a row; `stride`: from one row's begin to the next one's.
  Status open(const std::vector<std::string> &names, int64_t length, int64_t stride);

  int64_t tokens() const { return starts.empty() ? 0 : starts.back(); }
  int64_t windows() const { return windowCount; }
  int64_t files() const { return (int64_t)parts.size(); }

  /// Row number `position` of the endless sequence of windows: its first `n`
  /// tokens, n <= length. Never allocates unless it fails.
  Status readRow(uint64_t seed, int64_t position, int64_t n, int64_t vocabulary, int32_t *to) const;

private:
  std::vector<TokenFile> parts;
  std::vector<int64_t> starts; // of each file in the stream, then the end
  int64_t stride = 1, windowCount = 0;
};

/// Rows of all microbatches of a step, on all ranks.
int64_t rowsPerStep(const tp_program &program);

/// Inputs that the loader can serve: one stream, equal numbers of rows. Yields
/// the longest row.
Status checkInputs(const tp_program &program, int64_t &length);

/// Where the rows of a step come from.
class RowSource {
public:
  virtual ~RowSource() = default;
  /// Rows of all inputs of this rank for one step (from 1). Called by all ranks.
  virtual Status fill(tp_rank &rank, uint64_t seed, int64_t step) = 0;
  /// Of all there is, so that a checkpoint knows it again; 0: nobody can tell.
  virtual int64_t tokens() const = 0;
};

/// Files: each rank reads its own rows, or the leader reads all and hands them round.
class Loader : public RowSource {
public:
  /// Called by all ranks, which succeed or fail together.
  Status open(tp_rank &rank, const std::vector<std::string> &names, int64_t length);
  bool isOpen() const { return total > 0; }
  /// Of the stream.
  int64_t tokens() const override { return total; }
  Status fill(tp_rank &rank, uint64_t seed, int64_t step) override;

private:
  TokenStream stream;
  int64_t total = 0;
  std::vector<int32_t> all; // rows of an input on all ranks, where one reads
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DATA_H
