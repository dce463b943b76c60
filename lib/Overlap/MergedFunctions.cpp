//===- MergedFunctions.cpp - the functions of two layers as one --------------===//
#include "lib/Overlap/MergedFunctions.h"
#include "dialects/sched/Sched.h"
#include "lib/Overlap/FunctionOrder.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;

/// Whether all that two functions exchange is activations, and there are any. Weights and gradients
/// are hidden under whole layers, by `cut-exchanges`.
static bool exchangeActivations(rt::FuncOp forward, rt::FuncOp backward) {
  bool any = false;
  for (rt::FuncOp func : {forward, backward})
    for (auto op : func.getBlock().getOps<rt::CollectiveOp>()) {
      if (!op->hasAttr(dist::kActivation))
        return false;
      any = true;
    }
  return any;
}

/// Both functions may have a gradient of one name, of unlike layers. So names of the backward say
/// that they are its.
static DictionaryAttr labelOf(rt::FuncOp func, nn::Role role, StringRef name, bool isBackward) {
  std::string its =
      isBackward && role != nn::Role::Scalar ? ("backward." + name).str() : name.str();
  return nn::attributesOf(func.getContext(), {role, its});
}

static rt::FuncOp merge(rt::FuncOp forward, rt::FuncOp backward) {
  OpBuilder b(forward);
  b.setInsertionPointAfter(forward);
  SmallVector<Type> inputs, outputs;
  SmallVector<Attribute> arguments, results;
  for (rt::FuncOp each : {forward, backward}) {
    llvm::append_range(inputs, each.getArgumentTypes());
    llvm::append_range(outputs, each.getResultTypes());
    for (unsigned i = 0, e = each.getNumArguments(); i < e; ++i)
      arguments.push_back(labelOf(each, each.getArgRole(i), each.getArgName(i), each == backward));
    for (unsigned i = 0, e = each.getNumResults(); i < e; ++i)
      results.push_back(
          labelOf(each, each.getResultRole(i), each.getResultName(i), each == backward));
  }
  auto func =
      rt::FuncOp::create(b, FusedLoc::get(b.getContext(), {forward.getLoc(), backward.getLoc()}),
                         (forward.getSymName() + "." + backward.getSymName()).str(),
                         b.getFunctionType(inputs, outputs), FlatSymbolRefAttr(), nn::PartAttr(),
                         b.getArrayAttr(arguments), b.getArrayAttr(results));
  func->setAttr(sched::kPair, b.getUnitAttr());
  b.createBlock(&func.getBody());
  SmallVector<Value> returned;
  for (rt::FuncOp each : {forward, backward}) {
    IRMapping mapping;
    for (BlockArgument arg : each.getArguments())
      mapping.map(arg, func.getBlock().addArgument(arg.getType(), arg.getLoc()));
    for (Operation &op : each.getBlock().without_terminator())
      b.clone(op, mapping);
    for (Value value : each.getReturn().getOperands())
      returned.push_back(mapping.lookupOrDefault(value));
  }
  rt::ReturnOp::create(b, forward.getReturn().getLoc(), returned);
  return func;
}

bool MergedFunctions::isWorthIt(rt::FuncOp both, rt::FuncOp forward, rt::FuncOp backward) const {
  auto mayFly = [&](rt::CollectiveOp op) { return choice.mayFly(op); };
  auto secondsOf = [&](rt::FuncOp func) { return FunctionOrder(func, prices, mayFly).seconds(); };
  return secondsOf(both) <= (secondsOf(forward) + secondsOf(backward)) * (1 - kLeastGain);
}

rt::FuncOp MergedFunctions::get(rt::FuncOp forward, rt::FuncOp backward) {
  auto [known, isNew] = made.try_emplace({forward, backward});
  if (!isNew || !exchangeActivations(forward, backward))
    return known->second;
  rt::FuncOp both = merge(forward, backward);
  if (choice.isByCost() && !isWorthIt(both, forward, backward))
    both.erase();
  else
    known->second = both;
  return known->second;
}
