//===- SumKernelsGpu.cpp - sum-kernels-gpu: what adds up the parts of ranks ----===//
//
// A transport brings the parts of all members into one place, one after the other; these kernels
// add them, in the order of the members and rounded once, as the runtime does on a CPU.
//
// One decision: sizes are arguments at run time, so that one kernel for each type serves the
// collectives of all shapes. A thread has one element, neighbours side by side.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "lib/Lower/Gpu/Module.h"
#include "lib/Lower/Gpu/Names.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/SCF/IR/SCF.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::lower {
#define GEN_PASS_DEF_SUMKERNELSGPUPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static constexpr int64_t kBlock = 256;
/// More elements than any memory has: the real number is an argument.
static constexpr int64_t kAny = int64_t(1) << 48;

namespace {
class SumKernel {
public:
  SumKernel(gpu::GPUModuleOp kernels, rt::SumOp sum)
      : b(kernels.getLoc(), kernels.getContext()), kernels(kernels), name(sum.getSymName()),
        type(sum.getElement()), sumType(nn::isNarrow(type) ? Type(b.getF32Type()) : type),
        maximum(sum.getKind() == nn::ReduceKind::max) {}
  void emit();

private:
  ImplicitLocOpBuilder b;
  gpu::GPUModuleOp kernels;
  StringRef name;
  Type type, sumType;
  bool maximum;

  Value index(int64_t n) { return arith::ConstantIndexOp::create(b, n); }
  Value load(Value memory, Value at) {
    Value x = memref::LoadOp::create(b, memory, at);
    return type == sumType ? x : arith::ExtFOp::create(b, sumType, x).getResult();
  }
  Value combine(Value x, Value y) {
    if (isa<FloatType>(sumType))
      return maximum ? arith::MaximumFOp::create(b, x, y).getResult()
                     : arith::AddFOp::create(b, x, y).getResult();
    return maximum ? arith::MaxSIOp::create(b, x, y).getResult()
                   : arith::AddIOp::create(b, x, y).getResult();
  }
  void emitElement(Value in, Value out, Value element, Value members, Value stride);
};
} // namespace

void SumKernel::emitElement(Value in, Value out, Value element, Value members, Value stride) {
  auto loop = scf::ForOp::create(b, index(1), members, index(1), load(in, element),
                                 [&](OpBuilder &, Location, Value member, ValueRange sum) {
                                   OpBuilder::InsertionGuard guard(b);
                                   b.setInsertionPointToEnd(cast<BlockArgument>(member).getOwner());
                                   Value at = arith::AddIOp::create(
                                       b, arith::MulIOp::create(b, member, stride), element);
                                   scf::YieldOp::create(b, combine(sum[0], load(in, at)));
                                 });
  Value sum = loop.getResult(0);
  if (type != sumType)
    sum = arith::TruncFOp::create(b, type, sum);
  memref::StoreOp::create(b, sum, out, element);
}

void SumKernel::emit() {
  Type memory = MemRefType::get({kAny}, type), i64 = b.getI64Type();
  gpu::GPUFuncOp func =
      makeKernel(b, kernels, name, {memory, memory, i64, i64, i64}, kBlock, /*grid=*/0);
  Block &entry = func.getBody().front();
  auto number = [&](unsigned i) -> Value {
    return arith::IndexCastOp::create(b, b.getIndexType(), entry.getArgument(i));
  };
  Value members = number(2), count = number(3), stride = number(4);
  Value element = arith::AddIOp::create(
      b, arith::MulIOp::create(b, gpu::BlockIdOp::create(b, gpu::Dimension::x), index(kBlock)),
      gpu::ThreadIdOp::create(b, gpu::Dimension::x));
  Value inside = arith::CmpIOp::create(b, arith::CmpIPredicate::ult, element, count);
  auto branch = scf::IfOp::create(b, inside, /*withElseRegion=*/false);
  b.setInsertionPointToStart(branch.thenBlock());
  emitElement(entry.getArgument(0), entry.getArgument(1), element, members, stride);
}

namespace {
struct SumKernelsGpuPass : tplan::lower::impl::SumKernelsGpuPassBase<SumKernelsGpuPass> {
  void runOnOperation() override {
    for (auto sum : getOperation().getOps<rt::SumOp>())
      SumKernel(kernelsOf(getOperation()), sum).emit();
  }
};
} // namespace
