//===- Plans.cpp - clusters, and how a step is laid out ----------------------===//
//
// Lines that no phase implements are refused here, at their place; a line whose
// value changes nothing (overlap none) passes. Those about the mesh: Layouts.cpp.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/LossScale.h"
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Foreign.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

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

void readMicrobatch(PlanContext &c, const Setting &line) {
  auto n = amount(c.e.report, line.items[0].quantity, Unit::Sequences, "a microbatch");
  if (!n)
    return;
  int64_t ranks = c.layout.ranks(c.layout.find("B")), rows = c.recipe.batch / ranks;
  // That the ranks divide the batch has been checked.
  if (c.recipe.batch % ranks == 0 && rows % n->value) {
    std::string of = llvm::formatv(
        ranks > 1 ? "the {0} sequences of a rank" : "the batch of {0} sequences", rows);
    auto error = c.e.report.error(line.items[0].loc, "a microbatch must divide {0}: {1}, found {2}",
                                  of, nearestDivisors(rows, n->value, "or"), n->value);
    error.note(c.recipe.data.find("B")->second.loc, "the batch is given here");
    fixNumber(error, tokenAt(line.items[0].loc), divisorsBeside(rows, n->value));
    if (ranks > 1)
      error.note(c.layout.mesh, "the mesh is given here");
    return;
  }
  c.out.whole("microbatch", n->value, line.loc);
}

/// An argument of f16: from 1 to `most`, a power of two or a whole number.
struct ScaleArg {
  StringRef name;
  double standard, most;
  bool isPower;
  StringRef what;
};
static_assert(lang::LossScale::kLeast == 1 && lang::LossScale::kMost == 0x1p48);
constexpr StringLiteral kPower = "a power of two from 1 to 2^48, so that it divides exactly";
const ScaleArg kScaleArgs[] = {
    {"scale", 0, lang::LossScale::kMost, true, kPower},
    {"init_scale", 65536, lang::LossScale::kMost, true, kPower},
    {"growth_interval", 2000, 1e9, false, "a whole number of steps from 1 to 1e9"},
};

bool holds(const ScaleArg &arg, double value) {
  int exponent;
  bool fits = arg.isPower ? std::frexp(value, &exponent) == 0.5 : value == std::floor(value);
  return fits && value >= lang::LossScale::kLeast && value <= arg.most;
}

/// What multiplies the cotangents of the losses: `f16(scale = 1024)`, or by what steps show.
void readLossScale(PlanContext &c, const Item &item, SMLoc line) {
  SmallVector<StringRef> names = llvm::map_to_vector(kScaleArgs, [](auto &a) { return a.name; });
  llvm::StringMap<double> values;
  for (const ScaleArg &arg : kScaleArgs)
    values[arg.name] = arg.standard;
  const Arg *constant = nullptr, *dynamic = nullptr;
  llvm::StringMap<SMLoc> first;
  for (const Arg &given : item.args) {
    const ScaleArg *arg =
        llvm::find_if(kScaleArgs, [&](auto &a) { return a.name == given.key.text; });
    if (arg == std::end(kScaleArgs)) {
      bool named = !given.key.text.empty();
      c.e.report
          .error(named ? given.key.loc : given.value->loc, "f16 takes {0}, found an argument {1}",
                 llvm::join(names, ", "), named ? given.key.text : StringRef("without a name"))
          .suggest(given.key.text, names);
      return;
    }
    if (auto [it, fresh] = first.try_emplace(arg->name, given.key.loc); !fresh) {
      c.e.report.error(given.key.loc, "given twice: {0}", arg->name)
          .note(it->second, "the first is here");
      return;
    }
    if (given.except) {
      c.e.report.error(given.key.loc, "`except` belongs to decay, not to {0}", arg->name);
      return;
    }
    std::optional<Number> number = c.e.number(*given.value, Env());
    if (!number)
      return;
    if (!holds(*arg, number->real)) {
      c.e.report.error(given.value->loc, "{0} is {1}, found {2}", arg->name, arg->what,
                       spell(*number));
      return;
    }
    values[arg->name] = number->real;
    (arg == kScaleArgs ? constant : dynamic) = &given;
  }
  if (constant && dynamic) {
    c.e.report
        .error(dynamic->key.loc, "a constant scale has no {0}: drop it, or `scale`",
               dynamic->key.text)
        .note(constant->key.loc, "the constant scale is given here");
    return;
  }
  c.out.set("loss_scale",
            c.b.getDictionaryAttr(
                {c.b.getNamedAttr("start",
                                  c.b.getF64FloatAttr(values[constant ? "scale" : "init_scale"])),
                 c.b.getNamedAttr(
                     "interval", c.b.getI64IntegerAttr(constant ? 0 : values["growth_interval"]))}),
            line);
}

void readPrecision(PlanContext &c, const Setting &line) {
  const StringRef known[] = {"f32", "tf32", "bf16", "f16", "f64"};
  const Item &first = line.items[0];
  bool whole = line.items.size() == 1 && !first.selector;
  if (!whole || (first.called && !llvm::is_contained(known, first.name.text))) {
    const Item &at = line.items.size() > 1 ? line.items[1] : first;
    c.e.refuse(at.loc, Feature::Fp8);
    return;
  }
  if (!oneOf(c, first.name, known, "precision"))
    return;
  if (first.called && first.name.text != "f16") {
    c.e.report.error(first.name.loc,
                     "a loss is scaled for f16 alone: drop the arguments, found {0}",
                     first.name.text);
    return;
  }
  if (first.name.text == "f16")
    readLossScale(c, first, line.loc);
  c.out.set("precision", c.b.getStringAttr(first.name.text), line.loc);
  const Name &in = first.second;
  if (in.text.empty())
    return;
  // Of f32 and f64 the program in f64 is `f64` itself: there is no rounding to keep.
  if (llvm::is_contained({"bf16", "f16"}, first.name.text) && in.text == "f64")
    c.out.set("computed_in", c.b.getStringAttr(in.text), line.loc);
  else
    c.e.report.error(in.loc, "an oracle is `bf16 in f64` or `f16 in f64`, found {0} in {1}",
                     first.name.text, in.text);
}

/// The name is a row of the registry of policies, which a later phase knows.
void readPipeline(PlanContext &c, const Setting &line) {
  const Item &item = line.items[0];
  c.out.set("pipeline", c.b.getStringAttr(item.name.text), line.loc);
  if (!item.args.empty())
    c.e.refuse(item.args.front().value->loc, Feature::PipelineArguments);
}

void readStages(PlanContext &c, const Setting &line) {
  SmallVector<int64_t> layers;
  int64_t total = 0;
  for (const Item &item : line.items) {
    const Number &n = item.quantity.number;
    if (!n.integer || n.whole < 1 || n.whole > limits::layers) {
      c.e.report.error(item.loc, "a stage holds a whole number of layers from 1 to {0}, found {1}",
                       limits::layers, spell(n));
      return;
    }
    layers.push_back(n.whole);
    total += n.whole;
  }
  if (total != c.e.info.layers) {
    c.e.report.error(line.loc,
                     "stages must add up to the {0} layers of the model's lists, found {1}",
                     c.e.info.layers, total);
    return;
  }
  c.out.set("stages", c.b.getI64ArrayAttr(layers), line.loc);
}

/// blocks[0..1] as numbers of layers of the whole model.
std::optional<std::pair<int64_t, int64_t>> layerRange(PlanContext &c, const SelectorItem &item) {
  const Segment &s = item.path[0];
  std::vector<StringRef> lists;
  for (const ModelInfo::List &list : c.e.info.lists) {
    lists.push_back(list.name);
    if (list.name != s.name.text || item.path.size() != 1)
      continue;
    if (!s.ranged)
      return std::pair(list.first, list.first + list.count - 1);
    if (s.first < 0 || s.first > s.last || s.last >= list.count) {
      c.e.report.error(s.rangeLoc, "{0} has the layers 0 to {1}, found {2}", list.name,
                       list.count - 1, item.str());
      return std::nullopt;
    }
    return std::pair(list.first + s.first, list.first + s.last);
  }
  c.e.report.error(item.loc, "recompute takes lists of layers, found {0}", item.str())
      .suggest(s.name.text, lists);
  return std::nullopt;
}

void readRecompute(PlanContext &c, const Setting &line) {
  StringRef standard;
  SmallVector<Attribute> rules;
  SmallVector<std::pair<std::pair<int64_t, int64_t>, SMLoc>> chosen;
  for (const Item &item : line.items) {
    if (!oneOf(c, item.name, {"none", "full"}, "recompute policy"))
      return;
    if (!item.selector) {
      if (!standard.empty()) {
        c.e.report.error(item.loc, "a second policy needs its layers: {0} for blocks[0..1]",
                         item.name.text);
        return;
      }
      standard = item.name.text;
      continue;
    }
    if (!item.selector->except.empty()) {
      c.e.report.error(item.selector->except[0].loc,
                       "recompute takes no `except`: name the layers");
      return;
    }
    for (const SelectorItem &selected : item.selector->include) {
      auto range = layerRange(c, selected);
      if (!range)
        return;
      for (const auto &[other, loc] : chosen)
        if (range->first <= other.second && other.first <= range->second) {
          c.e.report
              .error(selected.loc, "a layer has one policy of recompute, found a second for {0}",
                     selected.str())
              .note(loc, "the first is here");
          return;
        }
      chosen.push_back({*range, selected.loc});
      rules.push_back(c.b.getDictionaryAttr(
          {c.b.getNamedAttr("policy", c.b.getStringAttr(item.name.text)),
           c.b.getNamedAttr("layers", c.b.getI64ArrayAttr({range->first, range->second}))}));
    }
  }
  c.out.set(
      "recompute",
      c.b.getDictionaryAttr(
          {c.b.getNamedAttr("default", c.b.getStringAttr(standard.empty() ? "none" : standard)),
           c.b.getNamedAttr("rules", c.b.getArrayAttr(rules))}),
      line.loc);
}

void readFuse(PlanContext &c, const Setting &line) {
  if (oneOf(c, line.items[0].name, {"on", "off"}, "value of fuse"))
    c.out.set("fuse", c.b.getBoolAttr(line.items[0].name.text == "on"), line.loc);
}

void readOverlap(PlanContext &c, const Setting &line) {
  if (line.items.size() != 1 || line.items[0].name.text != "none")
    c.e.refuse(line.loc, Feature::Overlap);
}

/// Whether sums of ranks have one order on every transport, or NCCL's where that moves the data.
void readReduce(PlanContext &c, const Setting &line) {
  if (oneOf(c, line.items[0].name, {"ordered", "native"}, "kind of reduction"))
    c.out.set("reduce", c.b.getStringAttr(line.items[0].name.text), line.loc);
}

/// Which ranks read the data files: each its rows, or the first, which sends them.
void readRead(PlanContext &c, const Setting &line) {
  if (oneOf(c, line.items[0].name, {"every", "first"}, "value of read"))
    c.out.set("read", c.b.getStringAttr(line.items[0].name.text), line.loc);
}

void readMemory(PlanContext &c, const Setting &line) {
  if (auto bytes = amount(c.e.report, line.items[0].quantity, Unit::Bytes, "memory"))
    c.out.whole("memory", bytes->value, line.loc);
}

template <Feature feature> void notBuilt(PlanContext &c, const Setting &line) {
  c.e.refuse(line.loc, feature);
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
    {"compress", notBuilt<Feature::Compress>},
};
} // namespace

bool tplan::parse::oneOf(PlanContext &c, const Name &word, ArrayRef<StringRef> known,
                         StringRef what) {
  if (llvm::is_contained(known, word.text))
    return true;
  auto error = c.e.report.error(word.loc, "unknown {0}: {1}; known are {2}", what, word.text,
                                llvm::join(known, ", "));
  suggestOurs(error, Habit::Format, word.text, known);
  return false;
}

void tplan::parse::emitPlan(Elaborator &e, const Settings &settings, const Recipe &recipe,
                            StringRef recipeSymbol, const Cluster *cluster, StringRef symbol) {
  Entries out(e.report, settings.name.loc);
  PlanContext c{e, settings, recipe, cluster, out, Builder(e.context), {}};
  SMLoc loc = settings.name.loc;
  out.set("recipe", c.b.getStringAttr(recipeSymbol), loc);
  if (cluster)
    out.set("cluster", c.b.getStringAttr(cluster->symbol), loc);
  readLayout(c);
  for (const Line &line : kLines)
    if (const Setting *given = settings.find(line.key))
      line.read(c, *given);
  // Defaults: the serial meaning, on each rank.
  if (!settings.find("microbatch"))
    out.whole("microbatch", recipe.batch / c.layout.ranks(c.layout.find("B")), loc);
  if (!settings.find("precision"))
    out.set("precision", c.b.getStringAttr("f32"), loc);
  if (!settings.find("pipeline"))
    out.set("pipeline", c.b.getStringAttr("accumulate"), loc);
  if (!settings.find("stages"))
    out.set("stages", c.b.getI64ArrayAttr({e.info.layers}), loc);
  if (!settings.find("recompute"))
    out.set("recompute",
            c.b.getDictionaryAttr({c.b.getNamedAttr("default", c.b.getStringAttr("none")),
                                   c.b.getNamedAttr("rules", c.b.getArrayAttr({}))}),
            loc);
  if (!settings.find("fuse"))
    out.set("fuse", c.b.getBoolAttr(true), loc);
  e.builder.setInsertionPointToEnd(e.module->getBody());
  lang::PlanOp::create(e.builder, out.location(), symbol, out.settings());
}

//===----------------------------------------------------------------------===//
// Clusters
//===----------------------------------------------------------------------===//

/// A link's rate is per direction; names whose rates are often given as the sum of
/// both must say so.
static Attribute emitLink(Elaborator &e, const Item &item, StringRef where) {
  Builder b(e.context);
  if (item.second.text != where)
    e.report.error(item.second.loc, "expected {0}, found {1}", where, item.second.text);
  auto rate = amount(e.report, item.quantity, Unit::Rate, "the rate of a link");
  std::string per;
  for (const Name &word : item.names)
    per += (per.empty() ? "" : " ") + word.text.str();
  bool both = per == "gpu both ways", each = per == "gpu each way";
  if (!both && !each && !per.empty() && per != "gpu")
    e.report.error(item.names[0].loc,
                   "expected `per gpu`, `per gpu each way` or `per gpu both ways`, "
                   "found: per {0}",
                   per);
  if (!both && !each && item.name.text != "infiniband" && item.name.text != "ethernet")
    e.report.error(item.name.loc,
                   "the rate of {0} leaves its direction open: add `per gpu each way` "
                   "or `per gpu both ways`",
                   item.name.text);
  int64_t rails = item.to.loc.isValid() && item.to.number.integer ? item.to.number.whole : 1;
  return b.getDictionaryAttr(
      {b.getNamedAttr("kind", b.getStringAttr(item.name.text)),
       b.getNamedAttr("bits_per_second",
                      b.getI64IntegerAttr(rate ? (both ? rate->value / 2 : rate->value) : 0)),
       b.getNamedAttr("rails", b.getI64IntegerAttr(rails))});
}

Cluster tplan::parse::emitCluster(Elaborator &e, const Settings &settings, StringRef symbol) {
  Cluster cluster{symbol.str(), 0, 0, {}};
  Entries out(e.report, settings.name.loc);
  Builder b(e.context);
  const Setting *nodes = settings.find("nodes");
  if (!nodes) {
    e.report.error(settings.name.loc, "cluster {0} needs its nodes: 4 nodes of 8 \"H100\"",
                   settings.name.text);
    return cluster;
  }
  const Item &item = nodes->items[0];
  auto count = amount(e.report, item.quantity, Unit::Nodes, "a cluster");
  if (!item.to.number.integer || item.to.number.whole < 1 || item.to.number.whole > limits::size) {
    e.report.error(item.to.loc, "a node has a whole number of devices from 1, found {0}",
                   spell(item.to.number));
    return cluster;
  }
  if (count)
    cluster = {symbol.str(), count->value, item.to.number.whole, nodes->loc};
  out.whole("nodes", cluster.nodes, nodes->loc);
  out.whole("devices", cluster.devices, nodes->loc);
  out.set("device", b.getStringAttr(item.string), nodes->loc);
  doubtDevice(e.report, {item.string, SMLoc::getFromPointer(item.string.data())});
  if (const Setting *line = settings.find("between"))
    out.set("between", emitLink(e, line->items[0], "nodes"), line->loc);
  if (const Setting *line = settings.find("inside"))
    out.set("inside", emitLink(e, line->items[0], "node"), line->loc);
  if (const Setting *line = settings.find("memory"))
    if (auto bytes = amount(e.report, line->items[0].quantity, Unit::Bytes, "memory"))
      out.whole("memory", bytes->value, line->loc);
  e.builder.setInsertionPointToEnd(e.module->getBody());
  lang::ClusterOp::create(e.builder, out.location(), symbol, out.settings());
  return cluster;
}
