//===- Tplan.cpp - registration, syntax and verifiers of the tplan dialect ===//
#include "dialects/tplan/Tplan.h"
#include "dialects/nn/NNFunction.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"

using namespace mlir;
using namespace tplan::lang;

#include "dialects/tplan/TplanDialect.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/tplan/TplanOps.cpp.inc"

void TplanDialect::initialize() {
  addOperations<
#define GET_OP_LIST
#include "dialects/tplan/TplanOps.cpp.inc"
      >();
}

ParseResult LayerOp::parse(OpAsmParser &parser, OperationState &result) {
  return tplan::nn::parseFunction<LayerOp>(parser, result);
}

void LayerOp::print(OpAsmPrinter &printer) { tplan::nn::printFunction(printer, *this); }

// tplan.for "blocks" runs [[3, 0]] carried(%x) invariant(%y) : (types) -> types { ^bb0(..): } { ..
// }
ParseResult ForOp::parse(OpAsmParser &parser, OperationState &result) {
  StringAttr member;
  ArrayAttr runs;
  SmallVector<OpAsmParser::UnresolvedOperand> carried, invariants;
  FunctionType type;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseAttribute(member, "member", result.attributes) || parser.parseKeyword("runs") ||
      parser.parseAttribute(runs, "runs", result.attributes) || parser.parseKeyword("carried") ||
      parser.parseOperandList(carried, AsmParser::Delimiter::Paren) ||
      parser.parseKeyword("invariant") ||
      parser.parseOperandList(invariants, AsmParser::Delimiter::Paren) ||
      parser.parseOptionalAttrDict(result.attributes) || parser.parseColonType(type))
    return failure();
  auto &segments = result.getOrAddProperties<Properties>().operandSegmentSizes;
  segments = {static_cast<int32_t>(carried.size()), static_cast<int32_t>(invariants.size())};
  llvm::append_range(carried, invariants);
  result.addTypes(type.getResults());
  if (parser.resolveOperands(carried, type.getInputs(), loc, result.operands))
    return failure();
  OptionalParseResult more;
  while (true) {
    auto region = std::make_unique<Region>();
    more = parser.parseOptionalRegion(*region);
    if (!more.has_value())
      return success();
    if (failed(*more))
      return failure();
    result.addRegion(std::move(region));
  }
}

void ForOp::print(OpAsmPrinter &printer) {
  printer << " " << getMemberAttr() << " runs " << getRunsAttr() << " carried(" << getCarried()
          << ") invariant(" << getInvariants() << ")";
  printer.printOptionalAttrDict((*this)->getAttrs(), {"member", "runs", "operandSegmentSizes"});
  printer << " : ";
  printer.printFunctionalType(getOperation());
  for (Region &region : getKinds()) {
    printer << " ";
    printer.printRegion(region);
  }
}

LogicalResult ForOp::verify() {
  if (getCarried().getTypes() != getResultTypes())
    return emitOpError("carries in and out different types");
  for (Region &region : getKinds())
    if (region.getArgumentTypes() != getOperandTypes())
      return emitOpError("a kind's arguments must be the carried and invariant values");
  return success();
}

tplan::nn::DimAttr ModelOp::getBatch() {
  for (auto input : getOps<InputOp>())
    if (auto type = cast<nn::Tensor>(input.getValue().getType()); type.getRank())
      return type.getDims().front();
  return nn::DimAttr::get(getContext(), "B", 1, false);
}

StringRef UpdateOp::getStateName() { return getState().getDefiningOp<WeightOp>().getName(); }

LogicalResult UpdateOp::verify() {
  auto weight = getState().getDefiningOp<WeightOp>();
  if (!weight || !weight.isState())
    return emitOpError("updates a weight of kind state only");
  return success();
}

// The parse phase fuses the op's place with one named location per line.
Location tplan::lang::settingLoc(Operation *op, StringRef key) {
  auto fused = dyn_cast<FusedLoc>(op->getLoc());
  if (!fused)
    return op->getLoc();
  for (Location loc : fused.getLocations())
    if (auto named = dyn_cast<NameLoc>(loc); named && named.getName() == key)
      return named.getChildLoc();
  return fused.getLocations().front();
}
