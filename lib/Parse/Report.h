//===- Report.h - errors with source locations -----------------------------===//
//
// Every error of this phase goes through here to MLIR's diagnostic engine. Texts
// are format strings in one literal, so that test/diagnostics.py can match each of
// them with a test.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_REPORT_H
#define TPLAN_PARSE_REPORT_H

#include "lib/Parse/Edit.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/MLIRContext.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/SourceMgr.h"
#include <map>
#include <optional>
#include <set>
#include <vector>

namespace tplan::parse {

class Report {
public:
  Report(mlir::MLIRContext &context, llvm::SourceMgr &sources)
      : context(context), sources(sources) {}

  /// An error in flight, to which notes can be attached.
  class Error {
  public:
    Error(Report &report, std::optional<mlir::InFlightDiagnostic> diag)
        : report(report), diag(std::move(diag)) {}
    template <class... A> Error &note(llvm::SMLoc loc, const char *text, A &&...args) {
      if (diag && loc.isValid())
        diag->attachNote(report.at(loc)) << llvm::formatv(text, std::forward<A>(args)...).str();
      return *this;
    }
    /// "did you mean ..?" if one of `names` is close to `word`, else those that are known; edits
    /// to the nearest ones where `word` stands in the source.
    template <class Range>
    Error &suggest(llvm::StringRef word, const Range &names, bool listed = true) {
      return suggestOf(word, std::vector<llvm::StringRef>(names.begin(), names.end()), listed);
    }
    /// Goes on with the sentence.
    template <class... A> Error &say(const char *text, A &&...args) {
      if (diag)
        *diag << llvm::formatv(text, std::forward<A>(args)...).str();
      return *this;
    }
    /// A way out: each place (it may be empty) becomes the text beside it. Several calls are
    /// alternatives, the likeliest first; a guess is one of many that might be meant.
    using Changes = std::vector<std::pair<llvm::StringRef, std::string>>;
    Error &fix(const Changes &changes, bool guess = false);
    /// False for an error too many, or one that was reported before: then nothing that explains it
    /// needs to be looked for.
    bool isTold() const { return diag.has_value(); }

  private:
    Error &suggestOf(llvm::StringRef word, std::vector<llvm::StringRef> names, bool listed);
    Report &report;
    std::optional<mlir::InFlightDiagnostic> diag;
  };

  template <class... A> Error error(llvm::SMLoc loc, const char *text, A &&...args) {
    return start(loc, llvm::formatv(text, std::forward<A>(args)...).str(),
                 mlir::DiagnosticSeverity::Error);
  }
  template <class... A> Error warning(llvm::SMLoc loc, const char *text, A &&...args) {
    return start(loc, llvm::formatv(text, std::forward<A>(args)...).str(),
                 mlir::DiagnosticSeverity::Warning);
  }

  /// While one lives, errors get a note at the call that led here.
  class Context {
  public:
    Context(Report &report, llvm::SMLoc loc, llvm::StringRef name) : report(report) {
      report.calls.push_back({loc, name});
    }
    ~Context() { report.calls.pop_back(); }

  private:
    Report &report;
  };

  /// File, line and column of `loc`; unknown if it lies in no buffer.
  mlir::Location at(llvm::SMLoc loc);

  /// Declares a buffer to be an installed model. Its errors are reported at the user's line that
  /// led there: the call in a file of the user's, or the line that names the model.
  void addLibrary(unsigned id) { libraries.insert(id); }
  void setOrigin(llvm::SMLoc line, llvm::StringRef model) { origin = {line, model}; }
  std::vector<std::string> libraryFiles() const;

  unsigned errors() const { return count; }
  /// True once further errors are not reported.
  bool gaveUp() const { return seen.size() > kMaxErrors; }
  mlir::MLIRContext &context;
  llvm::SourceMgr &sources;

private:
  /// More errors than this in one run help nobody.
  static constexpr unsigned kMaxErrors = 20;

  Error start(llvm::SMLoc loc, const std::string &text, mlir::DiagnosticSeverity severity);
  unsigned count = 0;
  std::map<unsigned, std::vector<const char *>> lines; // where those of each buffer begin
  bool isLibrary(llvm::SMLoc loc) const {
    return loc.isValid() && libraries.count(sources.FindBufferContainingLoc(loc));
  }
  std::set<unsigned> libraries;
  std::pair<llvm::SMLoc, llvm::StringRef> origin;
  std::vector<std::pair<llvm::SMLoc, llvm::StringRef>> calls;
  std::set<std::pair<const char *, std::string>> seen;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_REPORT_H
