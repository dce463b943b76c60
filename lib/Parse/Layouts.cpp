//===- Layouts.cpp - meshes, and what is sharded over them -------------------===//
//
// The lines of a plan that say where values lie: mesh, shard and layout (zero: Zero.cpp). The
// layout of a standard model becomes shard items here, so no later phase knows it.
//
// Checked is what names and sizes decide. Whether an axis may serve two dimensions
// is for the shard phase, which knows the tensors in which they meet.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Dimensions.h"
#include "dialects/tplan/Settings.h"
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Plans.h"
#include "lib/Parse/Spelling.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

/// A layout by name: the dimensions of standard models that its axis shards.
struct StandardLayout {
  StringRef name;
  std::array<StringRef, 4> dims;
};
const StandardLayout kLayouts[] = {{"megatron",
                                    {
#define MEGATRON(id) lang::dimension::id,
#include "dialects/tplan/Dimensions.def"
                                    }}};

/// Dimensions with a meaning of their own, and what sharding them would be.
struct Refused {
  StringRef dim;
  Feature feature;
};
const Refused kRefused[] = {
#define REFUSED(id, feature) {lang::dimension::id, Feature::feature},
#include "dialects/tplan/Dimensions.def"
};

template <class Map> std::vector<StringRef> keys(const Map &map) {
  std::vector<StringRef> names;
  for (auto &entry : map)
    names.push_back(entry.first);
  return names;
}

/// The axis along which each rank holds a stage of the pipeline. Later phases read its name from
/// the plan.
constexpr StringLiteral kStageAxis = "pp";

bool tooMany(PlanContext &plan, const Setting &line) {
  if (line.items.size() <= limits::parts)
    return false;
  plan.report.error(line.loc, "{0} has at most {1} parts, found {2}", line.key, limits::parts,
                    line.items.size());
  return true;
}

//===----------------------------------------------------------------------===//
// mesh dp = 2, tp = 4
//===----------------------------------------------------------------------===//

void checkCluster(PlanContext &plan, const Setting &line, int64_t ranks) {
  const Cluster *cluster = plan.cluster;
  // One rank is the serial meaning, on whatever machine.
  if (!cluster || !cluster->nodes || ranks == 1)
    return;
  if (ranks % cluster->devices || ranks / cluster->devices != cluster->nodes)
    plan.report
        .error(line.loc, "a mesh has one rank for each device of its cluster, {0} x {1}, found {2}",
               cluster->nodes, cluster->devices, ranks)
        .note(cluster->loc, "the cluster has {0} nodes of {1} devices", cluster->nodes,
              cluster->devices);
}

void readMesh(PlanContext &plan, const Setting &line) {
  Report &report = plan.report;
  if (!line.name.text.empty())
    return refuse(plan.report, line.name.loc, Feature::Factoring);
  if (tooMany(plan, line))
    return;
  plan.layout.mesh = line.loc;
  int64_t ranks = 1;
  std::vector<lang::Axis> axes;
  std::vector<std::string> sizes;
  for (const Item &item : line.items) {
    const Number &n = item.quantity.number;
    sizes.push_back(spell(n));
    if (!n.integer || n.whole < 1) {
      report.error(item.loc, "an axis of a mesh has a whole number of ranks from 1, found {0}",
                   sizes.back());
      continue;
    }
    auto [it, fresh] = plan.layout.axes.insert({item.name.text, Axis{n.whole, item.loc}});
    if (!fresh)
      report.error(item.loc, "a mesh names an axis once, found twice: {0}", item.name.text)
          .note(it->second.loc, "{0} is given here", item.name.text);
    if (item.name.text == kStageAxis && n.whole > 1) {
      plan.fields.stageAxis = kStageAxis;
      it->second.used = true;
    }
    ranks = n.whole > lang::kMostRanks / ranks ? lang::kMostRanks + 1 : ranks * n.whole;
    if (ranks > lang::kMostRanks)
      break;
    axes.push_back({item.name.text.str(), n.whole});
  }
  if (ranks > lang::kMostRanks)
    report.error(line.loc, "a mesh has at most {0} ranks, found {1}", lang::kMostRanks,
                 llvm::join(sizes, " x "));
  else
    checkCluster(plan, line, ranks);
  plan.fields.mesh = std::move(axes);
}

//===----------------------------------------------------------------------===//
// shard B over dp;  H, G, F, V over tp;  S of residual over tp
//===----------------------------------------------------------------------===//

/// The axis, or an error that lists those of the mesh.
Axis *findAxis(PlanContext &plan, const Name &name) {
  auto it = plan.layout.axes.find(name.text);
  if (it != plan.layout.axes.end())
    return &it->second;
  if (!plan.layout.mesh.isValid()) {
    auto error = plan.report.error(
        name.loc, "the plan has no mesh: add `mesh {0} = 2`, found over {0}", name.text);
    for (StringRef key : {"shard", "layout", "zero"})
      if (const Setting *line = plan.settings.find(key)) {
        error.fix(
            {{StringRef(line->loc.getPointer(), 0), ("mesh " + name.text + " = 2\n  ").str()}});
        break;
      }
    return nullptr;
  }
  std::vector<StringRef> names = keys(plan.layout.axes);
  plan.report
      .error(name.loc, "the axes of the mesh are {0}, found {1}", llvm::join(names, ", "),
             name.text)
      .suggest(name.text, names)
      .note(plan.layout.mesh, "the mesh is given here");
  return nullptr;
}

using Dimensions = llvm::MapVector<StringRef, int64_t>;

bool checkDim(PlanContext &plan, const Name &dim, const Name &of, const Dimensions &dims) {
  Report &report = plan.report;
  if (!dims.count(dim.text)) {
    std::vector<StringRef> names = keys(dims);
    report
        .error(dim.loc, "the dimensions of the model are {0}, found {1}", llvm::join(names, ", "),
               dim.text)
        .suggest(dim.text, names);
    return false;
  }
  if (!of.text.empty()) {
    if (!oneOf(plan, of, {"residual"}, "part of the model"))
      return false;
    if (plan.model.info.lists.empty()) {
      report.error(of.loc,
                   "the residual is what the layers of a list hand on: drop `{0} of residual`, "
                   "found a model without a list",
                   dim.text);
      return false;
    }
    if (dim.text != lang::dimension::sequence)
      report.error(dim.loc,
                   "of the residual only the sequence is sharded: S of residual, found {0}",
                   dim.text);
    return dim.text == lang::dimension::sequence;
  }
  for (const Refused &refused : kRefused)
    if (refused.dim == dim.text) {
      refuse(plan.report, dim.loc, refused.feature);
      return false;
    }
  return true;
}

/// Along the axis of the stages ranks have different layers, so it cuts no dimension.
bool refuseStageAxis(PlanContext &plan, ArrayRef<Name> axes) {
  for (const Name &name : axes)
    if (name.text == plan.fields.stageAxis) {
      plan.report
          .error(name.loc,
                 "ranks along {0} hold other layers, so it shards no dimension: choose "
                 "another axis, or another name for it; found over {0}",
                 name.text)
          .note(plan.layout.axes.find(name.text)->second.loc, "{0} is given here", name.text);
      return false;
    }
  return true;
}

void addShard(PlanContext &plan, Shard shard, const Dimensions &dims) {
  Layout &layout = plan.layout;
  bool ok = findAxes(plan, shard.axes) && refuseStageAxis(plan, shard.axes);
  for (const Name &dim : shard.dims) {
    if (!checkDim(plan, dim, shard.of, dims)) {
      ok = false;
      break;
    }
    auto [it, fresh] = layout.sharded.try_emplace({dim.text, shard.of.text}, layout.shards.size());
    if (fresh)
      continue;
    ok = false;
    SMLoc first = it->second < layout.shards.size() ? layout.shards[it->second].loc : shard.loc;
    plan.report
        .error(dim.loc,
               "one item shards a dimension over all its axes, as in `B over pod, dp`, "
               "found twice: {0}",
               dim.text)
        .note(first, "{0} is sharded here", dim.text);
  }
  // An item with a mistake keeps its place, for `sharded`, but loses its axes.
  if (!ok)
    shard.axes.clear();
  for (const Name &name : shard.axes)
    layout.axes.find(name.text)->second.used = true;
  layout.shards.push_back(std::move(shard));
}

/// layout megatron(tp)
void readStandard(PlanContext &plan, const Setting &line, const Dimensions &dims) {
  const Item &item = line.items[0];
  std::vector<StringRef> names;
  for (const StandardLayout &layout : kLayouts)
    names.push_back(layout.name);
  if (!oneOf(plan, item.name, names, "layout"))
    return;
  if (item.args.size() > 1)
    return refuse(plan.report, item.args[1].value->loc, Feature::ContextRanks);
  const Arg *arg = item.args.empty() ? nullptr : &item.args[0];
  if (!arg || arg->value->kind != Expr::Ref || !arg->key.text.empty() || !arg->over.text.empty()) {
    plan.report.error(item.loc, "a layout takes the name of an axis: {0}(tp)", item.name.text);
    return;
  }
  const StandardLayout *standard = llvm::find_if(
      kLayouts, [&](const StandardLayout &layout) { return layout.name == item.name.text; });
  Shard shard{{}, {Name{arg->value->text, arg->value->loc}}, {}, line.loc};
  for (StringRef dim : standard->dims)
    if (dims.count(dim))
      shard.dims.push_back({dim, line.loc});
  if (shard.dims.empty())
    plan.report.error(item.loc, "the layout {0} shards {1}, found a model with the dimensions {2}",
                      standard->name, llvm::join(standard->dims, ", "),
                      llvm::join(keys(dims), ", "));
  addShard(plan, std::move(shard), dims);
}

/// A size that no layout pads must be a multiple of its ranks.
void checkMultiple(PlanContext &plan, const Shard *shard, StringRef what, int64_t size,
                   SMLoc given) {
  int64_t ranks = plan.layout.ranks(shard);
  if (size % ranks == 0)
    return;
  int64_t down = size / ranks * ranks, up = down + ranks;
  auto error = plan.report.error(
      shard->loc, "{0} must be a multiple of its {1} ranks: {2}, found {3}", what, ranks,
      down ? llvm::formatv("{0} or {1}", down, up).str() : std::to_string(up), size);
  error.note(given, "{0} is given here", what).note(plan.layout.mesh, "the mesh is given here");
  StringRef place = given.isValid() ? restOfLine(StringRef(given.getPointer(), 0)) : StringRef();
  if (size_t digit = place.find_first_of("0123456789"); digit != StringRef::npos)
    fixNumber(error, tokenAt(SMLoc::getFromPointer(place.data() + digit)),
              down ? ArrayRef<int64_t>{down, up} : ArrayRef<int64_t>{up});
}

void writeShards(PlanContext &plan) {
  for (auto [i, shard] : llvm::enumerate(plan.layout.shards)) {
    plan.fields.shard.push_back({strings(shard.dims), strings(shard.axes), shard.of.text.str()});
    plan.places.add(lang::shardKey(i), shard.loc);
  }
}

void readShards(PlanContext &plan) {
  const Setting *shard = plan.settings.find("shard"), *standard = plan.settings.find("layout");
  if ((!shard && !standard) || (shard && tooMany(plan, *shard)))
    return;
  Dimensions dims = lang::dimensionsOf(*plan.model.module);
  if (shard)
    for (const Item &item : shard->items)
      addShard(plan, Shard{item.names, item.axes, item.second, item.loc}, dims);
  if (standard)
    readStandard(plan, *standard, dims);
  checkMultiple(plan, plan.layout.find(lang::dimension::batch), "the batch", plan.recipe.batch,
                plan.recipe.data.find(lang::dimension::batch)->second.loc);
  if (const Shard *residual = plan.layout.find(lang::dimension::sequence, "residual");
      residual && dims.count(lang::dimension::sequence)) {
    auto given = plan.recipe.data.find(lang::dimension::sequence);
    checkMultiple(plan, residual, lang::dimension::sequence, dims[lang::dimension::sequence],
                  given == plan.recipe.data.end() ? SMLoc() : given->second.loc);
  }
  if (!shard) // the line that shards
    plan.places.add("shard", standard->loc);
  writeShards(plan);
}

/// What an axis could shard so that the plan compiles: B where nothing shards it yet, else those
/// dimensions of standard models that are free.
std::string useOf(PlanContext &plan, int64_t size) {
  Dimensions dims = lang::dimensionsOf(*plan.model.module);
  if (!plan.layout.find(lang::dimension::batch) && dims.count(lang::dimension::batch) &&
      plan.recipe.batch % size == 0)
    return lang::dimension::batch.str();
  std::string text;
  for (StringRef dim : kLayouts[0].dims)
    if (dims.count(dim) && !plan.layout.find(dim) && dims[dim] % size == 0)
      text += (text.empty() ? "" : ", ") + dim.str();
  return text;
}

void refuseIdle(PlanContext &plan, StringRef name, const Axis &axis) {
  std::string use = useOf(plan, axis.size);
  if (use.empty()) {
    plan.report.error(axis.loc, "an axis of the mesh shards nothing: drop it, found {0} = {1}",
                      name, axis.size);
    return;
  }
  auto error = plan.report.error(
      axis.loc, "an axis of the mesh shards nothing: add `shard {2} over {0}`, found {0} = {1}",
      name, axis.size, use);
  std::string item = use + " over " + name.str();
  if (const Setting *shard = plan.settings.find("shard"))
    error.fix({{StringRef(shard->items.front().loc.getPointer(), 0), item + "; "}});
  else
    error.fix({{StringRef(plan.layout.mesh.getPointer(), 0), "shard " + item + "\n  "}});
}

} // namespace

std::vector<std::string> tplan::parse::strings(ArrayRef<Name> names) {
  std::vector<std::string> texts;
  for (const Name &name : names)
    texts.push_back(name.text.str());
  return texts;
}

bool tplan::parse::findAxes(PlanContext &plan, ArrayRef<Name> names) {
  std::map<StringRef, SMLoc> seen;
  bool ok = true;
  for (const Name &name : names) {
    auto [it, fresh] = seen.try_emplace(name.text, name.loc);
    if (!fresh)
      plan.report.error(name.loc, "a list of axes names each once, found twice: {0}", name.text)
          .note(it->second, "{0} is given here", name.text);
    ok &= fresh && findAxis(plan, name);
  }
  return ok;
}

std::map<StringRef, int64_t> tplan::parse::ranksOf(const Settings &settings) {
  std::map<StringRef, int64_t> axes, ranks;
  if (const Setting *mesh = settings.find("mesh"))
    for (const Item &item : mesh->items)
      axes[item.name.text] = std::clamp<int64_t>(item.quantity.number.whole, 1, lang::kMostRanks);
  auto cut = [&](StringRef dim, StringRef axis) {
    int64_t &product = ranks.try_emplace(dim, 1).first->second;
    product =
        std::min(product * axes.try_emplace(axis, 1).first->second, int64_t(lang::kMostRanks));
  };
  if (const Setting *shard = settings.find("shard"))
    for (const Item &item : shard->items)
      if (item.second.text.empty())
        for (const Name &dim : item.names)
          for (const Name &axis : item.axes)
            cut(dim.text, axis.text);
  const Setting *standard = settings.find("layout");
  if (standard && !standard->items[0].args.empty())
    for (StringRef dim : kLayouts[0].dims)
      cut(dim, standard->items[0].args[0].value->text);
  return ranks;
}

void tplan::parse::readLayout(PlanContext &plan) {
  unsigned before = plan.report.errors();
  auto clean = [&] { return plan.report.errors() == before; };
  if (const Setting *mesh = plan.settings.find("mesh"))
    readMesh(plan, *mesh);
  // With a wrong mesh, errors in the other lines would say nothing about them.
  if (!clean())
    return;
  readShards(plan);
  // Nobody knows what an item with a mistake was meant to shard.
  bool known = clean();
  if (known)
    doubtHeads(plan.report, *plan.model.module, plan.layout);
  for (auto &[name, axis] : plan.layout.axes)
    if (known && axis.size > 1 && !axis.used)
      refuseIdle(plan, name, axis);
  if (const Setting *zero = plan.settings.find("zero"))
    readZero(plan, *zero);
}
