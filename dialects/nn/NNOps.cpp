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

ParseResult tplan::nn::parseParamKind(OpAsmParser &parser, ParamKindAttr &kind) {
  std::string text;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseString(&text))
    return failure();
  std::optional<ParamKind> known = symbolizeParamKind(text);
  if (!known)
    return parser.emitError(loc) << "unknown kind of parameter: " << text;
  kind = ParamKindAttr::get(parser.getContext(), *known);
  return success();
}

void tplan::nn::printParamKind(OpAsmPrinter &printer, Operation *, ParamKindAttr kind) {
  printer << '"' << stringifyParamKind(kind.getValue()) << '"';
}

LogicalResult ParamOp::verify() {
  if (getCount() < 1) // (C1)
    return emitOpError("count must be at least 1, found ") << getCount();
  if (isCopy() != (getKind() == ParamKind::Copy)) // (C2)
    return emitOpError(isCopy() ? "says of which weight it is a copy, but is of kind "
                                : "needs the weight of which it is a copy, `copy_of @...`: kind ")
           << stringifyParamKind(getKind());
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
  if (failed(verifyPart(*this))) // (C4)
    return failure();
  return verifyLabels(*this, getArgAttrsAttr(), getResAttrsAttr()); // (C6) to (C8)
}

LogicalResult LayerOp::verifySymbolUses(SymbolTableCollection &) {
  return verifyPartIsUnique(*this); // (C5)
}

/// Numbers outside the roles that have one, or given twice.
static LogicalResult verifyPosition(Operation *op, StringRef what, unsigned i, Attribute position,
                                    Role role, DenseSet<std::pair<Role, int64_t>> &seen) {
  auto number = dyn_cast<IntegerAttr>(position);
  if (!number || number.getInt() < 0)
    return op->emitOpError() << what << " " << i << " needs a whole number as its position, found "
                             << position;
  if (!hasPosition(role))
    return op->emitOpError() << what << " " << i
                             << " has a position, which carried and invariant values and their "
                                "cotangents have; found role "
                             << stringifyRole(role);
  if (!seen.insert({role, number.getInt()}).second)
    return op->emitOpError() << what << " " << i << " has the position of another one of role "
                             << stringifyRole(role) << ": " << number.getInt();
  return success();
}

/// What a number says of itself stands on roles that are numbers.
static LogicalResult verifyNumber(Operation *op, StringRef what, unsigned i, DictionaryAttr one,
                                  std::optional<Role> role) {
  if (Attribute counts = one.get(kCounts))
    if (!isa<StringAttr>(counts) ||
        (role != Role::Scalar && role != Role::Loss && role != Role::Metric))
      return op->emitOpError() << what << " " << i
                               << " counts something, which scalars, losses and metrics do, by its "
                                  "name: "
                               << counts;
  Attribute member = one.get(kMember);
  auto axes = dyn_cast_or_null<ArrayAttr>(member);
  bool areNames = axes && !axes.empty() &&
                  llvm::all_of(axes, [](Attribute axis) { return isa<StringAttr>(axis); });
  if (member && (!areNames || role != Role::Scalar))
    return op->emitOpError() << what << " " << i
                             << " is a member's number, which scalars are, in a group of axes: "
                             << member;
  return success();
}

/// Positions and slots of the arguments, or of the results; notes which state each slot is.
static LogicalResult verifySide(Operation *op, StringRef what, ArrayAttr attributes,
                                DenseMap<Attribute, Attribute> &slots) {
  if (!attributes)
    return success();
  DenseSet<std::pair<Role, int64_t>> seen;
  for (auto [i, one] : llvm::enumerate(attributes.getAsRange<DictionaryAttr>())) {
    std::optional<Role> role = roleOf(one.get(kRole));
    Attribute position = one.get(kPosition), slot = one.get(kSlot);
    if (role && position && failed(verifyPosition(op, what, i, position, *role, seen)))
      return failure();
    if (slot && (role != Role::State || !isa<SlotAttr>(slot)))
      return op->emitOpError() << what << " " << i
                               << " has a slot, which states of an optimizer have: " << slot;
    if (failed(verifyNumber(op, what, i, one, role)))
      return failure();
    if (role != Role::State)
      continue;
    auto [known, isNew] = slots.try_emplace(one.get(kName), slot);
    if (!isNew && known->second != slot)
      return op->emitOpError() << what << " " << i
                               << " is a state that has another slot as an argument: "
                               << one.get(kName);
  }
  return success();
}

LogicalResult tplan::nn::verifyLabels(Operation *op, ArrayAttr args, ArrayAttr results) {
  DenseMap<Attribute, Attribute> slots; // by name
  if (failed(verifySide(op, "argument", args, slots)))
    return failure();
  return verifySide(op, "result", results, slots);
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
  if (getMessages() && getMessages()->size() != getNumResults()) // (C4)
    return emitOpError("says of each result how it is sent, found ")
           << getMessages()->size() << " for " << getNumResults();
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

std::string tplan::nn::countOf(StringRef name) { return ("count." + name).str(); }
Label tplan::nn::labelOfCount(MLIRContext *ctx, Role role, StringRef of) {
  Label label{role, StringAttr::get(ctx, countOf(of)).getValue()};
  label.counts = StringAttr::get(ctx, of);
  return label;
}

DictionaryAttr tplan::nn::attributesOf(MLIRContext *ctx, const Label &label) {
  Builder b(ctx);
  NamedAttrList list;
  list.set(kRole, b.getStringAttr(stringifyRole(label.role)));
  list.set(kName, b.getStringAttr(label.name));
  if (label.position)
    list.set(kPosition, b.getI64IntegerAttr(*label.position));
  if (label.slot)
    list.set(kSlot, label.slot);
  if (label.counts)
    list.set(kCounts, label.counts);
  if (label.member)
    list.set(kMember, label.member);
  return list.getDictionary(ctx);
}

Label tplan::nn::labelOf(DictionaryAttr attributes) {
  auto position = attributes.getAs<IntegerAttr>(kPosition);
  return {*roleOf(attributes.get(kRole)),
          attributes.getAs<StringAttr>(kName).getValue(),
          position ? std::optional<unsigned>(position.getInt()) : std::nullopt,
          attributes.getAs<SlotAttr>(kSlot),
          attributes.getAs<StringAttr>(kCounts),
          attributes.getAs<ArrayAttr>(kMember)};
}

BlockArgument LayerOp::addArg(const Label &label, Type type, Location loc) {
  unsigned i = getNumArguments();
  (void)insertArgument(i, type, attributesOf(getContext(), label), loc);
  return getArgument(i);
}
BlockArgument LayerOp::addArg(Role role, StringRef name, Type type, Location loc) {
  return addArg(Label{role, name}, type, loc);
}

void LayerOp::addResult(const Label &label, Value value) {
  (void)insertResult(getNumResults(), value.getType(), attributesOf(getContext(), label));
  getReturn().getOperandsMutable().append(value);
}
void LayerOp::addResult(Role role, StringRef name, Value value) {
  addResult(Label{role, name}, value);
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

bool tplan::nn::isStart(Type type) {
  auto tensor = dyn_cast<Tensor>(type);
  return tensor && tensor.isScalar() && tensor.getElementType().isInteger(32);
}

LogicalResult tplan::nn::verifyPieces(Operation *op, StringRef dim, int64_t size, size_t starts,
                                      std::optional<ArrayRef<int64_t>> pieces) {
  size_t found = pieces ? pieces->size() : 0;
  if (found != starts)
    return op->emitOpError("needs a start for each piece of ")
           << dim << ", found " << starts << " and " << found;
  int64_t sum = 0;
  for (int64_t piece : pieces.value_or(ArrayRef<int64_t>())) {
    if (piece < 1)
      return op->emitOpError("pieces of ") << dim << " have at least 1 element, found " << piece;
    sum += piece;
  }
  if (pieces && sum != size)
    return op->emitOpError("pieces must cover the ")
           << size << " elements of " << dim << ", found " << sum;
  return success();
}

/// (C1) of `pack` and `unpack`: words of `from` bits become words of `to` bits.
static LogicalResult verifyWords(Operation *op, unsigned from, unsigned to) {
  Tensor x = typeOf(op->getOperand(0)), result = typeOf(op->getResult(0));
  if (x.getElementType().isInteger(from) &&
      result == x.withElement(IntegerType::get(op->getContext(), to)))
    return success();
  return op->emitOpError("makes i") << to << " of i" << from << ", found " << result << " of " << x;
}
LogicalResult PackOp::verify() { return verifyWords(*this, 64, 32); }
LogicalResult UnpackOp::verify() { return verifyWords(*this, 32, 64); }

LogicalResult IndexOp::verify() {
  Tensor type = typeOf(getResult());
  if (type.getRank() != 1 || !type.getElementType().isInteger(32)) // (C1)
    return emitOpError("result must have one dimension and element type i32, found ") << type;
  DimAttr dim = type.getDims().front();
  return verifyPieces(*this, dim.getName(), dim.getSize(), getStarts().size(), getPieces()); // (C2)
}

LogicalResult DropoutMaskOp::verify() {
  ArrayRef<DimAttr> dims = typeOf(getResult()).getDims();
  bool placed = !getStarts().empty();
  size_t whole = getWhole() ? getWhole()->size() : 0,
         pieces = getPieces() ? getPieces()->size() : 0;
  if (whole != (placed ? dims.size() : 0) || pieces != whole) // (C1)
    return emitOpError("with starts, and only then, needs a whole size and pieces for each of ")
           << dims.size() << " dimensions, found " << whole << " and " << pieces;
  size_t left = getStarts().size();
  for (size_t i = 0; i < pieces; ++i) { // (C2)
    auto sizes = cast<DenseI64ArrayAttr>((*getPieces())[i]).asArrayRef();
    size_t starts = i + 1 == pieces ? left : std::min<size_t>(left, sizes.size());
    left -= starts;
    if (failed(verifyPieces(*this, dims[i].getName(), dims[i].getSize(), starts, sizes)))
      return failure();
  }
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

static LogicalResult verifyScales(ContractOp op) {
  auto isCode = [](Value v) {
    auto type = dyn_cast<FloatType>(typeOf(v).getElementType());
    return type && type.getWidth() <= 8;
  };
  bool scaled = op.getLhsScale() && op.getRhsScale();
  for (auto [operand, scale] :
       {std::pair(op.getLhs(), op.getLhsScale()), std::pair(op.getRhs(), op.getRhsScale())})
    if (isCode(operand) != scaled || (scale && !typeOf(scale).getElementType().isF32())) // (C3)
      return op.emitOpError("operands in f8, and no others, have scales in f32; found ")
             << operand.getType() << (scaled ? " with one" : " without");
  if (!scaled && op.getFolded()) // (C7)
    return op.emitOpError("without scales has none to fold");
  if (!scaled)
    return success();
  Tensor lhs = typeOf(op.getLhs()), rhs = typeOf(op.getRhs()), result = typeOf(op.getResult());
  Tensor ofLhs = typeOf(op.getLhsScale()), ofRhs = typeOf(op.getRhsScale());
  for (auto [operand, scale] : {std::pair(lhs, ofLhs), std::pair(rhs, ofRhs)})
    for (DimAttr dim : scale.getDims())
      if (!llvm::is_contained(operand.getDims(), dim)) // (C4)
        return op.emitOpError("operand lacks the dimension of its scale ") << dim.getName();
  bool inPanel = false;
  for (DimAttr dim : lhs.getDims()) {
    StringRef name = dim.getName();
    if (!rhs.has(name))
      continue;
    if (result.has(name)) // (C6)
      return op.emitOpError("with scales there are no batches, found ") << name;
    if (ofLhs.has(name) != ofRhs.has(name)) // (C5)
      return op.emitOpError("one scale is for all of a panel, and the other not: ") << name;
    if (inPanel && ofLhs.has(name)) // (C5)
      return op.emitOpError("a panel is of the last dimensions that are contracted; after it lies ")
             << name;
    inPanel |= !ofLhs.has(name);
  }
  if (!inPanel) // (C5)
    return op.emitOpError(
               "each element along what is contracted has a scale of its own: quantise it "
               "along that; found ")
           << ofLhs;
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
  return verifyScales(*this);
}

LogicalResult AuditOp::verify() { // (C1)
  size_t rank = typeOf(getX()).getRank();
  if (bool(getWhole()) == bool(getAxes()) &&
      (!getWhole() || (getWhole()->size() == rank && getAxes()->size() == rank)))
    return success();
  return emitOpError("with `of`, and only then, needs a size and axes for each of ")
         << rank << " dimensions";
}

LogicalResult SplitOp::verify() {
  Tensor x = typeOf(getX());
  int64_t at = x.find(getDim()), by = getBy();
  DimAttr dim = at < 0 ? DimAttr() : x.getDims()[at];
  if (!dim || dim.getBounded() || by < 1 || dim.getSize() % by) // (C1)
    return emitOpError("needs a dimension ")
           << getDim() << " of blocks of " << by << ", found " << x;
  if (typeOf(getResult()) != splitType(x, getDim(), by)) // (C2)
    return emitOpError("makes ") << splitType(x, getDim(), by) << ", found "
                                 << getResult().getType();
  return success();
}

LogicalResult MergeOp::verify() {
  Tensor x = typeOf(getX()), whole = typeOf(getResult());
  int64_t in = x.find(innerName(getDim()));
  if (!whole.has(getDim()) || in < 0 || x.getDims()[in].getSize() < 1 ||
      splitType(whole, getDim(), x.getDims()[in].getSize()) != x) // (C1)
    return emitOpError("merges what nn.split made of ") << whole << ", found " << x;
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

template <typename Op> static LogicalResult verifyPositions(Op op) {
  Tensor q = typeOf(op.getQ()), k = typeOf(op.getK());
  StringRef query = op.getSpec().getQuery(), key = op.getSpec().getKey();
  if (failed(verifyPieces(op, query, q.getDims()[q.find(query)].getSize(), op.getQStarts().size(),
                          op.getQPieces())))
    return failure();
  return verifyPieces(op, key, k.getDims()[k.find(key)].getSize(), op.getKStarts().size(),
                      op.getKPieces());
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
  return verifyPositions(*this); // (C3)
}

LogicalResult AttentionGradOp::verify() {
  AttentionAttr spec = getSpec();
  if (!typeOf(getQ()).has(spec.getQuery()) || !typeOf(getK()).has(spec.getKey()))
    return emitOpError("q needs dimension ") << spec.getQuery() << ", k needs " << spec.getKey();
  return verifyPositions(*this); // (C1)
}
