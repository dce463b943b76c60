//===- Gpu/Spread.cpp - vectors, threads and blocks of a kernel -----------===//
//
// A thread's vector is 16 bytes of the narrowest operand that has columns, or less
// where the columns do not divide: then no row leaves a tail, and accesses stay
// side by side.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "llvm/Support/MathExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static int64_t ceilDiv(int64_t a, int64_t b) { return (a + b - 1) / b; }
static int64_t ceilPower(int64_t n) { return llvm::PowerOf2Ceil(n); }
/// The largest power of two that divides n.
static int64_t twos(int64_t n) { return n & -n; }

/// Elements in 16 bytes of the narrowest operand along the columns, within bounds: vectors for
/// bytes would take too many f32 registers, vectors for f64 too many threads.
static int64_t widestVector(const KernelPlan &plan, int64_t least, int64_t most = 8) {
  int64_t bytes = 8;
  for (const OperandPlan &o : plan.operands)
    if (o.strides.alongCols())
      bytes = std::min(bytes, nn::elementBytes(o.type.getElementType()));
  return std::clamp<int64_t>(16 / bytes, least, most);
}

int64_t Spread::slots(const KernelPlan &plan) const {
  return ceilDiv(plan.numCols, classes * tiles);
}

static void spreadMap(KernelPlan &plan, Spread &s) {
  plan.lanes = widestVector(plan, 4);
  if (!plan.flat)
    plan.lanes = std::min(plan.lanes, twos(plan.numCols));
  for (const OperandPlan &o : plan.operands) // vectors that cross no middle are read as they lie
    if (o.half && o.along.alongCols())
      plan.lanes = std::min(plan.lanes, twos(o.half));
  s.grid = ceilDiv(plan.numRows * ceilDiv(plan.numCols, plan.lanes), s.block);
}

/// Whether a column needs nothing of the others of its row, and gives them nothing.
static bool hasColumnsApart(const KernelPlan &plan) {
  auto isAlongCols = [&](unsigned i) { return plan.output(i).strides.alongCols(); };
  return !plan.reducePasses && llvm::all_of(llvm::seq(plan.numOutputs()), isAlongCols);
}

/// Sums over rows have a block for each task, or several that share its columns. Without sums, a
/// block takes several short rows.
static void spreadRow(KernelPlan &plan, Spread &s, bool sums) {
  int64_t even = twos(plan.numCols);
  plan.lanes = std::min(widestVector(plan, 4), even);
  if (sums && hasColumnsApart(plan)) {
    s.group = std::min<int64_t>(128, ceilPower(plan.numCols / plan.lanes));
    s.classes = s.group * plan.lanes;
    s.tiles = ceilDiv(plan.numCols, s.classes);
    s.block = std::max(kWarp, s.group), s.grid = plan.tasks * s.tiles;
    return;
  }
  s.classes = std::min(ceilPower(plan.numCols), 512 * std::min<int64_t>(4, even));
  s.group = std::max<int64_t>(1, s.classes / plan.lanes);
  if (sums) {
    s.block = std::max<int64_t>(32, s.group), s.grid = plan.tasks;
    s.takesRegisters = true;
    return;
  }
  s.block = s.group > 32 ? s.group : 128;
  s.grid = ceilDiv(plan.numRows, s.block / s.group);
}

Value lower::idOfScatters(const KernelPlan &plan) {
  Value id = plan.output(0).id;
  for (unsigned i = 0; i < plan.numOutputs(); ++i)
    if (const OperandPlan &o = plan.output(i);
        !plan.writesElements(i) || !o.isScatter() || o.id != id)
      return {};
  return id;
}

/// Enough blocks for each multiprocessor of a large GPU to have several.
static constexpr int64_t kManyBlocks = 1024;

/// The slices do not depend on the columns. Where each row goes to the place of its id, blocks
/// share the ids, so that rows of one id are added one after the other, and others at the same
/// time.
static void spreadColumn(KernelPlan &plan, Spread &s) {
  plan.lanes = std::min(widestVector(plan, 4), twos(plan.numCols));
  if (idOfScatters(plan)) {
    int64_t vectors = plan.numCols / plan.lanes;
    s.block = std::clamp<int64_t>(ceilPower(vectors), kWarp, 128);
    int64_t tiles = ceilDiv(vectors, s.block), most = std::max<int64_t>(1, plan.numRows / 16);
    s.owners = llvm::bit_floor<uint64_t>(std::min(most, std::max<int64_t>(1, kManyBlocks / tiles)));
    s.grid = tiles * s.owners;
    s.takesRegisters = true;
    return;
  }
  bool scatters = llvm::any_of(plan.operands, [](const OperandPlan &o) { return o.isScatter(); });
  s.slices = scatters ? 1 : std::min<int64_t>(32, llvm::bit_floor<uint64_t>(plan.numRows / 4 | 1));
  int64_t vectors = plan.numCols / plan.lanes;
  s.block = s.slices * std::min(ceilPower(vectors), std::max<int64_t>(16, 128 / s.slices));
  s.grid = ceilDiv(vectors, s.block / s.slices);
}

/// Lines of 128 bytes on both sides of the square, as far as shared memory goes.
static void spreadTranspose(KernelPlan &plan, Spread &s) {
  int64_t last = plan.rows.empty() ? 1 : plan.rows.back();
  bool movesBytes = llvm::all_of(plan.operands, [](const OperandPlan &o) {
    return nn::elementBytes(o.type.getElementType()) == 1;
  });
  int64_t widest = widestVector(plan, 2, movesBytes ? 16 : 8);
  plan.lanes = std::min({widest, twos(plan.numCols), twos(last)});
  int64_t bytes = 0, largest = 1; // of an element
  for (const OperandPlan &o : plan.operands)
    if (o.strides.alongCols() && !plan.rows.empty() && o.strides.rows.back() == 1) {
      bytes += nn::elementBytes(o.type.getElementType());
      largest = std::max(largest, nn::elementBytes(o.type.getElementType()));
    }
  s.tile = largest <= 1 ? 128 : largest <= 2 ? 64 : 32;
  while (s.tile * (s.tile + 4) * bytes > 48 << 10)
    s.tile /= 2;
  plan.lanes = std::min(plan.lanes, s.tile);
  s.grid = plan.numRows / last * ceilDiv(last, s.tile) * ceilDiv(plan.numCols, s.tile);
}

Spread lower::spreadOverThreads(KernelPlan &plan) {
  Spread s;
  bool sums = llvm::any_of(plan.block(), [](Operation &o) { return isa<rt::ColReduceOp>(o); });
  switch (plan.op.getSkeleton()) {
  case rt::Skeleton::Map:
    spreadMap(plan, s);
    break;
  case rt::Skeleton::Row:
    spreadRow(plan, s, sums);
    break;
  case rt::Skeleton::Column:
    spreadColumn(plan, s);
    break;
  case rt::Skeleton::Transpose:
    spreadTranspose(plan, s);
    break;
  }
  plan.alignedVectors = true;
  return s;
}
