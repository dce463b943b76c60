//===- Messages.cpp - diagnostics as text and as JSON ----------------------===//
#include "lib/Driver/Messages.h"
#include "lib/Driver/Place.h"
#include "lib/Parse/Text.h"
#include "mlir/IR/Location.h"
#include "llvm/Support/JSON.h"

using namespace mlir;
using llvm::StringRef;

namespace tplan {
namespace {

/// The buffer of a file's text, 0 if there is none.
unsigned bufferOf(llvm::SourceMgr &sources, StringRef file) {
  for (unsigned id = 1; id <= sources.getNumBuffers(); ++id)
    if (sources.getMemoryBuffer(id)->getBufferIdentifier() == file)
      return id;
  return 0;
}

/// What lies between the offsets of an edit, and where it begins and ends.
struct Span {
  StringRef text;
  std::pair<unsigned, unsigned> begin, end; // line and column
};
Span spanOf(llvm::SourceMgr &sources, const Edit &edit) {
  unsigned id = bufferOf(sources, edit.file);
  StringRef all = sources.getMemoryBuffer(id)->getBuffer();
  auto at = [&](size_t offset) {
    return sources.getLineAndColumn(llvm::SMLoc::getFromPointer(all.data() + offset), id);
  };
  return {all.slice(edit.begin, edit.end), at(edit.begin), at(edit.end)};
}

/// An edit in words: write `decay` for `weight_decay`.
std::string inWords(StringRef old, StringRef text) {
  std::string from = parse::printable(old.trim()), to = parse::printable(text.trim());
  if (from.empty())
    return "add `" + to + "`";
  if (to.empty())
    return "leave out `" + from + "`";
  return "write `" + to + "` for `" + from + "`";
}

llvm::json::Object asJson(const Diagnostic &diagnostic) {
  static constexpr StringRef severities[] = {"note", "warning", "error", "remark"};
  Place place = placeOf(diagnostic.getLocation());
  llvm::json::Object object{
      {"severity", severities[static_cast<size_t>(diagnostic.getSeverity())]},
      {"message", llvm::json::fixUTF8(diagnostic.str())},
  };
  if (!place.file.empty()) {
    object["file"] = place.file;
    object["line"] = place.line;
    object["column"] = place.column;
  }
  return object;
}

} // namespace

void printMessages(Result &result, llvm::ArrayRef<Fix> fixes, llvm::raw_ostream &os) {
  if (!result.context) // given up after a crash
    return;
  parse::DiagnosticPrinter printer(*result.sources, result.context.get(), os);
  for (auto [i, diagnostic] : llvm::enumerate(result.diagnostics)) {
    printer.print(diagnostic);
    if (i >= fixes.size())
      continue;
    for (const Edit &edit : fixes[i].edits) {
      Span span = spanOf(*result.sources, edit);
      os << parse::printable(edit.file) << ":" << span.begin.first << ":" << span.begin.second
         << ": note: " << inWords(span.text, edit.text) << "\n";
    }
  }
}

void printMessagesAsJson(Result &result, llvm::ArrayRef<Fix> fixes, llvm::raw_ostream &os) {
  auto place = [](std::pair<unsigned, unsigned> at) {
    return llvm::json::Object{{"line", at.first}, {"column", at.second}};
  };
  for (auto [i, diagnostic] : llvm::enumerate(result.diagnostics)) {
    llvm::json::Object object = asJson(diagnostic);
    llvm::json::Array notes, edits;
    for (Diagnostic &note : diagnostic.getNotes())
      notes.push_back(asJson(note));
    if (i < fixes.size())
      for (const Edit &edit : fixes[i].edits) {
        Span span = spanOf(*result.sources, edit);
        edits.push_back(llvm::json::Object{{"file", edit.file},
                                           {"begin", place(span.begin)},
                                           {"end", place(span.end)},
                                           {"text", edit.text}});
      }
    object["notes"] = std::move(notes);
    object["edits"] = std::move(edits);
    os << llvm::json::Value(std::move(object)) << "\n";
  }
}

} // namespace tplan
