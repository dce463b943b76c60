//===- NN.cpp - registration, types and attributes of the nn dialect ------===//
#include "dialects/nn/NN.h"
#include "include/tplan/runtime.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/DialectImplementation.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/TypeSwitch.h"

using namespace mlir;
using namespace tplan::nn;

#include "dialects/nn/NNDialect.cpp.inc"
#include "dialects/nn/NNEnums.cpp.inc"
#include "dialects/nn/NNInterfaces.cpp.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.cpp.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/nn/NNTypes.cpp.inc"

void NNDialect::initialize() {
  addAttributes<
#define GET_ATTRDEF_LIST
#include "dialects/nn/NNAttrs.cpp.inc"
      >();
  addTypes<
#define GET_TYPEDEF_LIST
#include "dialects/nn/NNTypes.cpp.inc"
      >();
  addOperations<
#define GET_OP_LIST
#include "dialects/nn/NNOps.cpp.inc"
      >();
}

//===----------------------------------------------------------------------===//
// Tensor
//===----------------------------------------------------------------------===//

int64_t tplan::nn::elementBytes(Type element) {
  return std::max<int64_t>(1, element.getIntOrFloatBitWidth() / 8);
}

std::string tplan::nn::elementName(Type element) {
  std::string name;
  llvm::raw_string_ostream(name) << element;
  StringRef text = name; // a type of this dialect is called as its mnemonic
  text.consume_front("!nn.");
  return text.str();
}

int64_t Tensor::getNumElements() const {
  int64_t n = 1;
  for (DimAttr dim : getDims())
    n *= dim.getSize();
  return n;
}

int64_t Tensor::getBytes() const { return getNumElements() * elementBytes(getElementType()); }

int64_t Tensor::find(StringRef name) const {
  for (auto [i, dim] : llvm::enumerate(getDims()))
    if (dim.getName() == name)
      return i;
  return -1;
}

Tensor Tensor::withElement(Type element) const {
  return Tensor::get(getContext(), getDims(), element);
}

Tensor Tensor::withDims(ArrayRef<DimAttr> dims) const {
  return Tensor::get(getContext(), dims, getElementType());
}

Tensor Tensor::without(ArrayRef<StringRef> names) const {
  SmallVector<DimAttr> dims;
  for (DimAttr dim : getDims())
    if (!llvm::is_contained(names, dim.getName()))
      dims.push_back(dim);
  return withDims(dims);
}

std::string tplan::nn::innerName(StringRef dim) { return ("in." + dim).str(); }

Tensor tplan::nn::splitType(Tensor x, StringRef dim, int64_t by) {
  SmallVector<DimAttr> dims;
  for (DimAttr each : x.getDims()) {
    bool isSplit = each.getName() == dim;
    dims.push_back(isSplit ? DimAttr::get(x.getContext(), dim, each.getSize() / by, false) : each);
    if (isSplit)
      dims.push_back(DimAttr::get(x.getContext(), innerName(dim), by, false));
  }
  return x.withDims(dims);
}

Tensor tplan::nn::broadcastType(Tensor lhs, Tensor rhs) {
  Tensor major = rhs.getRank() > lhs.getRank() ? rhs : lhs;
  Tensor minor = major == lhs ? rhs : lhs;
  SmallVector<DimAttr> dims(major.getDims());
  for (DimAttr dim : minor.getDims())
    if (!major.has(dim.getName()))
      dims.push_back(dim);
  return Tensor::get(lhs.getContext(), dims, lhs.getElementType());
}

// [B 8, S 64, T max 32], f32
Type Tensor::parse(AsmParser &parser) {
  SmallVector<DimAttr> dims;
  Type element;
  auto parseDim = [&]() -> ParseResult {
    std::string name;
    int64_t size;
    bool bounded = false;
    if (parser.parseKeywordOrString(&name))
      return failure();
    bounded = succeeded(parser.parseOptionalKeyword("max"));
    if (parser.parseInteger(size))
      return failure();
    dims.push_back(DimAttr::get(parser.getContext(), name, size, bounded));
    return success();
  };
  if (parser.parseLess() ||
      parser.parseCommaSeparatedList(AsmParser::Delimiter::Square, parseDim) ||
      parser.parseComma() || parser.parseType(element) || parser.parseGreater())
    return {};
  return parser.getChecked<Tensor>(parser.getContext(), dims, element);
}

void Tensor::print(AsmPrinter &printer) const {
  printer << "<[";
  llvm::interleaveComma(getDims(), printer, [&](DimAttr dim) {
    printer.printKeywordOrString(dim.getName());
    printer << (dim.getBounded() ? " max " : " ") << dim.getSize();
  });
  printer << "], " << getElementType() << ">";
}

LogicalResult Tensor::verify(function_ref<InFlightDiagnostic()> emitError, ArrayRef<DimAttr> dims,
                             Type elementType) {
  llvm::StringSet<> seen;
  for (DimAttr dim : dims) {
    if (!seen.insert(dim.getName()).second)
      return emitError() << "dimension named twice: " << dim.getName();
    if (dim.getSize() < 0)
      return emitError() << "negative size of dimension " << dim.getName() << ": " << dim.getSize();
  }
  if (!elementType.isIntOrFloat())
    return emitError() << "elements must be numbers, found " << elementType;
  // Nothing below has a way for any other: no GEMM, no file, no sum over ranks.
#define TYPE(ID, NAME, BYTES) NAME,
  static constexpr llvm::StringLiteral known[] = {TP_TYPES(TYPE)};
#undef TYPE
  if (!llvm::is_contained(known, elementName(elementType)))
    return emitError() << "elements must be one of " << llvm::join(ArrayRef(known), ", ")
                       << ", found " << elementType;
  return success();
}

//===----------------------------------------------------------------------===//
// Fields of attributes
//===----------------------------------------------------------------------===//

FailureOr<FloatAttr> tplan::nn::parseNumber(AsmParser &parser) {
  FloatAttr number;
  if (parser.parseAttribute(number, parser.getBuilder().getF64Type()))
    return failure();
  return number;
}

//===----------------------------------------------------------------------===//
// Mask: causal, window(8), and(causal, prefix(4)) ...
//===----------------------------------------------------------------------===//

static FailureOr<MaskAttr> parseMask(AsmParser &parser) {
  StringRef word;
  SMLoc loc = parser.getCurrentLocation();
  if (parser.parseKeyword(&word))
    return failure();
  std::optional<MaskKind> kind = symbolizeMaskKind(word);
  if (!kind) {
    parser.emitError(loc) << "unknown mask: " << word;
    return failure();
  }
  int64_t n = 0;
  SmallVector<MaskAttr> terms;
  if (kind == MaskKind::Window || kind == MaskKind::Prefix) {
    if (parser.parseLParen() || parser.parseInteger(n) || parser.parseRParen())
      return failure();
  } else if (kind == MaskKind::And || kind == MaskKind::Or) {
    auto term = [&]() -> ParseResult {
      FailureOr<MaskAttr> sub = parseMask(parser);
      if (succeeded(sub))
        terms.push_back(*sub);
      return LogicalResult(sub);
    };
    if (parser.parseCommaSeparatedList(AsmParser::Delimiter::Paren, term))
      return failure();
  }
  return MaskAttr::get(parser.getContext(), *kind, n, terms);
}

static void printMask(AsmPrinter &printer, MaskAttr mask) {
  printer << stringifyMaskKind(mask.getKind());
  if (mask.getKind() == MaskKind::Window || mask.getKind() == MaskKind::Prefix)
    printer << "(" << mask.getN() << ")";
  if (!mask.getTerms().empty()) {
    printer << "(";
    llvm::interleaveComma(mask.getTerms(), printer, [&](MaskAttr t) { printMask(printer, t); });
    printer << ")";
  }
}

Attribute MaskAttr::parse(AsmParser &parser, Type) {
  if (parser.parseLess())
    return {};
  FailureOr<MaskAttr> mask = parseMask(parser);
  if (failed(mask) || parser.parseGreater())
    return {};
  return *mask;
}

void MaskAttr::print(AsmPrinter &printer) const {
  printer << "<";
  printMask(printer, *this);
  printer << ">";
}

bool MaskAttr::sees(int64_t q, int64_t k) const {
  auto termSees = [&](MaskAttr term) { return term.sees(q, k); };
  switch (getKind()) {
  case MaskKind::All:
    return true;
  case MaskKind::Causal:
    return k <= q;
  case MaskKind::Window:
    return q - getN() < k;
  case MaskKind::Prefix:
    return k < getN();
  case MaskKind::And:
    return llvm::all_of(getTerms(), termSees);
  case MaskKind::Or:
    return llvm::any_of(getTerms(), termSees);
  }
  llvm_unreachable("a mask of no kind");
}
