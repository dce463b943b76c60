//===- SharedWeights.cpp - weights that several stages read -----------------===//
//
// One stage updates such a weight: the one whose layer has the part `update`. Each other stage
// keeps what its backward adds to the gradient in memory of its own.
//
// One decision: parts are added in the order of the stages, before they are summed over the ranks
// of a stage, and by the same function wherever the stages are. So a weight is trained to the same
// bits on one rank as on several, the optimizer's states are on one rank alone, and other ranks
// hold a copy of the weight, which is sent to them after each update.
//
//===----------------------------------------------------------------------===//
#include "lib/Schedule/SharedWeights.h"
#include "dialects/nn/Parts.h"
#include "lib/Schedule/Messages.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/SmallSet.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::schedule;
using sched::KeyAttr;
using sched::use;
using sched::ValueKind;
using sched::ValueOp;

/// The function that adds a stage's part of the gradient, or null.
static rt::FuncOp sumOf(sched::ProgramOp program, nn::ParamOp param) {
  return program->getParentOfType<ModuleOp>().lookupSymbol<rt::FuncOp>(
      nn::partSymbol(nn::sumOfStages(param.getSymName()), Part::Reduce));
}

static KeyAttr paramKey(nn::ParamOp param, ValueKind kind) {
  return KeyAttr::get(kind, FlatSymbolRefAttr::get(param));
}

LogicalResult SharedWeights::declare() {
  sched::ProgramOp program = values.getProgram();
  for (const SharedWeight &weight : chain.shared) {
    nn::ParamOp param = weight.param;
    if (weight.isUneven && program.isOfPipeline())
      return param.emitOpError("belongs to layers that are called more than once, in stages of "
                               "several ranks: let one stage hold them, found stages ")
             << weight.readers.front() << " and " << weight.readers.back();
    if (param.isState() && program.isOfPipeline())
      return param.emitOpError("is a state that layers of several stages read, and these are on "
                               "several ranks: put the layers into one stage, found stages ")
             << weight.readers.front() << " and " << weight.readers.back();
    ValueOp gradient = values.find(paramKey(param, ValueKind::Gradient));
    if (!gradient || !weight.updater || !program.holds(*weight.updater))
      continue;
    SharedWeight::Stages parts = weight.partsOfGradient();
    if (!parts.empty() && !sumOf(program, param))
      return param.emitOpError("has no function that adds up what stages have of its gradient, as "
                               "sum-stages makes it, for stage ")
             << parts.front();
    for (int64_t stage : parts) {
      ValueOp part = values.declare(gradientPartKey(param, stage), sched::Owner::Gradient,
                                    sched::Life::Always, *gradient.getType());
      part.setInstances(weight.instances);
      part.setBytes(gradient.getBytes()); // as the stage has it: padding of blocks is sent, too
    }
  }
  return success();
}

/// Instances of a weight that stages have in common, in a value of theirs.
static SmallVector<sched::Use> usesOf(ValueOp value, const sched::InstanceRange &instances) {
  SmallVector<sched::Use> uses;
  int64_t first = value.indexOf(instances.first);
  for (int64_t i = 0; i < instances.count; ++i)
    uses.push_back(use(value.getMemory(), getAffineConstantExpr(first + i, value.getContext())));
  return uses;
}

/// The instance of a period of the loop over what stages have in common.
static sched::Use useOfPeriod(ValueOp value, const SharedWeight &weight) {
  return use(value.getMemory(),
             sched::periodOf(value.getContext()) + value.indexOf(weight.instances.first));
}

/// Does work for each of the instances; for several in a loop, so that the program grows with no
/// number of layers.
static void forEachInstance(OpBuilder &b, const SharedWeight &weight, StringRef what,
                            llvm::function_ref<void(OpBuilder &)> body) {
  nn::ParamOp param = weight.param;
  auto run = sched::RunOp::create(b, param.getLoc(), what, param.getPath(), weight.instances.count,
                                  /*descending=*/false);
  OpBuilder inner(b.getContext());
  inner.createBlock(&run.getBody());
  body(inner);
}

void SharedWeights::addGradient(OpBuilder &b, const SharedWeight &weight, int64_t stage) {
  sched::ProgramOp program = values.getProgram();
  nn::ParamOp param = weight.param;
  ValueOp part = values.find(gradientPartKey(param, stage));
  if (!part)
    return;
  bool updates = program.holds(*weight.updater), holds = program.holds(stage);
  std::string title = ("gradient of " + param.getPath() + ", stage " + Twine(stage)).str();
  Location loc = param.getLoc();
  if (updates != holds)
    addMessage(b, loc, program, /*sends=*/holds, title, holds ? *weight.updater : stage,
               usesOf(part, weight.instances));
  if (!updates)
    return;
  rt::FuncOp sum = sumOf(program, param);
  ValueOp gradient = values.find(paramKey(param, ValueKind::Gradient));
  ValueOp frame = values.declareFrame("sum of " + param.getSymName().str());
  auto add = [&](OpBuilder &into, sched::Use whole, sched::Use more) {
    sched::createStep<sched::CallOp>(into, loc, {whole, more}, {}, sum.getSymName(),
                                     frame.getMemory(), uint64_t(1), /*started=*/false);
  };
  if (weight.instances.count == 1)
    return add(b, usesOf(gradient, weight.instances).front(),
               usesOf(part, weight.instances).front());
  forEachInstance(b, weight, "reduce", [&](OpBuilder &into) {
    add(into, useOfPeriod(gradient, weight), useOfPeriod(part, weight));
  });
}

void SharedWeights::zeroGradients(sched::SectionOp section) {
  OpBuilder b = OpBuilder::atBlockEnd(&section.getBody().front());
  for (const SharedWeight &weight : chain.shared)
    for (int64_t stage : weight.partsOfGradient()) {
      ValueOp part = values.find(gradientPartKey(weight.param, stage));
      if (!part || !values.getProgram().holds(stage))
        continue;
      nn::ParamOp param = weight.param;
      auto zero = [&](OpBuilder &into, sched::Use each) {
        sched::createStep<sched::ZeroOp>(into, param.getLoc(), {}, {each});
      };
      if (weight.instances.count == 1)
        zero(b, usesOf(part, weight.instances).front());
      else
        forEachInstance(b, weight, "zero",
                        [&](OpBuilder &into) { zero(into, useOfPeriod(part, weight)); });
    }
}

void SharedWeights::addGradients(sched::SectionOp section) {
  OpBuilder b = OpBuilder::atBlockEnd(&section.getBody().front());
  for (const SharedWeight &weight : chain.shared)
    for (int64_t stage : weight.partsOfGradient())
      addGradient(b, weight, stage);
}

/// Each rank that reads it gets it once, even if several of its stages do.
void SharedWeights::sendFrom(sched::SectionOp section, const SharedWeight &weight, int64_t owner) {
  sched::ProgramOp program = values.getProgram();
  nn::ParamOp param = weight.param;
  ValueOp value = values.find(paramKey(param, ValueKind::Parameter));
  if (!value || !weight.read || !program.isOfPipeline())
    return;
  OpBuilder b = OpBuilder::atBlockEnd(&section.getBody().front());
  std::string title = ("weight " + param.getPath()).str();
  llvm::SmallSet<int64_t, 4> ranks = {rankOfStage(program, owner)};
  for (int64_t stage : weight.readers) {
    if (!ranks.insert(rankOfStage(program, stage)).second)
      continue;
    if (program.holds(owner))
      addMessage(b, param.getLoc(), program, /*sends=*/true, title, stage,
                 usesOf(value, *weight.read));
    else if (program.holds(stage))
      addMessage(b, param.getLoc(), program, /*sends=*/false, title, owner,
                 usesOf(value, *weight.read));
  }
}

void SharedWeights::sendUpdated(sched::SectionOp section) {
  for (const SharedWeight &weight : chain.shared)
    if (weight.updater)
      sendFrom(section, weight, *weight.updater);
}

void SharedWeights::sendPrepared(sched::SectionOp section) {
  for (const SharedWeight &weight : chain.shared)
    if (weight.preparer)
      sendFrom(section, weight, *weight.preparer);
}
