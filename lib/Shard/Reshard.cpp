//===- Reshard.cpp - from one layout to another, at the least cost --------===//
#include "lib/Shard/Reshard.h"
#include "dialects/dist/Kinds.h"
#include "llvm/ADT/MapVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::shard;
using dist::Axes;
using dist::CollectiveKind;
using dist::LayoutAttr;

SmallVector<int32_t> shard::sourcesOf(dist::MeshAttr mesh, ArrayRef<StringAttr> now,
                                      ArrayRef<StringAttr> then) {
  int64_t members = mesh.sizeOf(now);
  SmallVector<int32_t> sources(members);
  for (int64_t member = 0; member < members; ++member) {
    llvm::SmallDenseMap<StringAttr, int64_t> at;
    int64_t rest = member;
    for (StringAttr axis : llvm::reverse(now)) {
      at[axis] = rest % mesh.sizeOf(axis);
      rest /= mesh.sizeOf(axis);
    }
    int64_t block = 0; // the number that the member's coordinates make along `then`
    for (StringAttr axis : then)
      block = block * mesh.sizeOf(axis) + at[axis];
    sources[member] = block;
  }
  return sources;
}

//===----------------------------------------------------------------------===//
// Steps from one layout
//===----------------------------------------------------------------------===//

namespace {

class Neighbours {
public:
  Neighbours(nn::Tensor type, LayoutAttr from, LayoutAttr to, const Placement &placement)
      : type(type), from(from), to(to), placement(placement) {
    reduce();
    if (dist::RowsAttr rows = from.getRows())
      leaveRows(rows);
    else
      cut();
    own();
  }

  SmallVector<Step> steps;

private:
  nn::Tensor type;
  LayoutAttr from, to;
  const Placement &placement;

  StringAttr nameOf(nn::DimAttr dim) { return StringAttr::get(type.getContext(), dim.getName()); }
  void add(Step step) { steps.push_back(std::move(step)); }
  void collective(CollectiveKind kind, const Axes &axes, StringAttr dim, LayoutAttr after,
                  nn::ReduceKind reduction = nn::ReduceKind::sum, StringAttr into = {},
                  ArrayRef<int32_t> sources = {}) {
    Step step{Step::Collective, kind, reduction, axes, dim, into, {}, after};
    step.sources.assign(sources.begin(), sources.end());
    add(step);
  }

  /// A step that a rank does alone.
  void local(Step::Kind kind, const Axes &axes, LayoutAttr after, StringAttr dim = {}) {
    add({kind, {}, {}, axes, dim, {}, {}, after});
  }

  /// Further axes with which `to` cuts a dimension, after all those of `from`; none where they
  /// differ.
  Axes nextAxes(StringAttr dim) {
    ArrayRef<StringAttr> now = from.axesOf(dim), then = to.axesOf(dim);
    if (then.size() <= now.size() || then.take_front(now.size()) != now)
      return {};
    return Axes(then.drop_front(now.size()));
  }

  void reduce() {
    if (!from.getMax().empty())
      collective(CollectiveKind::AllReduce, Axes(from.getMax()), {}, from.withMax({}),
                 nn::ReduceKind::max);
    Axes wanted = dist::difference(from.getSum(), to.getSum());
    for (const Axes &axes : subsets(wanted)) {
      LayoutAttr rest = from.withSum(dist::difference(from.getSum(), axes));
      collective(CollectiveKind::AllReduce, axes, {}, rest);
      if (dist::RowsAttr rows = from.getRows()) {
        if (dist::RowsAttr finer = finerRows(rows, axes))
          collective(CollectiveKind::ReduceScatter, axes, {}, rest.withRows(finer));
        continue;
      }
      for (nn::DimAttr dim : type.getDims()) {
        StringAttr name = nameOf(dim);
        Axes next = nextAxes(name);
        if (next.size() >= axes.size() &&
            ArrayRef(next).take_front(axes.size()) == ArrayRef(axes)) {
          Axes now(rest.axesOf(name));
          llvm::append_range(now, axes);
          collective(CollectiveKind::ReduceScatter, axes, name, rest.withAxes(name, now));
        }
      }
      if (dist::RowsAttr rows = rowsFor(axes))
        collective(CollectiveKind::ReduceScatter, axes, {}, rest.withRows(rows));
    }
  }

  /// The rows of `to` where these axes cut them; else rows in between, for a reduction in two hops.
  dist::RowsAttr rowsFor(const Axes &axes) {
    dist::RowsAttr rows = to.getRows();
    if (!rows)
      return placement.rowsOver(type, from.settled(), axes);
    bool isFirst = rows.getAxes().size() >= axes.size() &&
                   rows.getAxes().take_front(axes.size()) == ArrayRef(axes);
    return isFirst && cutsAgree() ? placement.rowsOverFirst(rows, axes.size()) : dist::RowsAttr();
  }

  /// Rows of `to` that these axes cut after others have; none where they cut no further.
  dist::RowsAttr finerRows(dist::RowsAttr rows, const Axes &axes) {
    dist::RowsAttr wanted = to.getRows();
    Axes all(rows.getAxes());
    llvm::append_range(all, axes);
    if (rows.getInWhole() || !wanted || wanted.getAxes().size() < all.size() ||
        wanted.getAxes().take_front(all.size()) != ArrayRef(all) ||
        placement.rowsOverFirst(wanted, rows.getAxes().size()) != rows)
      return {};
    return placement.rowsOverFirst(wanted, all.size());
  }

  /// Rows may be cut only when the dimensions are cut as they will be in the end.
  bool cutsAgree() { return from.getShards() == to.getShards(); }

  void leaveRows(dist::RowsAttr rows) {
    Axes axes(rows.getAxes());
    if (rows.getInWhole())
      local(Step::Slice, axes, from.withRows(rows.withInWhole(false)));
    else if (to.getRows() && to.getRows().getInWhole() && to.getRows().withInWhole(false) == rows)
      local(Step::Place, axes, from.withRows(to.getRows()));
    else
      gatherRows(rows);
  }

  /// By all of their axes at once, or by the last ones first.
  void gatherRows(dist::RowsAttr rows) {
    ArrayRef<StringAttr> axes = rows.getAxes();
    for (size_t kept = 1; kept < axes.size(); ++kept)
      collective(CollectiveKind::AllGather, Axes(axes.drop_front(kept)), {},
                 from.withRows(placement.rowsOverFirst(rows, kept)));
    collective(CollectiveKind::AllGather, Axes(axes), {}, from.withRows({}));
  }

  void cut() {
    Axes used = from.used();
    for (nn::DimAttr dim : type.getDims()) {
      StringAttr name = nameOf(dim);
      ArrayRef<StringAttr> now = from.axesOf(name), then = to.axesOf(name);
      Axes next = nextAxes(name);
      if (!next.empty() && !dist::intersects(next, used)) {
        Axes all(then);
        local(Step::Slice, next, from.withAxes(name, all), name);
      }
      size_t same = 0;
      while (same < now.size() && same < then.size() && now[same] == then[same])
        ++same;
      if (same == now.size())
        continue;
      // After the part that stays, the axes are removed: gathered on all ranks, or moved to another
      // dimension.
      Axes kept(now.take_front(same)), leaving(now.drop_front(same));
      collective(CollectiveKind::AllGather, leaving, name, from.withAxes(name, kept));
      for (nn::DimAttr other : type.getDims())
        if (StringAttr into = nameOf(other);
            into != name && ArrayRef(nextAxes(into)) == ArrayRef(leaving)) {
          Axes all(to.axesOf(into));
          collective(CollectiveKind::AllToAll, leaving, name,
                     from.withAxes(name, kept).withAxes(into, all), nn::ReduceKind::sum, into);
        }
      if (now.size() == then.size() &&
          llvm::all_of(now, [&](StringAttr a) { return llvm::is_contained(then, a); }))
        collective(CollectiveKind::Permute, Axes(now), name, from.withAxes(name, then),
                   nn::ReduceKind::sum, {}, shard::sourcesOf(placement.mesh, now, then));
    }
    if (dist::RowsAttr rows = to.getRows();
        rows && cutsAgree() && !dist::intersects(rows.getAxes(), used))
      local(Step::Slice, Axes(rows.getAxes()), from.withRows(rows.withInWhole(false)));
  }

  void own() {
    Axes missing = dist::difference(to.getSum(), from.getSum());
    Axes used = from.used();
    missing = dist::difference(missing, used);
    if (!missing.empty() && !from.getRows()) {
      Axes all(from.getSum());
      llvm::append_range(all, missing);
      local(Step::Own, missing, from.withSum(placement.mesh.sorted(all)));
    }
  }

  /// Axes that may be reduced together: each subset of the first four; further axes go with all
  /// four.
  static SmallVector<Axes> subsets(const Axes &axes) {
    SmallVector<Axes> sets;
    unsigned count = std::min<unsigned>(axes.size(), 4);
    for (unsigned mask = 1; mask < 1u << count; ++mask) {
      Axes set;
      for (unsigned i = 0; i < axes.size(); ++i)
        if (i >= count ? mask + 1 == 1u << count : mask >> i & 1)
          set.push_back(axes[i]);
      sets.push_back(set);
    }
    return sets;
  }
};

/// Bytes that a rank sends if its local operand has so many.
int64_t bytesSent(const Step &step, int64_t bytes, int64_t members) {
  const dist::KindFacts &facts = dist::factsOf(step.collective);
  if (facts.reorders)
    return bytes;
  tp_collective what = {};
  what.kind = facts.runtime;
  what.outer = what.middle = what.last = 1;
  what.inner = facts.cuts ? dist::blockOf(bytes, members) : bytes;
  what.whole = facts.scatters() ? bytes : bytes * members;
  return tp_bytes_sent(&what, members, /*member=*/0, /*element_bytes=*/1);
}

/// Seconds of a step that the plan's line `hops` rules out: it is taken where nothing else leads
/// on.
constexpr double kRuledOut = 1e6;

/// The axes that a step could take together: what is pending, or cuts rows, before or after it.
Axes togetherWith(const Step &step, LayoutAttr before) {
  Axes all(before.getSum());
  for (dist::RowsAttr rows : {before.getRows(), step.after.getRows()})
    if (rows)
      llvm::append_range(all, rows.getAxes());
  return all;
}

/// Whether the plan's line `hops` rules a step out. Two hops: none takes an axis inside a node and
/// one between nodes. One hop: none takes a piece of an axis without the others.
bool isRuledOut(const Step &step, LayoutAttr before, const cost::Links &links,
                const Placement &placement) {
  std::optional<int64_t> hops = placement.getHops();
  if (step.kind != Step::Collective || !hops)
    return false;
  auto crosses = [&](StringAttr axis) { return links.crossesNodes(axis); };
  if (*hops == 2)
    return llvm::any_of(step.axes, crosses) && !llvm::all_of(step.axes, crosses);
  return llvm::any_of(togetherWith(step, before), [&](StringAttr other) {
    return !llvm::is_contained(step.axes, other) && llvm::any_of(step.axes, [&](StringAttr axis) {
      return placement.mesh.planAxisOf(axis) == placement.mesh.planAxisOf(other);
    });
  });
}

/// The cost of a step, in seconds.
double costOf(const Step &step, int64_t bytes, LayoutAttr from, int64_t before,
              const cost::Links &links, const Placement &placement) {
  if (step.kind != Step::Collective)
    return cost::Links::secondsAlone(bytes, /*writes=*/step.kind == Step::Own);
  return links.seconds(step.axes, bytesSent(step, before, placement.mesh.sizeOf(step.axes))) +
         (isRuledOut(step, from, links, placement) ? kRuledOut : 0);
}

} // namespace

std::optional<SmallVector<Step>> shard::findSteps(nn::Tensor type, LayoutAttr from, LayoutAttr to,
                                                  const Placement &placement,
                                                  const cost::Links &links) {
  struct Reached {
    double cost;
    LayoutAttr before;
    Step step;
    bool done = false;
  };
  nn::Tensor costed = links.costedAs(type);
  auto bytesIn = [&](LayoutAttr layout) {
    int64_t bytes = placement.localType(costed, layout.withRows({})).getBytes();
    dist::RowsAttr rows = layout.getRows();
    return rows && !rows.getInWhole() ? dist::blockOf(bytes, placement.mesh.sizeOf(rows.getAxes()))
                                      : bytes;
  };
  llvm::MapVector<LayoutAttr, Reached> reached;
  reached[from] = {0, {}, {}, false};
  // Between two layouts lie few others, tens even for three axes that all change place, so a scan
  // serves as the queue.
  constexpr unsigned kMost = 4096;
  while (reached.size() < kMost) {
    LayoutAttr next;
    double least = 0;
    for (auto &[layout, at] : reached)
      if (!at.done && (!next || at.cost < least))
        next = layout, least = at.cost;
    if (!next)
      return std::nullopt;
    reached[next].done = true;
    if (next == to) {
      SmallVector<Step> steps;
      for (LayoutAttr at = to; at != from; at = reached[at].before)
        steps.push_back(reached[at].step);
      std::reverse(steps.begin(), steps.end());
      return steps;
    }
    for (const Step &step : Neighbours(type, next, to, placement).steps) {
      double cost =
          least + costOf(step, bytesIn(step.after), next, bytesIn(next), links, placement);
      auto [it, isNew] = reached.insert({step.after, {cost, next, step, false}});
      if (!isNew && !it->second.done && cost < it->second.cost)
        it->second = {cost, next, step, false};
    }
  }
  return std::nullopt;
}
