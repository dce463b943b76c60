//===- Values.cpp - the values of a program, by key ------------------------===//
#include "lib/Schedule/Values.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using sched::InstanceRange;
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

/// Values stand before all sections, whenever they are declared, after those that stand there.
ValueOp ProgramValues::create(KeyAttr key, Owner owner, Life lives, int64_t bytes, int64_t count,
                              Type type) {
  ValueOp &value = values[key];
  if (!value) {
    if (!last)
      for (Operation &op : program.getBody().front()) {
        auto each = dyn_cast<ValueOp>(op);
        if (!each)
          break;
        last = each;
      }
    if (last)
      b.setInsertionPointAfter(last);
    else
      b.setInsertionPointToStart(&program.getBody().front());
    last = value = ValueOp::create(b, program.getLoc(), key, owner, lives, bytes, count, type);
  }
  return value;
}

ValueOp ProgramValues::declareFrame(StringRef name) {
  return create(KeyAttr::get(context(), ValueKind::Frame, name), Owner::Frame, Life::Section, 0, 1,
                Type());
}

ValueOp ProgramValues::declareInFlight(StringRef name, Type type, int64_t count, Location loc) {
  ValueOp value = create(KeyAttr::get(context(), ValueKind::InFlight, name), Owner::InFlight,
                         Life::Section, nn::bytesOf(type), count, Type());
  value->setLoc(loc);
  return value;
}

ValueOp ProgramValues::declareEvents(StringRef name, int64_t count) {
  return create(KeyAttr::get(context(), ValueKind::Event, name), Owner::Event, Life::Always,
                sched::kAlign, count, Type());
}

std::string schedule::layerName(const Run &run, unsigned j) {
  return "r" + std::to_string(run.index) + "." + run.callees[j].name.str() + "." +
         std::to_string(j);
}

std::string schedule::contributionName(const Run &run, unsigned j, StringRef name) {
  return layerName(run, j) + ".contribution." + name.str();
}

KeyAttr schedule::normKey(sched::ProgramOp program, int64_t stage) {
  std::string name = kNorm.str();
  if (program.getChainLength() > 1)
    name += ", stage " + std::to_string(stage);
  return KeyAttr::get(program.getContext(), ValueKind::Term, name);
}

KeyAttr schedule::gradientPartKey(nn::ParamOp param, int64_t stage) {
  return KeyAttr::get(ValueKind::GradientPart, FlatSymbolRefAttr::get(param),
                      "stage " + std::to_string(stage));
}

/// What a state of the step is called, or null.
static StringAttr stepState(nn::ParamOp param) {
  return param->getAttrOfType<StringAttr>(nn::kStepState);
}

KeyAttr schedule::keyOf(const Run &run, const Callee &callee, const nn::Label &label) {
  MLIRContext *context = run.op.getContext();
  StringRef name = label.name;
  nn::ParamOp param = callee.paramOf(label);
  auto ofParam = [&](ValueKind kind, StringRef slot = "") {
    return param ? KeyAttr::get(kind, FlatSymbolRefAttr::get(param), slot) : KeyAttr();
  };
  switch (label.role) {
  case Role::Param:
    return ofParam(ValueKind::Parameter);
  case Role::CotParam:
    if (param && callee.gradientParts.contains(name))
      return gradientPartKey(param, run.stage);
    return ofParam(ValueKind::Gradient);
  case Role::State: // of the optimizer or the step, or the model's own
    if (StringAttr slot = param ? stepState(param) : StringAttr())
      return ofParam(ValueKind::State, slot);
    return label.slot ? ofParam(ValueKind::State, label.slot.getName())
                      : ofParam(ValueKind::Parameter);
  case Role::Scalar:
    if (label.member)
      return KeyAttr::get(context, ValueKind::Member, {}, {}, label.member);
    return label.counts ? KeyAttr::get(context, ValueKind::InUse, label.counts)
                        : KeyAttr::get(context, ValueKind::Scalar, name);
  case Role::CotLoss:
    return KeyAttr::get(context, ValueKind::LossCotangent, name);
  case Role::Loss:
  case Role::Metric:
    return label.counts ? KeyAttr::get(context, ValueKind::Count, label.counts)
                        : KeyAttr::get(context, ValueKind::Loss, name);
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
  Persistent(ProgramValues &values, const Chains &chains, const Chain &chain)
      : values(values), chains(chains), chain(chain), program(values.getProgram()) {}

  LogicalResult declare() {
    for (nn::InputOp input : chain.inputs)
      addInput(input);
    for (const Run &run : chain.runs)
      for (const Callee &callee : run.callees)
        for (auto [part, func] : callee.existing())
          if (run.mayDo(part) && failed(addFunction(run, callee, func)))
            return failure();
    return success();
  }

private:
  ProgramValues &values;
  const Chains &chains;
  const Chain &chain;
  sched::ProgramOp program;

  ValueOp add(KeyAttr key, Owner owner, Type type, int64_t count = 1) {
    return values.declare(key, owner, Life::Always, type, count);
  }

  /// Which of `count` instances the rank holds: those of its runs, by `instancesOf` of each, joined
  /// where they follow each other. All of them where the rank holds all stages.
  SmallVector<InstanceRange> heldOf(int64_t count,
                                    function_ref<InstanceRange(const Run &)> instancesOf) {
    if (!program.isOfPipeline())
      return {{0, count}};
    return usedOf(count, instancesOf);
  }

  SmallVector<InstanceRange> usedOf(int64_t count,
                                    function_ref<InstanceRange(const Run &)> instancesOf) {
    SmallVector<InstanceRange> all, held;
    for (const Chain *each : {&chains.train, chains.counts ? &*chains.counts : nullptr})
      for (const Run &run : each ? ArrayRef(each->runs) : ArrayRef<Run>())
        if (InstanceRange range = run.isHeld ? instancesOf(run) : InstanceRange{0, 0}; range.count)
          all.push_back(range);
    llvm::sort(all, [](InstanceRange a, InstanceRange b) { return a.first < b.first; });
    for (InstanceRange range : all)
      if (held.empty() || held.back().end() < range.first)
        held.push_back(range);
      else
        held.back().count = std::max(held.back().end(), range.end()) - held.back().first;
    return held.empty() ? SmallVector<InstanceRange>{{0, count}} : held;
  }

  /// Whether a run has instances of a value that belongs to a parameter. A copy has the weights
  /// that it reads, and each stage the part of a gradient that it keeps.
  bool hasValue(const Run &run, KeyAttr key, nn::ParamOp param) {
    return llvm::any_of(run.callees, [&](const Callee &callee) {
      if (key.getKind() == ValueKind::GradientPart)
        return key == gradientPartKey(param, run.stage) && binds(callee, param);
      return run.isCopy ? key.getKind() == ValueKind::Parameter && reads(run, callee, param)
                        : binds(callee, param);
    });
  }

  static bool binds(const Callee &callee, nn::ParamOp param) {
    return llvm::any_of(callee.params, [&](auto &each) { return each.second == param; });
  }

  static bool reads(const Run &run, const Callee &callee, nn::ParamOp param) {
    for (auto [part, func] : callee.existing())
      for (unsigned i = 0, e = run.does(part) ? func.getNumArguments() : 0; i < e; ++i)
        if (nn::Label label = func.getArgLabel(i);
            (label.role == Role::Param || label.role == Role::State) && !label.slot &&
            callee.paramOf(label) == param)
          return true;
    return false;
  }

  void addOfParam(KeyAttr key, Owner owner, Type type, nn::ParamOp param) {
    SmallVector<InstanceRange> held = {{0, static_cast<int64_t>(param.getCount())}};
    auto instancesOf = [&](const Run &run) -> InstanceRange {
      nn::RunOp op = run.op;
      bool has = hasValue(run, key, param);
      return {static_cast<int64_t>(op.getFirstInstance()), has ? run.times() : 0};
    };
    // A checkpoint has the states of the step that some layer has, whatever ranks there are.
    if (param.getCount() > 1)
      held = stepState(param) ? usedOf(param.getCount(), instancesOf)
                              : heldOf(param.getCount(), instancesOf);
    ValueOp value = add(key, owner, type);
    value.setInstances(held);
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
    int64_t microbatches = program.getMicrobatches();
    value.setBytes(facts.getRows() * facts.getLength() * nn::elementBytes(type.getElementType()) *
                   microbatches);
    value.setGiven(true);
  }

  void addScalar(const Run &run, KeyAttr key, Type type) {
    StringRef name = key.getName() ? key.getName().getValue() : "";
    SmallVector<InstanceRange> held = {{0, 1}};
    switch (key.getKind() == ValueKind::Scalar ? nn::instancesOf(name) : nn::ScalarPer::Step) {
    case nn::ScalarPer::Step:
      break;
    case nn::ScalarPer::Microbatch:
      held.front().count = program.getMicrobatches();
      break;
    case nn::ScalarPer::Layer:
      held = heldOf(run.op.getFirstLayer() + run.layers(), [](const Run &run) {
        nn::RunOp op = run.op;
        return InstanceRange{static_cast<int64_t>(op.getFirstLayer()), run.layers()};
      });
      break;
    }
    ValueOp value = add(key, Owner::Scalar, type);
    if (held.size() > 1 || held.front().first ||
        held.front().count > static_cast<int64_t>(value.getCount()))
      value.setInstances(held);
    if (key.getKind() == ValueKind::InUse)
      value.setGiven(true);
    if (key.getKind() != ValueKind::Scalar)
      return;
    const nn::ScalarFacts *facts = nn::findScalar(name);
    if (!facts)
      llvm::reportFatalInternalError("nothing makes the scalar " + name);
    value.setGiven(facts->source == nn::ScalarSource::EachStep);
  }

  LogicalResult addValue(const Run &run, const Callee &callee, const nn::Label &label, Type type) {
    nn::ParamOp param = callee.paramOf(label);
    KeyAttr key = keyOf(run, callee, label);
    switch (label.role) {
    case Role::Param:
    case Role::CotParam:
      if (!param)
        return run.op.emitOpError("binds no parameter to ") << callee.name << " " << label.name;
      addOfParam(key,
                 label.role == Role::CotParam ? Owner::Gradient
                 : param.isCopy()             ? Owner::Copy
                                              : Owner::Parameter,
                 type, param);
      return success();
    case Role::State:
      if (!param)
        return run.op.emitOpError("has a state that belongs to no parameter of ")
               << callee.name << ": " << label.name;
      // The model's own states are saved and loaded with the weights.
      addOfParam(key,
                 stepState(param)                           ? Owner::State
                 : !label.slot                              ? Owner::Parameter
                 : label.slot.getName() == dist::kErrorSlot ? Owner::Error
                                                            : Owner::State,
                 type, param);
      return success();
    case Role::Scalar:
      addScalar(run, key, type);
      return success();
    case Role::CotLoss:
      add(key, Owner::Scalar, type);
      return success();
    case Role::Loss:
    case Role::Metric: {
      dist::Axes axes = pendingAxes(program, chain, label.name);
      ValueOp value = add(key, Owner::Scalar, type, chain.stagesOfSums.lookup(label.name).size());
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

  /// Sums that a step makes over all ranks, whichever stage adds to them.
  static bool isOfAll(Role role) { return role == Role::Loss || role == Role::Metric; }

  void addNorm(Type type) {
    if (values.find(normKey(program, 0)))
      return;
    MLIRContext *context = values.context();
    for (int64_t each = 0, e = program.getChainLength(); each < e; ++each) { // not of copies
      bool adds = llvm::any_of(chains.train.runs, [&](const Run &run) {
        return run.stage == each && run.isHeld && run.has(Part::Norm);
      });
      add(normKey(program, each), Owner::Scalar, type, adds ? 2 : 1);
    }
    add(KeyAttr::get(context, ValueKind::Scalar, kNorm), Owner::Scalar, type);
    add(KeyAttr::get(context, ValueKind::StepNumber, kGradNorm), Owner::Scalar, type);
  }

  LogicalResult addFunction(const Run &run, const Callee &callee, rt::FuncOp func) {
    bool isNorm = func == callee.part(Part::Norm);
    for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
      Type type = func.getArgumentTypes()[i];
      Role role = func.getArgRole(i);
      if (isNorm && role == Role::Carried)
        addNorm(type);
      else if ((run.isHeld || isOfAll(role)) &&
               failed(addValue(run, callee, func.getArgLabel(i), type)))
        return failure();
    }
    for (unsigned i = 0, e = func.getNumResults(); i < e; ++i) {
      Role role = func.getResultRole(i);
      if (role != Role::Carried && (run.isHeld || isOfAll(role)) &&
          failed(addValue(run, callee, func.getResultLabel(i), func.getResultTypes()[i])))
        return failure();
    }
    return success();
  }
};
} // namespace

LogicalResult schedule::declarePersistent(ProgramValues &values, const Chains &chains) {
  if (failed(Persistent(values, chains, chains.train).declare()))
    return failure();
  return chains.counts ? Persistent(values, chains, *chains.counts).declare() : success();
}

/// The counts of losses are made by each rank for itself, because all have the rows.
dist::Axes schedule::pendingAxes(sched::ProgramOp program, const Chain &chain, StringRef name) {
  dist::Axes axes = chain.pendingAxes(name);
  dist::MeshAttr mesh = dist::meshOf(program->getParentOfType<ModuleOp>());
  if (program.isOfPipeline() && mesh.getStages() && !chain.isCounts())
    axes.push_back(mesh.getStages());
  return mesh.sorted(axes);
}

void schedule::declareSums(ProgramValues &values, const Chains &chains) {
  auto declare = [&](const Chain &chain, StringRef name, ValueOp part, int64_t parts) {
    if (part && !pendingAxes(values.getProgram(), chain, name).empty())
      values.declare(KeyAttr::get(values.context(), ValueKind::Sum, name), Owner::Scalar,
                     Life::Always, *part.getType(), parts);
  };
  nn::ChainOp op = chains.train.op;
  DictionaryAttr losses = op.getLossesAttr();
  if (losses && chains.counts)
    for (NamedAttribute loss : losses)
      if (values.find(ValueKind::LossCotangent, loss.getName())) {
        declare(*chains.counts, nn::countOf(loss.getName()),
                values.find(ValueKind::Count, loss.getName()), 1);
      }
  declare(chains.train, dist::kNormSum, values.find(normKey(values.getProgram(), 0)),
          values.getProgram().getChainLength());
}
