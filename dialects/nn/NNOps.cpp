//===- NNOps.cpp - verifiers and layer functions of the nn dialect --------===//
//
// Each check cites its constraint in NN.td as (Cn).
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NN.h"
#include "dialects/nn/NNFunction.h"
#include "dialects/nn/Parts.h"
#include "mlir/IR/Builders.h"

using namespace mlir;
using namespace tplan::nn;

#define GET_OP_CLASSES
#include "dialects/nn/NNOps.cpp.inc"

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

LogicalResult ParamOp::verify() {
  if (getCount() < 1) // (C1)
    return emitOpError("count must be at least 1, found ") << getCount();
  return success();
}

ParseResult LayerOp::parse(OpAsmParser &parser, OperationState &result) {
  return parseFunction<LayerOp>(parser, result);
}

void LayerOp::print(OpAsmPrinter &printer) { printFunction(printer, *this); }

static std::optional<Role> roleOf(Attribute attr) {
  auto name = dyn_cast_or_null<StringAttr>(attr);
  return name ? symbolizeRole(name.getValue()) : std::nullopt;
}

LogicalResult LayerOp::verify() {
  for (unsigned i = 0, e = getNumArguments(); i < e; ++i) // (C1)
    if (!roleOf(getArgAttr(i, kRole)) || !isa_and_nonnull<StringAttr>(getArgAttr(i, kName)))
      return emitOpError("argument without a role and a name: ") << i;
  for (unsigned i = 0, e = getNumResults(); i < e; ++i)
    if (!roleOf(getResultAttr(i, kRole)) || !isa_and_nonnull<StringAttr>(getResultAttr(i, kName)))
      return emitOpError("result without a role and a name: ") << i;
  auto ret = getBlock().empty() ? ReturnOp() : dyn_cast<ReturnOp>(getBlock().back()); // (C2)
  if (!ret || ret.getOperandTypes() != getFunctionType().getResults())
    return emitOpError("body must return the types of the results");
  if (getPart() && isForward(*getPart())) // (C3)
    for (unsigned i = 0, e = getNumArguments(); i < e; ++i)
      if (isCotangent(getArgRole(i)))
        return emitOpError("a forward takes no cotangent, found argument ") << i;
  return verifyPart(*this); // (C4)
}

LogicalResult LayerOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyPartIsUnique(*this); // (C5)
}

Role LayerOp::getArgRole(unsigned i) { return *roleOf(getArgAttr(i, kRole)); }
Role LayerOp::getResultRole(unsigned i) { return *roleOf(getResultAttr(i, kRole)); }
StringRef LayerOp::getArgName(unsigned i) {
  return cast<StringAttr>(getArgAttr(i, kName)).getValue();
}
StringRef LayerOp::getResultName(unsigned i) {
  return cast<StringAttr>(getResultAttr(i, kName)).getValue();
}
ReturnOp LayerOp::getReturn() { return cast<ReturnOp>(getBlock().getTerminator()); }
FlatSymbolRefAttr LayerOp::getWholeLayer() {
  return getPart() ? getLayerAttr() : FlatSymbolRefAttr::get(getSymNameAttr());
}

DimAttr ChainOp::getBatch() {
  for (auto input : getOps<InputOp>())
    if (auto type = cast<Tensor>(input.getValue().getType()); type.getRank())
      return type.getDims().front();
  return {};
}

LogicalResult RunOp::verify() { // (C1) and (C2) where it is read: lib/Schedule/Chain.cpp
  if (getTimes() * getCallees().size() > 1 && getCarried().getTypes() != getResultTypes()) // (C3)
    return emitOpError("hands on what its next layer takes: types carried in and out must agree");
  return success();
}

bool LayerOp::isInPlace(unsigned arg, unsigned result) {
  Role role = getArgRole(arg);
  return role == getResultRole(result) && nn::isInPlace(role) &&
         getArgName(arg) == getResultName(result);
}

bool tplan::nn::isInPlace(Role role) {
  return llvm::is_contained({Role::Loss, Role::Metric, Role::Contribution, Role::CotInvariant,
                             Role::CotParam, Role::Param, Role::State},
                            role);
}

DictionaryAttr tplan::nn::roleAttrs(MLIRContext *ctx, Role role, StringRef name) {
  Builder b(ctx);
  return b.getDictionaryAttr({b.getNamedAttr(kRole, b.getStringAttr(stringifyRole(role))),
                              b.getNamedAttr(kName, b.getStringAttr(name))});
}

BlockArgument LayerOp::addArg(Role role, StringRef name, Type type, Location loc) {
  unsigned i = getNumArguments();
  (void)insertArgument(i, type, roleAttrs(getContext(), role, name), loc);
  return getArgument(i);
}

void LayerOp::addResult(Role role, StringRef name, Value value) {
  (void)insertResult(getNumResults(), value.getType(), roleAttrs(getContext(), role, name));
  getReturn().getOperandsMutable().append(value);
}

//===----------------------------------------------------------------------===//
// Element-wise
//===----------------------------------------------------------------------===//

static LogicalResult verifyBinary(Operation *op) {
  Tensor lhs = typeOf(op->getOperand(0)), rhs = typeOf(op->getOperand(1));
  Tensor result = typeOf(op->getResult(0));
  for (Tensor operand : {lhs, rhs}) // (C1)
    for (DimAttr dim : operand.getDims())
      if (!llvm::is_contained(result.getDims(), dim))
        return op->emitOpError("result lacks a dimension of an operand: ") << dim.getName();
  for (DimAttr dim : result.getDims())
    if (!lhs.has(dim.getName()) && !rhs.has(dim.getName()))
      return op->emitOpError("no operand has the result's dimension ") << dim.getName();
  if (lhs.getElementType() != rhs.getElementType() || // (C2)
      lhs.getElementType() != result.getElementType())
    return op->emitOpError("element types differ: ")
           << lhs.getElementType() << ", " << rhs.getElementType() << ", "
           << result.getElementType();
  return success();
}

LogicalResult AddOp::verify() { return verifyBinary(*this); }
LogicalResult SubOp::verify() { return verifyBinary(*this); }
LogicalResult MulOp::verify() { return verifyBinary(*this); }
LogicalResult DivOp::verify() { return verifyBinary(*this); }
LogicalResult MaxOp::verify() { return verifyBinary(*this); }
LogicalResult MinOp::verify() { return verifyBinary(*this); }

LogicalResult IndexOp::verify() {
  Tensor type = typeOf(getResult());
  if (type.getRank() != 1 || !type.getElementType().isInteger(32)) // (C1)
    return emitOpError("result must have one dimension and element type i32, found ") << type;
  return success();
}

//===----------------------------------------------------------------------===//
// Structured
//===----------------------------------------------------------------------===//

LogicalResult ReduceOp::verify() {
  Tensor x = typeOf(getX());
  for (DimAttr dim : typeOf(getResult()).getDims()) // (C1)
    if (!llvm::is_contained(x.getDims(), dim))
      return emitOpError("operand lacks the result's dimension ") << dim.getName();
  return success();
}

LogicalResult ContractOp::verify() {
  Tensor lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), result = typeOf(getResult());
  for (DimAttr dim : result.getDims()) // (C1)
    if (!llvm::is_contained(lhs.getDims(), dim) && !llvm::is_contained(rhs.getDims(), dim))
      return emitOpError("no operand has the result's dimension ") << dim.getName();
  for (auto [x, other] : {std::pair(lhs, rhs), std::pair(rhs, lhs)})
    for (DimAttr dim : x.getDims()) { // (C2)
      bool shared = llvm::is_contained(other.getDims(), dim);
      if (!shared && other.has(dim.getName()))
        return emitOpError("operands disagree on the size of ") << dim.getName();
      if (!shared && !result.has(dim.getName()))
        return emitOpError("dimension of one operand only is not in the result: ") << dim.getName();
    }
  return success();
}

LogicalResult RopeOp::verify() {
  Tensor x = typeOf(getX());
  if (!x.getRank() || x.getDims().back().getName() != getDim() || x.getDims().back().getBounded() ||
      x.getDims().back().getSize() % 2) // (C1)
    return emitOpError("needs a last dimension of even static size named ") << getDim();
  int64_t half = x.getDims().back().getSize() / 2;
  Tensor table = typeOf(getCos()); // (C2)
  ArrayRef<DimAttr> dims = table.getDims();
  if (getSin().getType() != table || !isa<FloatType>(table.getElementType()))
    return emitOpError("needs tables of one type, of floats; found ")
           << table << " and " << getSin().getType();
  if (dims.empty() || x.has(dims.back().getName()) || dims.back().getSize() != half)
    return emitOpError("needs tables with a last dimension of their own, of ")
           << half << "; found " << table;
  for (DimAttr dim : dims.drop_back())
    if (!llvm::is_contained(x.getDims(), dim))
      return emitOpError("operand lacks the tables' dimension ") << dim.getName();
  return success();
}

LogicalResult LookupOp::verify() {
  Tensor table = typeOf(getTable()), ids = typeOf(getIds());
  SmallVector<DimAttr> dims(ids.getDims());
  llvm::append_range(dims, table.without({getDim()}).getDims());
  if (!table.has(getDim())) // (C1)
    return emitOpError("table lacks dimension ") << getDim();
  if (!ids.getElementType().isInteger(32))
    return emitOpError("ids must be i32, found ") << ids.getElementType();
  if (typeOf(getResult()) != table.withDims(dims))
    return emitOpError("expected result ") << table.withDims(dims);
  return success();
}

LogicalResult AttentionOp::verify() {
  Tensor q = typeOf(getQ()), k = typeOf(getK()), v = typeOf(getV());
  AttentionAttr spec = getSpec();
  int64_t h = q.find(spec.getHeads()), g = k.find(spec.getGroups());
  if (h < 0 || g < 0 || !q.has(spec.getQuery()) || !k.has(spec.getKey()))
    return emitOpError("q needs dimensions ")
           << spec.getQuery() << " and " << spec.getHeads() << ", k needs " << spec.getKey()
           << " and " << spec.getGroups();
  int64_t heads = q.getDims()[h].getSize(), groups = k.getDims()[g].getSize();
  if (groups == 0 || heads % groups) // (C1)
    return emitOpError("query heads must be a multiple of key heads, found ")
           << heads << " and " << groups;
  if (k != v || k.getDims().back() != q.getDims().back()) // (C2)
    return emitOpError("q, k and v must agree, found ") << q << ", " << k << ", " << v;
  return success();
}
