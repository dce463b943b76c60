//===- NN.h - the nn dialect ----------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_H
#define TPLAN_DIALECTS_NN_H

#include "mlir/Bytecode/BytecodeOpInterface.h"
#include "mlir/IR/BuiltinAttributes.h"
#include "mlir/IR/BuiltinTypes.h"
#include "mlir/IR/Dialect.h"
#include "mlir/IR/OpDefinition.h"
#include "mlir/IR/OpImplementation.h"
#include "mlir/IR/SymbolTable.h"
#include "mlir/Interfaces/CallInterfaces.h"
#include "mlir/Interfaces/ControlFlowInterfaces.h"
#include "mlir/Interfaces/FunctionInterfaces.h"
#include "mlir/Interfaces/InferTypeOpInterface.h"
#include "mlir/Interfaces/SideEffectInterfaces.h"

#include "dialects/nn/NNDialect.h.inc"
#include "dialects/nn/NNEnums.h.inc"
namespace tplan::nn {
/// A number in f64, written without its type.
mlir::FailureOr<mlir::FloatAttr> parseNumber(mlir::AsmParser &parser);
/// The kind of a parameter, in quotes.
mlir::ParseResult parseParamKind(mlir::OpAsmParser &parser, ParamKindAttr &kind);
void printParamKind(mlir::OpAsmPrinter &printer, mlir::Operation *op, ParamKindAttr kind);
} // namespace tplan::nn
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/nn/NNTypes.h.inc"

namespace tplan::nn {
/// The most bytes that one value may have on a rank, 16 TiB: multiplied by the number of values
/// they still fit in 64 bits.
inline constexpr int64_t kMostBytes = int64_t(1) << 44;

/// Bytes of one element; i1 counts one.
int64_t elementBytes(mlir::Type element);
/// "f32", "bf16": what reports and the runtime call the type of an element.
std::string elementName(mlir::Type element);

/// The dimensions of both, first those of the operand of higher rank (or lhs), with the element
/// type of lhs. Sizes must agree where names do.
Tensor broadcastType(Tensor lhs, Tensor rhs);
/// Unit attribute of a parameter that is small: shards of ZeRO leave it whole on each rank.
inline constexpr llvm::StringLiteral kWhole = "nn.whole";

/// The name of the place in a block of a dimension that is split: "in.D".
std::string innerName(llvm::StringRef dim);
/// What nn.split makes: [.., D 512, ..] by 128 is [.., D 4, in.D 128, ..].
Tensor splitType(Tensor x, llvm::StringRef dim, int64_t by);

/// Whether a type is that of a start: an i32 scalar.
bool isStart(mlir::Type type);
/// Checks that there is a start for each piece of a dimension, and that pieces cover its `size`
/// elements. Without starts there are no pieces.
mlir::LogicalResult verifyPieces(mlir::Operation *op, llvm::StringRef dim, int64_t size,
                                 size_t starts, std::optional<llvm::ArrayRef<int64_t>> pieces);

inline Tensor typeOf(mlir::Value v) { return llvm::cast<Tensor>(v.getType()); }
/// Bytes of a tensor, or of a value that is one, without padding.
inline int64_t bytesOf(mlir::Type tensor) { return llvm::cast<Tensor>(tensor).getBytes(); }
inline int64_t bytesOf(mlir::Value v) { return bytesOf(v.getType()); }

/// The name of a count: of the number of terms of a loss, over a microbatch or a step; of the
/// number of layers that have a metric; of the scalar that says how many elements of a dimension
/// are in use.
std::string countOf(llvm::StringRef name);

/// Attributes of arguments and results of a layer.
inline constexpr llvm::StringLiteral kRole = "nn.role", kName = "nn.name",
                                     kPosition = "nn.position", kSlot = "nn.slot",
                                     kCounts = "nn.counts", kMember = "nn.member";
/// What these attributes say of an argument or result: its role; its name, which is unique for a
/// role and for people to read; its position: which operand or result of the run it is, or whose
/// cotangent; its slot: which state of an optimizer, and for which parameter; what it counts: terms
/// of a loss, layers with a metric, or elements of a dimension; the group of ranks in which it is
/// this one's number, by its axes.
struct Label {
  Role role;
  llvm::StringRef name;
  std::optional<unsigned> position = std::nullopt;
  SlotAttr slot = {};
  mlir::StringAttr counts = {};
  mlir::ArrayAttr member = {};
};
/// The label of a count of the given name's terms, layers or elements.
Label labelOfCount(mlir::MLIRContext *ctx, Role role, llvm::StringRef of);
mlir::DictionaryAttr attributesOf(mlir::MLIRContext *ctx, const Label &label);
/// The attributes must have a role and a name.
Label labelOf(mlir::DictionaryAttr attributes);
/// Whether values of this role are operands or results of a run, or the cotangents of those.
inline bool hasPosition(Role role) {
  return role == Role::Carried || role == Role::Invariant || role == Role::CotCarried ||
         role == Role::CotInvariant;
}
/// Whether a value of this role is known in the backward only.
inline bool isCotangent(Role role) { return role >= Role::CotCarried && role <= Role::CotLoss; }
/// Whether a result of this role is the memory of the argument with its name, updated.
bool isInPlace(Role role);
} // namespace tplan::nn

namespace tplan::nn {
/// A function of a layer, whose arguments and results say what they are: `nn.layer`, `rt.func`.
template <typename Op> class Labelled : public mlir::OpTrait::TraitBase<Op, Labelled> {
public:
  Role getArgRole(unsigned i) { return *symbolizeRole(textOf(op().getArgAttr(i, kRole))); }
  Role getResultRole(unsigned i) { return *symbolizeRole(textOf(op().getResultAttr(i, kRole))); }
  llvm::StringRef getArgName(unsigned i) { return textOf(op().getArgAttr(i, kName)); }
  llvm::StringRef getResultName(unsigned i) { return textOf(op().getResultAttr(i, kName)); }
  Label getArgLabel(unsigned i) { return labelOf(op().getArgAttrDict(i)); }
  Label getResultLabel(unsigned i) { return labelOf(op().getResultAttrDict(i)); }

  /// Number of the argument or result with a role and a name, or with a role and a position.
  std::optional<unsigned> findArg(Role role, llvm::StringRef name) {
    // Attributes are unique, so that no text is compared for each argument: verifiers ask often.
    mlir::Attribute wanted = textAttr(stringifyRole(role)), called = textAttr(name);
    return first(op().getNumArguments(), [&](unsigned i) {
      return op().getArgAttr(i, kRole) == wanted && op().getArgAttr(i, kName) == called;
    });
  }
  std::optional<unsigned> findArg(Role role, unsigned position) {
    mlir::Attribute wanted = textAttr(stringifyRole(role));
    return first(op().getNumArguments(),
                 [&](unsigned i) { return isAt(op().getArgAttrDict(i), wanted, position); });
  }
  std::optional<unsigned> findResult(Role role, llvm::StringRef name) {
    mlir::Attribute wanted = textAttr(stringifyRole(role)), called = textAttr(name);
    return first(op().getNumResults(), [&](unsigned i) {
      return op().getResultAttr(i, kRole) == wanted && op().getResultAttr(i, kName) == called;
    });
  }
  std::optional<unsigned> findResult(Role role, unsigned position) {
    mlir::Attribute wanted = textAttr(stringifyRole(role));
    return first(op().getNumResults(),
                 [&](unsigned i) { return isAt(op().getResultAttrDict(i), wanted, position); });
  }

private:
  Op op() { return llvm::cast<Op>(this->getOperation()); }
  static llvm::StringRef textOf(mlir::Attribute text) {
    return llvm::cast<mlir::StringAttr>(text).getValue();
  }
  static bool isAt(mlir::DictionaryAttr label, mlir::Attribute role, unsigned position) {
    if (label.get(kRole) != role)
      return false;
    auto at = label.getAs<mlir::IntegerAttr>(kPosition);
    return at && at.getInt() == position;
  }
  mlir::Attribute textAttr(llvm::StringRef text) {
    return mlir::StringAttr::get(this->getOperation()->getContext(), text);
  }
  template <typename Matches>
  static std::optional<unsigned> first(unsigned count, Matches matches) {
    for (unsigned i = 0; i < count; ++i)
      if (matches(i))
        return i;
    return std::nullopt;
  }
};
} // namespace tplan::nn

#include "dialects/nn/NNInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/NNOps.h.inc"

#endif // TPLAN_DIALECTS_NN_H
