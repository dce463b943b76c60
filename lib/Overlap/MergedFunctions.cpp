//===- MergedFunctions.cpp - the functions of two layers as one --------------===//
#include "lib/Overlap/MergedFunctions.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Functions.h"
#include "lib/Schedule/Values.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/IRMapping.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;

rt::FuncOp MergedFunctions::merge(rt::FuncOp first, rt::FuncOp second) const {
  OpBuilder b(first);
  b.setInsertionPointAfter(first);
  // Both may have a gradient of one name, of unlike layers. So names of the second one say that
  // they are its.
  auto labelOf = [&](rt::FuncOp func, nn::Role role, StringRef name) {
    bool isApart = func == second && role != nn::Role::Scalar;
    std::string its = isApart ? (by.second + "." + name).str() : name.str();
    return nn::attributesOf(func.getContext(), {role, its});
  };
  SmallVector<Type> inputs, outputs;
  SmallVector<Attribute> arguments, results;
  for (rt::FuncOp each : {first, second}) {
    llvm::append_range(inputs, each.getArgumentTypes());
    llvm::append_range(outputs, each.getResultTypes());
    for (unsigned i = 0, e = each.getNumArguments(); i < e; ++i)
      arguments.push_back(labelOf(each, each.getArgRole(i), each.getArgName(i)));
    for (unsigned i = 0, e = each.getNumResults(); i < e; ++i)
      results.push_back(labelOf(each, each.getResultRole(i), each.getResultName(i)));
  }
  auto func = rt::FuncOp::create(
      b, FusedLoc::get(b.getContext(), {first.getLoc(), second.getLoc()}),
      (first.getSymName() + "." + second.getSymName()).str(), b.getFunctionType(inputs, outputs),
      FlatSymbolRefAttr(), nn::PartAttr(), b.getArrayAttr(arguments), b.getArrayAttr(results));
  func->setAttr(cost::kMergedBy, b.getI64IntegerAttr(static_cast<int64_t>(by.kind)));
  b.createBlock(&func.getBody());
  SmallVector<Value> returned;
  for (rt::FuncOp each : {first, second}) {
    IRMapping mapping;
    for (BlockArgument arg : each.getArguments())
      mapping.map(arg, func.getBlock().addArgument(arg.getType(), arg.getLoc()));
    for (Operation &op : each.getBlock().without_terminator())
      b.clone(op, mapping);
    for (Value value : each.getReturn().getOperands())
      returned.push_back(mapping.lookupOrDefault(value));
  }
  rt::ReturnOp::create(b, first.getReturn().getLoc(), returned);
  return func;
}

bool MergedFunctions::isWorthIt(rt::FuncOp both, rt::FuncOp first, rt::FuncOp second) const {
  auto mayFly = [&](rt::CollectiveOp op) { return choice.mayFly(op); };
  auto secondsOf = [&](rt::FuncOp func) { return FunctionOrder(func, prices, mayFly).seconds(); };
  return secondsOf(both) <= (secondsOf(first) + secondsOf(second)) * (1 - kLeastGain);
}

rt::FuncOp MergedFunctions::get(rt::FuncOp first, rt::FuncOp second) {
  auto [known, isNew] = made.try_emplace({first, second});
  if (!isNew || !by.mayMerge(first, second))
    return known->second;
  rt::FuncOp both = merge(first, second);
  if (choice.isByCost() && !isWorthIt(both, first, second))
    both.erase();
  else
    known->second = both;
  return known->second;
}

void MergedFunctions::eraseUncalled(ModuleOp module) {
  llvm::SetVector<rt::FuncOp> funcs;
  for (auto &[two, one] : made)
    if (one) {
      funcs.insert(cast<rt::FuncOp>(two.first)), funcs.insert(cast<rt::FuncOp>(two.second));
      funcs.insert(one);
    }
  sched::eraseUncalled(module, funcs.getArrayRef());
  made.clear();
}

void MergedCalls::create(OpBuilder &b, Location loc, Part first, Part second) {
  rt::FuncOp func = functions.get(first.call.getFunction(), second.call.getFunction());
  SmallVector<sched::Use> from, to;
  for (Part part : {first, second}) {
    SmallVector<sched::Use> uses = part.call.getUses();
    unsigned arguments = part.call.getFunction().getNumArguments();
    for (unsigned i = 0; i < arguments; ++i)
      from.push_back(part.used(uses[i]));
    for (auto &[result, use] : resultsOf(part.call))
      to.push_back(part.used(use));
  }
  Value &frame = frames[func];
  if (!frame) {
    auto program = first.call->getParentOfType<sched::ProgramOp>();
    std::string ofFrame = name + " " + func.getSymName().str();
    frame = schedule::ProgramValues(program).declareFrame(ofFrame).getMemory();
  }
  sched::createStep<sched::CallOp>(b, loc, from, to, func.getSymName(), frame,
                                   static_cast<uint64_t>(1), /*started=*/false);
}
