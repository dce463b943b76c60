//===- Overrides.cpp - settings that a command line replaces: --set --------===//
#include "lib/Parse/Overrides.h"
#include "lib/Parse/Sizes.h"
#include "lib/Parse/Text.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

static constexpr size_t kMaxOverrides = 1024;

/// False after an error: no line or size can be at the path of the override. `text` is all of it.
bool Overrides::checkPath(StringRef text, const Override &override, bool numeric) {
  SMLoc begin = SMLoc::getFromPointer(text.data());
  auto [block, key] = std::pair(override.block, override.key);
  if (!numeric && block != "plan" && block != "recipe") {
    report.error(begin, "--set changes plan, recipe, model or data, found {0}", block)
        .suggest(block, llvm::ArrayRef<StringRef>{"plan", "recipe", "model", "data"});
    return false;
  }
  if (!numeric && !settingToken(key)) {
    report.error(override.loc, "a {0} has no line {1}", block, key)
        .suggest(key, settingKeys(block == "plan" ? BlockDecl::Plan : BlockDecl::Recipe));
    return false;
  }
  return true;
}

/// False after an error. A size of the model or the data is a number, all else a line.
bool Overrides::readValue(StringRef value, bool numeric, Override &override) {
  Syntax &syntax = source.parses.emplace_back(report, source.arena, value);
  if (!parseText(syntax, numeric ? Start::Expression : Start::Setting,
                 numeric ? StringRef() : override.key))
    return false;
  override.setting = syntax.setting;
  if (!numeric)
    return true;
  std::optional<Number> size = number(report, *syntax.expr, Env());
  if (size)
    override.number = {*size, override.loc};
  return size.has_value();
}

/// PATH=VALUE
std::optional<Override> Overrides::readOne(StringRef text) {
  if (!checkText(report, text))
    return std::nullopt;
  auto [path, value] = text.split('=');
  auto [block, key] = path.split('.');
  if (value.empty() || key.empty()) {
    report.error(SMLoc::getFromPointer(text.data()),
                 "expected --set PATH=VALUE, such as plan.microbatch=2, found {0}", text);
    return std::nullopt;
  }
  Override override{block, key, nullptr, {}, SMLoc::getFromPointer(key.data())};
  bool numeric = block == "model" || block == "data";
  if (!checkPath(text, override, numeric) || !readValue(value, numeric, override))
    return std::nullopt;
  return override;
}

/// False after an error: the path has been set, and this one does not replace it.
bool Overrides::add(const Override &override, bool replaces) {
  auto first = llvm::find_if(all, [&](const Override &other) {
    return other.block == override.block && other.key == override.key;
  });
  if (first == all.end()) {
    all.push_back(override);
  } else if (replaces) {
    *first = override;
  } else {
    report
        .error(SMLoc::getFromPointer(override.block.data()), "given twice: {0}",
               (override.block + "." + override.key).str())
        .note(first->loc, "the first is here");
    return false;
  }
  return true;
}

/// Each --set is a buffer of its own, so that errors point into it.
bool Overrides::read(const std::vector<std::string> &overrides,
                     const std::vector<std::string> &replacements) {
  bool ok = true;
  size_t read = 0;
  if (overrides.size() > kMaxOverrides) {
    report.error(SMLoc(), "more than {0} overrides", kMaxOverrides);
    return false;
  }
  for (const std::string &text : llvm::concat<const std::string>(overrides, replacements)) {
    bool replaces = ++read > overrides.size();
    llvm::SourceMgr &sources = source.sources;
    unsigned id = sources.AddNewSourceBuffer(
        llvm::MemoryBuffer::getMemBufferCopy(text, "--set " + text), SMLoc());
    StringRef buffer = sources.getMemoryBuffer(id)->getBuffer();
    source.bytes += buffer.size();
    if (source.bytes > kMaxFile) {
      report.error(SMLoc::getFromPointer(buffer.data()),
                   "a source has at most 4 MiB with its overrides, found more");
      return false;
    }
    std::optional<Override> override = readOne(buffer);
    ok &= override && add(*override, replaces);
  }
  return ok;
}

void Overrides::apply(StringRef block, BlockDecl::Kind kind, Settings &into) {
  for (const Override &override : all) {
    if (override.block != block)
      continue;
    std::vector<StringRef> keys = settingKeys(kind);
    if (llvm::is_contained(keys, override.key))
      into.lines[override.key] = override.setting;
    else
      report.error(override.loc, "a {0} has no line {1}", block, override.key)
          .suggest(override.key, keys);
  }
}
