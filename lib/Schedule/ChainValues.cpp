//===- ChainValues.cpp - what runs and tasks leave to each other ----------------===//
//
// A run takes values of the chain and gives others. Inside it a layer takes what the layer before
// gave: in an array, where a later task reads it again, else in two buffers in turn.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/ChainValues.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using nn::Role;
using sched::KeyAttr;
using sched::Life;
using sched::Owner;
using sched::ValueKind;

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

static std::string prefixOf(const Chain &chain) { return chain.isCounts() ? "counts." : ""; }

KeyAttr schedule::activationKey(MLIRContext *context, const Twine &name) {
  return KeyAttr::get(context, ValueKind::Activation, name.str());
}

KeyAttr schedule::residualKey(const Run &run, unsigned j, Role role, StringRef name) {
  return activationKey(run.op.getContext(),
                       layerName(run, j) + "." + nn::stringifyRole(role) + "." + name);
}

KeyAttr schedule::keptKey(const Run &run, unsigned j, unsigned k, bool cotangent) {
  return activationKey(run.op.getContext(),
                       layerName(run, j) + (cotangent ? ".cot.c" : ".in.c") + Twine(k));
}

KeyAttr schedule::chainKey(const Chain &chain, Value value, bool cotangent) {
  std::string name = prefixOf(chain);
  if (auto producer = chain.producerOf(value)) {
    const Run &run = chain.runs[producer->first];
    name += layerName(run, run.callees.size() - 1) + ".out.c" + std::to_string(producer->second);
  } else {
    auto input = value.getDefiningOp<nn::InputOp>();
    name += input.getSource().str() + "+" + std::to_string(input.getShift());
    name += input->hasAttr(nn::kCopy) ? ".copy" : "";
  }
  return activationKey(value.getContext(), name + (cotangent ? ".cot" : ""));
}

KeyAttr schedule::sentKey(const Chain &chain, Value value, bool cotangent) {
  return activationKey(value.getContext(),
                       "part of " + chainKey(chain, value, cotangent).getName().getValue());
}

std::string schedule::partName(const Chain &chain, const Run &run, Part part) {
  return prefixOf(chain) + "r" + std::to_string(run.index) + "." + nn::factsOf(part).letter;
}

KeyAttr schedule::handoverKey(const Chain &chain, const Run &run, Part part, unsigned k) {
  return activationKey(run.op.getContext(),
                       "handover " + partName(chain, run, part) + "." + Twine(k));
}

//===----------------------------------------------------------------------===//
// Cotangents of the chain
//===----------------------------------------------------------------------===//

SmallVector<Reader> schedule::cotangentWriters(const Chain &chain, Value value) {
  SmallVector<Reader> writers;
  for (Reader reader : chain.readersOf(value)) {
    const Run &run = chain.runs[reader.run];
    auto gives = [&](const Callee &callee) {
      Role role = reader.carried ? Role::CotCarried : Role::CotInvariant;
      return llvm::any_of(callee.existing(), [&](auto part) {
        return nn::factsOf(part.first).givesInputCotangents &&
               callee.gives(part.first, role, reader.number);
      });
    };
    bool writes = reader.carried ? gives(run.callees.front()) : llvm::any_of(run.callees, gives);
    if (writes)
      writers.push_back(reader);
  }
  return writers;
}

bool schedule::hasCotangent(const Chain &chain, Value value) {
  auto producer = chain.producerOf(value);
  return !cotangentWriters(chain, value).empty() ||
         (producer && takesCotangent(chain.runs[producer->first].callees.back(), producer->second));
}

SmallVector<Value> schedule::cotangentsBefore(const Chain &chain, int64_t stage) {
  SmallVector<Value> values;
  for (Value value : chain.valuesAfter(stage)) {
    auto [run, result] = *chain.producerOf(value);
    bool comes = llvm::any_of(cotangentWriters(chain, value),
                              [&](Reader writer) { return chain.runs[writer.run].stage > stage; });
    if (comes && takesCotangent(chain.runs[run].callees.back(), result))
      values.push_back(value);
  }
  return values;
}

//===----------------------------------------------------------------------===//
// Declarations
//===----------------------------------------------------------------------===//

namespace {
class ChainValues {
public:
  ChainValues(ProgramValues &values, const Chain &chain) : values(values), chain(chain) {}

  void declare() {
    bool trains = !chain.isCounts();
    for (const Run &run : chain.runs)
      if (trains && run.isHeld) {
        split = values.getProgram().isSplit(run.stage);
        addResiduals(run);
        addInputs(run);
        addCotangents(run);
      }
    Life lives = trains ? Life::Microbatch : Life::Section;
    for (nn::InputOp input : chain.inputs)
      if (isTouched(input.getValue()))
        addChainValue(input.getValue(), trains ? Owner::Input : Owner::Chain, lives);
    for (const Run &run : chain.runs)
      for (Value result : run.op->getResults())
        if (isTouched(result))
          addChainValue(result, Owner::Chain, lives);
  }

private:
  ProgramValues &values;
  const Chain &chain;
  bool split = false; // the backward of the run's stage is cut into I and W

  /// Whether the rank makes, reads or hands on a value of the chain.
  bool isTouched(Value value) const {
    SmallVector<Reader> readers = chain.readersOf(value);
    auto producer = chain.producerOf(value);
    if (!producer)
      return llvm::any_of(readers, [&](Reader reader) { return chain.runs[reader.run].isHeld; });
    auto [first, last] = chain.stagesOf(value);
    for (int64_t stage = first; stage <= last; ++stage)
      if (values.getProgram().holds(stage))
        return true;
    return false;
  }

  void keep(KeyAttr key, Owner owner, Type type, int64_t count) {
    values.declare(key, owner, Life::Microbatch, type, count);
  }

  void addResiduals(const Run &run) {
    for (auto [j, callee] : llvm::enumerate(run.callees))
      for (Part p : {Part::Forward, Part::BackwardInputs}) {
        rt::FuncOp func = callee.part(p);
        if (!func || !nn::isRunBy(p, split))
          continue;
        for (unsigned i = 0, e = func.getNumResults(); i < e; ++i) {
          Role role = func.getResultRole(i);
          if (llvm::is_contained({Role::ResFI, Role::ResFW, Role::ResIW}, role))
            keep(residualKey(run, j, role, func.getResultName(i)), Owner::Residual,
                 func.getResultTypes()[i], run.times());
        }
      }
  }

  /// Whether a part of the backward that runs as a task reads what `reads` says.
  bool isReadLater(llvm::function_ref<bool(Part)> reads) const {
    for (const nn::PartFacts &facts : nn::kPartFacts)
      if (nn::isBackward(facts.part) && nn::isRunBy(facts.part, split) && reads(facts.part))
        return true;
    return false;
  }

  /// The input of a run's first layer is a value of the chain; those of the others
  /// are kept where a backward part reads them.
  void addInputs(const Run &run) {
    nn::RunOp op = run.op;
    for (auto [j, callee] : llvm::enumerate(run.callees)) {
      int64_t count = run.times() - (j == 0);
      for (auto [k, value] : llvm::enumerate(op.getCarried()))
        if (count > 0 && isReadLater([&](Part p) { return readsInput(callee, p, k); }))
          keep(keptKey(run, j, k, /*cotangent=*/false), Owner::Carried, value.getType(), count);
    }
  }

  /// The cotangent of a run's last result is one of the chain; those between
  /// layers are kept where W reads them.
  void addCotangents(const Run &run) {
    for (auto [j, callee] : llvm::enumerate(run.callees)) {
      int64_t count = run.times() - (j + 1 == run.callees.size());
      for (auto [k, value] : llvm::enumerate(run.op->getResults()))
        if (count > 0 && split && readsCotangent(callee, Part::BackwardWeights, k))
          keep(keptKey(run, j, k, /*cotangent=*/true), Owner::Cotangent, value.getType(), count);
    }
  }

  void addChainValue(Value value, Owner owner, Life lives) {
    values.declare(chainKey(chain, value), owner, lives, value.getType());
    if (lives == Life::Microbatch && hasCotangent(chain, value))
      values.declare(chainKey(chain, value, /*cotangent=*/true), Owner::Cotangent, lives,
                     value.getType());
  }
};
} // namespace

void schedule::declareChainValues(ProgramValues &values, const Chain &chain) {
  ChainValues(values, chain).declare();
}
