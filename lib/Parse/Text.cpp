//===- Text.cpp - which characters a source has, and how it is shown --------===//
//
// Decoding and widths are LLVM's. One decision: a line is cut before it is decoded,
// around the place that a message is about, so that no line is too long to show.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Text.h"
#include "lib/Parse/Report.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/ConvertUTF.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Unicode.h"
#include "llvm/Support/WithColor.h"

using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {
constexpr StringRef kCut = "...";
/// Columns of a line that are shown between two cuts, and how many of them at least are after the
/// place: with the two cuts 100 in all.
constexpr size_t kColumns = 94, kAfter = 30;

struct Character {
  size_t size;  // in bytes, at least 1
  int64_t code; // -1: not UTF-8
};

Character first(StringRef text) {
  auto *from = reinterpret_cast<const llvm::UTF8 *>(text.data()), *end = from + text.size();
  if (*from < 0x80)
    return {1, *from};
  llvm::UTF32 code;
  const llvm::UTF8 *at = from;
  if (llvm::convertUTF8Sequence(&at, end, &code, llvm::strictConversion) != llvm::conversionOK)
    return {1, -1};
  return {static_cast<size_t>(at - from), code};
}

/// Embeddings, overrides, isolates and marks of direction.
bool changesDirection(int64_t code) {
  return code == 0x61c || code == 0x200e || code == 0x200f || (code >= 0x202a && code <= 0x202e) ||
         (code >= 0x2066 && code <= 0x2069);
}

/// What looks like a blank and is none.
bool looksBlank(int64_t code) {
  return code == 0xa0 || code == 0x1680 || (code >= 0x2000 && code <= 0x200a) || code == 0x202f ||
         code == 0x205f || code == 0x3000;
}

std::string spellCode(int64_t code) {
  std::string text;
  llvm::raw_string_ostream(text) << llvm::format("U+%04llX", static_cast<long long>(code));
  return text;
}

/// How one character is shown.
std::string shown(StringRef bytes, int64_t code) {
  if (code < 0)
    return llvm::formatv("<{0:x}>", static_cast<unsigned>(static_cast<unsigned char>(bytes[0])));
  if (code == '\t' || code == '\n')
    return bytes.str();
  if (llvm::sys::unicode::isFormatting(code) || changesDirection(code) || looksBlank(code) ||
      !llvm::sys::unicode::isPrintable(code))
    return "<" + spellCode(code) + ">";
  return bytes.str();
}

size_t width(StringRef text) {
  int columns = llvm::sys::unicode::columnWidthUTF8(text);
  return columns < 0 ? text.size() : columns;
}

struct Excerpt {
  std::string line;
  size_t caret = 0; // columns before the place
};

/// The part of `line` around byte `place`; tabs are one blank.
Excerpt excerpt(StringRef line, size_t place) {
  place = std::min(place, line.size());
  // Except for characters of no width, a character has no more bytes than four times its columns:
  // so this many bytes hold a window on either side, in whole characters.
  constexpr size_t reach = 4 * kColumns;
  auto continues = [&](size_t i) {
    return i < line.size() && (static_cast<unsigned char>(line[i]) & 0xc0) == 0x80;
  };
  size_t begin = place > reach ? place - reach : 0, end = std::min(line.size(), place + reach);
  for (int i = 0; i < 3 && begin < place && continues(begin); ++i)
    ++begin;
  for (int i = 0; i < 3 && continues(end); ++i)
    ++end;
  std::vector<std::pair<std::string, size_t>> cells; // text and width
  size_t at = 0, before = 0, all = 0;                // cell of the place; columns
  for (size_t i = begin; i < end;) {
    Character c = first(line.substr(i, end - i));
    std::string text = line[i] == '\t' ? " " : shown(line.substr(i, c.size), c.code);
    if (i < place) {
      ++at;
      before += width(text);
    }
    all += width(text);
    cells.push_back({text, width(text)});
    i += c.size;
  }
  bool cutFront = begin > 0, cutBack = end < line.size();
  size_t from = 0, to = cells.size();
  // Text after the place is cut to kAfter columns first, then text before it.
  size_t after = all - before, room = std::max(kColumns - std::min(before, kColumns), kAfter);
  while (to > at + 1 && after > room) {
    after -= cells[--to].second;
    cutBack = true;
  }
  while (from < at && before + after > kColumns) {
    before -= cells[from++].second;
    cutFront = true;
  }
  Excerpt result;
  if (cutFront) {
    result.line = kCut;
    before += kCut.size();
  }
  for (size_t i = from; i < to; ++i)
    result.line += cells[i].first;
  if (cutBack)
    result.line += kCut;
  result.caret = before;
  return result;
}
} // namespace

std::string tplan::parse::printable(StringRef text, size_t most) {
  std::string result;
  for (size_t i = 0; i < text.size();) {
    if (result.size() >= most)
      return result + kCut.str();
    Character c = first(text.drop_front(i));
    result += shown(text.substr(i, c.size), c.code);
    i += c.size;
  }
  return result;
}

size_t tplan::parse::byteOrderMark(StringRef text) {
  return text.starts_with("\xef\xbb\xbf") ? 3 : 0;
}

size_t tplan::parse::characterSize(StringRef text) {
  Character c = first(text);
  return c.code < 0 ? 0 : c.size;
}

bool tplan::parse::checkText(Report &report, StringRef text) {
  bool warned = false;
  auto at = [&](size_t i) { return SMLoc::getFromPointer(text.data() + i); };
  if (text.starts_with("\xff\xfe") || text.starts_with("\xfe\xff")) {
    report.error(at(0), "a source is text in UTF-8, found UTF-16: save it as UTF-8");
    return false;
  }
  for (size_t i = byteOrderMark(text); i < text.size();) {
    unsigned char byte = text[i];
    if ((byte >= 0x20 && byte < 0x7f) || byte == '\n' || byte == '\t' || byte == '\f') {
      ++i;
      continue;
    }
    if (byte == '\r') {
      if (text.substr(i).find_first_not_of('\r') == StringRef::npos ||
          text[text.find_first_not_of('\r', i)] == '\n') {
        i = std::min(text.find_first_not_of('\r', i), text.size());
        continue;
      }
      report.error(at(i), "a line ends in \\n or \\r\\n, found \\r alone: save the file with ends "
                          "of lines of this system");
      return false;
    }
    Character c = first(text.substr(i, 4));
    if (c.code < 0) {
      report.error(at(i), "a source is text in UTF-8, found the byte {0:x}",
                   static_cast<unsigned>(byte));
      return false;
    }
    if (c.code < 0xa0) {
      report.error(at(i), "a source is text, found the control character {0}", spellCode(c.code));
      return false;
    }
    if (changesDirection(c.code) && !warned) {
      warned = true;
      report.warning(at(i),
                     "text is shown in another order than it is read: remove the character {0}",
                     spellCode(c.code));
    }
    i += c.size;
  }
  return true;
}

llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>> tplan::parse::readSource(StringRef path) {
  using namespace llvm::sys;
  bool standard = path == "-";
  fs::file_t file = fs::getStdinHandle();
  if (!standard) {
    if (fs::is_directory(path))
      return std::make_error_code(std::errc::is_a_directory);
    llvm::Expected<fs::file_t> opened = fs::openNativeFileForRead(path);
    if (!opened)
      return llvm::errorToErrorCode(opened.takeError());
    file = *opened;
  }
  // Reads one byte more than a source may have, to see that it has too many.
  llvm::SmallString<0> bytes;
  std::error_code failed;
  while (bytes.size() <= kMaxFile && !failed) {
    constexpr size_t chunk = 1 << 16;
    size_t size = bytes.size();
    bytes.resize_for_overwrite(size + std::min(chunk, kMaxFile + 1 - size));
    llvm::Expected<size_t> read =
        fs::readNativeFile(file, llvm::MutableArrayRef<char>(bytes).drop_front(size));
    if (!read)
      failed = llvm::errorToErrorCode(read.takeError());
    bytes.resize(size + (failed ? 0 : *read));
    if (bytes.size() == size)
      break;
  }
  if (!standard)
    (void)fs::closeFile(file);
  if (failed)
    return failed;
  return llvm::MemoryBuffer::getMemBufferCopy(bytes, standard ? "<stdin>" : path);
}

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

/// A handler of llvm::SourceMgr; `stream` is a llvm::raw_ostream.
static void printDiagnostic(const llvm::SMDiagnostic &diagnostic, void *stream) {
  auto &os = *static_cast<llvm::raw_ostream *>(stream);
  const llvm::SourceMgr *sources = diagnostic.getSourceMgr();
  bool placed = sources && diagnostic.getLoc().isValid();
  // Where a file was imported, from the last import to the first.
  SMLoc loc = diagnostic.getLoc();
  while (placed) {
    loc = sources->getBufferInfo(sources->FindBufferContainingLoc(loc)).IncludeLoc;
    if (!loc.isValid())
      break;
    unsigned id = sources->FindBufferContainingLoc(loc);
    os << "imported at " << printable(sources->getMemoryBuffer(id)->getBufferIdentifier()) << ":"
       << sources->getLineAndColumn(loc, id).first << ":\n";
  }
  std::string prefix = printable(diagnostic.getFilename());
  if (diagnostic.getLineNo() > 0)
    prefix += llvm::formatv(":{0}:{1}", diagnostic.getLineNo(), diagnostic.getColumnNo() + 1);
  switch (diagnostic.getKind()) {
  case llvm::SourceMgr::DK_Error:
    llvm::WithColor::error(os, prefix);
    break;
  case llvm::SourceMgr::DK_Warning:
    llvm::WithColor::warning(os, prefix);
    break;
  case llvm::SourceMgr::DK_Note:
    llvm::WithColor::note(os, prefix);
    break;
  case llvm::SourceMgr::DK_Remark:
    llvm::WithColor::remark(os, prefix);
    break;
  }
  os << printable(diagnostic.getMessage()) << "\n";
  if (!placed)
    return;
  Excerpt part =
      excerpt(diagnostic.getLineContents().rtrim("\r"), std::max(diagnostic.getColumnNo(), 0));
  os << part.line << "\n" << std::string(part.caret, ' ');
  llvm::WithColor(os, llvm::raw_ostream::GREEN, /*Bold=*/true) << "^";
  os << "\n";
}

DiagnosticPrinter::DiagnosticPrinter(llvm::SourceMgr &sources, mlir::MLIRContext *context,
                                     llvm::raw_ostream &os)
    : SourceMgrDiagnosticHandler(sources, context, os), sources(sources) {
  sources.setDiagHandler(printDiagnostic, &os);
}

DiagnosticPrinter::~DiagnosticPrinter() { sources.setDiagHandler(nullptr); }
