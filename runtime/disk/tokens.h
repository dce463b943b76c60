//===- tokens.h - files as tokens ------------------------------------------===//
//
// One decision: a file name may say how the file holds tokens, FORMAT:FILE. A file whose name says
// nothing is read as bytes, and is looked at more closely (data_check.h).
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_TOKENS_H
#define TPLAN_RUNTIME_DISK_TOKENS_H

#include "runtime/support/files.h"

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
/// The table of formats, that of token_formats.def; the first is the default.
std::span<const TokenFormat> tokenFormats();
/// The format of FORMAT:FILE, and in `path` the file; null where a name states no format.
const TokenFormat *statedFormat(const std::string &name, std::string *path = nullptr);

/// One file as tokens.
class TokenFile {
public:
  /// `name` is FILE or FORMAT:FILE.
  Status open(const std::string &name);
  /// Tokens, the separator included.
  int64_t size() const { return count + firstToken(); }
  /// Number of the first token that stands in the file: 1 where a separator is put before it.
  int64_t firstToken() const { return format->separator >= 0 ? 1 : 0; }
  /// Reads tokens [first, first + n), each checked against the vocabulary.
  Status read(int64_t first, int64_t n, int64_t vocabulary, int32_t *to) const;
  /// Adds the tokens of [first, first + n) that are not padding.
  Status countTokens(int64_t first, int64_t n, int64_t &count) const;
  const std::string &path() const { return file.path(); }
  const TokenFormat &form() const { return *format; }
  /// Whether the name said how it holds tokens.
  bool isStated() const { return stated; }
  /// Its first bytes, as they are; fewer where it ends.
  Status head(std::string &bytes) const;

private:
  /// Calls function(number of the token, id), which yields whether to go on.
  template <typename Function> Status forEach(int64_t first, int64_t n, Function &&function) const;

  const TokenFormat *format = nullptr;
  bool stated = false;
  InputFile file;
  int64_t count = 0;
};

/// Opens files in their order. A name that is no file and has `*`, `?` or `[` stands for all files
/// that match, by name.
Status openTokenFiles(const std::vector<std::string> &names, std::vector<TokenFile> &files);

/// Files that are read one after the other, of the training's data.
struct DataSource {
  std::string name;
  double weight; // the share of its rows among all sources
  std::vector<std::string> files;
};

/// File names of an option: separated by commas, `@LIST` names a file with one
/// name a line.
Status expandFileList(const std::string &option, std::vector<std::string> &names);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_TOKENS_H
