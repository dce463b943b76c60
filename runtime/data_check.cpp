//===- data_check.cpp - what is told of data before a training -------------===//

#include "runtime/data_check.h"

#include <algorithm>
#include <array>
#include <limits>

using namespace tplan::runtime;

namespace {

constexpr int64_t mostFiles = 64, mostTokens = 256 << 10; // of each of three parts of a file

/// What was seen of some files.
struct Sample {
  int64_t least = std::numeric_limits<int64_t>::max(), most = -1;
  int64_t targets = 0; // tokens that follow another one and are no padding
  bool isAll = true;   // nothing was left out

  /// Looks at the beginning, the middle and the end.
  Status add(const TokenFile &file, int64_t vocabulary);

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
    }
    first += here;
  }
  return {};
}

Status look(const std::vector<std::string> &names, int64_t vocabulary, Sample &sample) {
  for (size_t i = 0; i < names.size(); ++i) {
    TokenFile file;
    TP_TRY(file.open(names[i]));
    if ((int64_t)i < mostFiles)
      TP_TRY(sample.add(file, vocabulary));
    else
      sample.isAll = false;
  }
  return {};
}

std::string filesOf(const std::vector<std::string> &names) {
  return "'" + (names.empty() ? std::string() : names[0]) + "'" +
         (names.size() > 1 ? " and the files after it" : "");
}

} // namespace

Status tplan::runtime::checkTrainingFiles(const std::vector<std::string> &names,
                                          std::string &warnings) {
  Sample sample;
  // Ids are checked where they are read, by who reads them.
  TP_TRY(look(names, std::numeric_limits<int64_t>::max(), sample));
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
                                            int64_t vocabulary) {
  Sample sample;
  TP_TRY(look(names, vocabulary, sample));
  if (!sample.targets && sample.isAll && !names.empty())
    return errorf("the files of --eval hold nothing to predict: %s", filesOf(names).c_str());
  return {};
}
