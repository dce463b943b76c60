//===- Plans.cpp - how a step is laid out -------------------------------------===//
//
// Lines that no phase implements are refused here, at their place; a line whose
// value changes nothing passes. Those about the mesh: Layouts.cpp.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Plans.h"
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Sizes.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {
using LineReader = void (*)(PlanContext &, const Setting &);
struct Line {
  StringRef key;
  LineReader read;
};

void readMicrobatch(PlanContext &plan, const Setting &line) {
  auto n = amount(plan.report, line.items[0].quantity, Unit::Sequences, "a microbatch");
  if (!n)
    return;
  int64_t ranks = plan.layout.ranks(plan.layout.find(lang::dimension::batch)),
          rows = plan.recipe.batch / ranks;
  // It has been checked that the ranks divide the batch.
  if (plan.recipe.batch % ranks == 0 && rows % n->value) {
    std::string of = llvm::formatv(
        ranks > 1 ? "the {0} sequences of a rank" : "the batch of {0} sequences", rows);
    auto error =
        plan.report.error(line.items[0].loc, "a microbatch must divide {0}: {1}, found {2}", of,
                          nearestDivisors(rows, n->value, "or"), n->value);
    error.note(plan.recipe.data.find(lang::dimension::batch)->second.loc,
               "the batch is given here");
    fixNumber(error, tokenAt(line.items[0].loc), divisorsBeside(rows, n->value));
    if (ranks > 1)
      error.note(plan.layout.mesh, "the mesh is given here");
    return;
  }
  plan.fields.microbatch = n->value;
}

/// blocks[0..1] as numbers of layers of the whole model.
std::optional<std::pair<int64_t, int64_t>> layerRange(PlanContext &plan, const SelectorItem &item) {
  const Segment &s = item.path[0];
  std::vector<StringRef> lists;
  for (const ModelInfo::List &list : plan.model.info.lists) {
    lists.push_back(list.name);
    if (list.name != s.name.text || item.path.size() != 1)
      continue;
    if (!s.ranged)
      return std::pair(list.first, list.first + list.count - 1);
    auto [first, last] = s.layersOf(list.count);
    if (first < 0 || first > last || last >= list.count) {
      plan.report.error(s.rangeLoc, "{0} has the layers 0 to {1}, found {2}", list.name,
                        list.count - 1, item.str());
      return std::nullopt;
    }
    return std::pair(list.first + first, list.first + last);
  }
  plan.report.error(item.loc, "recompute takes lists of layers, found {0}", item.str())
      .suggest(s.name.text, lists);
  return std::nullopt;
}

void readRecompute(PlanContext &plan, const Setting &line) {
  std::optional<lang::RecomputePolicy> standard;
  lang::Recompute recompute;
  SmallVector<std::pair<std::pair<int64_t, int64_t>, SMLoc>> chosen;
  for (const Item &item : line.items) {
    auto policy = wordOf<lang::RecomputePolicy>(plan, item.name, "recompute policy");
    if (!policy)
      return;
    if (!item.selector) {
      if (standard) {
        plan.report.error(item.loc, "a second policy needs its layers: {0} for blocks[0..1]",
                          item.name.text);
        return;
      }
      standard = policy;
      continue;
    }
    if (!item.selector->except.empty()) {
      plan.report.error(item.selector->except[0].loc,
                        "recompute takes no `except`: name the layers");
      return;
    }
    for (const SelectorItem &selected : item.selector->include) {
      auto range = layerRange(plan, selected);
      if (!range)
        return;
      for (const auto &[other, loc] : chosen)
        if (range->first <= other.second && other.first <= range->second) {
          plan.report
              .error(selected.loc, "a layer has one policy of recompute, found a second for {0}",
                     selected.str())
              .note(loc, "the first is here");
          return;
        }
      chosen.push_back({*range, selected.loc});
      recompute.rules.push_back({*policy, range->first, range->second});
    }
  }
  recompute.standard = standard.value_or(lang::RecomputePolicy::None);
  plan.fields.recompute = std::move(recompute);
}

void readFuse(PlanContext &plan, const Setting &line) {
  if (oneOf(plan, line.items[0].name, {"on", "off"}, "value of fuse"))
    plan.fields.fuse = line.items[0].name.text == "on";
}

/// `all`, `none` or `auto` alone, or kinds of communication, each once.
void readOverlap(PlanContext &plan, const Setting &line) {
  using lang::Overlap;
  static constexpr Overlap all[] = {Overlap::Dp, Overlap::Zero, Overlap::Tp, Overlap::Pp,
                                    Overlap::Pairs};
  StringRef first = line.items[0].name.text;
  if (line.items.size() == 1 && first == "auto")
    return;
  std::vector<Overlap> &kinds = plan.fields.overlap.emplace();
  if (line.items.size() == 1 && first == "all")
    kinds.assign(std::begin(all), std::end(all));
  if (line.items.size() == 1 && (first == "all" || first == "none"))
    return;
  for (const Item &item : line.items) {
    if (llvm::is_contained({"all", "none", "auto"}, item.name.text)) {
      plan.report.error(item.loc, "`{0}` stands alone: drop the others, or it", item.name.text);
      return;
    }
    auto kind = wordOf<Overlap>(plan, item.name, "kind of overlap");
    if (!kind)
      return;
    if (llvm::is_contained(kinds, *kind)) {
      plan.report.error(item.loc, "a kind of overlap is named once, found {0} again",
                        item.name.text);
      return;
    }
    kinds.push_back(*kind);
  }
}

/// Whether sums of ranks have one order on every transport, or NCCL's order where NCCL moves the
/// data.
void readReduce(PlanContext &plan, const Setting &line) {
  if (auto reduce = wordOf<lang::Reduce>(plan, line.items[0].name, "kind of reduction"))
    plan.fields.reduce = *reduce;
}

/// Which ranks read the data files: each reads its rows, or the first reads all and sends them.
void readRead(PlanContext &plan, const Setting &line) {
  if (auto read = wordOf<lang::Read>(plan, line.items[0].name, "value of read"))
    plan.fields.read = *read;
}

void readMemory(PlanContext &plan, const Setting &line) {
  if (auto bytes = amount(plan.report, line.items[0].quantity, Unit::Bytes, "memory"))
    plan.fields.memory = bytes->value;
}

/// Two hops are inside a node and between nodes, so a group needs several ranks in each of several
/// nodes.
void readHops(PlanContext &plan, const Setting &line) {
  const Item &item = line.items[0];
  auto hops = amount(plan.report, item.quantity, Unit::Count, "the number of hops");
  if (!hops)
    return;
  if (line.items.size() > 1 || hops->value < 1 || hops->value > 2) {
    auto error = plan.report.error(item.loc,
                                   "ranks exchange in one hop or in two: write `hops 1` "
                                   "or `hops 2`, found {0}",
                                   hops->value);
    fixNumber(error, tokenAt(item.loc), {2, 1});
    return;
  }
  plan.fields.hops = hops->value;
  if (hops->value == 1)
    return;
  const Cluster *cluster = plan.cluster;
  if (!cluster) {
    plan.report.error(item.loc, "`hops 2` needs the nodes of a cluster: plan {0} : {1} on ..",
                      plan.settings.name.text, plan.recipe.settings->name.text);
    return;
  }
  int64_t stride = 1, inside = 1, across = 1;
  for (const lang::Axis &axis : llvm::reverse(plan.fields.mesh)) {
    if (axis.name != plan.fields.stageAxis) {
      int64_t fits = std::gcd(axis.size, std::max<int64_t>(1, cluster->devices / stride));
      inside *= fits;
      across *= axis.size / fits;
    }
    stride *= axis.size;
  }
  if (cluster->devices && (inside == 1 || across == 1))
    plan.report
        .error(item.loc,
               "`hops 2` needs a group with several ranks in each of several nodes: drop the line, "
               "found {0} in a node",
               inside)
        .note(plan.layout.mesh, "the mesh is given here")
        .note(cluster->loc, "the cluster has {0} nodes of {1} devices", cluster->nodes,
              cluster->devices);
}

/// How many channels NCCL may have for a group: each keeps a multiprocessor from computing.
void readChannels(PlanContext &plan, const Setting &line) {
  const Item &item = line.items[0];
  auto channels = amount(plan.report, item.quantity, Unit::Count, "the number of channels");
  if (!channels)
    return;
  if (line.items.size() > 1 || channels->value > lang::kMostChannels) {
    auto error = plan.report.error(item.loc,
                                   "a group exchanges over 1 to {0} channels of NCCL's: give one "
                                   "number of them, found {1}",
                                   lang::kMostChannels, channels->value);
    fixNumber(error, tokenAt(item.loc), {std::min(channels->value, lang::kMostChannels)});
    return;
  }
  plan.fields.channels = channels->value;
}

const Line kLines[] = {
    {"microbatch", readMicrobatch},
    {"precision", readPrecision},
    {"pipeline", readPipeline},
    {"stages", readStages},
    {"recompute", readRecompute},
    {"fuse", readFuse},
    {"overlap", readOverlap},
    {"memory", readMemory},
    {"reduce", readReduce},
    {"read", readRead},
    {"hops", readHops},
    {"channels", readChannels},
    {"compress", readCompress},
};
} // namespace

bool tplan::parse::oneOf(PlanContext &plan, const Name &word, ArrayRef<StringRef> known,
                         StringRef what) {
  if (llvm::is_contained(known, word.text))
    return true;
  auto error = plan.report.error(word.loc, "unknown {0}: {1}; known are {2}", what, word.text,
                                 llvm::join(known, ", "));
  suggestOurs(error, Habit::Format, word.text, known);
  return false;
}

void tplan::parse::emitPlan(ModelBuilder &model, const Settings &settings, const Recipe &recipe,
                            StringRef recipeSymbol, const Cluster *cluster, StringRef symbol) {
  PlanContext plan{
      model, model.report, settings, recipe, cluster, {}, Places(model.report, settings.name.loc),
      {}};
  plan.fields.recipe = recipeSymbol;
  if (cluster)
    plan.fields.cluster = cluster->symbol;
  for (const auto &[key, line] : settings.lines)
    plan.places.add(key, line->loc);
  readLayout(plan);
  for (const Line &line : kLines)
    if (const Setting *given = settings.find(line.key))
      line.read(plan, *given);
  // Writes into the IR, where people look for them, the defaults that phases rely on.
  if (!plan.fields.microbatch)
    plan.fields.microbatch =
        recipe.batch / plan.layout.ranks(plan.layout.find(lang::dimension::batch));
  completeStages(plan);
  model.builder.setInsertionPointToEnd(model.module->getBody());
  lang::PlanOp::create(model.builder, plan.places.location(), symbol,
                       lang::PlanAttr::get(model.context, plan.fields));
}
