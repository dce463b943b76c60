//===- Tplan.cpp - registration, syntax and verifiers of the tplan dialect ===//
#include "dialects/tplan/Tplan.h"
#include "dialects/nn/NNFunction.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

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

LogicalResult StoredOp::verify() {
  if (getNames().empty() || getNames().size() > 2) // (C1)
    return emitOpError("has one or two names, found ") << getNames();
  int64_t numbers = 0;
  for (Attribute factors : getLayout()) {
    auto list = dyn_cast<ArrayAttr>(factors);
    if (!list)
      return emitOpError("has a layout of lists, found ") << factors;
    for (Attribute factor : list)
      if (auto number = dyn_cast<IntegerAttr>(factor))
        numbers += number.getInt() == static_cast<int64_t>(getWeights().size()) ? 1 : 2;
      else if (!isa<StringAttr>(factor))
        return emitOpError("has dimensions and numbers as factors, found ") << factor;
  }
  if (numbers != (getWeights().size() > 1)) // (C2)
    return emitOpError("counts through its weights in one place, found ") << getLayout();
  return success();
}

StringRef UpdateOp::getStateName() { return getState().getDefiningOp<WeightOp>().getName(); }

LogicalResult UpdateOp::verify() {
  auto weight = getState().getDefiningOp<WeightOp>();
  if (!weight || !weight.isState()) // (C1)
    return emitOpError("updates a weight of kind state only");
  return success();
}

// (C1) of the plan. Readers take well-formed meshes and shards for granted, and divide by the
// sizes.
static LogicalResult verifyMesh(PlanOp op, Attribute mesh, llvm::StringSet<> &names) {
  auto axes = dyn_cast<ArrayAttr>(mesh);
  int64_t ranks = 1;
  for (Attribute axis : axes ? axes.getValue() : ArrayRef<Attribute>()) {
    auto dict = dyn_cast<DictionaryAttr>(axis);
    auto name = dict ? dict.getAs<StringAttr>("name") : StringAttr();
    auto size = dict ? dict.getAs<IntegerAttr>("size") : IntegerAttr();
    if (!name || !size || size.getInt() < 1)
      return op.emitOpError("mesh has axes {name = \"dp\", size = 2 : i64}, found ") << axis;
    if (!names.insert(name).second)
      return op.emitOpError("mesh names each axis once, found twice: ") << name.getValue();
    ranks = size.getInt() > kMostRanks / ranks ? kMostRanks + 1 : ranks * size.getInt();
    if (ranks > kMostRanks)
      return op.emitOpError("mesh has at most 65536 ranks, found ") << mesh;
  }
  return axes ? success() : LogicalResult(op.emitOpError("mesh is a list of axes, found ") << mesh);
}

// (C2)
static LogicalResult verifyAxes(PlanOp op, DictionaryAttr entry, const llvm::StringSet<> &mesh) {
  for (Attribute axis : entry.getAs<ArrayAttr>("axes"))
    if (auto name = dyn_cast<StringAttr>(axis); !name || !mesh.contains(name))
      return op.emitOpError("shards over axes of the mesh, found ") << axis;
  return success();
}

LogicalResult PlanOp::verify() {
  llvm::StringSet<> axes;
  DictionaryAttr settings = getSettings();
  if (Attribute mesh = settings.get("mesh"); mesh && failed(verifyMesh(*this, mesh, axes)))
    return failure();
  if (auto shards = settings.getAs<ArrayAttr>("shard"))
    for (Attribute shard : shards) {
      auto entry = dyn_cast<DictionaryAttr>(shard);
      if (!entry || !entry.getAs<ArrayAttr>("dims") || !entry.getAs<ArrayAttr>("axes"))
        return emitOpError("shard has lists of dims and axes, found ") << shard;
      if (failed(verifyAxes(*this, entry, axes)))
        return failure();
    }
  auto zero = settings.getAs<DictionaryAttr>("zero");
  if (zero && !zero.getAs<ArrayAttr>("axes"))
    return emitOpError("zero has a list of axes, found ") << zero;
  return zero ? verifyAxes(*this, zero, axes) : success();
}

std::string tplan::lang::shardKey(size_t i) { return "shard." + std::to_string(i); }

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
