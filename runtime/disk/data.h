//===- data.h - files as rows of tokens -----------------------------------===//
//
// A stream is the files of a source one after the other, a separator before each; training
// reads it in windows of one row.
//
// One decision: windows of `length` tokens start as far apart as a row has positions, so that each
// token is predicted once in an epoch, and the order of an epoch is a permutation
// that is a function of (seed, source, epoch). Row r of step s is number (s - 1) * rows + r of the
// training, of which a mixture says source and window: a position needs no state.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_DATA_H
#define TPLAN_RUNTIME_DISK_DATA_H

#include "runtime/disk/mixture.h"
#include "runtime/disk/tokens.h"
#include "runtime/ranks/rank.h"

#include <string>
#include <vector>

namespace tplan::runtime {

class TokenStream {
public:
  /// `length`: tokens of a row; `stride`: from the begin of one row to that of the next; `source`:
  /// a number from 0, so that sources of equal length have different orders.
  Status open(const std::vector<std::string> &names, int64_t length, int64_t stride,
              int64_t source = 0);

  int64_t tokens() const { return starts.empty() ? 0 : starts.back(); }
  int64_t windows() const { return windowCount; }
  int64_t files() const { return (int64_t)parts.size(); }

  /// Row number `position` of the endless sequence of windows: its first `n`
  /// tokens, n <= length. Never allocates unless it fails.
  Status readRow(uint64_t seed, int64_t position, int64_t n, int64_t vocabulary, int32_t *to) const;

private:
  std::vector<TokenFile> parts;
  std::vector<int64_t> starts; // of each file in the stream, then the end
  int64_t stride = 1, windowCount = 0, source = 0;
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
  /// The number of all tokens, by which a checkpoint recognises the data; 0: unknown.
  virtual int64_t tokens() const = 0;
  /// The sources and proportions of a mixture; empty where there is one source.
  virtual std::string mixed() const { return {}; }
};

/// Files: each rank reads its own rows, or the leader reads all and hands them round.
class Loader : public RowSource {
public:
  /// Called by all ranks, which succeed or fail together: where several read, each must find the
  /// same data.
  Status open(tp_rank &rank, const std::vector<DataSource> &sources, int64_t length);
  bool isOpen() const { return total > 0; }
  /// Tokens of all sources.
  int64_t tokens() const override { return total; }
  std::string mixed() const override { return mixedOf; }
  Status fill(tp_rank &rank, uint64_t seed, int64_t step) override;

private:
  Status openAll(const tp_program &program, const std::vector<DataSource> &sources, int64_t length);
  Status readRow(const tp_input &input, uint64_t seed, int64_t row, int32_t *to) const;

  std::vector<TokenStream> streams; // the stream of each source; empty on ranks that do not read
  Mixture mixture;
  int64_t total = 0;
  std::string mixedOf;
  std::vector<int32_t> all; // rows of an input on all ranks, where one reads
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_DATA_H
