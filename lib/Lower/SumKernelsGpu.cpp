//===- SumKernelsGpu.cpp - sum-kernels-gpu: what adds up the parts of ranks ----===//
//
// A transport brings the parts of all members into one place, one after the other; these kernels
// add them, in the order of the members and rounded once, as the runtime does on a CPU.
//
// One decision: sizes are arguments at run time, so that one kernel for each type serves the
// collectives of all shapes. A thread has one element, neighbours side by side.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Kinds.h"
#include "dialects/nn/Narrow.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
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

/// "tplan.sum_bf16"
static std::string nameOf(Type type, bool maximum) {
  std::string name;
  llvm::raw_string_ostream(name) << "tplan." << (maximum ? "max_" : "sum_")
                                 << nn::elementName(type);
  return name;
}

namespace {
class SumKernel {
public:
  SumKernel(gpu::GPUModuleOp kernels, Type type, bool maximum)
      : b(kernels.getLoc(), kernels.getContext()), kernels(kernels), type(type),
        sumType(nn::isNarrow(type) ? Type(b.getF32Type()) : type), maximum(maximum) {}
  void emit();

private:
  ImplicitLocOpBuilder b;
  gpu::GPUModuleOp kernels;
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
  gpu::GPUFuncOp func = makeKernel(b, kernels, nameOf(type, maximum),
                                   {memory, memory, i64, i64, i64}, kBlock, /*grid=*/0);
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
    SmallVector<std::pair<Type, bool>> wanted; // element type, whether it is the maximum
    auto want = [&](Type type, bool maximum) {
      if (!llvm::is_contained(wanted, std::pair(type, maximum)))
        wanted.push_back({type, maximum});
    };
    for (auto func : getOperation().getOps<rt::FuncOp>())
      for (auto op : func.getBlock().getOps<rt::CollectiveOp>())
        if (dist::factsOf(op.getKind()).sums)
          want(cast<nn::Tensor>(op.getX().getType()).getElementType(),
               op.getReduction() == nn::ReduceKind::max);
    // Sums between functions are of f64, and so are those of losses, which the runtime makes.
    getOperation().walk([&](Operation *op) {
      auto value = dyn_cast<sched::ValueOp>(op);
      if (isa<sched::AllReduceOp>(op) || (value && value.getPending()))
        want(Float64Type::get(&getContext()), false);
    });
    if (wanted.empty())
      return;
    gpu::GPUModuleOp kernels = kernelsOf(getOperation());
    NamedAttrList sums;
    for (auto [type, maximum] : wanted) {
      SumKernel(kernels, type, maximum).emit();
      std::string name = nameOf(type, maximum);
      nn::ReduceKind kind = maximum ? nn::ReduceKind::max : nn::ReduceKind::sum;
      sums.set(name, rt::DeviceSumAttr::get(&getContext(), kind, type));
    }
    kernels->setAttr(kSums, sums.getDictionary(&getContext()));
  }
};
} // namespace
