//===- SourceReader.h - a source and what it imports -----------------------===//
#ifndef TPLAN_PARSE_SOURCEREADER_H
#define TPLAN_PARSE_SOURCEREADER_H

#include "lib/Parse/Syntax.h"
#include <deque>

namespace tplan::parse {

class SourceReader {
public:
  /// Imports are looked up in the importing file's own folder, then in `modelDirs`, one of which
  /// holds prelude.tplan.
  SourceReader(Report &report, llvm::SourceMgr &sources, const std::vector<std::string> &modelDirs)
      : report(report), sources(sources), modelDirs(modelDirs) {}

  /// The main buffer, its imports and the prelude; false after an error.
  bool read();
  /// Where errors that are about no line stand.
  llvm::SMLoc beginOfMain() const;

  Report &report;
  llvm::SourceMgr &sources;
  Arena arena;
  std::deque<Syntax> parses; // they own no nodes, but live as long as what is read from them
  File file;
  std::vector<std::string> seen; // real paths
  size_t bytes = 0;              // of all files
  size_t mainBlocks = 0;         // blocks of the main file come first

private:
  bool parseBuffer(unsigned id, bool main);
  bool import(const Name &name, llvm::StringRef from);
  std::optional<bool> readImport(const Name &name, llvm::StringRef folder, bool isLibrary);
  bool readStandard(llvm::StringRef name);

  const std::vector<std::string> &modelDirs;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_SOURCEREADER_H
