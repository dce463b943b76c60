//===- Wire.h - the form in which ranks exchange an array --------------------===//
//
// Blocks of an array of f32 become what a plan sends instead of them, and come back. A form is a
// formula on tensors like any other, so later phases make kernels of it for every target without
// knowing what it is for.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SHARD_WIRE_H
#define TPLAN_SHARD_WIRE_H

#include "dialects/dist/Dist.h"
#include "dialects/nn/NNBuilder.h"
#include "dialects/tplan/Tplan.h"

namespace tplan::shard {

/// Dimensions of what is sent: the receiver, the sender, the blocks that one sends another, and the
/// elements of a block. None can be written in a source.
inline constexpr llvm::StringLiteral kTo = "wire.to", kFrom = "wire.from", kBlocks = "wire.blocks",
                                     kBlock = "wire.block";

/// An array in its form: what is sent, each with the array's dimensions except the last one, and
/// the array as the receiver will read it.
struct Sent {
  llvm::SmallVector<mlir::Value, 2> parts;
  mlir::Value read;
};

/// Whether a collective is over axes of the plan's line.
bool isOver(const lang::Compress &plan, dist::CollectiveOp op, dist::MeshAttr mesh);

/// How ranks exchange what a collective moves.
class Wire {
public:
  Wire(nn::NNBuilder &b, const lang::Compress &plan, dist::CollectiveOp op, dist::MeshAttr mesh)
      : ranks(mesh.sizeOf(dist::axesOf(op.getAxes()))), b(b), plan(plan), op(op) {}

  const int64_t ranks; // along its axes

  nn::DimAttr dim(llvm::StringRef name, int64_t size);
  /// Whether the blocks of ranks in x, which is whole, follow each other.
  bool hasBlocksInOrder(nn::Tensor x);

  /// Elements of a block where a rank sends so many to each other one, or 0: they are no whole
  /// number of blocks.
  int64_t blockOf(int64_t elements) const;
  /// x [.., block] of f32.
  Sent encode(mlir::Value x);
  /// The f32 [.., block] that the parts are a form of.
  mlir::Value decode(llvm::ArrayRef<mlir::Value> parts);
  /// A part of what is sent: of [from 1, to ranks, ..] to each rank its own (all-to-all), or of
  /// [to 1, ..] from each rank to all (all-gather).
  mlir::Value exchange(mlir::Value part, dist::CollectiveKind kind);

private:
  nn::NNBuilder &b;
  const lang::Compress &plan;
  dist::CollectiveOp op;

  Sent encodeInts(mlir::Value x);
  mlir::Value scaled(mlir::Value ints, mlir::Value scale, int64_t bias);
  mlir::Value reshape(mlir::Value x, llvm::StringRef last, int64_t size, mlir::Type element);
};

} // namespace tplan::shard

#endif // TPLAN_SHARD_WIRE_H
