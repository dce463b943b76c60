//===- Gpu/Transpose.cpp - transposes through shared memory ---------------===//
//
// A block has one square of rows and columns. Operands that run along the rows go
// through shared memory, whose lines are an odd number of words long, so that walks
// down and across both spread over the banks.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "lib/Lower/Kernels/Skeletons.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
/// An operand in shared memory, one line a column.
struct Tile {
  unsigned number; ///< of the operand
  Type element;    ///< in memory
  int64_t pitch;   ///< elements from line to line
  Value memory;

  /// Where each vector of a line begins is a multiple of it.
  llvm::MaybeAlign alignment() const {
    return llvm::MaybeAlign(std::max<int64_t>(4, nn::elementBytes(element)));
  }
};

class TransposeGpu {
public:
  explicit TransposeGpu(Thread &t) : t(t), plan(t.plan), b(t.b) {}
  void run();

private:
  using Visit = llvm::function_ref<void(Value line, Value first)>;
  void findTiles();
  void forVectors(Value lines, Value elements, Visit visit);
  void copy(ArrayRef<Tile> tiles, bool in);
  void compute();

  Thread &t;
  const KernelPlan &plan;
  ImplicitLocOpBuilder &b;
  SmallVector<Tile> inputs, outputs;
  SmallVector<Value> outer; ///< the other row loops
  Value row, col;           ///< where the square begins
};
} // namespace

void TransposeGpu::findTiles() {
  for (auto [i, o] : llvm::enumerate(plan.operands)) {
    if (!isTurned(t.body, o))
      continue;
    Type element = stored(o.type.getElementType());
    int64_t side = t.spread.tile;
    int64_t pitch = side + std::max<int64_t>(1, 4 / nn::elementBytes(element));
    auto &tiles = i < plan.numInputs() ? inputs : outputs;
    tiles.push_back({unsigned(i), element, pitch, t.shared(element, side * pitch)});
  }
}

/// The thread's vectors of a square: lines of it, `first` the element in the line.
/// What lies past the end of the loops is left out.
void TransposeGpu::forVectors(Value lines, Value elements, Visit visit) {
  int64_t side = t.spread.tile, inLine = side / plan.lanes;
  loop(t.body, t.id, t.body.index(side * inLine), t.spread.block, {},
       [&](Body &, Value i, ValueRange) {
         auto [line, vector] = t.split(i, inLine);
         Value first = t.times(vector, plan.lanes);
         t.when(t.both(t.less(line, lines), t.less(first, elements)),
                [&, line = line] { visit(line, first); });
         return Values();
       });
}

/// Between memory, along the rows, and shared memory.
void TransposeGpu::copy(ArrayRef<Tile> tiles, bool in) {
  Value rowsLeft = arith::SubIOp::create(b, t.body.index(plan.rows.back()), row);
  Value colsLeft = arith::SubIOp::create(b, t.body.index(plan.numCols), col);
  forVectors(colsLeft, rowsLeft, [&](Value line, Value first) {
    Body at = t.body;
    at.atRow(outer, t.sum(row, first));
    at.atColumn(t.sum(col, line), 1);
    for (const Tile &tile : tiles) {
      Value memory = at.memory[tile.number], there = at.offset(plan.operands[tile.number]);
      Value here = t.sum(t.times(line, tile.pitch), first);
      auto type = VectorType::get({plan.lanes}, tile.element);
      if (in) {
        Value x = at.load(memory, there, tile.element, plan.lanes);
        vector::StoreOp::create(b, x, tile.memory, ValueRange{here}, false, tile.alignment());
      } else {
        Value x =
            vector::LoadOp::create(b, type, tile.memory, ValueRange{here}, false, tile.alignment());
        at.store(memory, there, x, plan.lanes);
      }
    }
  });
}

void TransposeGpu::compute() {
  Value rowsLeft = arith::SubIOp::create(b, t.body.index(plan.rows.back()), row);
  Value colsLeft = arith::SubIOp::create(b, t.body.index(plan.numCols), col);
  forVectors(rowsLeft, colsLeft, [&](Value line, Value first) {
    Body at = t.body;
    at.atRow(outer, t.sum(row, line));
    at.scalarsOfRate(PerRow, 0);
    at.atColumn(t.sum(col, first), plan.lanes);
    auto place = [&](const Tile &tile, int64_t lane) -> Value {
      Value down = t.sum(first, t.body.index(lane));
      return t.sum(t.times(down, tile.pitch), line);
    };
    for (const Tile &tile : inputs) {
      Values elements;
      for (int64_t l = 0; l < plan.lanes; ++l)
        elements.push_back(memref::LoadOp::create(b, tile.memory, ValueRange{place(tile, l)}));
      Value x =
          vector::FromElementsOp::create(b, VectorType::get({plan.lanes}, tile.element), elements);
      at.setVector(plan.block().getArgument(tile.number),
                   at.fromMemory(x, plan.operands[tile.number].type.getElementType()));
    }
    SmallVector<std::pair<unsigned, Value>> writes;
    for (unsigned i = 0; i < plan.numOutputs(); ++i)
      writes.push_back({i, at.vector(plan.yielded(i))});
    for (auto [i, x] : writes) {
      auto tile = llvm::find_if(
          outputs, [&, i = i](const Tile &o) { return o.number == plan.numInputs() + i; });
      if (tile == outputs.end()) {
        at.storeVector(i, x);
        continue;
      }
      if (cast<VectorType>(x.getType()).getElementType() != tile->element)
        x = arith::ExtUIOp::create(b, VectorType::get({plan.lanes}, tile->element), x);
      for (int64_t l = 0; l < plan.lanes; ++l)
        memref::StoreOp::create(b, vector::ExtractOp::create(b, x, ArrayRef<int64_t>{l}),
                                tile->memory, ValueRange{place(*tile, l)});
    }
  });
}

void TransposeGpu::run() {
  int64_t side = t.spread.tile;
  auto blocks = [&](int64_t n) { return (n + side - 1) / side; };
  auto [rest, across] = t.split(t.block, blocks(plan.numCols));
  auto [before, down] = t.split(rest, blocks(plan.rows.back()));
  col = t.times(across, side), row = t.times(down, side);
  outer = delinearise(b, before, ArrayRef(plan.rows).drop_back());
  findTiles();
  if (!inputs.empty()) {
    copy(inputs, /*in=*/true);
    t.barrier();
  }
  compute();
  if (!outputs.empty()) {
    t.barrier();
    copy(outputs, /*in=*/false);
  }
}

LogicalResult lower::emitTransposeGpu(Thread &t) {
  TransposeGpu(t).run();
  return success();
}
