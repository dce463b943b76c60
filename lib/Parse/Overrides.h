//===- Overrides.h - settings that a command line replaces: --set ----------===//
#ifndef TPLAN_PARSE_OVERRIDES_H
#define TPLAN_PARSE_OVERRIDES_H

#include "lib/Parse/Settings.h"
#include "lib/Parse/SourceReader.h"

namespace tplan::parse {

/// One override PATH=VALUE, such as plan.microbatch=2 or model.L=4.
struct Override {
  llvm::StringRef block, key;       // parts of its buffer
  const Setting *setting = nullptr; // of a plan or recipe
  Bound number;                     // of a model or its data
  llvm::SMLoc loc;
};

class Overrides {
public:
  explicit Overrides(SourceReader &source) : source(source), report(source.report) {}

  /// False after an error. Each of `replacements` takes the place of an earlier override of its
  /// path.
  bool read(const std::vector<std::string> &overrides,
            const std::vector<std::string> &replacements);
  /// Puts the overrides of a plan or recipe over the lines of its block.
  void apply(llvm::StringRef block, BlockDecl::Kind kind, Settings &into);

  std::vector<Override> all;

private:
  std::optional<Override> readOne(llvm::StringRef text);
  bool checkPath(llvm::StringRef text, const Override &override, bool numeric);
  bool readValue(llvm::StringRef value, bool numeric, Override &override);
  bool add(const Override &override, bool replaces);

  SourceReader &source;
  Report &report;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_OVERRIDES_H
