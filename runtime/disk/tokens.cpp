//===- tokens.cpp - files as tokens ------------------------------------------===//

#include "runtime/disk/tokens.h"

#include <algorithm>

#include <glob.h>

using namespace tplan::runtime;

static constexpr TokenFormat formats[] = {
#define FORMAT(name, bytes, hasSign, separator, meaning) {name, bytes, hasSign, separator, meaning},
#include "tplan/token_formats.def"
};

std::span<const TokenFormat> tplan::runtime::tokenFormats() { return formats; }

const TokenFormat *tplan::runtime::statedFormat(const std::string &name, std::string *path) {
  const TokenFormat *stated = nullptr;
  size_t colon = name.find(':');
  for (const TokenFormat &candidate : formats)
    if (colon != std::string::npos && name.compare(0, colon, candidate.name) == 0)
      stated = &candidate;
  if (path)
    *path = stated ? name.substr(colon + 1) : name;
  return stated;
}

Status TokenFile::open(const std::string &option) {
  std::string name;
  const TokenFormat *said = statedFormat(option, &name);
  stated = said != nullptr;
  format = said ? said : &formats[0];
  TP_TRY(file.open(name));
  if (file.size() % format->bytesPerToken)
    return errorf("'%s' has %lld bytes, which is no multiple of the %lld bytes of a token",
                  name.c_str(), (long long)file.size(), (long long)format->bytesPerToken);
  count = file.size() / format->bytesPerToken;
  return {};
}

Status TokenFile::head(std::string &bytes) const {
  bytes.resize(std::min<int64_t>(file.size(), 64));
  return file.read(0, bytes.data(), (int64_t)bytes.size());
}

static int64_t tokenAt(const TokenFormat &format, const unsigned char *bytes) {
  uint64_t value = 0;
  for (int64_t byte = 0; byte < format.bytesPerToken; ++byte)
    value |= uint64_t(bytes[byte]) << (8 * byte);
  int64_t unused = 64 - 8 * format.bytesPerToken;
  return format.hasSign ? int64_t(value << unused) >> unused : int64_t(value);
}

template <typename Function>
Status TokenFile::forEach(int64_t first, int64_t n, Function &&function) const {
  int64_t end = first + n, before = firstToken();
  if (n > 0 && first < before && !function(first++, format->separator))
    return {};
  unsigned char piece[16 << 10];
  int64_t most = (int64_t)sizeof piece / format->bytesPerToken;
  while (first < end) {
    int64_t here = std::min(end - first, most);
    TP_TRY(
        file.read((first - before) * format->bytesPerToken, piece, here * format->bytesPerToken));
    for (int64_t i = 0; i < here; ++i)
      if (!function(first + i, tokenAt(*format, piece + i * format->bytesPerToken)))
        return {};
    first += here;
  }
  return {};
}

Status TokenFile::read(int64_t first, int64_t n, int64_t vocabulary, int32_t *to) const {
  int64_t wrongAt = -1, wrong = 0;
  TP_TRY(forEach(first, n, [&](int64_t at, int64_t id) {
    if (id >= vocabulary)
      wrongAt = at, wrong = id;
    to[at - first] = (int32_t)id;
    return wrongAt < 0;
  }));
  if (wrongAt < 0)
    return {};
  int64_t at = wrongAt - firstToken();
  return errorf("'%s', byte %lld: token %lld is outside the vocabulary of %lld", path().c_str(),
                (long long)(std::max<int64_t>(at, 0) * format->bytesPerToken), (long long)wrong,
                (long long)vocabulary);
}

Status TokenFile::countTokens(int64_t first, int64_t n, int64_t &count) const {
  if (format->hasSign)
    return forEach(first, n, [&](int64_t, int64_t id) {
      count += id >= 0;
      return true;
    });
  count += n;
  return {};
}

/// The files that a name stands for.
static Status matchFiles(const std::string &name, std::vector<std::string> &names) {
  std::string pattern;
  const TokenFormat *format = statedFormat(name, &pattern);
  if (pattern.find_first_of("*?[") == std::string::npos || pathExists(pattern)) {
    names.push_back(name);
    return {};
  }
  glob_t found = {};
  int code = glob(pattern.c_str(), GLOB_NOSORT, nullptr, &found);
  std::vector<std::string> paths(found.gl_pathv, found.gl_pathv + (code ? 0 : found.gl_pathc));
  globfree(&found);
  if (paths.empty())
    return errorf("no file matches '%s'%s", pattern.c_str(),
                  code && code != GLOB_NOMATCH ? ", or its folder cannot be read" : "");
  // Everywhere in one order, whatever the language of the machine.
  std::sort(paths.begin(), paths.end());
  for (const std::string &path : paths)
    names.push_back(format ? format->name + (":" + path) : path);
  return {};
}

Status tplan::runtime::openTokenFiles(const std::vector<std::string> &names,
                                      std::vector<TokenFile> &files) {
  std::vector<std::string> all;
  for (const std::string &name : names)
    TP_TRY(matchFiles(name, all));
  for (const std::string &name : all)
    TP_TRY(files.emplace_back().open(name));
  return {};
}

Status tplan::runtime::expandFileList(const std::string &option, std::vector<std::string> &names) {
  size_t begin = 0;
  while (begin <= option.size()) {
    size_t end = std::min(option.find(',', begin), option.size());
    std::string name = option.substr(begin, end - begin);
    begin = end + 1;
    if (name.empty())
      return errorf("a file list with an empty name: '%s'", option.c_str());
    if (name[0] != '@') {
      names.push_back(name);
      continue;
    }
    std::string list;
    TP_TRY(readText(name.substr(1), list, int64_t(1) << 28));
    if (size_t zero = list.find('\0'); zero != list.npos)
      return errorf("'%s', line %lld: a zero byte, which no name of a file has", name.c_str() + 1,
                    (long long)std::count(list.begin(), list.begin() + zero, '\n') + 1);
    size_t before = names.size();
    for (size_t at = 0; at < list.size();) {
      size_t lineEnd = std::min(list.find('\n', at), list.size());
      if (lineEnd > at)
        names.push_back(list.substr(at, lineEnd - at));
      at = lineEnd + 1;
    }
    if (names.size() == before)
      return errorf("'%s' lists no file", name.c_str() + 1);
  }
  return {};
}
