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
} // namespace tplan::nn
#define GET_ATTRDEF_CLASSES
#include "dialects/nn/NNAttrs.h.inc"
#define GET_TYPEDEF_CLASSES
#include "dialects/nn/NNTypes.h.inc"

namespace tplan::nn {
/// What one value may have on a rank, 16 TiB: times all values it fits in 64 bits.
inline constexpr int64_t kMostBytes = int64_t(1) << 44;

/// Bytes of one element; i1 counts one.
int64_t elementBytes(mlir::Type element);

/// The dimensions of both, those of the operand of higher rank (or lhs) first.
/// Element type of lhs. Sizes must agree where names do.
Tensor broadcastType(Tensor lhs, Tensor rhs);

inline Tensor typeOf(mlir::Value v) { return llvm::cast<Tensor>(v.getType()); }
/// Bytes of a tensor, or of a value that is one, without padding.
inline int64_t bytesOf(mlir::Type tensor) { return llvm::cast<Tensor>(tensor).getBytes(); }
inline int64_t bytesOf(mlir::Value v) { return bytesOf(v.getType()); }

/// Names and attribute names of roles, on arguments and results of a layer.
inline constexpr llvm::StringLiteral kRole = "nn.role", kName = "nn.name";
/// Whether a value of this role is known in the backward only.
inline bool isCotangent(Role role) { return role >= Role::CotCarried && role <= Role::CotLoss; }
/// Whether a result of this role is the memory of the argument with its name, updated.
bool isInPlace(Role role);
/// The attributes of an argument or result with a role and a name.
mlir::DictionaryAttr roleAttrs(mlir::MLIRContext *ctx, Role role, llvm::StringRef name);
} // namespace tplan::nn

#include "dialects/nn/NNInterfaces.h.inc"
#define GET_OP_CLASSES
#include "dialects/nn/NNOps.h.inc"

#endif // TPLAN_DIALECTS_NN_H
