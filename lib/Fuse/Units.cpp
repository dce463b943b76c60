//===- Units.cpp - which ops become one kernel ----------------------------===//
#include "lib/Fuse/Units.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include <algorithm>
#include <map>
#include <queue>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::fuse;

/// Whether a single number takes arithmetic in f64 and depends only on other such numbers: a
/// learning rate corrected for the step, a scale of gradients. Kernels over arrays read its value
/// from memory. Otherwise each thread would compute it again, on the few f64 units of a GPU.
static bool isWideNumber(Operation *op) {
  if (!isa<Elemental>(op) || isa<ConstantOp, IndexOp>(op))
    return false;
  bool wide = typeOf(op->getResult(0)).getElementType().isF64();
  for (Value v : op->getOperands()) {
    if (!typeOf(v).isScalar())
      return false;
    wide |= typeOf(v).getElementType().isF64();
  }
  return wide && typeOf(op->getResult(0)).isScalar();
}

/// Whether `op` and what it reads up to arguments and wide numbers is cheap, in no more than
/// `budget` ops: counted as a tree, which is what a kernel would compute.
static bool isCheap(Operation *op, unsigned &budget) {
  if (!isa<Elemental>(op) || budget-- == 0)
    return false;
  if (isa<ConstantOp>(op))
    return true;
  Tensor type = typeOf(op->getResult(0));
  // Positions that are shifted by a number.
  bool isPosition = isa<AddOp>(op) && type.getElementType().isInteger();
  if (!isa<BroadcastOp, CmpOp, CastOp, IndexOp>(op) && !isPosition && !type.isScalar())
    return false;
  // A change of order is work of its own.
  if (auto broadcast = dyn_cast<BroadcastOp>(op))
    if (typeOf(broadcast.getX()).getRank() == type.getRank())
      return false;
  return llvm::all_of(op->getOperands(), [&](Value v) {
    Operation *source = v.getDefiningOp();
    return !source || isWideNumber(source) || isCheap(source, budget);
  });
}

bool fuse::isCloned(Operation *op) {
  unsigned budget = 64;
  return !isWideNumber(op) && isCheap(op, budget);
}

/// Weights and gradients that are cut into blocks have memory for all blocks, padding included;
/// other values have none for padding, so for them the last block must be as long as the others.
bool fuse::isView(Operation *op) {
  auto slice = dyn_cast<dist::SliceOp>(op);
  if (!slice)
    return isa<dist::ReshapeOp>(op);
  auto arg = dyn_cast<BlockArgument>(slice.getX());
  auto layer = arg ? dyn_cast<LayerOp>(arg.getOwner()->getParentOp()) : LayerOp();
  bool padded =
      layer && !slice.getDim() &&
      llvm::is_contained({Role::Param, Role::CotParam}, layer.getArgRole(arg.getArgNumber()));
  Tensor whole = typeOf(slice.getX()), block = typeOf(slice.getResult());
  int64_t before = 1;
  if (slice.getDim())
    for (DimAttr dim : block.getDims().take_front(block.find(*slice.getDim())))
      before *= dim.getSize();
  auto mesh = dist::meshOf(slice->getParentOfType<ModuleOp>());
  if (block.getBytes() % 64) // kernels begin at multiples of it
    return false;
  return before == 1 &&
         (padded || block.getNumElements() * mesh.sizeOf(dist::axesOf(slice.getAxes())) ==
                        whole.getNumElements());
}

SmallVector<std::pair<unsigned, unsigned>> fuse::updatesInPlace(LayerOp layer) {
  std::map<std::pair<Role, StringRef>, unsigned> results;
  for (unsigned r = 0, e = layer.getNumResults(); r < e; ++r)
    results[{layer.getResultRole(r), layer.getResultName(r)}] = r;
  SmallVector<std::pair<unsigned, unsigned>> pairs;
  for (unsigned a = 0, e = layer.getNumArguments(); a < e; ++a)
    if (auto r = results.find({layer.getArgRole(a), layer.getArgName(a)});
        r != results.end() && layer.isInPlace(a, r->second))
      pairs.push_back({r->second, a});
  llvm::sort(pairs);
  return pairs;
}

/// An accumulator: an argument that the caller hands in to be added to, or a sum onto one.
static bool isAccumulator(Value v) {
  if (auto arg = dyn_cast<BlockArgument>(v)) {
    auto layer = cast<LayerOp>(arg.getOwner()->getParentOp());
    return arg.hasOneUse() && llvm::is_contained({Role::CotParam, Role::CotInvariant},
                                                 layer.getArgRole(arg.getArgNumber()));
  }
  auto add = v.getDefiningOp<AddOp>();
  return add && v.hasOneUse() && fuse::addsOnto(add);
}

/// Zeros that a scattering kernel adds onto: prepare-fusion puts them there.
static bool isFill(Value v) {
  auto fill = v.getDefiningOp<BroadcastOp>();
  return fill && v.hasOneUse() && fill.getX().getDefiningOp<ConstantOp>();
}

bool fuse::addsOnto(AddOp add) {
  Operation *term = add.getRhs().getDefiningOp();
  return term && isa<ContractOp, LookupGradOp>(term) && term->hasOneUse() &&
         add.getLhs().getType() == add.getRhs().getType() &&
         (isAccumulator(add.getLhs()) || (isa<LookupGradOp>(term) && isFill(add.getLhs())));
}

/// Operands that must lie in memory: read at other places than computed.
static bool readsMemory(OpOperand &operand) { return isa<LookupOp, RopeOp>(operand.getOwner()); }

bool fuse::isOn(ModuleOp module) { return lang::Settings(module).plan.fuse; }

bool fuse::needsMemory(OpOperand &use) {
  Operation *op = use.getOwner();
  return isa<ReturnOp, ContractOp, rt::MatmulOp, AttentionOp, AttentionGradOp, LookupGradOp,
             AuditOp>(op) ||
         isa<dist::DistDialect>(op->getDialect()) || readsMemory(use);
}

namespace {

Unit unitOf(Operation *op) {
  Unit unit;
  unit.ops = {op};
  Tensor type = typeOf(op->getResult(0));
  unit.dims.assign(type.getDims().begin(), type.getDims().end());
  if (auto reduce = dyn_cast<ReduceOp>(op)) {
    Tensor x = typeOf(reduce.getX());
    unit.dims.assign(x.getDims().begin(), x.getDims().end());
    bool isColumn = x.getRank() && x.getDims().front().getName() == rt::kTaskDim;
    unit.kind = isColumn ? Unit::Column : Unit::Fusible;
    unit.rows = isColumn ? 1 : type.getRank();
  } else if (auto partial = dyn_cast<rt::PartialReduceOp>(op)) {
    Tensor x = typeOf(partial.getX());
    unit.dims.assign(x.getDims().begin(), x.getDims().end());
    unit.rows = x.getRank() - (type.getRank() - 1);
  } else if (!isa<Elemental, RopeOp, LookupOp>(op)) {
    unit.kind = Unit::Single;
  }
  return unit;
}

class Merger {
public:
  Merger(LayerOp layer, bool merge) {
    for (Operation &op : layer.getBlock().without_terminator()) {
      order[&op] = order.size();
      if (isCloned(&op) && !isStored(&op))
        continue;
      if (auto add = dyn_cast<AddOp>(op); add && addsOnto(add)) {
        unsigned at = unitAt[add.getRhs().getDefiningOp()];
        unitAt[&op] = at;
        units[at].ops.push_back(&op);
        continue;
      }
      unitAt[&op] = units.size();
      units.push_back(unitOf(&op));
      units.back().alone = isWideNumber(&op) && readsNumbersAlone(&op);
    }
    alive.resize(units.size(), true);
    sources.resize(units.size());
    partialGrain.resize(units.size());
    seenIn.resize(units.size());
    for (unsigned u = 0; u < units.size(); ++u) {
      if (auto partial = dyn_cast<rt::PartialReduceOp>(units[u].ops.front()))
        partialGrain[u] = partial.getGrain();
      forEachSource(u, [&](unsigned source, OpOperand &reader) {
        sources[u][source] |= readsMemory(reader);
      });
    }
    if (merge) {
      mergeNumbers();
      mergeAlongEdges();
      mergeWithOldContent(layer);
      mergeReaders();
    }
  }

  SmallVector<Unit> inOrder();

private:
  /// A clonable op that a library call or the caller reads must be stored in memory, too.
  bool isStored(Operation *op) {
    return llvm::any_of(op->getUses(), [](OpOperand &use) {
      return needsMemory(use) || (isFill(use.get()) && isa<AddOp>(use.getOwner()) &&
                                  addsOnto(cast<AddOp>(use.getOwner())));
    });
  }

  /// Whether a number depends on no array: then all units that it reads so far are such numbers.
  bool readsNumbersAlone(Operation *op) {
    return llvm::all_of(op->getOperands(), [&](Value v) {
      Operation *source = v.getDefiningOp();
      if (!source)
        return true;
      auto at = unitAt.find(source);
      return at == unitAt.end() ? readsNumbersAlone(source) : units[at->second].alone;
    });
  }

  /// Units that `unit` reads, through cloned ops too.
  void forEachSource(unsigned unit, function_ref<void(unsigned, OpOperand &)> visit) {
    SmallVector<std::pair<Value, OpOperand *>> work;
    for (Operation *op : units[unit].ops)
      for (OpOperand &operand : op->getOpOperands())
        work.push_back({operand.get(), &operand});
    while (!work.empty()) {
      auto [v, reader] = work.pop_back_val();
      Operation *source = v.getDefiningOp();
      if (!source)
        continue;
      if (auto at = unitAt.find(source); at != unitAt.end()) {
        if (at->second != unit)
          visit(at->second, *reader);
      } else {
        for (Value operand : source->getOperands())
          work.push_back({operand, reader});
      }
    }
  }

  /// The unit that `unit` has become part of.
  unsigned current(unsigned unit) {
    while (!alive.test(unit))
      unit = mergedInto.lookup(unit);
    return unit;
  }

  /// Whether `from` depends on `on` through a third unit, or through memory. A search
  /// that does not end soon says yes: a layer of thousands of units compiles with
  /// a few kernels more rather than in minutes.
  bool dependsAround(unsigned from, unsigned on) {
    constexpr unsigned kMaxSearch = 1000;
    ++search;
    unsigned visited = 0;
    SmallVector<unsigned> work;
    for (auto [source, throughMemory] : sources[from]) {
      if (current(source) != on)
        work.push_back(current(source));
      else if (throughMemory)
        return true;
    }
    while (!work.empty()) {
      unsigned at = work.pop_back_val();
      if (std::exchange(seenIn[at], search) == search)
        continue;
      if (++visited > kMaxSearch)
        return true;
      for (auto [source, throughMemory] : sources[at]) {
        if (current(source) == on)
          return true;
        work.push_back(current(source));
      }
    }
    return false;
  }

  static bool followsMaxima(const Unit &unit, const Unit &rows);
  static bool endsTogether(const Unit &a, const Unit &b, const Unit &merged);
  static bool mayBeSegments(const Unit &unit, const Unit &rows);
  static bool combineRows(const Unit &a, const Unit &b, Unit &merged);
  static std::optional<Unit> combine(const Unit &a, const Unit &b);
  bool givesSums(unsigned a, unsigned b);
  bool tryMerge(unsigned a, unsigned b);
  void mergeNumbers();
  void mergeAlongEdges();
  void mergeWithOldContent(LayerOp layer);
  void mergeReaders();
  llvm::SetVector<Value> valuesRead(unsigned unit);

  SmallVector<Unit> units;
  llvm::BitVector alive;
  SmallVector<int64_t> partialGrain; // rows of a task, where a unit has partial results; else 0
  DenseMap<Operation *, unsigned> unitAt;
  DenseMap<Operation *, unsigned> order;
  /// Units that a unit reads, and whether through memory; a unit is named by its first number.
  std::vector<llvm::SmallMapVector<unsigned, bool, 4>> sources;
  DenseMap<unsigned, unsigned> mergedInto; // of units that are no longer alive
  std::vector<unsigned> seenIn;            // the last search that visited a unit
  unsigned search = 0;
};

/// Whether a map computes from maxima over a task's rows what its kernel can at the end of the
/// task.
bool Merger::followsMaxima(const Unit &unit, const Unit &rows) {
  return rows.rows && !unit.dims.empty() && unit.dims.front().getName() == rt::kTaskDim &&
         ArrayRef(unit.dims).drop_front() == ArrayRef(rows.dims).drop_front(*rows.rows);
}

/// Whether a kernel would compute at the end of a task in columns that a reduction of rows has kept
/// together, and too many of them for a GPU's registers.
bool Merger::endsTogether(const Unit &a, const Unit &b, const Unit &merged) {
  bool ends = false, reduces = false;
  for (const Unit *unit : {&a, &b})
    for (Operation *op : unit->ops) {
      Tensor type = typeOf(op->getResult(0));
      ends |= !isa<rt::PartialReduceOp>(op) && type.getRank() &&
              type.getDims().front().getName() == rt::kTaskDim;
      reduces |= isa<ReduceOp>(op) && merged.rows && type.getRank() == int64_t(*merged.rows);
    }
  return ends && reduces;
}

/// Whether rows of a unit that takes maxima alone may be segments of the rows of another one.
bool Merger::mayBeSegments(const Unit &unit, const Unit &rows) {
  int64_t size = 1;
  for (DimAttr dim : ArrayRef(unit.dims).drop_front(*unit.rows))
    size *= dim.getSize();
  auto isMaximum = [](Operation *op) {
    auto reduce = dyn_cast<ReduceOp>(op);
    return !isa<rt::PartialReduceOp>(op) && (!reduce || reduce.getKind() == ReduceKind::max);
  };
  return !unit.segments && (!rows.segments || *rows.segments == *unit.rows) && *rows.rows > 0 &&
         size >= rt::kLeastSegment && size <= rt::kMostSegment && llvm::isPowerOf2_64(size) &&
         !unit.dims.front().getBounded() && llvm::all_of(unit.ops, isMaximum);
}

/// The rows of two units of the same loops; false where they disagree.
bool Merger::combineRows(const Unit &a, const Unit &b, Unit &merged) {
  if (a.segments && b.segments && *a.segments != *b.segments)
    return false;
  merged.rows = a.rows ? a.rows : b.rows;
  merged.segments = a.segments ? a.segments : b.segments;
  if (!a.rows || !b.rows || *a.rows == *b.rows)
    return true;
  const Unit &rows = *a.rows < *b.rows ? a : b, &segments = &rows == &a ? b : a;
  merged.rows = rows.rows, merged.segments = segments.rows;
  return mayBeSegments(segments, rows);
}

/// Loops of the merged unit, without its ops; nothing where the two units' loops disagree.
std::optional<Unit> Merger::combine(const Unit &a, const Unit &b) {
  if (a.kind == Unit::Single || b.kind == Unit::Single)
    return std::nullopt;
  if ((a.alone || b.alone) && !(a.dims.empty() && b.dims.empty()))
    return std::nullopt;
  Unit merged;
  ArrayRef<DimAttr> aDims = a.dims, bDims = b.dims;
  if (a.kind == Unit::Column || b.kind == Unit::Column) {
    // What follows the sum of a column joins it: its loops are the columns.
    const Unit &column = a.kind == Unit::Column ? a : b, &other = a.kind == Unit::Column ? b : a;
    if (!other.isMap() || ArrayRef(column.dims).drop_front() != ArrayRef(other.dims))
      return std::nullopt;
    merged = column;
  } else if (aDims == bDims) {
    merged = a;
    if (!combineRows(a, b, merged))
      return std::nullopt;
  } else {
    // A map over the rows of a row kernel runs once a row, or over segments once a segment.
    const Unit &wide = aDims.size() > bDims.size() || followsMaxima(b, a) ? a : b,
               &narrow = &wide == &a ? b : a;
    auto isOver = [&](std::optional<unsigned> rows) {
      return rows && ArrayRef(wide.dims).take_front(*rows) == ArrayRef(narrow.dims);
    };
    if (!narrow.isMap() ||
        !(isOver(wide.rows) || isOver(wide.segments) || followsMaxima(narrow, wide)))
      return std::nullopt;
    merged = wide;
  }
  merged.ops.clear();
  merged.alone = a.alone || b.alone;
  return merged;
}

/// Whether all that others read of a column kernel follows from its sum: anything else would be
/// written once for each row.
bool Merger::givesSums(unsigned a, unsigned b) {
  SmallVector<Operation *> ops(units[a].ops);
  llvm::append_range(ops, units[b].ops);
  llvm::sort(ops, [&](Operation *x, Operation *y) { return order[x] < order[y]; });
  llvm::SmallPtrSet<Operation *, 16> inside(ops.begin(), ops.end()), sums;
  for (Operation *op : ops) {
    bool follows = isa<ReduceOp>(op) || llvm::any_of(op->getOperands(), [&](Value v) {
                     return v.getDefiningOp() && sums.contains(v.getDefiningOp());
                   });
    if (follows)
      sums.insert(op);
    else if (llvm::any_of(op->getUsers(), [&](Operation *user) { return !inside.contains(user); }))
      return false;
  }
  return true;
}

bool Merger::tryMerge(unsigned a, unsigned b) {
  std::optional<Unit> merged = combine(units[a], units[b]);
  if (merged && merged->kind == Unit::Column && !givesSums(a, b))
    return false;
  if (!merged || endsTogether(units[a], units[b], *merged) || dependsAround(a, b) ||
      dependsAround(b, a))
    return false;
  if (partialGrain[a] && partialGrain[b] && partialGrain[a] != partialGrain[b])
    return false;
  // Columns run after all rows: a row kernel cannot read its own column sums.
  auto readsPartial = [&](unsigned from, unsigned by) {
    if (units[by].isMap() && followsMaxima(units[by], units[from]))
      return false; // at the end of the task
    return partialGrain[from] && llvm::any_of(units[from].ops, [&](Operation *op) {
             return isa<rt::PartialReduceOp>(op) &&
                    llvm::any_of(op->getUsers(), [&](Operation *user) {
                      auto at = unitAt.find(user);
                      return at != unitAt.end() && at->second == by;
                    });
           });
  };
  if (readsPartial(a, b) || readsPartial(b, a))
    return false;
  merged->ops = std::move(units[a].ops);
  for (Operation *op : units[b].ops) { // few as a rule, and late in the program
    auto later = [&](Operation *x, Operation *y) { return order[x] < order[y]; };
    merged->ops.insert(llvm::upper_bound(merged->ops, op, later), op);
    unitAt[op] = a;
  }
  partialGrain[a] = std::max(partialGrain[a], partialGrain[b]);
  units[a] = std::move(*merged);
  units[b].ops.clear();
  alive.reset(b);
  mergedInto[b] = a;
  llvm::SmallMapVector<unsigned, bool, 4> read;
  for (unsigned part : {a, b})
    for (auto [source, throughMemory] : sources[part])
      if (current(source) != a)
        read[current(source)] |= throughMemory;
  sources[a] = std::move(read);
  sources[b].clear();
  return true;
}

/// Numbers that depend on no array are one kernel, before all others.
void Merger::mergeNumbers() {
  std::optional<unsigned> first;
  for (unsigned u = 0; u < units.size(); ++u)
    if (units[u].alone && !(first && tryMerge(*first, u)))
      first = u;
}

void Merger::mergeAlongEdges() {
  bool changed = true;
  while (changed) {
    changed = false;
    for (unsigned u = 0; u < units.size(); ++u) {
      bool isReplica =
          llvm::all_of(units[u].ops, [](Operation *op) { return op->hasAttr(kReplica); });
      if (!alive.test(u) || isReplica)
        continue;
      llvm::SetVector<unsigned> sources;
      forEachSource(u, [&](unsigned source, OpOperand &) { sources.insert(source); });
      for (unsigned source : sources)
        if (alive.test(u) && alive.test(source) && tryMerge(source, u)) {
          changed = true;
          break;
        }
    }
  }
}

/// Values that a unit reads from outside, through cloned ops too.
llvm::SetVector<Value> Merger::valuesRead(unsigned unit) {
  llvm::SetVector<Value> read;
  SmallVector<Value> work;
  for (Operation *op : units[unit].ops)
    llvm::append_range(work, op->getOperands());
  while (!work.empty()) {
    Value v = work.pop_back_val();
    Operation *op = v.getDefiningOp();
    if (op && !unitAt.contains(op))
      llvm::append_range(work, op->getOperands());
    else if (!op || unitAt[op] != unit)
      read.insert(v);
  }
  return read;
}

/// What a layer writes over an argument belongs to the unit that reads it last:
/// gradients become zero where the optimizer reads them.
void Merger::mergeWithOldContent(LayerOp layer) {
  llvm::MapVector<Value, SmallVector<unsigned>> readers;
  for (unsigned u = 0; u < units.size(); ++u)
    if (alive.test(u))
      for (Value v : valuesRead(u))
        if (isa<BlockArgument>(v))
          readers[v].push_back(u);
  for (auto [r, a] : updatesInPlace(layer)) {
    Operation *op = layer.getReturn().getOperand(r).getDefiningOp();
    if (!op || !unitAt.contains(op))
      continue;
    for (unsigned u : readers[layer.getArgument(a)])
      if (current(u) != unitAt[op] && tryMerge(current(u), unitAt[op]))
        break;
  }
}

/// Units with equal loops that read one array from memory read it once together.
void Merger::mergeReaders() {
  llvm::MapVector<Value, llvm::SetVector<unsigned>> readers;
  for (unsigned u = 0; u < units.size(); ++u)
    if (alive.test(u))
      for (Value v : valuesRead(u))
        if (typeOf(v).getRank() > 0 &&
            typeOf(v).getRank() == static_cast<int64_t>(units[u].dims.size()))
          readers[v].insert(u);
  constexpr unsigned kTries = 16; // of one unit, in a layer of very many readers
  for (auto &[value, set] : readers)
    for (unsigned i = 0; i < set.size(); ++i)
      for (unsigned j = i + 1, tries = 0; j < set.size() && tries < kTries; ++j) {
        // Along an array before this one they may have become part of others.
        unsigned a = current(set[i]), b = current(set[j]);
        if (a == b || units[a].dims != units[b].dims)
          continue;
        tryMerge(a, b);
        ++tries;
      }
}

/// A topological order, by the last op of each unit where there is a choice.
SmallVector<Unit> Merger::inOrder() {
  DenseMap<unsigned, llvm::SetVector<unsigned>> readers;
  DenseMap<unsigned, unsigned> waits;
  for (unsigned u = 0; u < units.size(); ++u)
    if (alive.test(u))
      forEachSource(u, [&](unsigned source, OpOperand &) {
        if (readers[source].insert(u))
          ++waits[u];
      });
  using Entry = std::pair<unsigned, unsigned>; // last op, unit
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> ready;
  auto push = [&](unsigned u) { ready.push({order[units[u].ops.back()], u}); };
  for (unsigned u = 0; u < units.size(); ++u)
    if (alive.test(u) && !waits.lookup(u))
      push(u);
  SmallVector<Unit> sorted;
  while (!ready.empty()) {
    unsigned u = ready.top().second;
    ready.pop();
    sorted.push_back(units[u]);
    for (unsigned reader : readers[u])
      if (--waits[reader] == 0)
        push(reader);
  }
  return sorted;
}

} // namespace

SmallVector<Unit> fuse::formUnits(LayerOp layer, bool merge) {
  return Merger(layer, merge).inOrder();
}
