//===- gemm_choices.cpp - which algorithm computes each GEMM ----------------===//
//
// A file of choices is text: who can read it, how many there are, and one a line.
//
//===----------------------------------------------------------------------===//

#include "runtime/gemm_choices.h"

#include "runtime/files.h"
#include "runtime/rank.h"
#include "runtime/trace_device.h"

#include <algorithm>
#include <charconv>
#include <cinttypes>
#include <set>
#include <string_view>

using namespace tplan::runtime;

namespace {

constexpr int64_t maxText = int64_t(1) << 24;

/// Format 1 was of libraries that might round parts of sums.
constexpr const char *title = "tplan gemm algorithms 2";
#define TP_GEMM_NAME(NAME) #NAME " "
constexpr const char *columns = TP_GEMM_COLUMNS(TP_GEMM_NAME) "alignment algorithm";
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
  // Another number would be cut off where a field is shorter.
  GemmUse use = useOf(key);
  auto isType = [](int32_t type) { return type >= TP_F64 && type <= TP_F16; };
  return line.empty() && keyOf(use) == key && isType(use.gemm.in) && isType(use.gemm.out);
}

int64_t alignmentOfWork(const StreamEvent &work) {
  uint64_t bits = 0;
  for (const std::vector<Extent> *extents : {&work.reads, &work.writes})
    for (Extent extent : *extents)
      bits |= extent.begin;
  return alignmentOf(bits);
}

} // namespace

GemmKey tplan::runtime::keyOf(const GemmUse &use) {
#define TP_GEMM_FIELD(NAME) use.gemm.NAME,
  return {TP_GEMM_COLUMNS(TP_GEMM_FIELD) use.alignment};
#undef TP_GEMM_FIELD
}

GemmUse tplan::runtime::useOf(const GemmKey &key) {
  GemmUse use = {};
  size_t i = 0;
#define TP_GEMM_FIELD(NAME) use.gemm.NAME = (decltype(use.gemm.NAME))key[i++];
  TP_GEMM_COLUMNS(TP_GEMM_FIELD)
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

Status tplan::runtime::gemmsOf(const tp_program &program, int rank, std::vector<GemmUse> &uses) {
  std::set<GemmKey> keys;
  TP_TRY(traceProgram(program, rank, [&](const StreamEvent &work) -> Status {
    if (work.gemm)
      keys.insert(keyOf({*work.gemm, alignmentOfWork(work)}));
    return {};
  }));
  for (const GemmKey &key : keys)
    uses.push_back(useOf(key));
  return {};
}

//===----------------------------------------------------------------------===//
// Of all ranks
//===----------------------------------------------------------------------===//

namespace {

/// A file that is named must be of use: it was made to be read here.
Status takeNamed(Device &device, const std::string &file) {
  std::string text;
  GemmChoices choices;
  TP_TRY(readText(file, text, maxText));
  TP_TRY(choices.parse(text, file, "remove it to measure anew, or name another file"));
  std::string here = device.gemmChoices().madeBy;
  if (choices.madeBy != here)
    return errorf("'%s' holds GEMM algorithms of another library or GPU: name another file, and it "
                  "is written for %s; found %s",
                  file.c_str(), here.c_str(), choices.madeBy.c_str());
  int64_t refused = 0;
  TP_TRY(device.setGemmChoices(choices, refused));
  if (!refused)
    return {};
  return errorf("'%s' holds GEMM algorithms that the library refuses, or that need a larger "
                "workspace: remove it to measure anew; found %" PRId64 " of %zu",
                file.c_str(), refused, choices.chosen.size());
}

/// Those of a checkpoint may have been made elsewhere: then the run goes on with others.
Status takeSaved(Device &device, const std::string &file, std::string &madeBy) {
  std::string text;
  GemmChoices choices;
  TP_TRY(readText(file, text, maxText));
  TP_TRY(
      choices.parse(text, file, "go on from an earlier checkpoint, or --load the weights of this"));
  madeBy = choices.madeBy;
  int64_t refused = 0;
  return madeBy == device.gemmChoices().madeBy ? device.setGemmChoices(choices, refused) : Status();
}

void tellMeasured(const Sink &sink, int64_t measured, size_t all, const std::string &saved,
                  const std::string &here) {
  std::string why = saved == here
                        ? "it has none of use for them"
                        : format("it has those of %s, and here is %s", saved.c_str(), here.c_str());
  if (sink)
    sink(Tone::warning,
         format("note: the algorithms of %" PRId64 " of %zu GEMMs are not those of the checkpoint, "
                "so bits may differ from those of a run that was not interrupted: %s\n",
                measured, all, why.c_str()));
}

/// What rank 0 does for all of them.
Status choose(tp_rank &rank, const std::string &file, const std::string &saved) {
  Device &device = *rank.device;
  std::vector<GemmUse> uses;
  TP_TRY(gemmsOf(*rank.program, rank.peers.rank(), uses));
  if (uses.empty())
    return {};
  bool isNamed = !file.empty() && pathExists(file);
  int64_t measured = 0;
  std::string madeBy;
  if (isNamed)
    TP_TRY(takeNamed(device, file));
  else if (!saved.empty())
    TP_TRY(takeSaved(device, saved, madeBy));
  TP_TRY(device.chooseGemms(uses, measured));
  if (!madeBy.empty() && measured)
    tellMeasured(rank.sink, measured, uses.size(), madeBy, device.gemmChoices().madeBy);
  bool isWhole = isNamed && !measured;
  return file.empty() || isWhole ? Status() : writeText(file, device.gemmChoices().text());
}

/// What rank 0 has chosen, on another rank.
Status follow(tp_rank &rank, const std::string &text) {
  Device &device = *rank.device;
  GemmChoices choices;
  TP_TRY(choices.parse(text, "what rank 0 has sent", "start again"));
  int64_t refused = 0;
  std::string here = device.gemmChoices().madeBy;
  if (choices.madeBy == here)
    TP_TRY(device.setGemmChoices(choices, refused));
  if (choices.madeBy == here && !refused)
    return {};
  return errorf("GEMMs of all ranks must have the same algorithms: give each the same library and "
                "the same kind of GPU; rank 0 has %s, and here is %s",
                choices.madeBy.c_str(), here.c_str());
}

} // namespace

Status tplan::runtime::settleGemms(tp_rank &rank, const std::string &file,
                                   const std::string &saved) {
  TP_TRY(rank.peers.agree(rank.peers.leads() ? choose(rank, file, saved) : Status()));
  if (rank.peers.size() == 1)
    return {};
  std::string text = rank.peers.leads() ? rank.device->gemmChoices().text() : "";
  TP_TRY(rank.peers.broadcast(text));
  return rank.peers.agree(rank.peers.leads() ? Status() : follow(rank, text));
}
