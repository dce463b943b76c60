//===- Dist.h - the dist dialect ------------------------------------------===//
#ifndef TPLAN_DIALECTS_DIST_H
#define TPLAN_DIALECTS_DIST_H

#include "dialects/nn/NN.h"

namespace tplan::dist {
using Axes = llvm::SmallVector<mlir::StringAttr, 2>;

/// The layouts of an op's results, an array; the layout of an argument or result of a
/// layer; the mesh, on the module.
inline constexpr llvm::StringLiteral kLayouts = "dist.layouts", kLayout = "dist.layout",
                                     kMesh = "dist.mesh";
/// Attribute of an `nn.param`: elements of memory that an instance has, where its blocks need more
/// than its size.
inline constexpr llvm::StringLiteral kPadded = "dist.padded";
/// Attributes of an `nn.param`: its logical type, and the layouts in which it, its optimizer's
/// states and its gradient (once it is reduced) are kept.
inline constexpr llvm::StringLiteral kGlobal = "dist.global", kWeight = "dist.weight",
                                     kState = "dist.state", kGradient = "dist.gradient";
/// The same of what is lost of its gradient where ranks exchange it in fewer bytes: its logical
/// type and layout, which have the dimension kErrorDim, one position for each rank that sends. What
/// counts is the sum along it.
inline constexpr llvm::StringLiteral kErrorType = "dist.error_type", kError = "dist.error",
                                     kErrorDim = "error.ranks";
/// The slot of the state that holds it.
inline constexpr llvm::StringLiteral kErrorSlot = "error";
/// Attribute of a chain: a dictionary from the names of losses, counts and the sum of squares of
/// all gradients to the axes over which they are still to be summed. The name of the last cannot be
/// written in a source.
inline constexpr llvm::StringLiteral kPending = "dist.pending", kNormSum = "gradient norm";
/// The dimension of the rows of a weight that one rank has in a layout with rows. It cannot be
/// written in a source.
inline constexpr llvm::StringLiteral kRowsDim = "own.rows";
/// Attributes of a collective that moves activations or their cotangents. kUnasked is an
/// UnaskedAttr where no line of the plan asks for it.
inline constexpr llvm::StringLiteral kActivation = "dist.activation", kUnasked = "dist.unasked";
} // namespace tplan::dist

#include "dialects/dist/DistDialect.h.inc"
#include "dialects/dist/DistEnums.h.inc"
#define GET_ATTRDEF_CLASSES
#include "dialects/dist/DistAttrs.h.inc"
#define GET_OP_CLASSES
#include "dialects/dist/DistOps.h.inc"

namespace tplan::dist {
/// Elements of one block when `size` elements are cut into `blocks` blocks: the last ones end in
/// padding. For a dimension that axes cut use MeshAttr::blockOf.
inline int64_t blockOf(int64_t size, int64_t blocks) { return (size + blocks - 1) / blocks; }
/// The module's mesh; one without axes where it has none.
MeshAttr meshOf(mlir::ModuleOp module);
/// Layout of a value: of an argument of a layer, or of a result; whole where nothing says.
LayoutAttr layoutOf(mlir::Value value);
/// `dp, tp`.
std::string spell(llvm::ArrayRef<mlir::StringAttr> axes);
/// `reduce_scatter over dp, tp`.
std::string spell(CollectiveOp op);
Axes axesOf(mlir::ArrayAttr names);
mlir::ArrayAttr arrayOf(mlir::MLIRContext *context, llvm::ArrayRef<mlir::StringAttr> axes);
bool intersects(llvm::ArrayRef<mlir::StringAttr> a, llvm::ArrayRef<mlir::StringAttr> b);
/// (C1) of all operations over axes: axes of the mesh, if the module has one, each once, and one at
/// least.
mlir::LogicalResult verifyAxes(mlir::Operation *op, mlir::ArrayAttr axes);
/// (C1) and (C2) of `place`: the result has the type of the second operand.
mlir::LogicalResult verifyPlace(mlir::Operation *op, mlir::ArrayAttr axes);
/// The axes of a without those of b.
Axes difference(llvm::ArrayRef<mlir::StringAttr> a, llvm::ArrayRef<mlir::StringAttr> b);
} // namespace tplan::dist

#endif // TPLAN_DIALECTS_DIST_H
