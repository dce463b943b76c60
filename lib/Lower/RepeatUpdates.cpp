//===- RepeatUpdates.cpp - repeat-updates: one launch for the layers of a list ===//
//
// The optimizer does with each layer of a list what it does with the first, on memory that lies at
// a constant stride behind it. So a device gets one launch for all of them: a kernel's block has a
// second number, the instance, which moves each operand by its stride.
//
// One decision: only functions of part U are taken whose calls are kernels on parameters, states,
// gradients and numbers of the step. Layers of other parts wait for each other; these share no
// byte that one of them writes, so "all kernels of a layer" may become "a kernel for all layers".
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Lower/Host/Streams.h"
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Chain.h"
#include "lib/Schedule/Keys.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
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
    if (func.getArgName(arg) != schedule::kLayerScalar)
      return 0;
    return std::nullopt;
  default:
    return std::nullopt;
  }
}

/// The argument whose memory a value of the function is, or none.
std::optional<unsigned> argumentOf(Value value) {
  if (auto arg = dyn_cast<BlockArgument>(value))
    return arg.getArgNumber();
  auto result = cast<OpResult>(value);
  auto places = result.getOwner()->getAttrOfType<ArrayAttr>(sched::kPlaces);
  auto place = cast<sched::PlaceAttr>(places[result.getResultNumber()]);
  if (place.getKind() != "arg" || place.getAxes())
    return std::nullopt;
  return place.getN();
}

/// Strides of a launch's inputs and outputs, or none.
std::optional<SmallVector<int64_t>> stridesOf(rt::FuncOp func, rt::LaunchOp launch) {
  if (launch.getCount())
    return std::nullopt;
  SmallVector<int64_t> strides;
  for (ValueRange values : {ValueRange(launch.getArgs()), ValueRange(launch.getResults())})
    for (Value value : values) {
      std::optional<unsigned> arg = argumentOf(value);
      std::optional<int64_t> stride = arg ? strideOf(func, *arg) : std::nullopt;
      if (!stride)
        return std::nullopt;
      strides.push_back(*stride);
    }
  return strides;
}

struct RepeatUpdates : PassWrapper<RepeatUpdates, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(RepeatUpdates)
  StringRef getArgument() const final { return "repeat-updates"; }

  void runOnOperation() final {
    SymbolTable symbols(getOperation());
    for (auto func : getOperation().getOps<rt::FuncOp>())
      if (func.getPart() == "U" && repeat(func, symbols))
        func->setAttr(kRepeats, UnitAttr::get(&getContext()));
  }

private:
  /// Kernels get their strides, if all calls of the function may be launched so.
  bool repeat(rt::FuncOp func, const SymbolTable &symbols) {
    SmallVector<std::pair<rt::KernelOp, DenseI64ArrayAttr>> found;
    for (Operation &op : func.getBlock().without_terminator()) {
      auto launch = dyn_cast<rt::LaunchOp>(op);
      auto kernel = launch ? symbols.lookup<rt::KernelOp>(launch.getKernel()) : rt::KernelOp();
      std::optional<SmallVector<int64_t>> strides;
      if (kernel)
        strides = stridesOf(func, launch);
      if (!strides)
        return false;
      auto attr = DenseI64ArrayAttr::get(&getContext(), *strides);
      // Functions that share a kernel may hand it memory of other kinds.
      auto before = kernel->getAttrOfType<DenseI64ArrayAttr>(kStrides);
      if (before && before != attr)
        return false;
      found.push_back({kernel, attr});
    }
    for (auto [kernel, strides] : found)
      kernel->setAttr(kStrides, strides);
    return !found.empty();
  }
};
} // namespace

std::unique_ptr<Pass> lower::createRepeatUpdatesPass() { return std::make_unique<RepeatUpdates>(); }
