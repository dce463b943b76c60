//===- Repair.cpp - edits are tried before they are proposed ---------------===//
//
// Diagnostics carry edits of which their phase knows; where those do not help, a first error is
// taken for a slip, and single edits near it are tried. To try is to compile again, as far as the
// parser first, which takes milliseconds. One decision: an edit from a phase is proposed where its
// error goes away, so that several mistakes are mended one after the other; a guess is proposed
// only where the whole plan compiles.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Repair.h"
#include "lib/Driver/Guesses.h"
#include "lib/Driver/Place.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include <chrono>

using namespace mlir;
using llvm::StringRef;

namespace tplan {
namespace {

/// A larger source is not compiled again and again, and no user waits longer than this.
constexpr size_t kMostBytes = 64 << 10;
constexpr std::chrono::milliseconds kMostTime{1000};
/// One mistake causes up to so many errors.
constexpr size_t kFollowing = 3;
/// So many of the guesses that pass the parser are compiled whole.
constexpr int kMostWhole = 8;

class Repair {
public:
  Repair(const Source &source, const Options &options, Result &result)
      : source(source), options(options), result(result) {}

  std::vector<Fix> run() {
    std::vector<Fix> fixes(result.diagnostics.size());
    bool first = true;
    for (auto [i, diagnostic] : llvm::enumerate(result.diagnostics)) {
      if (diagnostic.getSeverity() != DiagnosticSeverity::Error)
        continue;
      fixes[i] = known(diagnostic);
      if (fixes[i].edits.empty() && first)
        fixes[i] = guessed(diagnostic);
      first = false;
    }
    return fixes;
  }

private:
  /// How far an edited source comes.
  struct Trial {
    bool parsed, elaborated, whole;
    std::vector<std::string> errors; // without places
  };
  Trial tryEdits(ArrayRef<Edit> edits, bool whole);
  Fix known(Diagnostic &diagnostic);
  Fix guessed(Diagnostic &diagnostic);
  bool late() const { return std::chrono::steady_clock::now() > end; }
  bool isOurs(const Fix &fix) const {
    return llvm::all_of(fix.edits, [&](const Edit &edit) { return edit.file == source.name; });
  }

  const Source &source;
  const Options &options;
  Result &result;
  llvm::StringSet<> tried;
  std::chrono::steady_clock::time_point end = std::chrono::steady_clock::now() + kMostTime;
};

std::string applied(StringRef text, ArrayRef<Edit> edits) {
  std::vector<Edit> sorted(edits.begin(), edits.end());
  llvm::sort(sorted, [](const Edit &a, const Edit &b) { return a.begin > b.begin; });
  std::string made = text.str();
  for (const Edit &edit : sorted)
    made.replace(edit.begin, edit.end - edit.begin, edit.text);
  return made;
}

Repair::Trial Repair::tryEdits(ArrayRef<Edit> edits, bool whole) {
  Options again = options;
  if (!whole)
    again.last = Phase::parse;
  else
    again.last = std::min(options.last, Phase::memory); // what follows refuses no source
  again.errors = &llvm::nulls();
  Result made = compile({source.name, applied(source.text, edits)}, again);
  Trial trial{made.parsed, made.parsed && made.ok(), whole && made.ok(), {}};
  for (Diagnostic &diagnostic : made.diagnostics)
    if (diagnostic.getSeverity() == DiagnosticSeverity::Error)
      trial.errors.push_back(diagnostic.str());
  return trial;
}

/// The first edit of the diagnostic's own that makes the plan compile, else the first after which
/// the error is gone.
Fix Repair::known(Diagnostic &diagnostic) {
  std::string text = diagnostic.str();
  Fix better;
  auto now = llvm::count_if(result.diagnostics, [](const Diagnostic &d) {
    return d.getSeverity() == DiagnosticSeverity::Error;
  });
  for (Fix &fix : fixesOf(diagnostic)) {
    if (!isOurs(fix) || late())
      continue;
    Trial trial = tryEdits(fix.edits, /*whole=*/false);
    if (trial.elaborated)
      trial = tryEdits(fix.edits, /*whole=*/true);
    if (trial.whole)
      return fix;
    bool gone = !llvm::is_contained(trial.errors, text);
    bool farther =
        trial.parsed > result.parsed || trial.errors.size() <= std::max<size_t>(now, kFollowing);
    if (gone && farther && !fix.guess && better.edits.empty())
      better = fix;
  }
  return better;
}

Fix Repair::guessed(Diagnostic &diagnostic) {
  // Where the error is, else the first note in the user's file.
  std::vector<Place> places = {placeOf(diagnostic.getLocation())};
  for (Diagnostic &note : diagnostic.getNotes())
    places.push_back(placeOf(note.getLocation()));
  int wholes = 0;
  for (const Place &place : places) {
    if (place.file != source.name)
      continue;
    const llvm::MemoryBuffer *buffer =
        result.sources->getMemoryBuffer(result.sources->getMainFileID());
    llvm::SMLoc loc = result.sources->FindLocForLineAndColumn(result.sources->getMainFileID(),
                                                              place.line, place.column);
    if (!loc.isValid())
      continue;
    size_t at = loc.getPointer() - buffer->getBufferStart();
    for (const Edit &edit : guessEdits(source.name, source.text, at)) {
      if (late() || wholes == kMostWhole)
        return {};
      // A token at a note only has a part in the mistake, so it is not left out.
      if (edit.text.empty() && &place != &places.front())
        continue;
      if (!tried.insert(applied(source.text, edit)).second || !tryEdits(edit, false).elaborated)
        continue;
      ++wholes;
      if (tryEdits(edit, true).whole)
        return {{edit}};
    }
  }
  return {};
}

} // namespace

std::vector<Fix> findFixes(const Source &source, const Options &options, Result &result) {
  if (result.outcome != Outcome::sourceError || source.text.size() > kMostBytes)
    return {};
  return Repair(source, options, result).run();
}

} // namespace tplan
