//===- Report.cpp - errors with source locations ---------------------------===//
#include "lib/Parse/Report.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan::parse;

Location Report::at(llvm::SMLoc loc) {
  unsigned id = loc.isValid() ? sources.FindBufferContainingLoc(loc) : 0;
  if (!id)
    return UnknownLoc::get(&context);
  // SourceMgr would search a line from its end to its begin, for each place in it.
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(id);
  std::vector<const char *> &begins = lines[id];
  if (begins.empty()) {
    begins.push_back(buffer->getBufferStart());
    for (const char &c : buffer->getBuffer())
      if (c == '\n')
        begins.push_back(&c + 1);
  }
  auto next = llvm::upper_bound(begins, loc.getPointer());
  return FileLineColLoc::get(&context, buffer->getBufferIdentifier(), next - begins.begin(),
                             loc.getPointer() - next[-1] + 1);
}

Report::Error Report::start(llvm::SMLoc loc, const std::string &text, DiagnosticSeverity severity) {
  if (severity == DiagnosticSeverity::Error) {
    ++count;
    if (gaveUp())
      return Error(*this, std::nullopt);
    // One layer in two forms has its mistakes once.
    if (!seen.insert({loc.getPointer(), text}).second)
      return Error(*this, std::nullopt);
    if (gaveUp()) {
      emitError(at(loc)) << "too many errors: stopped after " << kMaxErrors;
      return Error(*this, std::nullopt);
    }
    InFlightDiagnostic diag = emitError(at(loc)) << text;
    if (!calls.empty())
      diag.attachNote(at(calls.back().first))
          << llvm::formatv("in {0}, called here", calls.back().second).str();
    return Error(*this, std::move(diag));
  }
  if (!seen.insert({loc.getPointer(), text}).second)
    return Error(*this, std::nullopt);
  return Error(*this, emitWarning(at(loc)) << text);
}

std::string Report::closest(StringRef word, ArrayRef<StringRef> names) {
  // A third of a word may be wrong; another name of one or two letters is no mistake.
  unsigned limit = word.size() / 3, best = limit + 1;
  if (!limit)
    return {};
  StringRef found;
  for (StringRef name : names) {
    if (name.empty() || name == word || name.size() > 4 * word.size() + 4)
      continue;
    unsigned distance = word.edit_distance(name, /*AllowReplacements=*/true, limit);
    if (distance < best) {
      best = distance;
      found = name;
    }
  }
  return found.str();
}
