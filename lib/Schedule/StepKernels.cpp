//===- StepKernels.cpp - step-kernels: numbers that a step makes of its own -===//
//
// What a step computes between its functions, as kernels: the cotangents of the losses and of their
// counts, and the gradient norm; where the loss is scaled, also the new scale.
//
// One decision: small as they are, they are kernels and no host code, so that no number of a step
// leaves the device that computes it, and a step can be captured.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/StepKernels.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/LossScale.h"
#include "dialects/tplan/Settings.h"
#include "lib/Schedule/Schedule.h"
#include "lib/Schedule/Values.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::schedule {
#define GEN_PASS_DEF_STEPKERNELSPASS
#include "lib/Schedule/Passes.h.inc"
} // namespace tplan::schedule

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using sched::KeyAttr;
using sched::ValueKind;

/// With these names metrics are logged, and states saved as parts of `loss`.
StepValues schedule::stepValues(ModuleOp module) {
  StepValues values;
  if (!lang::Settings(module).plan.lossScale)
    return values;
  MLIRContext *context = module.getContext();
  values.numbers = {KeyAttr::get(context, ValueKind::Scalar, nn::kUnscale),
                    KeyAttr::get(context, ValueKind::StepNumber, kLossScaleNumber),
                    KeyAttr::get(context, ValueKind::StepNumber, kSkipped)};
  for (auto [symbol, name] :
       {std::pair(lang::kLossScale, "scale"), std::pair(lang::kGoodSteps, "good_steps")})
    if (auto param = module.lookupSymbol<nn::ParamOp>(symbol))
      values.states.push_back(KeyAttr::get(ValueKind::State, FlatSymbolRefAttr::get(param), name));
  if (!values.states.empty())
    values.factor = values.states.front();
  return values;
}

void schedule::declareStepValues(ProgramValues &values, const StepValues &step) {
  if (!values.find(normKey(values.getProgram(), 0)))
    return;
  MLIRContext *context = values.context();
  Type real = nn::Tensor::get(context, {}, Float64Type::get(context));
  for (KeyAttr number : step.numbers)
    values.declare(number, sched::Owner::Scalar, sched::Life::Always, real);
  for (KeyAttr state : step.states)
    values.declare(state, sched::Owner::State, sched::Life::Always, real);
}

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
    SmallVector<Attribute> accesses(
        inputs.size() + outputs.size(),
        rt::AccessAttr::get(b.getContext(), rt::AccessKind::Identity, "", 0));
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
Type elementOf(sched::ValueOp value) { return value.getTensor().getElementType(); }

/// The scale in a kernel: its last input where steps move it, else a constant.
Value scaleIn(Builder &make, const lang::LossScale &scale, ValueRange in, size_t at) {
  return scale.interval ? in[at] : make.real(scale.start);
}

/// cot_loss = weight / count, over the whole batch, times the scale; 0 where nothing is counted.
void emitCotangent(Builder &make, StringRef loss, double weight, Type type, bool counted,
                   const std::optional<lang::LossScale> &scale) {
  ImplicitLocOpBuilder &b = make.b;
  SmallVector<Type> inputs(counted + (scale && scale->interval), b.getF64Type());
  make.kernel(cotangentKernel(loss), inputs, type, [&](ValueRange in) -> SmallVector<Value> {
    Value whole = make.real(weight);
    if (scale)
      whole = arith::MulFOp::create(b, whole, scaleIn(make, *scale, in, counted));
    if (!counted)
      return {make.cast(whole, type)};
    Value zero = make.real(0);
    Value none = arith::CmpFOp::create(b, arith::CmpFPredicate::OEQ, in[0], zero);
    Value each = arith::DivFOp::create(b, whole, in[0]);
    return {make.cast(arith::SelectOp::create(b, none, zero, each), type)};
  });
}

/// The parts of the stages, in their order.
Value sumOf(Builder &make, ValueRange parts) {
  Value sum = parts.front();
  for (Value part : parts.drop_front())
    sum = arith::AddFOp::create(make.b, sum, part);
  return sum;
}

/// The squared norm, for the optimizer, and its root, for the metrics.
void emitNorm(Builder &make, int64_t stages) {
  Type f64 = make.b.getF64Type();
  SmallVector<Type> inputs(stages, f64);
  make.kernel(kNormKernel, inputs, {f64, f64}, [&](ValueRange in) -> SmallVector<Value> {
    Value square = sumOf(make, in);
    return {square, math::SqrtOp::create(make.b, square)};
  });
}

/// The norm where the loss is scaled. The scale is a power of two, so that dividing by it is exact.
/// (squared norm of each stage, scale, good steps) -> squared norm and norm of the gradients; what
/// part `update` multiplies them by, 0 where they are not finite; the scale and whether the step is
/// skipped, for the metrics; scale and good steps after the step. A constant scale has neither
/// these two results nor the inputs.
void emitScaledNorm(Builder &make, const lang::LossScale &scale, int64_t stages) {
  ImplicitLocOpBuilder &b = make.b;
  bool moves = scale.interval != 0;
  SmallVector<Type> inputs(stages + (moves ? 2 : 0), b.getF64Type()),
      outputs(moves ? 7 : 5, b.getF64Type());
  make.kernel(kNormKernel, inputs, outputs, [&](ValueRange in) -> SmallVector<Value> {
    auto mul = [&](Value x, Value y) -> Value { return arith::MulFOp::create(b, x, y); };
    auto less = [&](Value x, Value y) -> Value { // false for NaN
      return arith::CmpFOp::create(b, arith::CmpFPredicate::OLT, x, y);
    };
    auto select = [&](Value condition, Value x, Value y) -> Value {
      return arith::SelectOp::create(b, condition, x, y);
    };
    Value zero = make.real(0), one = make.real(1), now = scaleIn(make, scale, in, stages);
    Value sum = sumOf(make, in.take_front(stages));
    Value finite = less(sum, make.real(std::numeric_limits<double>::infinity()));
    Value unscale = arith::DivFOp::create(b, one, now);
    Value square = mul(mul(sum, unscale), unscale);
    SmallVector<Value> results = {square, math::SqrtOp::create(b, square),
                                  select(finite, unscale, zero), now, select(finite, zero, one)};
    if (!moves)
      return results;
    Value good = arith::AddFOp::create(b, in[stages + 1], one);
    Value stays = less(good, make.real(scale.interval));
    // At its bounds the scale stays, too.
    Value up = select(less(now, make.real(lang::LossScale::kMost)), mul(now, make.real(2)), now);
    Value down =
        select(less(make.real(lang::LossScale::kFloor), now), mul(now, make.real(0.5)), now);
    results.push_back(select(finite, select(stays, now, up), down));
    results.push_back(select(finite, select(stays, good, zero), zero));
    return results;
  });
}

struct StepKernelsPass : tplan::schedule::impl::StepKernelsPassBase<StepKernelsPass> {
  /// The programs of one pipeline share these kernels.
  void runOnOperation() final {
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      addKernels(program);
  }

  void addKernels(sched::ProgramOp program) {
    if (!program.getLosses())
      return;
    llvm::DenseMap<Attribute, sched::ValueOp> values;
    for (auto value : program.getBody().getOps<sched::ValueOp>())
      values[value.getKey()] = value;
    auto find = [&](ValueKind kind, StringRef name) {
      return values.lookup(KeyAttr::get(&getContext(), kind, name));
    };
    auto isMade = [&](StringRef kernel) {
      return getOperation().lookupSymbol<rt::KernelOp>(kernel) != nullptr;
    };
    Builder make(getOperation(), program.getLoc());
    std::optional<lang::LossScale> scale = lang::Settings(getOperation()).plan.lossScale;
    for (NamedAttribute loss : program.getLossesAttr())
      if (auto cotangent = find(ValueKind::LossCotangent, loss.getName());
          cotangent && !isMade(cotangentKernel(loss.getName())))
        emitCotangent(make, loss.getName(), cast<FloatAttr>(loss.getValue()).getValueAsDouble(),
                      elementOf(cotangent), find(ValueKind::Count, loss.getName()) != nullptr,
                      scale);
    int64_t stages = program.getChainLength();
    if (values.contains(normKey(program, 0)) && !isMade(kNormKernel))
      scale ? emitScaledNorm(make, *scale, stages) : emitNorm(make, stages);
  }
};
} // namespace
