//===- announce.cpp - what a run reads, scores and saves -----------------===//

#include "runtime/train/announce.h"

#include <algorithm>
#include <filesystem>

using namespace tplan::runtime;

namespace {

std::string absolutePath(const std::string &path) {
  std::error_code error;
  std::filesystem::path whole = std::filesystem::absolute(path, error);
  return error ? path : whole.lexically_normal().string();
}

struct Files {
  std::string names, count, formats;
  int64_t tokens = 0;

  Status open(const std::vector<std::string> &asked);
};

Status Files::open(const std::vector<std::string> &asked) {
  std::vector<TokenFile> files;
  TP_TRY(openTokenFiles(asked, files));
  for (const TokenFile &file : files) {
    tokens += file.size();
    std::string form = file.form().name;
    if (formats.find(form) == std::string::npos)
      formats += (formats.empty() ? "" : " and ") + form;
  }
  std::string first;
  statedFormat(asked[0], &first);
  names = absolutePath(first);
  if (asked.size() > 1)
    names += format(" and %zu more", asked.size() - 1);
  if (files.size() > 1)
    count = format("%zu files, ", files.size());
  return {};
}

std::string often(int64_t every) {
  return every > 0 ? format("every %lld step%s and ", (long long)every, every == 1 ? "" : "s") : "";
}

} // namespace

Status tplan::runtime::announceFiles(const Options &options, bool trains, int64_t evalEvery,
                                     std::string &lines) {
  double weights = 0;
  for (const DataSource &source : options.sources)
    weights += source.weight;
  for (const DataSource &source : options.sources) {
    if (!trains)
      break;
    Files files;
    TP_TRY(files.open(source.files));
    std::string part;
    if (options.sources.size() > 1)
      part = format(", %.4g of the rows", source.weight / weights);
    lines +=
        format("reads  %s as %s%s: %s%lld tokens\n", files.names.c_str(), files.formats.c_str(),
               part.c_str(), files.count.c_str(), (long long)files.tokens);
  }
  if (options.eval.empty())
    return {};
  Files files;
  TP_TRY(files.open(options.eval));
  std::string bound;
  if (options.evalTokens > 0 && options.evalTokens < files.tokens)
    bound = format("%lld of ", (long long)options.evalTokens);
  lines += format("scores %s as %s %sat the end: %s%s%lld tokens\n", files.names.c_str(),
                  files.formats.c_str(), trains ? often(evalEvery).c_str() : "",
                  files.count.c_str(), bound.c_str(), (long long)files.tokens);
  return {};
}

std::string tplan::runtime::announceCheckpoints(const Options &options, int64_t saveEvery,
                                                int64_t keep) {
  if (options.save.empty())
    return {};
  std::string kept = keep > 0 ? format(", and keeps the newest %lld", (long long)keep) : "";
  return format("saves  in %s %sat the end%s\n", absolutePath(options.save).c_str(),
                often(saveEvery).c_str(), kept.c_str());
}
