//===- Host/Runs.cpp - code of one run in one part ------------------------===//
//
// Layer i = period * n + j of a run takes what layer i - 1 gave. At the borders
// of the run that is a value of the chain, inside it an array where the backward
// needs it again, else two buffers in turn; so are cotangents, from the last
// layer to the first.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Runs.h"
#include "lib/Lower/Host/Functions.h"
#include "lib/Schedule/Families.h"
#include "lib/Schedule/Keys.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using namespace tplan::schedule;
using nn::Role;

static std::string parameterKey(const Callee &callee, const nn::Label &label) {
  nn::ParamOp param = callee.paramOf(label);
  return label.role == Role::CotParam ? gradientKey(param)
         : label.slot                 ? stateKey(label.slot.getName(), param)
                                      : paramKey(param);
}

//===----------------------------------------------------------------------===//
// Runs
//===----------------------------------------------------------------------===//

void HostRuns::emit(const Run &run, Part part, const TaskContext &context) {
  nn::RunOp op = run.op;
  host.loc = op.getLoc();
  if (nn::isForward(part))
    unpackInputs(run, context);
  if (!run.has(part))
    return;
  if (nn::factsOf(part).givesInputCotangents)
    zeroCotangents(run, context);
  int64_t n = run.callees.size();
  SmallVector<int64_t> before(n + 1, 0); // functions of the period with this part, before j
  for (int64_t j = 0; j < n; ++j)
    before[j + 1] = before[j] + (run.callees[j].part(part) != nullptr);
  auto layer = [&](int64_t j, Value period) {
    return Layer{run, part, context, unsigned(j), period, normCalls, before[n], before[j]};
  };
  SmallVector<int64_t> looped;
  for (int64_t step = 0; step < n; ++step) {
    int64_t j = nn::isBackward(part) ? n - 1 - step : step;
    if (isRepeated(run, j, part))
      call(layer(j, host.number(0)), host.number(run.times()));
    else
      looped.push_back(j);
  }
  if (!looped.empty())
    host.loop(
        run.times(),
        [&](Value period) {
          for (int64_t j : looped)
            emitLayer(layer(j, period));
        },
        nn::isBackward(part));
  if (part == Part::Norm)
    normCalls += run.times() * before[n];
}

void HostRuns::emitLayer(const Layer &layer) {
  if (nn::factsOf(layer.part).givesInputCotangents)
    zeroMissing(layer);
  if (layer.run.callees[layer.j].part(layer.part))
    call(layer, host.number(1));
}

/// Whether one call does the work of all periods: the layers lie as repeat-updates took them to.
bool HostRuns::isRepeated(const Run &run, unsigned j, Part part) {
  const Callee &callee = run.callees[j];
  rt::FuncOp func = callee.part(part);
  if (!func || !repeats(func))
    return false;
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i) {
    nn::Label label = func.getArgLabel(i);
    if (label.role == Role::Scalar || run.times() == 1)
      continue;
    sched::ValueOp value = places.find(parameterKey(callee, label));
    if (value.getCount() == 1 ||
        value.getStride() != sched::alignUp(nn::bytesOf(func.getArgumentTypes()[i])))
      return false;
  }
  return true;
}

/// Calls the function of a layer, for so many from this one on: more than one only where it
/// repeats.
void HostRuns::call(const Layer &layer, Value layers) {
  rt::FuncOp func = layer.run.callees[layer.j].part(layer.part);
  Value table = host.pointers(tableSize(func));
  for (unsigned i = 0, e = func.getNumArguments(); i < e; ++i)
    host.storePointer(argument(layer, func.getArgLabel(i)), table, i);
  for (unsigned i = 0, e = func.getNumResults(); i < e; ++i)
    if (auto index = tableIndexOfResult(func, i))
      host.storePointer(result(layer, func.getResultLabel(i)), table, *index);
  std::string frame = frameKey(chain, layer.run, layer.part);
  host.storePointer(places.has(frame) ? places.at(layer.context.arena, frame) : layer.context.arena,
                    table, tableIndexOfFrame(func));
  if (repeats(func))
    host.store(layers, host.offset(table, 8 * tableIndexOfLayers(func)));
  host.call(codeSymbol(func), {layer.context.rank, table});
}

//===----------------------------------------------------------------------===//
// Arguments and results
//===----------------------------------------------------------------------===//

Value HostRuns::keyed(const Layer &layer, const std::string &key, Value instance) {
  return places.at(layer.context.arena, key, instance, layer.context.microbatch);
}

Value HostRuns::chainPlace(const Layer &layer, const std::string &key) {
  Value zero = host.number(0);
  return layer.context.training ? keyed(layer, key, zero)
                                : places.at(layer.context.arena, key, zero);
}

/// period * n + j + plus.
Value HostRuns::layerNumber(const Layer &layer, int64_t plus) {
  return host.multiplyAdd(host.number(layer.j + plus), layer.period, layer.run.callees.size());
}

/// `border` in the first (or last) period, `inner` in the others.
Value HostRuns::at(const Layer &layer, bool first, Value border, Value inner) {
  int64_t last = layer.run.times() - 1;
  return host.select(host.equal(layer.period, first ? 0 : last), border, inner);
}

Value HostRuns::handover(const Layer &layer, unsigned k, Value number) {
  std::string key = handoverKey(chain, layer.run, layer.part, k);
  int64_t buffers = places.find(key).getCount(); // one where a single parity needs it
  Value which = LLVM::AndOp::create(host.b, host.loc, number, host.number(buffers - 1));
  return places.at(layer.context.arena, key, which);
}

/// What layer (j, period) takes, if it is not the first of the run.
Value HostRuns::innerInput(const Layer &layer, unsigned k, unsigned j, Value period) {
  std::string key = inputKey(layer.run, j, k);
  if (layer.context.training && places.has(key)) // the first layer's is not in the array
    return keyed(layer, key, host.multiplyAdd(host.number(j == 0 ? -1 : 0), period, 1));
  return handover(layer, k, host.multiplyAdd(host.number(j + 1), period, layer.run.callees.size()));
}

Value HostRuns::input(const Layer &layer, unsigned k) {
  auto border = [&] {
    return chainPlace(layer, chainKey(chain, nn::RunOp(layer.run.op).getCarried()[k]));
  };
  if (layer.j > 0)
    return innerInput(layer, k, layer.j, layer.period);
  if (layer.run.times() == 1)
    return border();
  return at(layer, true, border(), innerInput(layer, k, 0, layer.period));
}

Value HostRuns::output(const Layer &layer, unsigned k) {
  auto border = [&] {
    return chainPlace(layer, chainKey(chain, nn::RunOp(layer.run.op)->getResult(k)));
  };
  if (layer.j + 1 < layer.run.callees.size())
    return innerInput(layer, k, layer.j + 1, layer.period);
  if (layer.run.times() == 1)
    return border();
  Value next = host.multiplyAdd(host.number(1), layer.period, 1);
  return at(layer, false, border(), innerInput(layer, k, 0, next));
}

/// The cotangent of what layer (j, period) gives, if it is not the last of the run.
Value HostRuns::innerCotangent(const Layer &layer, unsigned k, unsigned j, Value period) {
  std::string key = cotangentKey(layer.run, j, k);
  if (places.has(key))
    return keyed(layer, key, period);
  return handover(layer, k, host.multiplyAdd(host.number(j), period, layer.run.callees.size()));
}

Value HostRuns::cotangentIn(const Layer &layer, unsigned k) {
  auto border = [&] {
    return chainPlace(layer, chainCotangentKey(chain, nn::RunOp(layer.run.op)->getResult(k)));
  };
  if (layer.j + 1 < layer.run.callees.size())
    return innerCotangent(layer, k, layer.j, layer.period);
  if (layer.run.times() == 1)
    return border();
  return at(layer, false, border(), innerCotangent(layer, k, layer.j, layer.period));
}

Value HostRuns::cotangentOut(const Layer &layer, unsigned k) {
  auto border = [&] {
    return chainPlace(layer, chainCotangentKey(chain, nn::RunOp(layer.run.op).getCarried()[k]));
  };
  unsigned n = layer.run.callees.size();
  if (layer.j > 0)
    return innerCotangent(layer, k, layer.j - 1, layer.period);
  if (layer.run.times() == 1)
    return border();
  Value before = host.multiplyAdd(host.number(-1), layer.period, 1);
  return at(layer, true, border(), innerCotangent(layer, k, n - 1, before));
}

Value HostRuns::instanceOf(const Layer &layer, nn::ParamOp param) {
  nn::RunOp op = layer.run.op;
  if (param.getCount() == 1)
    return host.number(0);
  return host.multiplyAdd(host.number(op.getFirstInstance()), layer.period, 1);
}

/// Of the scalars with an instance for each layer or microbatch.
Value HostRuns::instanceOf(const Layer &layer, StringRef scalar) {
  if (scalar == kLayerScalar)
    return layerNumber(layer, nn::RunOp(layer.run.op).getFirstLayer());
  return scalar == kOffsetScalar ? layer.context.microbatch : host.number(0);
}

Value HostRuns::parameter(const Layer &layer, const nn::Label &label) {
  const Callee &callee = layer.run.callees[layer.j];
  return places.at(layer.context.arena, parameterKey(callee, label),
                   instanceOf(layer, callee.paramOf(label)));
}

/// The two scalars that hand the squared norm from call to call.
Value HostRuns::normCell(const Layer &layer, int64_t plus) {
  Value call = host.multiplyAdd(host.number(layer.normBase + layer.normsBefore + plus),
                                layer.period, layer.normsPerPeriod);
  Value which = LLVM::AndOp::create(host.b, host.loc, call, host.number(1));
  return places.at(layer.context.arena, normKey(), which);
}

Value HostRuns::argument(const Layer &layer, const nn::Label &label) {
  Value arena = layer.context.arena;
  nn::RunOp op = layer.run.op;
  StringRef name = label.name;
  auto invariant = [&] { return op.getInvariants()[*label.position]; };
  switch (label.role) {
  case Role::Carried:
    return layer.part == Part::Norm ? normCell(layer, 0) : input(layer, *label.position);
  case Role::Invariant:
    return chainPlace(layer, chainKey(chain, invariant()));
  case Role::CotInvariant:
    return chainPlace(layer, chainCotangentKey(chain, invariant()));
  case Role::CotCarried:
    return cotangentIn(layer, *label.position);
  case Role::Param:
  case Role::State:
  case Role::CotParam:
    return parameter(layer, label);
  case Role::Scalar:
    return places.at(arena, scalarKey(name), instanceOf(layer, name));
  case Role::Loss:
  case Role::Metric:
    return places.at(arena, lossKey(name));
  case Role::CotLoss:
    return places.at(arena, cotLossKey(name));
  case Role::Output:
    return places.at(arena, outputKey(name));
  case Role::ResFI:
  case Role::ResFW:
  case Role::ResIW:
    return keyed(layer, residualKey(layer.run, layer.j, label.role, name), layer.period);
  case Role::Contribution:
    return places.at(arena, contributionKey(layer.run, layer.j, name), layer.period);
  }
  llvm_unreachable("a role without a place");
}

/// Results that update no argument; the others are not in the table.
Value HostRuns::result(const Layer &layer, const nn::Label &label) {
  if (label.role == Role::Carried)
    return layer.part == Part::Norm ? normCell(layer, 1) : output(layer, *label.position);
  if (label.role == Role::CotCarried)
    return cotangentOut(layer, *label.position);
  return argument(layer, label);
}

//===----------------------------------------------------------------------===//
// Inputs and zeros
//===----------------------------------------------------------------------===//

/// Rows in memory are longer than those of a value, by the largest shift.
void HostRuns::unpackInputs(const Run &run, const TaskContext &context) {
  for (nn::InputOp input : chain.inputs) {
    SmallVector<Reader> readers = chain.readersOf(input.getValue());
    if (readers.empty() || readers.front().run != run.index)
      continue;
    auto type = cast<nn::Tensor>(input.getType());
    sched::ValueOp rowsValue = places.find(inputRowsKey(input.getSource()));
    auto fact = [&](StringRef name) {
      return rowsValue->getAttrOfType<IntegerAttr>(name).getInt();
    };
    int64_t element = nn::elementBytes(type.getElementType());
    int64_t bytes = type.getDims().back().getSize() * element;
    int64_t rowBytes = fact("length") * element;
    Value from = places.at(context.arena, inputRowsKey(input.getSource()));
    from = host.offset(from, host.multiplyAdd(host.number(input.getShift() * element),
                                              context.microbatch, fact("rows") * rowBytes));
    std::string key = chainKey(chain, input.getValue());
    Value to = context.training ? places.at(context.arena, key, host.number(0), context.microbatch)
                                : places.at(context.arena, key);
    CallFacts call{"input", input.getLoc(), TP_COPY, 0, 2 * bytes};
    host.loop(fact("rows"), [&](Value row) {
      calls.copy(context.rank, call, host.offset(to, host.multiplyAdd(host.number(0), row, bytes)),
                 host.offset(from, host.multiplyAdd(host.number(0), row, rowBytes)), bytes);
    });
  }
}

void HostRuns::zero(const Run &run, const TaskContext &context, Value place, int64_t bytes) {
  calls.zero(context.rank, {"zero", nn::RunOp(run.op).getLoc(), TP_COPY, 0, bytes}, place, bytes);
}

void HostRuns::zeroContributions(const Run &run, const TaskContext &context) {
  for (auto [j, callee] : llvm::enumerate(run.callees)) {
    rt::FuncOp func = callee.part(Part::Forward);
    for (unsigned i = 0, e = func ? func.getNumResults() : 0; i < e; ++i) {
      if (func.getResultRole(i) != Role::Contribution)
        continue;
      std::string key = contributionKey(run, j, func.getResultName(i));
      host.loop(run.times(), [&](Value period) { // not what lies between the instances
        zero(run, context, places.at(context.arena, key, period),
             nn::bytesOf(func.getResultTypes()[i]));
      });
    }
  }
}

/// Before the backward of a run: cotangents of its results that no reader has
/// written, and those of its invariants if it is the first to add to them.
void HostRuns::zeroCotangents(const Run &run, const TaskContext &context) {
  nn::RunOp op = run.op;
  auto clear = [&](Value value) {
    std::string key = chainCotangentKey(chain, value);
    if (places.has(key))
      zero(run, context, places.at(context.arena, key, host.number(0), context.microbatch),
           nn::bytesOf(value.getType()));
  };
  for (Value result : op->getResults())
    if (cotangentWriters(chain, result).empty())
      clear(result);
  SmallVector<Value> cleared;
  for (Value invariant : op.getInvariants()) {
    SmallVector<Reader> writers = cotangentWriters(chain, invariant);
    if (writers.empty() || writers.back().run != run.index ||
        llvm::is_contained(cleared, invariant))
      continue;
    cleared.push_back(invariant);
    clear(invariant);
  }
}

/// A layer that gives no cotangent of an input gives zeros, where the layer
/// before it takes one.
void HostRuns::zeroMissing(const Layer &layer) {
  const Callee &callee = layer.run.callees[layer.j];
  unsigned n = layer.run.callees.size();
  const Callee &before = layer.run.callees[(layer.j + n - 1) % n];
  nn::RunOp op = layer.run.op;
  for (unsigned k = 0, e = op.getCarried().size(); k < e; ++k) {
    bool taken = k < op->getNumResults() && takesCotangent(before, k);
    // Before the run's first layer lies a value of the chain, which its writer clears.
    bool inner = layer.j > 0 || layer.run.times() > 1;
    if (!taken || !inner || callee.gives(layer.part, Role::CotCarried, k))
      continue;
    if (layer.j == 0 && !hasCotangent(chain, op.getCarried()[k]))
      continue;
    zero(layer.run, layer.context, cotangentOut(layer, k),
         nn::bytesOf(op.getCarried()[k].getType()));
  }
}
