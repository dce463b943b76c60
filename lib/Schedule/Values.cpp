//===- Values.cpp - the values of a program, by key ------------------------===//
#include "lib/Schedule/Values.h"
#include "dialects/tplan/LossScale.h"
#include "dialects/tplan/Settings.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using sched::KeyAttr;
using sched::Life;
using sched::Owner;
using sched::ValueKind;
using sched::ValueOp;

//===----------------------------------------------------------------------===//
// Declaring
//===----------------------------------------------------------------------===//

ValueOp ProgramValues::declare(KeyAttr key, Owner owner, Life lives, Type type, int64_t count) {
  return create(key, owner, lives, nn::bytesOf(type), count, type);
}

/// Values stand before all sections, whenever they are declared.
ValueOp ProgramValues::create(KeyAttr key, Owner owner, Life lives, int64_t bytes, int64_t count,
                              Type type) {
  ValueOp &value = values[key];
  if (!value) {
    if (last)
      b.setInsertionPointAfter(last);
    last = value = ValueOp::create(b, program.getLoc(), key, owner, lives, bytes, count, type);
  }
  return value;
}

ValueOp ProgramValues::declareFrame(StringRef name) {
  return create(KeyAttr::get(context(), ValueKind::Frame, name), Owner::Frame, Life::Section, 0, 1,
                Type());
}

std::string schedule::layerName(const Run &run, unsigned j) {
  return "r" + std::to_string(run.index) + "." + run.callees[j].name.str() + "." +
         std::to_string(j);
}

std::string schedule::contributionName(const Run &run, unsigned j, StringRef name) {
  return layerName(run, j) + ".contribution." + name.str();
}

/// The axes of a scalar "member.dp+tp", as `localize` names it.
static ArrayAttr membersOf(MLIRContext *context, StringRef name) {
  SmallVector<StringRef> names;
  name.split(names, '+');
  return Builder(context).getStrArrayAttr(names);
}

KeyAttr schedule::keyOf(const Run &run, const Callee &callee, const nn::Label &label) {
  MLIRContext *context = nn::RunOp(run.op).getContext();
  StringRef name = label.name;
  nn::ParamOp param = callee.paramOf(label);
  auto ofParam = [&](ValueKind kind, StringRef slot = "") {
    return param ? KeyAttr::get(kind, FlatSymbolRefAttr::get(param), slot) : KeyAttr();
  };
  switch (label.role) {
  case Role::Param:
    return ofParam(ValueKind::Parameter);
  case Role::CotParam:
    return ofParam(ValueKind::Gradient);
  case Role::State: // of the optimizer, or the model's own
    return label.slot ? ofParam(ValueKind::State, label.slot.getName())
                      : ofParam(ValueKind::Parameter);
  case Role::Scalar:
    if (name.consume_front("member."))
      return KeyAttr::get(context, ValueKind::Member, {}, {}, membersOf(context, name));
    return KeyAttr::get(context, ValueKind::Scalar, name);
  case Role::CotLoss:
    return KeyAttr::get(context, ValueKind::LossCotangent, name);
  case Role::Loss:
  case Role::Metric:
    return KeyAttr::get(context, ValueKind::Loss, name);
  case Role::Output:
    return KeyAttr::get(context, ValueKind::Output, name);
  case Role::Contribution:
    return KeyAttr::get(context, ValueKind::Activation,
                        contributionName(run, &callee - run.callees.data(), name));
  default:
    return {};
  }
}

//===----------------------------------------------------------------------===//
// What lives from step to step
//===----------------------------------------------------------------------===//

namespace {
class Persistent {
public:
  Persistent(ProgramValues &values, const Chain &chain, int64_t microbatches)
      : values(values), chain(chain), microbatches(microbatches) {}

  LogicalResult declare() {
    for (nn::InputOp input : chain.inputs)
      addInput(input);
    for (const Run &run : chain.runs)
      for (const Callee &callee : run.callees)
        for (auto [part, func] : callee.existing())
          if (failed(addFunction(run, callee, func)))
            return failure();
    return success();
  }

private:
  ProgramValues &values;
  const Chain &chain;
  int64_t microbatches;

  ValueOp add(KeyAttr key, Owner owner, Type type, int64_t count = 1) {
    return values.declare(key, owner, Life::Always, type, count);
  }

  void addOfParam(KeyAttr key, Owner owner, Type type, nn::ParamOp param) {
    ValueOp value = add(key, owner, type, param.getCount());
    // Where ranks have blocks of it, there is memory for all of them.
    auto padded = param->getAttrOfType<IntegerAttr>(dist::kPadded);
    auto tensor = cast<nn::Tensor>(type);
    bool inBlocks = tensor.getRank() && tensor.getDims().front().getName() == dist::kRowsDim;
    if (padded && !inBlocks)
      value.setBytes(padded.getInt() * nn::elementBytes(tensor.getElementType()));
  }

  /// A row serves all shifts of an input: S tokens, and as many as the largest shift.
  void addInput(nn::InputOp input) {
    auto type = cast<nn::Tensor>(input.getType());
    MLIRContext *context = input.getContext();
    int64_t sequence = type.getDims().back().getSize(), rows = type.getNumElements() / sequence;
    ValueOp value =
        add(KeyAttr::get(context, ValueKind::Rows, input.getSource()), Owner::Input, type);
    sched::RowsAttr before = value.getRowsAttr();
    auto most = [&](int64_t now, int64_t (sched::RowsAttr::*fact)() const) {
      return before ? std::max(now, (before.*fact)()) : now;
    };
    StringRef batch = type.getDims().front().getName();
    dist::Axes axes(dist::layoutOf(input.getValue()).axesOf(batch));
    auto facts =
        sched::RowsAttr::get(context, most(rows, &sched::RowsAttr::getRows),
                             most(sequence + input.getShift(), &sched::RowsAttr::getLength),
                             most(sequence, &sched::RowsAttr::getPositions),
                             most(input.getVocabulary(), &sched::RowsAttr::getVocabulary),
                             axes.empty() ? ArrayAttr() : dist::arrayOf(context, axes));
    value.setRowsAttr(facts);
    value.setBytes(facts.getRows() * facts.getLength() * nn::elementBytes(type.getElementType()) *
                   microbatches);
    value.setGiven(true);
  }

  void addScalar(const Run &run, KeyAttr key, Type type) {
    StringRef name = key.getName() ? key.getName().getValue() : "";
    nn::RunOp op = run.op;
    int64_t count = name == kLayerScalar    ? op.getFirstLayer() + run.layers()
                    : name == kOffsetScalar ? microbatches
                                            : 1;
    ValueOp value = add(key, Owner::Scalar, type);
    value.setCount(std::max<int64_t>(value.getCount(), count));
    // The others are constants, or the step makes them itself.
    value.setGiven(key.getKind() == ValueKind::Scalar && name != kNorm && name != lang::kUnscale &&
                   name != kLayerScalar && name != kOffsetScalar);
  }

  LogicalResult addValue(const Run &run, const Callee &callee, const nn::Label &label, Type type) {
    nn::ParamOp param = callee.paramOf(label);
    KeyAttr key = keyOf(run, callee, label);
    switch (label.role) {
    case Role::Param:
    case Role::CotParam:
      if (!param)
        return nn::RunOp(run.op).emitOpError("binds no parameter to ")
               << callee.name << " " << label.name;
      addOfParam(key,
                 label.role == Role::CotParam ? Owner::Gradient
                 : param.isCopy()             ? Owner::Copy
                                              : Owner::Parameter,
                 type, param);
      return success();
    case Role::State:
      if (!param)
        return nn::RunOp(run.op).emitOpError("has a state that belongs to no parameter of ")
               << callee.name << ": " << label.name;
      // The model's own states are saved and loaded with the weights.
      addOfParam(key, label.slot ? Owner::State : Owner::Parameter, type, param);
      return success();
    case Role::Scalar:
      addScalar(run, key, type);
      return success();
    case Role::CotLoss:
      add(key, Owner::Scalar, type);
      return success();
    case Role::Loss:
    case Role::Metric: {
      dist::Axes axes = chain.pendingAxes(label.name);
      ValueOp value = add(key, Owner::Scalar, type);
      if (!axes.empty() && !value.getPending())
        value.setPendingAttr(dist::arrayOf(value.getContext(), axes));
      return success();
    }
    case Role::Contribution:
      add(key, Owner::Scalar, type, run.times());
      return success();
    default:
      return success();
    }
  }

  LogicalResult addFunction(const Run &run, const Callee &callee, rt::FuncOp func) {
    bool isNorm = func == callee.part(Part::Norm);
    MLIRContext *context = values.context();
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      Type type = func.getArgumentTypes()[i];
      if (isNorm && func.getArgRole(i) == Role::Carried) {
        add(KeyAttr::get(context, ValueKind::StepNumber, kNorm), Owner::Scalar, type, 2);
        add(KeyAttr::get(context, ValueKind::Scalar, kNorm), Owner::Scalar, type);
        add(KeyAttr::get(context, ValueKind::StepNumber, kGradNorm), Owner::Scalar, type);
      } else if (failed(addValue(run, callee, func.getArgLabel(i), type))) {
        return failure();
      }
    }
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
      if (func.getResultRole(i) != Role::Carried &&
          failed(addValue(run, callee, func.getResultLabel(i), func.getResultTypes()[i])))
        return failure();
    return success();
  }
};
} // namespace

LogicalResult schedule::declarePersistent(ProgramValues &values, const Chains &chains,
                                          int64_t microbatches) {
  if (failed(Persistent(values, chains.train, microbatches).declare()))
    return failure();
  return chains.counts ? Persistent(values, *chains.counts, microbatches).declare() : success();
}

void schedule::declareSums(ProgramValues &values, const Chains &chains) {
  auto declare = [&](const Chain &chain, StringRef name, ValueOp part) {
    if (part && !chain.pendingAxes(name).empty())
      values.declare(KeyAttr::get(values.context(), ValueKind::Sum, name), Owner::Scalar,
                     Life::Always, *part.getType());
  };
  nn::ChainOp op = chains.train.op;
  DictionaryAttr losses = op.getLossesAttr();
  for (NamedAttribute loss :
       losses &&chains.counts ? losses.getValue() : ArrayRef<NamedAttribute>())
    if (values.find(ValueKind::LossCotangent, loss.getName())) {
      std::string count = nn::countOf(loss.getName());
      declare(*chains.counts, count, values.find(ValueKind::Loss, count));
    }
  declare(chains.train, dist::kNormSum, values.find(ValueKind::StepNumber, kNorm));
}

KeyAttr schedule::scaleKey(nn::ParamOp state) {
  return KeyAttr::get(ValueKind::State, FlatSymbolRefAttr::get(state),
                      state.getSymName() == lang::kLossScale ? "scale" : "good_steps");
}

void schedule::declareScaling(ProgramValues &values, ModuleOp module) {
  MLIRContext *context = module.getContext();
  if (!values.find(ValueKind::StepNumber, kNorm) || !lang::Settings(module).plan.lossScale)
    return;
  Type real = nn::Tensor::get(context, {}, Float64Type::get(context));
  auto declare = [&](KeyAttr key, Owner owner) {
    return values.declare(key, owner, Life::Always, real);
  };
  declare(KeyAttr::get(context, ValueKind::Scalar, lang::kUnscale), Owner::Scalar);
  for (StringRef metric : {kLossScaleMetric, kSkippedMetric})
    declare(KeyAttr::get(context, ValueKind::StepNumber, metric), Owner::Scalar);
  for (StringRef state : {lang::kLossScale, lang::kGoodSteps})
    if (auto param = module.lookupSymbol<nn::ParamOp>(state))
      declare(scaleKey(param), Owner::State);
}
