//===- Zero.cpp - where optimizer states, gradients and weights are sharded --===//
//
// `zero 2 over dp accumulate local;  zero 3 over dp within node;  zero 3 over dp copies node`: the
// axes, and whether every node of the cluster holds an equal part of them.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Dimensions.h"
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

template <class Range> std::string listed(const Range &names) {
  return llvm::join(llvm::map_range(names, [](const auto &name) -> StringRef { return name.text; }),
                    ", ");
}
/// An axis that could shard the batch and shards nothing yet.
StringRef freeAxis(PlanContext &plan) {
  for (auto &[name, axis] : plan.layout.axes)
    if (!axis.used && axis.size > 1 && plan.recipe.batch % axis.size == 0)
      return name;
  return {};
}

/// The axes of zero: some of B's, all of them by default. Empty after an error.
Names zeroAxes(PlanContext &plan, const Setting &line, const Item &item) {
  bool ok = findAxes(plan, item.axes);
  const Shard *batch = plan.layout.find(lang::dimension::batch);
  if (!batch && ok && plan.layout.axes.empty()) {
    auto error = plan.report.error(
        item.loc, "zero shards among ranks: add `mesh dp = 2` and `shard B over dp`, or drop it");
    if (plan.recipe.batch % 2 == 0)
      error.fix({{StringRef(line.loc.getPointer(), 0), "mesh dp = 2\n  shard B over dp\n  "}});
    error.fix({{restOfLine(StringRef(line.loc.getPointer(), 0)), ""}});
  } else if (StringRef axis = freeAxis(plan); !batch && ok && axis.empty()) {
    auto error = plan.report.error(
        item.loc, "zero shards among the ranks of the batch: add `dp = 2` to the mesh and `B over "
                  "dp` to shard, or drop it");
    const Setting *shard = plan.settings.find("shard");
    if (shard && plan.recipe.batch % 2 == 0 && !plan.layout.axes.count("dp"))
      error.fix({{StringRef(plan.settings.find("mesh")->items[0].loc.getPointer(), 0), "dp = 2, "},
                 {StringRef(shard->items[0].loc.getPointer(), 0), "B over dp; "}});
    error.fix({{restOfLine(StringRef(line.loc.getPointer(), 0)), ""}});
  } else if (!batch && ok) {
    auto error = plan.report.error(
        item.loc, "zero needs an axis over which B is sharded: add `shard B over {0}`", axis);
    if (const Setting *shard = plan.settings.find("shard"))
      error.fix(
          {{StringRef(shard->items.front().loc.getPointer(), 0), ("B over " + axis + "; ").str()}});
    error.fix({{restOfLine(StringRef(line.loc.getPointer(), 0)), ""}});
  }
  if (!batch)
    return {};
  if (item.axes.empty())
    return batch->axes;
  for (const Name &axis : item.axes) {
    auto same = [&](const Name &of) { return of.text == axis.text; };
    // An item with a mistake has lost its axes.
    if (!ok || batch->axes.empty() || llvm::any_of(batch->axes, same))
      continue;
    ok = false;
    plan.report
        .error(axis.loc, "zero goes over axes over which B is sharded, {0}, found {1}",
               listed(batch->axes), axis.text)
        .note(batch->loc, "B is sharded here");
  }
  return ok ? item.axes : Names();
}

/// Ranks from one to the next along an axis: the first axis of a mesh varies slowest.
int64_t strideOf(const Layout &layout, StringRef axis) {
  int64_t stride = 1;
  for (auto &[name, other] : llvm::reverse(layout.axes)) {
    if (name == axis)
      break;
    stride *= other.size;
  }
  return stride;
}

/// `within node` and `copies node` take of each axis the part that lies in a node. Every node must
/// hold an equal part, and all together more than one rank.
void checkWithin(PlanContext &plan, const Item &word, const Names &axes) {
  std::string words = (word.name.text + " " + word.second.text).str();
  const Cluster *cluster = plan.cluster;
  if (!cluster) {
    plan.report.error(word.loc, "`{2}` needs the nodes of a cluster: plan {0} : {1} on ..",
                      plan.settings.name.text, plan.recipe.settings->name.text, words);
    return;
  }
  int64_t devices = cluster->devices, ranks = 1, inside = 1;
  auto addNotes = [&](Report::Error error) {
    error.note(plan.layout.mesh, "the mesh is given here")
        .note(cluster->loc, "the cluster has {0} nodes of {1} devices", cluster->nodes, devices);
  };
  if (!devices) // the cluster has a mistake
    return;
  for (const Name &name : axes) {
    int64_t size = plan.layout.axes.find(name.text)->second.size,
            stride = strideOf(plan.layout, name.text);
    int64_t reach = size * stride;
    ranks *= size;
    if (devices % reach == 0)
      inside *= size;
    else if (devices % stride == 0 && reach % devices == 0)
      inside *= devices / stride;
    else if (stride < devices)
      return addNotes(plan.report.error(
          word.loc,
          "`{4}` needs equal parts of {0} in all nodes: choose sizes of {0} and of the axes after "
          "it, {1} ranks, that divide the {2} devices of a node, found {0} = {3}",
          name.text, stride, devices, size, words));
  }
  if (word.name.text == "copies" && inside == ranks)
    addNotes(
        plan.report.error(word.loc,
                          "`{1}` changes nothing, because all ranks along {0} lie in one node: "
                          "drop it",
                          listed(axes), words));
  else if (ranks > 1 && inside == 1)
    addNotes(plan.report.error(word.loc,
                               "`{1}` shards nothing, because a node has one rank along {0}: "
                               "put that last in the mesh, or drop `{1}`",
                               listed(axes), words));
}

/// Only zero 3 shards the weights that F and B read.
bool checkCopies(PlanContext &plan, const Item &word, const lang::Zero &zero) {
  if (zero.stage != 3)
    plan.report.error(word.loc,
                      "`copies node` is for zero 3, because otherwise each rank has whole weights, "
                      "found zero {0}",
                      zero.stage);
  return zero.stage == 3;
}

} // namespace

void tplan::parse::readZero(PlanContext &plan, const Setting &line) {
  const Item &first = line.items[0];
  const Number &stage = first.quantity.number;
  if (!stage.integer || stage.whole < 1 || stage.whole > 3) {
    plan.report.error(first.loc, "zero has the stages 1, 2 and 3, found {0}", spell(stage));
    return;
  }
  Names axes = zeroAxes(plan, line, first);
  lang::Zero zero{.stage = stage.whole, .axes = strings(axes)};
  std::map<StringRef, SMLoc> seen;
  for (const Item &word : llvm::drop_begin(line.items)) {
    StringRef key = word.name.text;
    if (!oneOf(plan, word.name, {"accumulate", "within", "copies"}, "word of zero"))
      return;
    if (auto [it, fresh] = seen.try_emplace(key, word.loc); !fresh) {
      plan.report.error(word.loc, "zero has each word once, found twice: {0}", key)
          .note(it->second, "{0} is given here", key);
      return;
    }
    bool accumulate = key == "accumulate";
    if (accumulate) {
      auto where = wordOf<lang::Accumulate>(plan, word.second, "value of accumulate");
      if (!where)
        return;
      if (stage.whole != 2)
        plan.report.error(word.loc, "`accumulate` says where zero 2 adds gradients, found zero {0}",
                          stage.whole);
      zero.accumulate = *where;
    } else {
      bool copies = key == "copies";
      if (!oneOf(plan, word.second, {"node"}, copies ? "value of copies" : "value of within") ||
          (copies && !checkCopies(plan, word, zero)))
        return;
      checkWithin(plan, word, axes);
      (copies ? zero.copiesInNode : zero.withinNode) = true;
    }
  }
  if (zero.copiesInNode && zero.withinNode) {
    SMLoc copies = seen["copies"], within = seen["within"];
    plan.report
        .error(copies, "with `within node` all that zero shards is in each node: drop "
                       "`copies node`, found copies")
        .note(within, "within is given here");
  }
  plan.fields.zero = std::move(zero);
}
