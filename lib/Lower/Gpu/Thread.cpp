//===- Gpu/Thread.cpp - what the emitters for GPUs share ------------------===//
//
// Warps reduce with shuffles, always with all 32 lanes, so rows that are not there
// are computed from other memory and not stored. Warps meet in shared memory.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Gpu/Thread.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

Thread::Thread(Body &body, gpu::GPUFuncOp func, const Spread &spread, Value block, Value rowCount)
    : body(body), plan(body.plan), b(body.b), func(func), spread(spread), block(block),
      rowCount(rowCount) {
  id = gpu::ThreadIdOp::create(b, gpu::Dimension::x);
}

Value Thread::shared(Type element, int64_t size) {
  return sharedMemory(func, stored(element), size);
}

void Thread::barrier() { gpu::BarrierOp::create(b); }

void Thread::when(Value condition, function_ref<void()> step) {
  if (!condition)
    return step();
  auto branch = scf::IfOp::create(b, condition, /*withElseRegion=*/false);
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(branch.thenBlock());
  step();
}

Value Thread::both(Value x, Value y) {
  if (!x || !y)
    return x ? x : y;
  return arith::AndIOp::create(b, x, y);
}

Value Thread::less(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::ult, x, y);
}

Value Thread::equal(Value x, Value y) {
  return arith::CmpIOp::create(b, arith::CmpIPredicate::eq, x, y);
}

Value Thread::isZero(Value x) { return equal(x, body.index(0)); }

std::pair<Value, Value> Thread::split(Value x, int64_t n) {
  if (n == 1)
    return {x, body.index(0)};
  return {arith::DivUIOp::create(b, x, body.index(n)), arith::RemUIOp::create(b, x, body.index(n))};
}

Value Thread::sum(Value x, Value y) { return arith::AddIOp::create(b, x, y); }

Value Thread::times(Value x, int64_t n) {
  return n == 1 ? x : arith::MulIOp::create(b, x, body.index(n)).getResult();
}

/// Both sides add the same two numbers, in whichever order, so all threads get the same bits.
Value Thread::combine(nn::ReduceKind kind, Value x, Value y) {
  if (kind == nn::ReduceKind::sum)
    return arith::AddFOp::create(b, x, y);
  return arith::MaximumFOp::create(b, x, y);
}

Value Thread::reduce(nn::ReduceKind kind, Value acc, int64_t threads) {
  for (int64_t n = cast<VectorType>(acc.getType()).getNumElements(); n > 1; n /= 2) {
    SmallVector<int64_t> even, odd;
    for (int64_t i = 0; i < n; i += 2)
      even.push_back(i), odd.push_back(i + 1);
    acc = combine(kind, vector::ShuffleOp::create(b, acc, acc, even),
                  vector::ShuffleOp::create(b, acc, acc, odd));
  }
  Value x = vector::ExtractOp::create(b, acc, ArrayRef<int64_t>{0});
  for (int64_t i = 1; i < threads; i *= 2)
    x = combine(kind, x, exchange(b, x, i));
  return x;
}

Value Thread::reduce(nn::ReduceKind kind, Value acc) {
  Value x = reduce(kind, acc, std::min(spread.group, kWarp));
  int64_t warps = spread.group / kWarp;
  if (warps <= 1)
    return x;
  Value meeting = shared(x.getType(), warps);
  auto [warp, lane] = split(id, kWarp);
  when(isZero(lane),
       [&, warp = warp] { memref::StoreOp::create(b, x, meeting, ValueRange{warp}); });
  barrier();
  x = memref::LoadOp::create(b, meeting, ValueRange{split(id, warps).second});
  for (int64_t i = 1; i < warps; i *= 2)
    x = combine(kind, x, exchange(b, x, i));
  return x;
}
