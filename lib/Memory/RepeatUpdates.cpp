//===- RepeatUpdates.cpp - repeat-updates: one launch for the layers of a list ===//
//
// The optimizer does with each layer of a list what it does with the first, on memory that lies at
// a constant stride from the layer before. So a device gets one launch for all of them: a block of
// a kernel has a second number, the layer, which moves each operand by its stride.
//
// One decision: only functions of part `update` are taken, and only if their calls are kernels on
// parameters, states, gradients and numbers of the step. Layers of other parts wait for each other;
// these share no byte that one of them writes, so "all kernels of a layer" may become "a kernel for
// all layers". What a kernel computes from the numbers alone is the same for all layers, and is
// computed once.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Scalars.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Memory/Memory.h"
#include "llvm/ADT/MapVector.h"

namespace tplan::memory {
#define GEN_PASS_DEF_REPEATUPDATESPASS
#include "lib/Memory/Passes.h.inc"
} // namespace tplan::memory

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using nn::Role;

namespace {

/// Bytes from an argument of one layer to that of the next, or none where they do not lie at a
/// stride that the function knows.
std::optional<int64_t> strideOf(rt::FuncOp func, unsigned arg) {
  switch (func.getArgRole(arg)) {
  case Role::Param:
  case Role::State:
  case Role::CotParam:
    return sched::alignUp(cast<nn::Tensor>(func.getArgumentTypes()[arg]).getBytes());
  case Role::Scalar:
    if (nn::instancesOf(func.getArgName(arg)) != nn::ScalarPer::Layer)
      return 0;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

/// The argument in whose memory all of a value of the function is, or none.
std::optional<unsigned> argumentOf(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return arg.getArgNumber();
  sched::PlaceAttr place = sched::placeOf(cast<OpResult>(value));
  if (place.getKind() != sched::PlaceKind::Arg || place.getAxes())
    return std::nullopt;
  return place.getN();
}

bool isInFrame(OpResult result) {
  return sched::placeOf(result).getKind() == sched::PlaceKind::Frame;
}

/// The calls of a function, one after the other.
class Update {
public:
  explicit Update(rt::FuncOp func) : func(func) {}

  /// Strides of a launch's inputs and outputs; empty where one launch serves all layers anyway;
  /// none where it cannot be repeated.
  std::optional<SmallVector<int64_t>> stridesOf(rt::LaunchOp launch);

private:
  rt::FuncOp func;
  DenseSet<Value> shared; // values that are computed once for all layers

  std::optional<int64_t> strideOf(Value value) const {
    if (shared.contains(value))
      return 0;
    std::optional<unsigned> arg = argumentOf(value);
    return arg ? ::strideOf(func, *arg) : std::nullopt;
  }
};

std::optional<SmallVector<int64_t>> Update::stridesOf(rt::LaunchOp launch) {
  if (launch.getCount())
    return std::nullopt;
  SmallVector<int64_t> strides;
  auto add = [&](ValueRange values) {
    for (Value value : values) {
      std::optional<int64_t> stride = strideOf(value);
      if (!stride)
        return false;
      strides.push_back(*stride);
    }
    return true;
  };
  if (!add(launch.getArgs()))
    return std::nullopt;
  if (llvm::all_of(launch->getResults(), isInFrame)) {
    if (llvm::any_of(strides, [](int64_t stride) { return stride != 0; }))
      return std::nullopt;
    shared.insert(launch.getResults().begin(), launch.getResults().end());
    return SmallVector<int64_t>();
  }
  return add(launch.getResults()) ? std::optional(strides) : std::nullopt;
}

struct RepeatUpdatesPass : tplan::memory::impl::RepeatUpdatesPassBase<RepeatUpdatesPass> {
  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto func : getOperation().getOps<rt::FuncOp>())
      if (func.getPart() == nn::Part::Update && repeat(func, symbols))
        func->setAttr(sched::kRepeats, UnitAttr::get(&getContext()));
    getOperation().walk([&](sched::RunOp run) { hoist(run); });
  }

private:
  static ArrayAttr ofFirstPeriod(ArrayAttr instances) {
    MLIRContext *context = instances.getContext();
    auto maps = llvm::map_to_vector(instances.getAsRange<AffineMapAttr>(), [&](AffineMapAttr map) {
      return map.getValue().replace(sched::periodOf(context), getAffineConstantExpr(0, context), 0,
                                    2);
    });
    return Builder(context).getAffineMapArrayAttr(maps);
  }

  /// Calls that do the work of all periods leave the run, in their order.
  static void hoist(sched::RunOp run) {
    for (auto call : llvm::make_early_inc_range(run.getBody().getOps<sched::CallOp>()))
      if (call.getFunction()->hasAttr(sched::kRepeats) && liesAtStrides(call)) {
        call.setLayers(run.getTimes());
        call.setInstancesAttr(ofFirstPeriod(call.getInstances()));
        call->moveBefore(run);
      }
    if (run.getBody().front().empty())
      run.erase();
  }

  /// Whether the memory of the layers lies at the strides that their function was marked with.
  static bool liesAtStrides(sched::CallOp call) {
    rt::FuncOp func = call.getFunction();
    auto run = cast<sched::RunOp>(call->getParentOp());
    for (auto [i, use] : llvm::enumerate(call.getUses())) {
      if (i >= func.getNumArguments() || func.getArgRole(i) == Role::Scalar || run.getTimes() == 1)
        continue;
      sched::ValueOp value = sched::valueOf(use.value);
      if (value.getCount() == 1 ||
          value.getStride() !=
              sched::alignUp(cast<nn::Tensor>(func.getArgumentTypes()[i]).getBytes()))
        return false;
    }
    return true;
  }

  /// Kernels get their strides, if all calls of the function may be launched so.
  bool repeat(rt::FuncOp func, const SymbolTable &symbols) {
    Update update(func);
    SmallVector<rt::LaunchOp> found;
    llvm::MapVector<rt::KernelOp, DenseI64ArrayAttr> ofKernels;
    for (Operation &op : func.getBlock().without_terminator()) {
      auto launch = dyn_cast<rt::LaunchOp>(op);
      auto kernel = launch ? symbols.lookup<rt::KernelOp>(launch.getKernel()) : rt::KernelOp();
      std::optional<SmallVector<int64_t>> strides;
      if (kernel)
        strides = update.stridesOf(launch);
      if (!strides)
        return false;
      if (strides->empty())
        continue;
      // Calls that share a kernel, here or in another function, may hand it memory of other kinds.
      auto attr = DenseI64ArrayAttr::get(&getContext(), *strides);
      auto before = kernel->getAttrOfType<DenseI64ArrayAttr>(sched::kStrides);
      DenseI64ArrayAttr &here = ofKernels[kernel];
      if ((before && before != attr) || (here && here != attr))
        return false;
      here = attr;
      found.push_back(launch);
    }
    for (rt::LaunchOp launch : found)
      launch->setAttr(sched::kRepeats, UnitAttr::get(&getContext()));
    for (auto [kernel, strides] : ofKernels)
      kernel->setAttr(sched::kStrides, strides);
    return !found.empty();
  }
};
} // namespace
