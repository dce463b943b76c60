//===- Kinds.cpp - verifiers of operations on blocks -----------------------===//
//
// Each check cites its constraint in Dist.td as (Cn).
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Kinds.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::dist;

/// The kinds for which it holds, for a message.
static std::string kindsThat(llvm::function_ref<bool(const KindFacts &)> holds) {
  SmallVector<StringRef> kinds;
  for (const KindFacts &facts : kKindFacts)
    if (holds(facts))
      kinds.push_back(stringifyCollectiveKind(facts.kind));
  return llvm::join(kinds, ", ");
}

/// (C2) for the kinds that move blocks of a dimension.
static LogicalResult verifyDim(Operation *op, std::optional<StringRef> dim) {
  auto type = cast<nn::Tensor>(op->getOperand(0).getType());
  if (dim && !type.has(*dim))
    return op->emitOpError("operand has no such dimension: ") << *dim;
  return success();
}

LogicalResult CollectiveOp::verify() {
  if (failed(verifyAxes(*this, getAxes())) || failed(verifyDim(*this, getDim())) ||
      failed(verifyDim(*this, getTo())))
    return failure();
  const KindFacts &facts = factsOf(getKind());
  StringRef kind = stringifyCollectiveKind(getKind());
  if (facts.exchanges() && !getDim()) // (C2)
    return emitOpError("needs the dimension that is cut, found none in ") << kind;
  if (!facts.hasBlocks() && getDim())
    return emitOpError("cuts no dimension, found ") << *getDim();
  if (facts.exchanges() && !getTo())
    return emitOpError("needs the dimension that is cut afterwards, found none in ") << kind;
  if (!facts.exchanges() && getTo())
    return emitOpError("the dimension that is cut afterwards belongs to ")
           << kindsThat([](const KindFacts &each) { return each.exchanges(); }) << " alone, found "
           << kind;
  if (facts.reorders && !getSources()) // (C3)
    return emitOpError("needs a source for each member, found none in ") << kind;
  if (!facts.reorders && getSources())
    return emitOpError("sources belong to ")
           << kindsThat([](const KindFacts &each) { return each.reorders; }) << " alone, found "
           << kind;
  auto module = (*this)->getParentOfType<ModuleOp>();
  if (!getSources() || !module || !module->hasAttr(kMesh))
    return success();
  ArrayRef<int32_t> sources = *getSources();
  int64_t members = meshOf(module).sizeOf(dist::axesOf(getAxes()));
  if (static_cast<int64_t>(sources.size()) != members)
    return emitOpError("needs a source for each of ")
           << members << " members, found " << sources.size();
  for (int32_t source : sources)
    if (source < 0 || source >= members)
      return emitOpError("source is none of ") << members << " members: " << source;
  return success();
}

LogicalResult SliceOp::verify() {
  return success(succeeded(verifyAxes(*this, getAxes())) && succeeded(verifyDim(*this, getDim())));
}
