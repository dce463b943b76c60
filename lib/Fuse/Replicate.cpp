//===- Replicate.cpp - values that their readers compute for themselves ---===//
#include "lib/Fuse/Replicate.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Settings.h"
#include "lib/Fuse/Units.h"
#include "llvm/ADT/SetVector.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::fuse;

namespace {

/// Most ops that a reader computes again for one value: beside loads and stores they cost nothing.
constexpr unsigned kMaxOps = 12;

/// The value that lies in memory where a view of it is read.
Value viewed(Value v) {
  while (auto view = v.getDefiningOp<dist::ReshapeOp>())
    v = view.getX();
  return v;
}

class Replicator {
public:
  explicit Replicator(LayerOp layer) : layer(layer), units(formUnits(layer, true)) {
    reads.resize(units.size());
    for (auto [number, unit] : llvm::enumerate(units))
      for (Operation *op : unit.ops) {
        unitOf[op] = number;
        for (Value v : op->getOperands())
          addSources(v, reads[number]);
      }
    for (auto [result, arg] : updatesInPlace(layer))
      updated.insert(layer.getArgument(arg));
  }

  void run();

private:
  /// What it takes to compute a value: ops, and arrays in memory.
  struct Recipe {
    llvm::SmallSetVector<Operation *, 8> ops;
    llvm::SetVector<Value> leaves;
  };

  /// What costs less than its bytes. On a GPU, whose threads wait for memory, that includes the
  /// exponential of an activation.
  bool isCheap(Operation *op) const {
    return isa<AddOp, SubOp, MulOp, NegOp, MaxOp, MinOp, CmpOp, SelectOp, CastOp, RoundOp>(op) ||
           (isGpu && isa<ExpOp, DivOp>(op));
  }
  void addSources(Value v, llvm::SetVector<Value> &sources);
  bool isInMemory(Value v);
  std::optional<llvm::SmallSetVector<unsigned, 4>> readersOf(Value v);
  bool expand(Operation *op, unsigned reader, Recipe &recipe);
  std::optional<SmallVector<Recipe>> recipesOf(Operation *op,
                                               const llvm::SmallSetVector<unsigned, 4> &readers);
  bool savesBytes(Value v, const llvm::SmallSetVector<unsigned, 4> &readers,
                  ArrayRef<Recipe> recipes);
  void replicate(Operation *op, unsigned reader, const Recipe &recipe);

  LayerOp layer;
  bool isGpu = lang::targetOf(layer->getParentOfType<ModuleOp>()).isGpu();
  SmallVector<Unit> units;
  DenseMap<Operation *, unsigned> unitOf;
  std::vector<llvm::SetVector<Value>> reads; // from memory, by unit
  DenseSet<Value> updated;                   // arguments whose memory a result takes over
  DenseMap<std::pair<Value, unsigned>, Value> clones;
};

/// What a kernel reads to have v: v itself, or what a cloned op is computed from.
void Replicator::addSources(Value v, llvm::SetVector<Value> &sources) {
  if (!v.getDefiningOp() || !isCloned(v.getDefiningOp())) {
    sources.insert(v);
    return;
  }
  for (Value operand : v.getDefiningOp()->getOperands())
    addSources(operand, sources);
}

bool Replicator::isInMemory(Value v) {
  Operation *op = v.getDefiningOp();
  auto at = op ? unitOf.find(op) : unitOf.end();
  return at == unitOf.end() || units[at->second].kind == Unit::Single ||
         llvm::any_of(op->getUsers(), [&](Operation *user) {
           auto reader = unitOf.find(user);
           return reader == unitOf.end() || reader->second != at->second;
         });
}

/// Kernels other than its own that read v, each at the position of its loops; nothing where
/// something else reads v, which then must be in memory.
std::optional<llvm::SmallSetVector<unsigned, 4>> Replicator::readersOf(Value v) {
  llvm::SmallSetVector<unsigned, 4> readers;
  unsigned own = unitOf.lookup(v.getDefiningOp());
  for (OpOperand &use : v.getUses()) {
    auto at = unitOf.find(use.getOwner());
    if (at == unitOf.end())
      return std::nullopt;
    if (at->second == own)
      continue;
    const Unit &unit = units[at->second];
    if (unit.kind != Unit::Fusible || ArrayRef(unit.dims) != typeOf(v).getDims() ||
        isa<RopeOp, LookupOp>(use.getOwner()))
      return std::nullopt;
    readers.insert(at->second);
  }
  return readers;
}

/// Adds `op` and what it needs; false where the clone would not be cheap.
bool Replicator::expand(Operation *op, unsigned reader, Recipe &recipe) {
  if (!isCheap(op) || recipe.ops.size() == kMaxOps)
    return false;
  recipe.ops.insert(op);
  for (Value v : op->getOperands()) {
    Operation *source = v.getDefiningOp();
    if (clones.contains({v, reader}) || recipe.ops.contains(source))
      continue;
    if (!source || isCloned(source) || isInMemory(v) || !isCheap(source))
      addSources(v, recipe.leaves);
    else if (!expand(source, reader, recipe))
      return false;
  }
  return true;
}

/// Whether fewer bytes move, and no reader reads noticeably more: then no more bytes are live at
/// once either.
bool Replicator::savesBytes(Value v, const llvm::SmallSetVector<unsigned, 4> &readers,
                            ArrayRef<Recipe> recipes) {
  int64_t before = bytesOf(v), after = 0;
  DenseSet<Value> written;
  for (auto [reader, recipe] : llvm::zip(readers, recipes)) {
    int64_t more = 0;
    for (Value leaf : recipe.leaves) {
      Value memory = viewed(leaf);
      if (updated.contains(memory) || isa_and_nonnull<dist::SliceOp>(memory.getDefiningOp()))
        return false; // its memory may be another value's by then
      more += reads[reader].contains(leaf) ? 0 : bytesOf(leaf);
      after += isInMemory(leaf) || !written.insert(leaf).second ? 0 : bytesOf(leaf);
    }
    if (more > bytesOf(v) + bytesOf(v) / 16)
      return false;
    before += bytesOf(v);
    after += more;
  }
  return after < before;
}

/// How the readers compute the result of `op`, if that saves bytes: from arrays in memory; a cast,
/// which may widen, also from its operand.
std::optional<SmallVector<Replicator::Recipe>>
Replicator::recipesOf(Operation *op, const llvm::SmallSetVector<unsigned, 4> &readers) {
  SmallVector<Recipe> recipes(readers.size());
  bool expands = llvm::all_of(llvm::zip(readers, recipes), [&](auto pair) {
    return expand(op, std::get<0>(pair), std::get<1>(pair));
  });
  if (expands && savesBytes(op->getResult(0), readers, recipes))
    return recipes;
  if (!isa<CastOp>(op))
    return std::nullopt;
  for (Recipe &recipe : recipes) {
    recipe = Recipe();
    recipe.ops.insert(op);
    addSources(op->getOperand(0), recipe.leaves);
  }
  return savesBytes(op->getResult(0), readers, recipes) ? std::optional(recipes) : std::nullopt;
}

/// Each clone stands after its op, where its operands are known.
void Replicator::replicate(Operation *op, unsigned reader, const Recipe &recipe) {
  SmallVector<Operation *> parts(recipe.ops.begin(), recipe.ops.end());
  llvm::sort(parts, [](Operation *x, Operation *y) { return x->isBeforeInBlock(y); });
  for (Operation *part : parts) {
    OpBuilder builder(layer.getContext());
    builder.setInsertionPointAfter(part);
    Operation *clone = builder.clone(*part);
    for (OpOperand &operand : clone->getOpOperands())
      if (Value known = clones.lookup({operand.get(), reader}))
        operand.set(known);
    clone->setAttr(kReplica, builder.getUnitAttr());
    unitOf[clone] = reader;
    clones[{part->getResult(0), reader}] = clone->getResult(0);
  }
  op->getResult(0).replaceUsesWithIf(clones[{op->getResult(0), reader}], [&](OpOperand &use) {
    auto at = unitOf.find(use.getOwner());
    return at != unitOf.end() && at->second == reader;
  });
  reads[reader].remove(op->getResult(0));
  reads[reader].insert(recipe.leaves.begin(), recipe.leaves.end());
}

void Replicator::run() {
  for (const Unit &unit : units)
    for (Operation *op : unit.ops) {
      if (unit.kind != Unit::Fusible || !isCheap(op))
        continue;
      auto readers = readersOf(op->getResult(0));
      if (!readers || readers->empty())
        continue;
      if (auto recipes = recipesOf(op, *readers))
        for (auto [reader, recipe] : llvm::zip(*readers, *recipes))
          replicate(op, reader, recipe);
    }
  for (Operation &op : llvm::make_early_inc_range(llvm::reverse(layer.getBlock())))
    if (isOpTriviallyDead(&op))
      op.erase();
}

} // namespace

void fuse::computeWhereRead(LayerOp layer) { Replicator(layer).run(); }
