//===- data_check.cpp - what data looks like before a training -----------===//

#include "runtime/disk/data_check.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace tplan::runtime;

namespace {

constexpr int64_t mostFiles = 64, mostTokens = 256 << 10; // of each of three parts of a file
constexpr int64_t fewTokens = 64;                         // fewer tokens say nothing about a format

/// What was seen of some files.
struct Sample {
  int64_t least = std::numeric_limits<int64_t>::max(), most = -1;
  int64_t targets = 0; // tokens that follow another one and are no padding
  bool isAll = true;   // nothing was left out
  /// By the place of a token in its file, modulo 4: how many tokens, and how many that are not 0.
  std::array<int64_t, 4> seen = {}, set = {};

  /// Looks at the beginning, the middle and the end.
  Status add(const TokenFile &file, int64_t vocabulary);
  void add(const Sample &other);
  /// In how many pieces each real token seems to be read; 1: tokens are whole.
  int64_t pieces() const;

private:
  Status addPart(const TokenFile &file, int64_t vocabulary, int64_t first, int64_t end);
};

Status Sample::add(const TokenFile &file, int64_t vocabulary) {
  int64_t end = file.size() - file.firstToken(), done = 0;
  for (int64_t first : {int64_t(0), (end - mostTokens) / 2, end - mostTokens}) {
    first = std::clamp<int64_t>(first, done, end);
    isAll &= first == done;
    done = std::min(end, first + mostTokens);
    TP_TRY(addPart(file, vocabulary, first, done));
  }
  isAll &= done == end;
  return {};
}

/// In pieces, because the report counts what the runtime holds.
Status Sample::addPart(const TokenFile &file, int64_t vocabulary, int64_t first, int64_t end) {
  std::array<int32_t, 2048> tokens;
  while (first < end) {
    int64_t here = std::min<int64_t>(end - first, tokens.size());
    TP_TRY(file.read(file.firstToken() + first, here, vocabulary, tokens.data()));
    for (int64_t i = 0; i < here; ++i) {
      least = std::min<int64_t>(least, tokens[i]);
      most = std::max<int64_t>(most, tokens[i]);
      targets += tokens[i] >= 0 && (first + i > 0 || file.firstToken());
      ++seen[(first + i) % 4], set[(first + i) % 4] += tokens[i] != 0;
    }
    first += here;
  }
  return {};
}

void Sample::add(const Sample &other) {
  least = std::min(least, other.least);
  most = std::max(most, other.most);
  targets += other.targets;
  isAll &= other.isAll;
}

/// Where small numbers have more bytes than are read at once, their upper pieces are 0 and the
/// lower ones are not.
int64_t Sample::pieces() const {
  if (seen[0] + seen[1] + seen[2] + seen[3] < fewTokens || set[1] || set[3] || set[0] + set[2] == 0)
    return 1;
  return set[2] ? 2 : 4;
}

std::string filesOf(const std::vector<std::string> &names) {
  return "'" + (names.empty() ? std::string() : names[0]) + "'" +
         (names.size() > 1 ? " and the files after it" : "");
}

/// What a file is that begins so; null for tokens.
struct Magic {
  size_t at;
  std::string_view bytes;
  const char *what, *advice;
};
const Magic *findMagic(const std::string &head) {
  static constexpr Magic all[] = {
#define MAGIC(at, bytes, what, advice)                                                             \
  {at, std::string_view(bytes, sizeof(bytes) - 1), what, advice},
#include "runtime/disk/magic.def"
  };
  for (const Magic &magic : all)
    if (head.size() >= magic.at && head.compare(magic.at, magic.bytes.size(), magic.bytes) == 0)
      return &magic;
  return nullptr;
}

/// A file whose format was stated as bytes may be anything.
Status checkBeginning(const TokenFile &file) {
  bool isBytes = &file.form() == &tokenFormats()[0];
  std::string head;
  TP_TRY(file.head(head));
  const Magic *magic = findMagic(head);
  if (!magic || (isBytes && file.isStated()))
    return {};
  return errorf(
      "'%s' is no file of tokens, for it begins as %s: %s%s", file.path().c_str(), magic->what,
      magic->advice,
      isBytes ? format(", or write %s: before its name to train on it as it is", file.form().name)
                    .c_str()
              : "");
}

/// Wide tokens that are read as narrow ones train without an error, on nothing.
Status checkWidth(const TokenFile &file, const Sample &sample, std::string &warnings) {
  int64_t bytes = file.form().bytesPerToken * sample.pieces();
  const TokenFormat *wide = nullptr;
  for (const TokenFormat &format : tokenFormats())
    if (format.bytesPerToken == bytes && sample.pieces() > 1)
      wide = &format;
  if (!wide)
    return {};
  std::string text =
      format("'%s' is read as %s and seems to hold %s, for of each %lld only the "
             "first is not 0",
             file.path().c_str(), file.form().name, wide->name, (long long)sample.pieces());
  if (!file.isStated())
    return errorf("%s: write %s: before its name, or %s: if it is what it is read as", text.c_str(),
                  wide->name, file.form().name);
  warnings += "warning: " + text + "\n";
  return {};
}

/// Whether ids of a format are those of the model; once for all files.
Status checkVocabulary(const TokenFile &file, int64_t vocabulary, std::string &warnings) {
  constexpr int64_t byteIds = 256;
  if (&file.form() != &tokenFormats()[0] || vocabulary <= byteIds ||
      vocabulary == std::numeric_limits<int32_t>::max())
    return {};
  if (!file.isStated())
    return errorf(
        "'%s' is read as bytes, ids below %lld, because nothing says how it holds tokens: "
        "write u16:, i32: or bytes: before its name; the vocabulary has %lld",
        file.path().c_str(), (long long)byteIds, (long long)vocabulary);
  warnings +=
      format("warning: '%s' is read as bytes, ids below %lld, and the vocabulary has %lld\n",
             file.path().c_str(), (long long)byteIds, (long long)vocabulary);
  return {};
}

/// `bound`: of the ids that are looked at.
Status look(const std::vector<std::string> &names, int64_t vocabulary, int64_t bound,
            Sample &sample, std::string &warnings) {
  std::vector<TokenFile> files;
  TP_TRY(openTokenFiles(names, files));
  if (!files.empty())
    TP_TRY(checkVocabulary(files[0], vocabulary, warnings));
  for (size_t i = 0; i < files.size(); ++i) {
    if ((int64_t)i >= mostFiles) {
      sample.isAll = false;
      break;
    }
    TP_TRY(checkBeginning(files[i]));
    Sample one;
    TP_TRY(one.add(files[i], bound));
    TP_TRY(checkWidth(files[i], one, warnings));
    sample.add(one);
  }
  return {};
}

} // namespace

Status tplan::runtime::checkTrainingFiles(const DataSource &source, int64_t vocabulary,
                                          std::string &warnings) {
  Sample sample;
  const std::vector<std::string> &names = source.files;
  // Ids are checked by whoever reads them.
  TP_TRY(look(names, vocabulary, std::numeric_limits<int64_t>::max(), sample, warnings));
  if (sample.most < 0 && sample.least < 0 && sample.isAll)
    return errorf("nothing to train on: all tokens are below 0, which is padding, in %s",
                  filesOf(names).c_str());
  if (sample.most < 0 && sample.least < 0)
    warnings += format("warning: what was looked at holds padding alone, all tokens below 0: %s\n",
                       filesOf(names).c_str());
  else if (sample.least == sample.most && sample.targets > 1)
    warnings += format("warning: %s are token %lld: there is nothing to learn from %s\n",
                       sample.isAll ? "all tokens" : "all tokens that were looked at",
                       (long long)sample.most, filesOf(names).c_str());
  return {};
}

Status tplan::runtime::checkEvaluationFiles(const std::vector<std::string> &names,
                                            int64_t vocabulary, std::string &warnings) {
  Sample sample;
  TP_TRY(look(names, vocabulary, vocabulary, sample, warnings));
  if (!sample.targets && sample.isAll && !names.empty())
    return errorf("the files that are scored hold nothing to predict: %s", filesOf(names).c_str());
  return {};
}
