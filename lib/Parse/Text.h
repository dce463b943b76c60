//===- Text.h - which characters a source has, and how it is shown ---------===//
//
// What reaches a terminal is text that fits it: of a line as much as surrounds the
// place, and what is no printable character by its number.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_TEXT_H
#define TPLAN_PARSE_TEXT_H

#include "mlir/IR/Diagnostics.h"
#include "llvm/ADT/StringRef.h"
#include <memory>
#include <string>
#include <system_error>

namespace llvm {
class MemoryBuffer;
template <class T> class ErrorOr;
} // namespace llvm

namespace tplan::parse {
class Report;

/// Limits for one source file, and for all files of a program together.
inline constexpr size_t kMaxFile = 4 << 20;

/// The file's bytes, at most one more than kMaxFile; "-" is standard input. A file without an end
/// (a device) is cut there, too. Errors: those of the system.
llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> readSource(llvm::StringRef path);

/// `text` with <U+202E> and <0xff> for what a terminal would not show as a character, or
/// would obey; tabs and ends of lines are kept. Longer text than `most` bytes is cut.
std::string printable(llvm::StringRef text, size_t most = 4000);

/// False after an error: `text` is not UTF-8, or holds control characters. Warns of
/// characters that change the order in which text is shown.
bool checkText(Report &report, llvm::StringRef text);

/// The bytes of a mark of UTF-8 that `text` begins with: 3 or 0.
size_t byteOrderMark(llvm::StringRef text);

/// Bytes of the character that `text` begins with; 0 if it is not UTF-8.
size_t characterSize(llvm::StringRef text);

/// While one exists, it prints the diagnostics of `sources`, whose own handler would print any text
/// as it stands. `sources` outlives such a printer and its stream, so it forgets both.
class DiagnosticPrinter : public mlir::SourceMgrDiagnosticHandler {
public:
  DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext *context, llvm::raw_ostream &os);
  ~DiagnosticPrinter();
  void print(mlir::Diagnostic &diagnostic) { emitDiagnostic(diagnostic); }

private:
  llvm::SourceMgr &sources;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_TEXT_H
