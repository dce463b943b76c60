//===- Report.cpp - errors with source locations ---------------------------===//
#include "lib/Parse/Report.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

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

std::vector<std::string> Report::libraryFiles() const {
  std::vector<std::string> files;
  for (unsigned id : libraries)
    files.push_back(sources.getMemoryBuffer(id)->getBufferIdentifier().str());
  return files;
}

Report::Error Report::start(llvm::SMLoc loc, const std::string &text, DiagnosticSeverity severity) {
  if (severity == DiagnosticSeverity::Error) {
    ++count;
    if (gaveUp())
      return Error(*this, std::nullopt);
    // A mistake in a layer that has two forms is reported once.
    if (!seen.insert({loc.getPointer(), text}).second)
      return Error(*this, std::nullopt);
    if (gaveUp()) {
      emitError(at(loc)) << "too many errors: stopped after " << kMaxErrors;
      return Error(*this, std::nullopt);
    }
    SMLoc users = loc;
    if (isLibrary(loc)) {
      auto call = llvm::find_if(llvm::reverse(calls), [&](auto &c) { return !isLibrary(c.first); });
      users = call != calls.rend() ? call->first : origin.first;
      users = users.isValid() ? users : loc;
    }
    InFlightDiagnostic diag = emitError(at(users)) << text;
    if (users != loc)
      diag.attachNote(at(loc)) << llvm::formatv("found in {0}, here",
                                                calls.empty() ? origin.second : calls.back().second)
                                      .str();
    else if (!calls.empty())
      diag.attachNote(at(calls.back().first))
          << llvm::formatv("in {0}, called here", calls.back().second).str();
    return Error(*this, std::move(diag));
  }
  if (!seen.insert({loc.getPointer(), text}).second)
    return Error(*this, std::nullopt);
  return Error(*this, emitWarning(at(loc)) << text);
}

/// Whether `name` is so near to `word` that it was meant: a third of the letters may be wrong,
/// capitals do not count, but another name of one letter was not meant.
static bool isMeant(StringRef word, StringRef name, unsigned distance) {
  return word.equals_insensitive(name) || distance <= word.size() / 3 ||
         (word.size() == 2 && distance == 1 && word.contains(name));
}

Report::Error &Report::Error::suggestOf(StringRef word, std::vector<StringRef> names, bool listed) {
  if (!diag)
    return *this;
  constexpr size_t kShown = 12, kTried = 4;
  llvm::erase_if(names, [&](StringRef name) { return name.empty() || name == word; });
  // In the order in which they are known, each name once.
  std::vector<StringRef> known;
  for (StringRef name : names)
    if (!llvm::is_contained(known, name))
      known.push_back(name);
  std::string lower = word.lower();
  auto distance = [&](StringRef name) {
    unsigned most = std::max<size_t>(word.size(), 3);
    return name.size() > 4 * word.size() + 4
               ? most + 1
               : StringRef(lower).edit_distance(name.lower(), /*AllowReplacements=*/true, most);
  };
  // By distance, and equal ones in the order in which they are known.
  std::vector<std::tuple<unsigned, size_t, StringRef>> near;
  for (auto [i, name] : llvm::enumerate(known))
    near.push_back({distance(name), i, name});
  llvm::sort(near);
  auto meant = [&](const auto &row) { return isMeant(word, std::get<2>(row), std::get<0>(row)); };
  if (!near.empty() && meant(near.front()))
    *diag << "; did you mean " << std::get<2>(near.front()) << "?";
  else if (listed && !known.empty() &&
           !StringRef(diag->getUnderlyingDiagnostic()->str()).contains("known are"))
    *diag << "; known are " << llvm::join(llvm::ArrayRef(known).take_front(kShown), ", ")
          << (known.size() > kShown ? llvm::formatv(" and {0} more", known.size() - kShown).str()
                                    : std::string());
  for (const auto &row : llvm::ArrayRef(near).take_front(kTried))
    fix({{word, std::get<2>(row).str()}}, /*guess=*/!meant(row));
  return *this;
}

Report::Error &Report::Error::fix(const Changes &changes, bool guess) {
  if (!diag)
    return *this;
  Fix made{{}, guess};
  for (auto &[at, text] : changes) {
    unsigned id = report.sources.FindBufferContainingLoc(SMLoc::getFromPointer(at.data()));
    if (!id) // a word of the command line
      return *this;
    const llvm::MemoryBuffer *buffer = report.sources.getMemoryBuffer(id);
    size_t begin = at.data() - buffer->getBufferStart();
    made.edits.push_back({buffer->getBufferIdentifier().str(), begin, begin + at.size(), text});
  }
  addFix(report.context, *diag->getUnderlyingDiagnostic(), made);
  return *this;
}
