//===- RT.cpp - registration, syntax, verifiers and costs of the rt dialect ===//
#include "dialects/rt/RT.h"
#include "dialects/nn/NNFunction.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::rt;
using nn::DimAttr;
using nn::Tensor;
using nn::typeOf;

#include "dialects/rt/RTDialect.cpp.inc"
#include "dialects/rt/RTEnums.cpp.inc"
#include "dialects/rt/RTInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/rt/RTAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/rt/RTTypes.cpp.inc"
#define GET_OP_CLASSES
#include "dialects/rt/RTOps.cpp.inc"

void RTDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/rt/RTAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/rt/RTTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/rt/RTOps.cpp.inc"
      >();
}

/// A value that is read twice, as a rotated one is, is in the nearest cache the second time.
int64_t rt::bytesOf(Operation *op) {
  int64_t bytes = 0;
  for (Value v : llvm::SmallDenseSet<Value, 8>(op->operand_begin(), op->operand_end()))
    bytes += typeOf(v).getBytes();
  for (Value v : op->getResults())
    bytes += typeOf(v).getBytes();
  return bytes;
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

static int64_t product(ArrayAttr dims) {
  int64_t n = 1;
  for (auto dim : dims.getAsRange<DimAttr>())
    n *= dim.getSize();
  return n;
}

int64_t KernelOp::getNumRows() { return product(getRows()); }
int64_t KernelOp::getNumCols() { return product(getCols()); }
int64_t KernelOp::getNumTasks() {
  int64_t n = getSkeleton() == Skeleton::Column ? getNumCols() : getNumRows();
  int64_t grain = getGrain();
  return (n + grain - 1) / grain;
}
YieldOp KernelOp::getYield() { return cast<YieldOp>(getBody().front().getTerminator()); }

LogicalResult KernelOp::verify() {
  Block &block = getBody().front();
  FunctionType type = getFunctionType();
  if (static_cast<int64_t>(getGrain()) < 1)
    return emitOpError("grain must be at least 1, found ") << getGrain();
  SmallVector<Type> operands(type.getInputs());
  llvm::append_range(operands, type.getResults());
  for (Type operand : operands)
    if (!isa<Tensor>(operand))
      return emitOpError("operands must be nn tensors, found ") << operand;
  if (block.getNumArguments() != getNumInputs() || // (C1)
      getYield().getNumOperands() != getNumOutputs())
    return emitOpError("needs one argument per input and one yielded value per output");
  for (auto [arg, input] : llvm::zip(block.getArguments(), type.getInputs()))
    if (arg.getType() != cast<Tensor>(input).getElementType())
      return emitOpError("argument must have the input's element type, found ") << arg.getType();
  for (auto [value, output] : llvm::zip(getYield().getOperands(), type.getResults()))
    if (value.getType() != cast<Tensor>(output).getElementType())
      return emitOpError("yielded value must have the output's element type, found ")
             << value.getType();
  if (getAccesses().size() != getNumInputs() + getNumOutputs()) // (C2)
    return emitOpError("needs one access per input and output, found ") << getAccesses().size();
  for (auto [operand, attr] : llvm::zip(operands, getAccesses())) { // (C3)
    auto access = cast<AccessAttr>(attr);
    ArrayRef<DimAttr> dims = cast<Tensor>(operand).getDims();
    for (DimAttr dim :
         access.getKind() == AccessKind::Repeat ? dims.drop_back(!dims.empty()) : dims) {
      bool indirect =
          access.getKind() == AccessKind::Gather || access.getKind() == AccessKind::Scatter;
      if (dim.getName() == kTaskDim || (indirect && dim.getName() == access.getDim()))
        continue;
      if (!llvm::is_contained(getRows(), dim) && !llvm::is_contained(getCols(), dim))
        return emitOpError("dimension of an operand is no loop: ") << dim.getName();
    }
  }
  int64_t segment = 0;
  for (Operation &op : block) { // (C4)
    if (isa<RowReduceOp, SegmentReduceOp>(op) && getSkeleton() != Skeleton::Row)
      return emitOpError("only a row kernel reduces rows, found ")
             << stringifySkeleton(getSkeleton());
    auto reduce = dyn_cast<SegmentReduceOp>(op);
    if (!reduce)
      continue;
    int64_t size = reduce.getSize();
    if (getNumCols() % size || (segment && segment != size))
      return emitOpError("segments are of one size, which divides the ")
             << getNumCols() << " columns, found " << size;
    segment = size;
  }
  return getSkeleton() == Skeleton::Transpose ? verifyTranspose() : success();
}

/// (C5)
LogicalResult KernelOp::verifyTranspose() {
  auto isLong = [](DimAttr dim) { return dim.getSize() > 1; };
  auto rows = getRows().getAsRange<DimAttr>(), cols = getCols().getAsRange<DimAttr>();
  if (llvm::none_of(rows, isLong) || llvm::none_of(cols, isLong))
    return emitOpError("transposes rows and columns larger than 1");
  if (llvm::any_of(rows, [](DimAttr dim) { return dim.getBounded(); }))
    return emitOpError("transposes static rows, found a run-time count");
  if (!getBody().getOps<ColReduceOp>().empty())
    return emitOpError("transposes whole elements, found a sum over rows");
  for (auto [i, type] : llvm::enumerate(getFunctionType().getResults()))
    if (llvm::none_of(cols, [&](DimAttr dim) {
          return isLong(dim) && cast<Tensor>(type).has(dim.getName());
        }))
      return emitOpError("transposes whole elements, found a value of a row: output ") << i;
  return success();
}

LogicalResult SegmentReduceOp::verify() {
  if (getKind() != nn::ReduceKind::max) // (C1)
    return emitOpError("of a segment there is only the maximum, found ")
           << nn::stringifyReduceKind(getKind());
  int64_t size = getSize();
  if (!llvm::isPowerOf2_64(size) || size < kLeastSegment || size > kMostSegment) // (C2)
    return emitOpError("segments have a power of two of columns, from ")
           << kLeastSegment << " to " << kMostSegment << ", found " << size;
  return success();
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

ParseResult FuncOp::parse(OpAsmParser &parser, OperationState &result) {
  return nn::parseFunction<FuncOp>(parser, result);
}

void FuncOp::print(OpAsmPrinter &printer) { nn::printFunction(printer, *this); }

LogicalResult FuncOp::verify() {
  if (failed(nn::verifyPart(*this))) // (C1)
    return failure();
  return nn::verifyLabels(*this, getArgAttrsAttr(), getResAttrsAttr()); // (C3)
}

LogicalResult FuncOp::verifySymbolUses(SymbolTableCollection &) {
  return nn::verifyPartIsUnique(*this); // (C2)
}

ReturnOp FuncOp::getReturn() { return cast<ReturnOp>(getBlock().getTerminator()); }
BlockArgument FuncOp::addArg(const nn::Label &label, Type type, Location loc) {
  unsigned i = getNumArguments();
  (void)insertArgument(i, type, nn::attributesOf(getContext(), label), loc);
  return getArgument(i);
}

std::optional<unsigned> FuncOp::findUpdatedArg(unsigned result) {
  if (!nn::isInPlace(getResultRole(result)))
    return std::nullopt;
  // Attributes are unique: no text is compared, because verifiers and walkers ask often.
  auto roleKey = StringAttr::get(getContext(), nn::kRole);
  auto nameKey = StringAttr::get(getContext(), nn::kName);
  auto label = cast<DictionaryAttr>((*getResAttrs())[result]);
  Attribute role = label.get(roleKey), name = label.get(nameKey);
  ArrayAttr labels = getArgAttrsAttr(); // null where no argument has any
  for (unsigned i = 0, e = labels ? labels.size() : 0; i < e; ++i)
    if (auto arg = cast<DictionaryAttr>(labels[i]);
        arg.get(nameKey) == name && arg.get(roleKey) == role)
      return i;
  return std::nullopt;
}

//===----------------------------------------------------------------------===//
// Matmul
//===----------------------------------------------------------------------===//

namespace {
/// A group of dimensions inside an operand: contiguous, in the order of `names`.
struct Group {
  SmallVector<StringRef> names;
  int64_t size = 1;

  /// Stride of the innermost dimension of the group in `t`, or failure where the
  /// group is broken up or in another order.
  FailureOr<int64_t> strideIn(Tensor t) const {
    if (names.empty())
      return int64_t(0);
    int64_t at = t.find(names.front());
    for (auto [i, name] : llvm::enumerate(names))
      if (t.find(name) != at + static_cast<int64_t>(i))
        return failure();
    int64_t stride = 1;
    for (DimAttr dim : t.getDims().drop_front(at + names.size()))
      stride *= dim.getSize();
    return stride;
  }
};
} // namespace

FailureOr<Gemm> rt::matchGemm(Tensor lhs, Tensor rhs, Tensor result) {
  Group batch, m, n, k;
  auto add = [](Group &group, DimAttr dim) {
    group.names.push_back(dim.getName());
    group.size *= dim.getSize();
  };
  for (DimAttr dim : result.getDims()) {
    bool inLhs = lhs.has(dim.getName()), inRhs = rhs.has(dim.getName());
    add(inLhs && inRhs ? batch : inLhs ? m : n, dim);
  }
  for (DimAttr dim : lhs.getDims())
    if (!result.has(dim.getName()))
      add(k, dim);

  Gemm gemm;
  // Rows of the result come first in memory; otherwise compute the transpose.
  if (!m.names.empty() && !n.names.empty() &&
      result.find(m.names.front()) > result.find(n.names.front())) {
    FailureOr<Gemm> other = matchGemm(rhs, lhs, result);
    if (failed(other) || other->swapped)
      return failure();
    other->swapped = true;
    return other;
  }
  auto ma = m.strideIn(lhs), ka = k.strideIn(lhs), ba = batch.strideIn(lhs);
  auto kb = k.strideIn(rhs), nb = n.strideIn(rhs), bb = batch.strideIn(rhs);
  auto mc = m.strideIn(result), nc = n.strideIn(result), bc = batch.strideIn(result);
  for (auto &stride : {ma, ka, ba, kb, nb, bb, mc, nc, bc})
    if (failed(stride))
      return failure();
  gemm.m = m.size, gemm.n = n.size, gemm.k = k.size, gemm.batch = batch.size;
  gemm.strideA = *ba, gemm.strideB = *bb, gemm.strideC = *bc;
  // An operand is transposed where its contracted group is not the inner one.
  auto orient = [](int64_t outer, int64_t inner, int64_t outerSize, int64_t innerSize, bool &trans,
                   int64_t &ld) {
    trans = !(inner == 1 || inner == 0) || (inner == 0 && outer == 1 && innerSize > 1);
    // Where there is one row only, the leading dimension is free.
    ld = std::max({int64_t(1), trans ? inner : outer, trans ? outerSize : innerSize});
    return trans ? (outer == 1 || outer == 0) : true;
  };
  if (!orient(*ma, *ka, gemm.m, gemm.k, gemm.transA, gemm.lda) ||
      !orient(*kb, *nb, gemm.k, gemm.n, gemm.transB, gemm.ldb))
    return failure();
  if (*nc > 1)
    return failure();
  gemm.ldc = std::max(*mc, gemm.n);
  return gemm;
}

FailureOr<ScaleGrid> rt::matchScale(Tensor operand, Tensor scale, Tensor result) {
  Group kept, contracted;
  int64_t block = 1, panel = 1;
  for (DimAttr dim : operand.getDims()) {
    bool isKept = result.has(dim.getName());
    Group &group = isKept ? kept : contracted;
    int64_t &rest = isKept ? block : panel;
    if (scale.has(dim.getName()) && rest == 1) {
      group.names.push_back(dim.getName());
      group.size *= dim.getSize();
    } else if (scale.has(dim.getName())) {
      return failure();
    } else {
      rest *= dim.getSize();
    }
  }
  auto stride = kept.strideIn(scale), panelStride = contracted.strideIn(scale);
  if (failed(stride) || failed(panelStride) ||
      kept.size * contracted.size != scale.getNumElements())
    return failure();
  return ScaleGrid{block, *stride, *panelStride, panel};
}

/// Whether the scales of an operand with so many rows, or columns of the result, lie so.
static bool isScaleMode(ScaleMode mode, const ScaleGrid &grid, int64_t rows, int64_t k) {
  bool isWhole = grid.panel == k, isPanel = grid.panel == 128;
  switch (mode) {
  case ScaleMode::Tensor:
    return isWhole && grid.block >= rows;
  case ScaleMode::Row:
    return isWhole && grid.block == 1 && (grid.stride == 1 || rows == 1);
  case ScaleMode::Block:
    return isPanel && grid.block == 1 && (grid.stride == 1 || rows == 1) &&
           (grid.panelStride == rows || isWhole);
  case ScaleMode::Square:
    return isPanel && grid.block == 128 && (grid.panelStride == 1 || isWhole) &&
           (grid.stride == k / 128 || rows == 128);
  case ScaleMode::Other:
    return true;
  }
  llvm_unreachable("unknown mode of scales");
}

std::pair<ScaleMode, ScaleMode> rt::scaleModesOf(const Gemm &gemm, const ScaleGrid &a,
                                                 const ScaleGrid &b) {
  using enum ScaleMode;
  static constexpr std::pair<ScaleMode, ScaleMode> pairs[] = {
      {Tensor, Tensor}, {Row, Row}, {Block, Block}, {Block, Square}, {Square, Block}};
  for (auto [first, second] : pairs)
    if (isScaleMode(first, a, gemm.m, gemm.k) && isScaleMode(second, b, gemm.n, gemm.k))
      return {first, second};
  return {Other, Other};
}

/// A call must have a count where a value's outermost dimension has a bound, and only there.
static LogicalResult verifyCount(Operation *op, TypeRange types, Value count) {
  bool bounded = false;
  for (Type type : types) {
    ArrayRef<DimAttr> dims = cast<Tensor>(type).getDims();
    bounded |= !dims.empty() && dims.front().getBounded();
  }
  if (bounded && !count)
    return op->emitOpError("needs a count: the outermost dimension has a bound");
  if (count && !bounded && isa<MatmulOp>(op)) // a kernel may loop over what it only counts
    return op->emitOpError("has a count, but no outermost dimension with a bound");
  if (count && !(typeOf(count).isScalar() && typeOf(count).getElementType().isInteger(64)))
    return op->emitOpError("a count is one i64, found ") << count.getType();
  return success();
}

bool rt::takesBias(Tensor lhs, Tensor rhs, Tensor bias, Tensor result) {
  FailureOr<Gemm> gemm = matchGemm(lhs, rhs, result);
  Type element = result.getElementType();
  return succeeded(gemm) && gemm->batch == 1 && !element.isF64() &&
         bias.getElementType() == element && lhs.getElementType() == element &&
         rhs.getElementType() == element && bias.getNumElements() == gemm->n &&
         bias.getDims() == result.getDims().take_back(bias.getRank());
}

LogicalResult MatmulOp::verify() {
  if (failed(matchGemm(typeOf(getLhs()), typeOf(getRhs()), typeOf(getResult())))) // (C1)
    return emitOpError("is no GEMM: a group of dimensions is not contiguous in ")
           << getLhs().getType() << ", " << getRhs().getType() << " or " << getResult().getType();
  if (getAcc() && getAcc().getType() != getResult().getType())
    return emitOpError("accumulator must have the result's type, found ") << getAcc().getType();
  Tensor lhs = typeOf(getLhs()), rhs = typeOf(getRhs()), result = typeOf(getResult());
  for (Tensor operand : {lhs, rhs}) // (C3)
    for (DimAttr dim : operand.getDims())
      if (dim.getBounded() && !result.has(dim.getName()))
        return emitOpError("cannot contract a dimension with a bound: ") << dim.getName();
  for (auto [x, y, z] : {std::tuple(lhs, rhs, result), std::tuple(rhs, lhs, result),
                         std::tuple(result, lhs, rhs)}) // (C4)
    for (DimAttr dim : x.getDims()) {
      bool inY = llvm::is_contained(y.getDims(), dim), inZ = llvm::is_contained(z.getDims(), dim);
      if (!(inY || inZ) || inY != y.has(dim.getName()) || inZ != z.has(dim.getName()))
        return emitOpError("needs a dimension in two of operands and result, of one size, found ")
               << dim.getName() << " in " << lhs << ", " << rhs << " and " << result;
    }
  if (getChunks() && (getAcc() || matchGemm(lhs, rhs, result)->batch != 1)) // (C6)
    return emitOpError("is cut in chunks only without batches, onto nothing, found ")
           << *getChunks() << " chunks";
  if (getLhsScale() && getRhsScale()) { // (C7)
    FailureOr<ScaleGrid> a = matchScale(lhs, typeOf(getLhsScale()), result),
                         b = matchScale(rhs, typeOf(getRhsScale()), result);
    if (failed(a) || failed(b) || a->panel != b->panel)
      return emitOpError("needs scales of the first rows, columns and panels, found ")
             << getLhsScale().getType() << " and " << getRhsScale().getType();
    if (getBias() || getChunks() || matchGemm(lhs, rhs, result)->batch != 1)
      return emitOpError("with scales has no batches, no bias and no chunks");
  }
  if (getFolded() && !getLhsScale()) // (C8)
    return emitOpError("without scales has none to fold");
  if (Value bias = getBias(); bias && (getAcc() || !takesBias(lhs, rhs, typeOf(bias), result)))
    return emitOpError("takes no bias ") << bias.getType();     // (C5)
  return verifyCount(*this, getResult().getType(), getCount()); // (C2)
}

int64_t MatmulOp::getFlops() {
  Gemm g = *matchGemm(typeOf(getLhs()), typeOf(getRhs()), typeOf(getResult()));
  return 2 * g.m * g.n * g.k * g.batch;
}
int64_t MatmulOp::getBytes() { return bytesOf(*this); }
int64_t MatmulOp::getAlias(unsigned) { return getAcc() ? 2 : -1; }
bool MatmulOp::mustAlias(unsigned) { return bool(getAcc()); }
Category MatmulOp::getCategory() { return Category::Gemm; }

//===----------------------------------------------------------------------===//
// Launch, copy
//===----------------------------------------------------------------------===//

LogicalResult LaunchOp::verify() {
  SmallVector<Type> types(getArgs().getTypes());
  llvm::append_range(types, getResultTypes());
  return verifyCount(*this, types, getCount()); // (C2)
}

// Once kernels are code there is nothing to compare with.
LogicalResult LaunchOp::verifySymbolUses(SymbolTableCollection &symbols) { // (C1)
  Operation *def = symbols.lookupNearestSymbolFrom(*this, getKernelAttr());
  auto type = isa_and_nonnull<KernelOp>(def) ? cast<KernelOp>(def).getFunctionType()
              : isa_and_nonnull<TileOp>(def) ? cast<TileOp>(def).getFunctionType()
                                             : FunctionType();
  if (type && (TypeRange(getArgs().getTypes()) != TypeRange(type.getInputs()) ||
               TypeRange(getResultTypes()) != TypeRange(type.getResults())))
    return emitOpError("types are not those of its kernel: ") << type;
  auto scatters = [](Attribute access) {
    return cast<AccessAttr>(access).getKind() == AccessKind::Scatter;
  };
  if (auto kernel = dyn_cast_or_null<KernelOp>(def)) // (C3)
    if (llvm::any_of(kernel.getAccesses(), scatters) != bool(getOnto()))
      return emitOpError("a kernel that scatters adds onto memory, and no other does: found ")
             << kernel.getSymName();
  return success();
}

int64_t LaunchOp::getFlops() {
  Operation *def = SymbolTable::lookupNearestSymbolFrom(*this, getKernelAttr());
  if (auto tile = dyn_cast<TileOp>(def))
    return tile.getFlops();
  auto kernel = cast<KernelOp>(def);
  int64_t ops = 0;
  for (Operation &op : kernel.getBody().front())
    ops += op.getNumResults() == 1 && isa<FloatType>(op.getResult(0).getType());
  return ops * kernel.getNumRows() * kernel.getNumCols();
}
int64_t LaunchOp::getBytes() { return bytesOf(*this); }
bool LaunchOp::mustAlias(unsigned) { return bool(getOnto()); }
int64_t LaunchOp::getAlias(unsigned result) {
  if (getOnto())
    return getArgs().size();
  ArrayRef<int64_t> pairs = getInPlace();
  for (unsigned i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i + 1] == result)
      return pairs[i];
  return -1;
}
Category LaunchOp::getCategory() {
  Operation *def = SymbolTable::lookupNearestSymbolFrom(*this, getKernelAttr());
  return isa<TileOp>(def) ? Category::Attention : Category::Kernel;
}

int64_t CopyOp::getFlops() { return 0; }
int64_t CopyOp::getBytes() { return bytesOf(*this); }
int64_t CopyOp::getAlias(unsigned) { return -1; }
bool CopyOp::mustAlias(unsigned) { return false; }
Category CopyOp::getCategory() { return Category::Copy; }

int64_t AuditOp::getFlops() { return 0; }
int64_t AuditOp::getBytes() { return bytesOf(*this); }
int64_t AuditOp::getAlias(unsigned) { return -1; }
bool AuditOp::mustAlias(unsigned) { return false; }
Category AuditOp::getCategory() { return Category::Copy; }

void tplan::rt::eraseUnusedKernels(ModuleOp module) {
  DenseSet<StringAttr> used;
  module.walk([&](LaunchOp launch) { used.insert(launch.getKernelAttr().getAttr()); });
  for (Operation &op : llvm::make_early_inc_range(*module.getBody()))
    if (isa<KernelOp, TileOp>(op) && !used.contains(SymbolTable::getSymbolName(&op)))
      op.erase();
}
