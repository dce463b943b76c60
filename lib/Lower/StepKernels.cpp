//===- StepKernels.cpp - step-kernels: numbers that a step makes of its own -===//
//
// What a step computes between its functions, as kernels: the cotangents of the losses, of their
// counts, and the gradient norm.
//
// One decision: they are kernels and no host code, small as they are, so that no number of a step
// leaves the device that computes it, and a whole step can be captured.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/StepKernels.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Lower.h"
#include "lib/Schedule/Keys.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
class Builder {
public:
  Builder(ModuleOp module, Location loc) : b(loc, module.getContext()), module(module) {}

  /// A kernel on single numbers: `body` makes the outputs, with their types, of the inputs.
  void kernel(StringRef name, TypeRange inputs, TypeRange outputs,
              function_ref<SmallVector<Value>(ValueRange)> body) {
    b.setInsertionPointToEnd(module.getBody());
    auto tensors = [&](TypeRange elements) {
      return llvm::map_to_vector(elements, [&](Type element) -> Type {
        return nn::Tensor::get(b.getContext(), {}, element);
      });
    };
    SmallVector<Attribute> accesses(inputs.size() + outputs.size(),
                                    rt::AccessAttr::get(b.getContext(), "identity", "", 0));
    auto op = rt::KernelOp::create(
        b, name, rt::Skeleton::Map, b.getArrayAttr({}), b.getArrayAttr({}), /*grain=*/1,
        b.getFunctionType(tensors(inputs), tensors(outputs)), b.getArrayAttr(accesses));
    Block *block =
        b.createBlock(&op.getBody(), {}, inputs, SmallVector<Location>(inputs.size(), b.getLoc()));
    rt::YieldOp::create(b, body(block->getArguments()));
  }

  Value real(double value) { return arith::ConstantOp::create(b, b.getF64FloatAttr(value)); }
  Value cast(Value x, Type type) {
    return x.getType() == type ? x : arith::TruncFOp::create(b, type, x).getResult();
  }

  ImplicitLocOpBuilder b;

private:
  ModuleOp module;
};

/// Element type of a placed value.
Type elementOf(sched::ValueOp value) {
  return cast<nn::Tensor>(value->getAttrOfType<TypeAttr>("type").getValue()).getElementType();
}

/// cot_loss = weight / count, over the whole batch; 0 where nothing is counted.
void emitCotangent(Builder &make, StringRef loss, double weight, Type type, bool counted) {
  ImplicitLocOpBuilder &b = make.b;
  SmallVector<Type> inputs(counted, b.getF64Type());
  make.kernel(cotangentKernel(loss), inputs, type, [&](ValueRange in) -> SmallVector<Value> {
    Value whole = make.real(weight);
    if (!counted)
      return {make.cast(whole, type)};
    Value zero = make.real(0);
    Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, in[0], zero);
    Value each = arith::DivFOp::create(b, whole, in[0]);
    return {make.cast(arith::SelectOp::create(b, none, zero, each), type)};
  });
}

/// The squared norm, for the optimizer, and its root, for the metrics.
void emitNorm(Builder &make) {
  Type f64 = make.b.getF64Type();
  make.kernel(kNormKernel, f64, {f64, f64}, [&](ValueRange in) -> SmallVector<Value> {
    return {in[0], math::SqrtOp::create(make.b, in[0])};
  });
}

struct StepKernels : PassWrapper<StepKernels, OperationPass<ModuleOp>> {
  MLIR_DEFINE_EXPLICIT_INTERNAL_INLINE_TYPE_ID(StepKernels)
  StringRef getArgument() const final { return "step-kernels"; }
  void getDependentDialects(DialectRegistry &registry) const final {
    registry.insert<arith::ArithDialect, math::MathDialect>();
  }

  void runOnOperation() final {
    auto program = getOperation().lookupSymbol<sched::ProgramOp>("step");
    nn::ChainOp train = program ? program.getChain("train") : nn::ChainOp();
    if (!train)
      return;
    llvm::StringMap<sched::ValueOp> values;
    for (auto value : program.getBody().getOps<sched::ValueOp>())
      values[value.getKey()] = value;
    Builder make(getOperation(), program.getLoc());
    forEachLoss(train, [&](StringRef loss, double weight) {
      if (auto cotangent = values.lookup(schedule::cotLossKey(loss)))
        emitCotangent(make, loss, weight, elementOf(cotangent),
                      values.contains(schedule::lossKey(("count." + loss).str())));
    });
    if (values.contains(schedule::normKey()))
      emitNorm(make);
  }
};
} // namespace

void lower::forEachLoss(nn::ChainOp train, function_ref<void(StringRef, double)> body) {
  if (DictionaryAttr losses = train.getLossesAttr())
    for (NamedAttribute loss : losses)
      body(loss.getName(), lang::getFloat(losses, loss.getName(), 1));
}

std::unique_ptr<Pass> lower::createStepKernelsPass() { return std::make_unique<StepKernels>(); }
