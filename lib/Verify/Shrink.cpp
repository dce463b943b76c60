//===- Shrink.cpp - a plan made small, with its layouts kept --------------===//
#include "lib/Verify/Shrink.h"
#include "dialects/dist/Dist.h"
#include "dialects/tplan/Dimensions.h"
#include "dialects/tplan/Settings.h"
#include "llvm/Support/raw_ostream.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::verify;

namespace {

/// A rank keeps this many positions of a dimension, if it has as many.
constexpr int64_t kPositions = 2;
/// A dimension that nothing cuts keeps this many.
constexpr int64_t kLeast = 8;
/// Where the depth of the model ends.
constexpr int64_t kDepths[] = {2, 3, 4, 6, 8, 12, 16, 24, 32, 48, 64};

/// What a compile up to `shard` says of a plan.
struct Facts {
  std::map<std::string, int64_t> dims, numbers; // of tensors; of the model, its depth among them
  std::map<std::string, int64_t> ranks;         // that cut a dimension
  int64_t meshRanks = 1, dataRanks = 1, batch = 1, microbatch = 1, layers = 0, stages = 1;
  bool cutsStages = false; // by a line of the plan
  int64_t row = 1, vocabulary = 0;
  std::vector<std::string> collectives; // function, kind and axes of each
};

void readSizes(ModuleOp module, Facts &facts) {
  for (auto &[dim, size] : lang::dimensionsOf(module))
    facts.dims[dim.str()] = size;
  lang::Settings settings(module);
  if (settings.recipe.model)
    for (NamedAttribute number : settings.recipe.model->sizes)
      if (auto whole = dyn_cast<IntegerAttr>(number.getValue()))
        facts.numbers[number.getName().str()] = whole.getInt();
  facts.meshRanks = settings.ranks();
  facts.dataRanks = settings.dataRanks();
  facts.batch = settings.recipe.batch;
  facts.microbatch = settings.microbatch();
}

/// Which are cut by cost where the plan does not say.
void readStages(ModuleOp module, Facts &facts) {
  const std::vector<int64_t> &stages = lang::Settings(module).plan.stages;
  facts.layers = std::accumulate(stages.begin(), stages.end(), int64_t(0));
  facts.stages = stages.size();
}

/// Dimensions that lines cut, and over how many ranks: for two lines the product, because what it
/// divides, each divides.
void readCuts(ModuleOp module, Facts &facts) {
  lang::Settings settings(module);
  for (const lang::Shard &shard : settings.plan.shard)
    for (const std::string &dim : shard.dims)
      facts.ranks.try_emplace(dim, 1).first->second *= settings.ranksAlong(shard.axes);
}

void readInputs(ModuleOp module, Facts &facts) {
  module.walk([&](lang::InputOp input) {
    auto type = cast<nn::Tensor>(input.getValue().getType());
    int64_t row = input.getShift() + (type.getRank() > 1 ? type.getDims().back().getSize() : 1);
    facts.row = std::max(facts.row, row);
    int64_t vocabulary = input.getVocabulary();
    if (vocabulary && (!facts.vocabulary || vocabulary < facts.vocabulary))
      facts.vocabulary = vocabulary;
  });
}

void readCollectives(ModuleOp module, Facts &facts) {
  module.walk([&](dist::CollectiveOp op) {
    StringRef function = op->getParentOfType<nn::LayerOp>().getSymName();
    facts.collectives.push_back((function + " " + dist::spell(op)).str());
  });
}

class Shrinker {
public:
  Shrinker(const Source &source, const Options &options) : source(source), options(options) {}
  std::optional<Shrunk> run();

private:
  std::optional<Facts> ask(const std::vector<std::string> &overrides, llvm::raw_ostream &errors);
  bool accept(const std::string &override, llvm::function_ref<bool(const Facts &)> hasEffect);
  void shrinkBatch();
  void shrinkDims();
  void shrinkDepth();
  std::vector<int64_t> candidates(int64_t size, int64_t ranks, int64_t least) const;

  const Source &source;
  const Options &options;
  Facts full, now;
  Shrunk shrunk;
};

std::optional<Facts> Shrinker::ask(const std::vector<std::string> &overrides,
                                   llvm::raw_ostream &errors) {
  Facts facts;
  Options asked = options;
  llvm::append_range(asked.parse.replacements, overrides);
  asked.last = Phase::shard;
  asked.errors = &errors;
  asked.costSizes = shrunk.costSizes;
  asked.after = [&](Phase phase, ModuleOp module) {
    if (phase == Phase::parse) {
      readSizes(module, facts);
      readCuts(module, facts);
      readInputs(module, facts);
      facts.cutsStages = lang::Settings(module).plan.stages.size() > 1;
    } else if (phase == Phase::shard) {
      readStages(module, facts);
      readCollectives(module, facts);
    }
  };
  if (!compile(source, asked).ok())
    return std::nullopt;
  return facts;
}

/// Keeps one more override if it has an effect and the plan keeps its collectives.
bool Shrinker::accept(const std::string &override,
                      llvm::function_ref<bool(const Facts &)> hasEffect) {
  std::vector<std::string> overrides = shrunk.overrides;
  overrides.push_back(override);
  std::optional<Facts> facts = ask(overrides, llvm::nulls());
  if (!facts || !hasEffect(*facts) || facts->collectives != full.collectives)
    return false;
  now = *facts;
  shrunk.overrides = std::move(overrides);
  return true;
}

/// Sizes from `least` on that are divisible by the ranks, and by 2, just where `size` is.
std::vector<int64_t> Shrinker::candidates(int64_t size, int64_t ranks, int64_t least) const {
  std::vector<int64_t> found;
  int64_t step = 1;
  for (int64_t n = least; n < size && found.size() < 24; n += step) {
    bool alike = (n % ranks == 0) == (size % ranks == 0) && n % 2 == size % 2;
    if (!alike)
      continue;
    found.push_back(n);
    if (found.size() % 6 == 0) // a much larger size may do what none of the small ones does
      step = std::max(step, n / 2 * ranks);
  }
  return found;
}

void Shrinker::shrinkBatch() {
  int64_t microbatches = full.batch / full.dataRanks / full.microbatch;
  for (int64_t rows : {std::min<int64_t>(full.microbatch, 2), full.microbatch})
    for (int64_t count : {std::min<int64_t>(microbatches, 2), std::min<int64_t>(microbatches, 4)}) {
      int64_t batch = rows * count * full.dataRanks;
      // Both at once: each alone may not divide the other.
      std::vector<std::string> before = shrunk.overrides;
      shrunk.overrides.push_back("plan.microbatch=" + std::to_string(rows) + " sequences");
      if (accept("recipe.batch=" + std::to_string(batch) + " sequences",
                 [&](const Facts &facts) { return facts.batch == batch; })) {
        if (batch != full.batch)
          shrunk.sizes.push_back({"batch", full.batch, batch});
        if (rows != full.microbatch)
          shrunk.sizes.push_back({"microbatch", full.microbatch, rows});
        return;
      }
      shrunk.overrides = before;
    }
}

/// Larger dimensions stay larger, so that none is taken for another.
void Shrinker::shrinkDims() {
  std::vector<std::pair<int64_t, std::string>> ascending;
  for (auto &[name, size] : full.dims)
    if (name != lang::dimension::batch)
      ascending.push_back({size, name});
  llvm::sort(ascending);
  int64_t before = 0, after = 0;
  for (auto &[size, name] : ascending) {
    auto cut = full.ranks.find(name);
    int64_t ranks = cut == full.ranks.end() ? 1 : cut->second;
    int64_t least = std::max(ranks == 1 ? kLeast : ranks * kPositions, after + (size > before));
    std::string prefix = (full.numbers.count(name) ? "model." : "data.") + name + "=";
    int64_t chosen = size;
    for (int64_t n : candidates(size, ranks, least))
      if (accept(prefix + std::to_string(n),
                 [&](const Facts &facts) { return facts.dims.at(name) == n; })) {
        chosen = n;
        shrunk.sizes.push_back({name, size, n});
        break;
      }
    // A dimension that cannot shrink does not keep larger ones from it.
    if (chosen < size || size <= least)
      before = size, after = std::max(after, chosen);
  }
}

/// Distributes so many layers over so many stages, the first of which have more: "2, 1".
static std::string spellStages(int64_t layers, int64_t stages) {
  std::string text;
  for (int64_t stage = 0; stage < stages; ++stage)
    text += (stage ? ", " : "") + std::to_string(layers / stages + (stage < layers % stages));
  return text;
}

/// A number of the model that is no dimension, but changes its number of layers: at least one in
/// each stage.
void Shrinker::shrinkDepth() {
  for (auto &[name, size] : full.numbers) {
    if (full.dims.count(name))
      continue;
    auto isLess = [&](const Facts &facts) { return facts.layers < now.layers; };
    for (int64_t least : kDepths) {
      int64_t depth = std::max(least, full.stages);
      std::vector<std::string> before = shrunk.overrides;
      if (full.cutsStages)
        shrunk.overrides.push_back("plan.stages=" + spellStages(depth, full.stages));
      if (depth < size && accept("model." + name + "=" + std::to_string(depth), isLess)) {
        shrunk.sizes.push_back({name, size, depth});
        break;
      }
      shrunk.overrides = before;
    }
  }
}

std::optional<Shrunk> Shrinker::run() {
  std::optional<Facts> facts = ask({}, *options.errors);
  if (!facts)
    return std::nullopt;
  full = now = *facts;
  shrunk.costSizes = full.dims;
  shrunk.costSizes[lang::dimension::batch.str()] = full.microbatch * full.dataRanks;
  shrinkBatch();
  shrinkDims();
  shrinkDepth();
  shrunk.ranks = full.meshRanks;
  shrunk.microbatch = now.microbatch * now.dataRanks;
  shrunk.batch = now.batch;
  shrunk.row = now.row;
  shrunk.vocabulary = now.vocabulary;
  shrunk.collectives = full.collectives.size();
  return shrunk;
}

} // namespace

std::optional<Shrunk> verify::shrink(const Source &source, const Options &options) {
  return Shrinker(source, options).run();
}
