//===- Tplan.cpp - registration, syntax and verifiers of the tplan dialect ===//
#include "dialects/tplan/Tplan.h"
#include "dialects/nn/NNFunction.h"
#include "dialects/tplan/Dimensions.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/StringSet.h"

using namespace mlir;
using namespace tplan::lang;
using tplan::nn::parseParamKind;
using tplan::nn::printParamKind;

#include "dialects/tplan/TplanDialect.cpp.inc"
#include "dialects/tplan/TplanEnums.cpp.inc"

//===----------------------------------------------------------------------===//
// Attributes with fields
//===----------------------------------------------------------------------===//

// The dictionary of an attribute's fields, alone where an op holds it: tplan.plan @p {fuse = true}
template <class Attr> static ParseResult parseFields(AsmParser &parser, Attr &attr) {
  SMLoc loc = parser.getCurrentLocation();
  DictionaryAttr dictionary;
  if (parser.parseAttribute(dictionary))
    return failure();
  using Fields = std::decay_t<decltype(attr.getFields())>;
  auto fields = fromDictionary<Fields>(dictionary, Attr::getMnemonic(),
                                       [&] { return parser.emitError(loc); });
  if (failed(fields))
    return failure();
  attr = Attr::get(parser.getContext(), *fields);
  return success();
}
template <class Attr> static void printFields(AsmPrinter &printer, Operation *, Attr attr) {
  printer << toDictionary(attr.getContext(), attr.getFields());
}

#define GET_ATTRDEF_CLASSES
#include "dialects/tplan/TplanAttrs.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/tplan/TplanOps.cpp.inc"

#define FIELDS_ATTR(Name)                                                                          \
  Attribute Name::parse(AsmParser &parser, Type) {                                                 \
    Name attr;                                                                                     \
    bool read = succeeded(parser.parseLess()) && succeeded(parseFields(parser, attr)) &&           \
                succeeded(parser.parseGreater());                                                  \
    return read ? attr : Name();                                                                   \
  }                                                                                                \
  void Name::print(AsmPrinter &printer) const {                                                    \
    printer << "<" << toDictionary(getContext(), getFields()) << ">";                              \
  }
FIELDS_ATTR(RecipeAttr)
FIELDS_ATTR(ClusterAttr)
FIELDS_ATTR(PlanAttr)
FIELDS_ATTR(TargetAttr)

void TplanDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/tplan/TplanAttrs.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/tplan/TplanOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Syntax and verifiers
//===----------------------------------------------------------------------===//

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
  return nn::DimAttr::get(getContext(), dimension::batch, 1, false);
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

// (C1) of the plan. Readers divide by the sizes.
static LogicalResult verifyMesh(PlanOp op, llvm::StringSet<> &names) {
  int64_t ranks = 1;
  for (const Axis &axis : op.getSettings()->mesh) {
    if (axis.size < 1)
      return op.emitOpError("mesh has axes of at least one rank, found ")
             << axis.name << " = " << axis.size;
    if (!names.insert(axis.name).second)
      return op.emitOpError("mesh names each axis once, found twice: ") << axis.name;
    ranks = axis.size > kMostRanks / ranks ? kMostRanks + 1 : ranks * axis.size;
    if (ranks > kMostRanks)
      return op.emitOpError("mesh has at most 65536 ranks, found more along ") << axis.name;
  }
  return success();
}

// (C2)
static LogicalResult verifyAxes(PlanOp op, const std::vector<std::string> &axes,
                                const llvm::StringSet<> &mesh) {
  for (const std::string &axis : axes)
    if (!mesh.contains(axis))
      return op.emitOpError("shards over axes of the mesh, found ") << axis;
  return success();
}

LogicalResult PlanOp::verify() {
  llvm::StringSet<> axes;
  const Plan &plan = getSettings().getFields();
  if (failed(verifyMesh(*this, axes)))
    return failure();
  for (const Shard &shard : plan.shard)
    if (failed(verifyAxes(*this, shard.axes, axes)))
      return failure();
  if (!plan.stageAxis.empty() && !axes.contains(plan.stageAxis)) // (C3)
    return emitOpError("has its stages along an axis of the mesh, found ") << plan.stageAxis;
  return plan.zero ? verifyAxes(*this, plan.zero->axes, axes) : success();
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
