//===- Sources.cpp - files that a recipe names -------------------------------===//
//
// data web 0.8 u16 "web/*.bin", code 0.2 u16 "code/*.bin", S = 8192
// eval u16 "val.bin", 8M tokens, every 1000 steps
// save "checkpoints", every 500 steps, keep 3
//
// One decision: the source states how a file holds its tokens, or they are bytes, and bytes have to
// fit the model: ids of two bytes that are read as bytes would train without an error, on nothing.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Settings.h"
#include "lib/Parse/Spelling.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

struct Format {
  StringRef name;
  int64_t ids; // how many it can hold
};

constexpr Format kFormats[] = {
#define FORMAT(name, bytes, hasSign, separator, meaning)                                           \
  {name, int64_t(1) << (8 * (bytes) - ((hasSign) ? 1 : 0))},
#include "include/tplan/token_formats.def"
};
/// The format of files for which none is stated.
constexpr const Format &kBytes = kFormats[0];

const Format *findFormat(StringRef name) {
  const Format *found = llvm::find_if(kFormats, [&](const Format &f) { return f.name == name; });
  return found == std::end(kFormats) ? nullptr : found;
}

std::vector<StringRef> formatNames() {
  std::vector<StringRef> names;
  for (const Format &format : kFormats)
    names.push_back(format.name);
  return names;
}

/// The ids that the model's tables and logits have; 0 where nothing bounds them.
int64_t vocabularyOf(ModelBuilder &model) {
  for (auto input : model.op.getBody().getOps<lang::InputOp>())
    if (input.getVocabulary() < std::numeric_limits<int32_t>::max())
      return input.getVocabulary();
  return 0;
}

/// Where a format would stand: before the quote.
StringRef placeOfFormat(const Item &item) { return {item.string.data() - 1, 0}; }

/// How a file holds tokens: as stated, else as bytes. Null after an error.
const Format *readFormat(ModelBuilder &model, const Item &item) {
  if (item.string.empty()) {
    model.report.error(item.loc, "a file needs a name, found an empty text");
    return nullptr;
  }
  if (const Name &word = item.second; !word.text.empty()) {
    const Format *format = findFormat(word.text);
    if (!format) {
      auto error = model.report.error(word.loc, "unknown format of tokens: {0}", word.text);
      suggestOurs(error, Habit::Tokens, word.text, formatNames());
    }
    return format;
  }
  auto [prefix, rest] = item.string.split(':');
  if (rest.empty() || !findFormat(prefix))
    return &kBytes;
  model.report
      .error(item.loc, "in a recipe a format stands before the path: {0} \"{1}\"", prefix, rest)
      .fix({{StringRef(item.string.data() - 1, item.string.size() + 2),
             (prefix + " \"" + rest + "\"").str()}});
  return nullptr;
}

/// Whether ids of the format are those of the model.
bool checkVocabulary(ModelBuilder &model, const Item &item, const Format &format) {
  int64_t vocabulary = vocabularyOf(model);
  if (vocabulary <= format.ids)
    return true;
  if (!item.second.text.empty()) {
    model.report.warning(item.second.loc,
                         "{0} has ids below {1}, and the model has a vocabulary of {2}",
                         format.name, format.ids, vocabulary);
    return true;
  }
  auto error =
      model.report.error(item.loc,
                         "a file without a format is read as bytes, ids below 256: write {0} "
                         "before the path, found a vocabulary of {1}",
                         llvm::join(formatNames(), ", "), vocabulary);
  for (const Format &other : kFormats)
    if (other.ids >= vocabulary)
      error.fix({{placeOfFormat(item), (other.name + " ").str()}});
  error.fix({{placeOfFormat(item), (kBytes.name + " ").str()}});
  return false;
}

/// Reads a source of `data`; what the item's `name` and `second` are is decided by the words
/// themselves.
struct Source {
  Item item;
  const Format *format = nullptr;
};

/// A single word before a path is a format if there is one of that name.
bool readSource(ModelBuilder &model, Source &source) {
  Name &name = source.item.name, &format = source.item.second;
  bool isFormat = findFormat(format.text) || !ours(Habit::Tokens, format.text).empty();
  if (name.text.empty() && !isFormat)
    std::swap(name, format);
  if (findFormat(name.text)) {
    auto error = model.report.error(
        name.loc,
        "a format stands directly before the path, as in `web 0.8 {0} \"web.bin\"`; no "
        "source is called {0}",
        name.text);
    if (format.text.empty())
      error.fix({{name.text, "data"}, {placeOfFormat(source.item), (name.text + " ").str()}});
    return false;
  }
  source.format = readFormat(model, source.item);
  return source.format && checkVocabulary(model, source.item, *source.format);
}

/// Sources of a mixture must agree in what a token is and in whether they have weights.
bool checkMixture(ModelBuilder &model, ArrayRef<Source> sources) {
  bool ok = true;
  Once once(model.report);
  const Source &first = sources.front();
  for (const Source &source : sources) {
    const Item &item = source.item;
    StringRef name = item.name.text;
    if (name.empty() && sources.size() > 1) {
      model.report.error(item.loc,
                         "each source of several needs a name: data web 0.8 \"web/*.bin\", "
                         "code 0.2 \"code/*.bin\"");
      return false;
    }
    ok &= once(name, item.loc);
    if (item.hasNumber && item.quantity.number.real <= 0) {
      model.report.error(item.quantity.loc, "the weight of a source must be positive: {0}",
                         spell(item.quantity.number));
      ok = false;
    }
    if (item.hasNumber != first.item.hasNumber) {
      model.report
          .error(item.loc, "weights are for all sources or for none, and {0} has {1}", name,
                 item.hasNumber ? "one" : "none")
          .note(first.item.loc, "the first source is here");
      ok = false;
    }
    if ((source.format == &kBytes) != (first.format == &kBytes)) {
      model.report
          .error(item.loc,
                 "sources of one training have tokens of one meaning: {0} is read as {1}, {2} as "
                 "{3}",
                 name, source.format->name, first.item.name.text, first.format->name)
          .note(first.item.loc, "the first source is here");
      ok = false;
    }
  }
  return ok;
}

} // namespace

std::vector<lang::DataFiles> tplan::parse::readFiles(ModelBuilder &model, const Setting &line) {
  std::vector<Source> sources;
  bool ok = true;
  for (const Item &item : line.items)
    if (item.hasString)
      ok &= readSource(model, sources.emplace_back(Source{item}));
  // Without a file, the command line names it, or a program that embeds the training provides the
  // rows.
  if (sources.empty() || !ok || !checkMixture(model, sources))
    return {};
  std::vector<lang::DataFiles> files;
  for (const auto &[item, format] : sources)
    files.push_back({item.name.text.empty() ? "data" : item.name.text.str(),
                     item.hasNumber ? item.quantity.number.real : 1, item.second.text.str(),
                     item.string.str()});
  return files;
}

/// Files that are scored hold tokens as those that are trained on do: nobody means ids in one and
/// bytes in the other.
static bool checkLikeData(ModelBuilder &model, const Item &item, const Format &format,
                          ArrayRef<lang::DataFiles> data) {
  if (data.empty() || !item.second.text.empty())
    return true;
  StringRef stated = data[0].format;
  const Format *trained = stated.empty() ? &kBytes : findFormat(stated);
  if (trained == &format)
    return true;
  model.report
      .error(item.loc, "`eval` states no format, and is read as {0}; `data` is read as {1}",
             format.name, trained->name)
      .fix({{placeOfFormat(item), (trained->name + " ").str()}});
  return false;
}

lang::Evaluation tplan::parse::readEval(ModelBuilder &model, const Setting &line,
                                        ArrayRef<lang::DataFiles> data) {
  int64_t every = 0, tokens = 0;
  const Item *file = nullptr;
  Once once(model.report);
  for (const Item &item : line.items) {
    once(item.hasString ? "the file" : item.hasNumber ? "tokens" : "every", item.loc);
    if (item.hasString) {
      file = &item;
      const Format *format = readFormat(model, item);
      if (format && checkLikeData(model, item, *format, data))
        checkVocabulary(model, item, *format);
    } else if (item.hasNumber) {
      if (auto n = amount(model.report, item.quantity, Unit::Tokens, "an evaluation"))
        tokens = n->value;
    } else if (auto n = amount(model.report, item.quantity, Unit::Steps, "`every`")) {
      every = n->value;
    }
  }
  if (!every)
    model.report.error(line.loc, "eval needs how often: eval \"val.bin\", every 100 steps");
  return {every, tokens, file ? file->second.text.str() : "", file ? file->string.str() : ""};
}

lang::Saving tplan::parse::readSave(ModelBuilder &model, const Setting &line) {
  int64_t every = 0, keep = 0;
  StringRef path;
  Once once(model.report);
  for (const Item &item : line.items) {
    bool isKeep = item.name.text.starts_with("keep");
    once(item.hasString ? "the folder" : isKeep ? "keep" : "every", item.loc);
    if (item.hasString) {
      path = item.string;
      if (path.empty())
        model.report.error(item.loc, "a folder needs a name, found an empty text");
      continue;
    }
    if (isKeep && !item.quantity.unit.text.empty()) {
      model.report.error(item.quantity.unit.loc, "`keep` counts checkpoints, found a unit: {0}",
                         item.quantity.unit.text);
      continue;
    }
    auto n = amount(model.report, item.quantity, Unit::Steps, isKeep ? "`keep`" : "`every`");
    (isKeep ? keep : every) = n ? n->value : 1;
  }
  if (!every)
    model.report.error(line.loc, "save needs how often: save every 500 steps");
  return {every, keep, path.str()};
}
