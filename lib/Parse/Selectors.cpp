//===- Selectors.cpp - which weights a selector names -----------------------===//
//
// A path selects what it names and all below it; an index may be left out, for all
// layers of a list. Lists are matched as ranges of layers, never layer by layer.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Settings.h"
#include "lib/Parse/Spelling.h"
#include "llvm/ADT/StringExtras.h"
#include <set>

using namespace tplan;
using namespace tplan::parse;
using llvm::SmallVector;
using llvm::StringRef;

namespace {
struct Kind {
  StringRef word;
  nn::ParamKind kind;
};
const Kind kKinds[] = {
    {"linear", nn::ParamKind::Linear},
    {"norms", nn::ParamKind::Norm},
    {"biases", nn::ParamKind::Bias},
    {"embeddings", nn::ParamKind::Embedding},
};
constexpr int64_t kLast = INT64_MAX;
} // namespace

std::string SelectorItem::str() const {
  std::string text;
  llvm::raw_string_ostream os(text);
  for (auto [i, segment] : llvm::enumerate(path)) {
    auto index = [](int64_t layer) { return layer == kNoLayer ? "?" : std::to_string(layer); };
    os << (i ? "." : "") << segment.name.text;
    if (segment.ranged && segment.first == segment.last)
      os << "[" << index(segment.first) << "]";
    else if (segment.ranged)
      os << "[" << index(segment.first) << ".." << index(segment.last) << "]";
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Matching
//===----------------------------------------------------------------------===//

/// How many layers a list has.
static int64_t layersOf(const ModelInfo &info, StringRef list) {
  for (const ModelInfo::List &each : info.lists)
    if (each.name == list)
      return each.count;
  return 0;
}

/// The layers of a weight of which a path matches the first parts. `*` is any name, or any layer of
/// a list: `blocks.*.norm` is `blocks.norm`.
static Ranges matchPath(llvm::ArrayRef<Segment> path, llvm::ArrayRef<StringRef> parts,
                        const ModelInfo &info) {
  if (path.empty())
    return {{0, kLast}};
  const Segment &segment = path.front();
  if (parts.empty() || (segment.name.text != "*" && segment.name.text != parts.front()))
    return {};
  path = path.drop_front();
  parts = parts.drop_front();
  bool list = !parts.empty() && parts.front() == "{i}";
  if (segment.ranged && !list)
    return {};
  if (list)
    parts = parts.drop_front();
  if (list && !segment.ranged && !path.empty() && path.front().name.text == "*")
    if (Ranges found = matchPath(path.drop_front(), parts, info); !found.empty())
      return found;
  Ranges found = matchPath(path, parts, info);
  if (segment.ranged && !found.empty())
    return {segment.layersOf(layersOf(info, segment.name.text))};
  return found;
}

/// The layers of `weight` that `item` matches.
static Ranges matchItem(const SelectorItem &item, const WeightInfo &weight, const ModelInfo &info) {
  if (item.path.size() == 1 && !item.path[0].ranged)
    for (const Kind &kind : kKinds)
      if (kind.word == item.path[0].name.text)
        return weight.kind == kind.kind ? Ranges{{0, kLast}} : Ranges();
  SmallVector<StringRef> parts;
  StringRef(weight.path).split(parts, '.');
  return matchPath(item.path, parts, info);
}

static void add(Ranges &to, const Ranges &from) {
  llvm::append_range(to, from);
  llvm::sort(to);
  Ranges merged;
  for (auto [a, b] : to)
    if (!merged.empty() && (merged.back().second == kLast || a <= merged.back().second + 1))
      merged.back().second = std::max(merged.back().second, b);
    else
      merged.push_back({a, b});
  to = merged;
}

static void remove(Ranges &from, const Ranges &what) {
  for (auto [a, b] : what) {
    Ranges kept;
    for (auto [x, y] : from) {
      if (b < x || y < a) {
        kept.push_back({x, y});
        continue;
      }
      if (x < a)
        kept.push_back({x, a - 1});
      if (b < y)
        kept.push_back({b + 1, y});
    }
    from = kept;
  }
}

int64_t tplan::parse::instances(const WeightInfo &weight, const Ranges &ranges) {
  int64_t count = 0, step = std::max<int64_t>(weight.step, 1);
  int64_t last = weight.first + (weight.count - 1) * step;
  for (auto [a, b] : ranges) {
    int64_t from = std::max(a, weight.first), to = std::min(b, last);
    if (from > to)
      continue;
    int64_t first = (from - weight.first + step - 1) / step;
    int64_t end = (to - weight.first) / step;
    count += std::max<int64_t>(0, end - first + 1);
  }
  return count;
}

std::optional<std::vector<Ranges>> tplan::parse::match(Report &report, const Selector &selector,
                                                       const ModelInfo &info) {
  std::vector<Ranges> matches(info.weights.size());
  bool failed = false;
  auto each = [&](const std::vector<SelectorItem> &items,
                  void (*change)(Ranges &, const Ranges &)) {
    for (const SelectorItem &item : items) {
      if (item.path.size() == 1 && item.path[0].name.text == "experts") {
        report.error(item.loc, "{0}", sentence(Feature::Experts));
        failed = true;
        continue;
      }
      bool any = false;
      for (auto [weight, ranges] : llvm::zip(info.weights, matches)) {
        Ranges found = matchItem(item, weight, info);
        any |= instances(weight, found) > 0;
        change(ranges, found);
      }
      if (any)
        continue;
      failed = true;
      // Segments of real paths, for a word that is close to one.
      std::set<StringRef> words;
      for (const WeightInfo &weight : info.weights) {
        SmallVector<StringRef> parts;
        StringRef(weight.path).split(parts, '.');
        words.insert(parts.begin(), parts.end());
      }
      for (const Kind &kind : kKinds)
        words.insert(kind.word);
      const Name *wrong = nullptr;
      for (const Segment &segment : item.path)
        if (!wrong && segment.name.text != "*" && !words.count(segment.name.text))
          wrong = &segment.name;
      auto error = report.error(item.loc, "selector matches no weight: {0}", item.str());
      if (wrong)
        error.suggest(wrong->text, words);
    }
  };
  each(selector.include, add);
  each(selector.except, remove);
  if (failed)
    return std::nullopt;
  doubtSelector(report, selector,
                llvm::map_to_vector(kKinds, [](const Kind &kind) { return kind.word; }));
  return matches;
}

void tplan::parse::printMatches(const ModelInfo &info, llvm::ArrayRef<Ranges> matches, bool wide,
                                llvm::raw_ostream &os) {
  int64_t total = 0, tensors = 0;
  for (auto [weight, ranges] : llvm::zip(info.weights, matches)) {
    int64_t count = instances(weight, ranges);
    if (!count)
      continue;
    std::string path = weight.path;
    if (size_t at = path.find(".{i}"); at != std::string::npos) {
      int64_t step = std::max<int64_t>(weight.step, 1);
      int64_t end = weight.first + (weight.count - 1) * step;
      std::vector<std::string> parts;
      for (auto [a, b] : ranges) {
        int64_t from = std::max(a, weight.first), to = std::min(b, end);
        from = weight.first + (from - weight.first + step - 1) / step * step;
        to = weight.first + (to - weight.first) / step * step;
        if (from > to)
          continue;
        parts.push_back(std::to_string(from));
        if (to > from)
          parts.back() += ".." + std::to_string(to) + (step > 1 ? ".." + std::to_string(step) : "");
      }
      bool one = parts.size() == 1 && count == 1;
      std::string index = llvm::join(parts, ",");
      path.replace(at, 4, one ? "." + index : ".{" + index + "}");
    }
    bool doubled = wide && weight.type.getElementType().isF32();
    int64_t bytes = weight.type.getBytes() * (doubled ? 2 : 1);
    os << path << " " << spell(weight.type) << " " << nn::stringifyParamKind(weight.kind) << " "
       << bytes << " bytes";
    if (count > 1)
      os << " x " << count;
    os << "\n";
    total += bytes * count;
    tensors += count;
  }
  os << tensors << " tensors, " << total << " bytes\n";
}
