//===- gemm_choices.cpp - which algorithm computes each GEMM ----------------===//
//
// A file of choices is text: who can read it, how many there are, and one a line.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/gemm_choices.h"

#include "runtime/libraries/foreign_types.h"

#include <charconv>
#include <cinttypes>
#include <string_view>

using namespace tplan::runtime;

namespace {

/// Format 1 was written for libraries that might round parts of sums; format 2 has no scales.
constexpr const char *title = "tplan gemm algorithms 3";
#define TP_GEMM_NAME(NAME) #NAME " "
constexpr const char *columns =
    TP_GEMM_COLUMNS(TP_GEMM_NAME) TP_SCALE_COLUMNS(TP_GEMM_NAME) "alignment algorithm";
#undef TP_GEMM_NAME
constexpr std::string_view madeByWord = "by ", countWord = "choices ";

/// Lines of a text, numbered from 1, with errors that say where.
class Lines {
public:
  Lines(std::string_view text, const std::string &path, const char *wayOut)
      : text(text), path(path), wayOut(wayOut) {}
  bool done() const { return text.empty(); }
  std::string_view next() {
    size_t end = text.find('\n');
    line = text.substr(0, end);
    text.remove_prefix(end == text.npos ? text.size() : end + 1);
    ++number;
    return line;
  }
  Status wrong(const char *wanted) const {
    return errorf("'%s' holds no GEMM algorithms that can be read: %s; line %" PRId64
                  " should be %s, found '%.60s'",
                  path.c_str(), wayOut, number, wanted, std::string(line).c_str());
  }

private:
  std::string_view text, line;
  const std::string &path;
  const char *wayOut;
  int64_t number = 0;
};

bool takeWord(std::string_view &line, std::string_view word) {
  bool is = line.substr(0, word.size()) == word;
  if (is)
    line.remove_prefix(word.size());
  return is;
}

template <typename T> bool takeNumber(std::string_view &line, T &number, int base) {
  auto [end, error] = std::from_chars(line.data(), line.data() + line.size(), number, base);
  if (error != std::errc())
    return false;
  line.remove_prefix(end - line.data());
  takeWord(line, " ");
  return true;
}

bool takeChoice(std::string_view line, GemmKey &key, GemmAlgorithm &algorithm) {
  for (int64_t &field : key)
    if (!takeNumber(line, field, 10))
      return false;
  for (uint64_t &word : algorithm)
    if (!takeNumber(line, word, 16))
      return false;
  // A larger number would be cut off where a field is shorter.
  GemmUse use = useOf(key);
  auto isKnown = [](int32_t type) { return foreignType(type).cublaslt != noCode; };
  return line.empty() && keyOf(use) == key && isKnown(use.gemm.in) && isKnown(use.gemm.out) &&
         (!use.isScaled() || isKnown(use.scales.type_b));
}

} // namespace

GemmUse tplan::runtime::wholeOf(const GemmUse &use) {
  GemmUse whole = use;
  whole.gemm.m *= use.gemm.is_part ? use.gemm.chunks : 1;
  whole.gemm.chunks = whole.gemm.is_part = 0;
  return whole;
}

GemmKey tplan::runtime::keyOf(const GemmUse &use) {
  GemmUse whole = wholeOf(use);
#define TP_GEMM_FIELD(NAME) whole.gemm.NAME,
#define TP_SCALE_FIELD(NAME) whole.scales.NAME,
  return {TP_GEMM_COLUMNS(TP_GEMM_FIELD) TP_SCALE_COLUMNS(TP_SCALE_FIELD) whole.alignment};
#undef TP_SCALE_FIELD
#undef TP_GEMM_FIELD
}

GemmUse tplan::runtime::useOf(const GemmKey &key) {
  GemmUse use = {};
  size_t i = 0;
#define TP_GEMM_FIELD(NAME) use.gemm.NAME = (decltype(use.gemm.NAME))key[i++];
#define TP_SCALE_FIELD(NAME) use.scales.NAME = (decltype(use.scales.NAME))key[i++];
  TP_GEMM_COLUMNS(TP_GEMM_FIELD)
  TP_SCALE_COLUMNS(TP_SCALE_FIELD)
#undef TP_SCALE_FIELD
#undef TP_GEMM_FIELD
  use.alignment = key[i];
  return use;
}

std::string GemmChoices::text() const {
  std::string text = format("%s\n%s%s\n%s%zu\n%s\n", title, madeByWord.data(), madeBy.c_str(),
                            countWord.data(), chosen.size(), columns);
  for (auto &[key, algorithm] : chosen) {
    for (int64_t field : key)
      text += format("%" PRId64 " ", field);
    for (uint64_t word : algorithm)
      text += format("%" PRIx64 " ", word);
    text.back() = '\n';
  }
  return text;
}

Status GemmChoices::parse(const std::string &text, const std::string &path, const char *wayOut) {
  *this = {};
  Lines lines(text, path, wayOut);
  if (lines.next() != title)
    return lines.wrong(title);
  std::string_view line = lines.next();
  if (!takeWord(line, madeByWord))
    return lines.wrong("the library and the GPU");
  madeBy = line;
  line = lines.next();
  size_t count = 0;
  if (!takeWord(line, countWord) || !takeNumber(line, count, 10) || !line.empty())
    return lines.wrong("how many choices there are");
  if (lines.next() != columns)
    return lines.wrong("the names of the columns");
  for (size_t i = 0; i < count; ++i) {
    GemmKey key;
    GemmAlgorithm algorithm;
    if (!takeChoice(lines.next(), key, algorithm))
      return lines.wrong("one of the choices");
    chosen[key] = algorithm;
  }
  if (lines.done() && chosen.size() == count && text.back() == '\n')
    return {};
  lines.next();
  return lines.wrong("the end, with each choice once");
}
