//===- CheckAwaits.cpp - check-awaits: nothing touches bytes in flight -------===//
//
// Between the start of a collective and its await no other call may write what it reads, or touch
// what it writes. Values say that in the verifier of the op; here bytes do, once they have places.
//
// One decision: a wrong place is the compiler's fault and not the plan's, so this is a check of
// `memory` that no plan should ever see fail. It costs little, because it looks at what is started
// alone.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Memory/Memory.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan::memory {
#define GEN_PASS_DEF_CHECKAWAITSPASS
#include "lib/Memory/Passes.h.inc"
} // namespace tplan::memory

using namespace mlir;
using namespace tplan;
using namespace tplan::memory;
using sched::PlaceKind;

namespace {

/// A piece of a function's memory: bytes of the frame, or all of an argument or result. A block
/// counts as all of it, except beside other blocks of the same ranks: they overlap where they are
/// the same one.
struct Piece {
  PlaceKind kind;
  int64_t n, bytes;
  sched::PlaceAttr block = {};
  bool overlaps(const Piece &other) const {
    if (kind != other.kind)
      return false;
    if (block && other.block && n == other.n && block.getAxes() == other.block.getAxes() &&
        block.getBytes() == other.block.getBytes())
      return block.getShift() == other.block.getShift();
    if (kind != PlaceKind::Frame)
      return n == other.n;
    return n < other.n + other.bytes && other.n < n + bytes;
  }
};

/// How many blocks the memory has that a block is of.
int64_t blocksOf(Value value, sched::PlaceAttr place) {
  ArrayAttr axes = place.getAxes();
  if (!axes)
    return 1;
  auto module = value.getParentRegion()->getParentOfType<ModuleOp>();
  return axes.empty() ? place.getShift() + 1 : dist::meshOf(module).sizeOf(dist::axesOf(axes));
}

Piece pieceOf(Value value) {
  int64_t bytes = nn::bytesOf(value);
  if (auto arg = dyn_cast<BlockArgument>(value))
    return {PlaceKind::Arg, arg.getArgNumber(), bytes};
  sched::PlaceAttr place = sched::placeOf(cast<OpResult>(value));
  return {place.getKind(), place.getN(), bytes * blocksOf(value, place),
          place.getAxes() ? place : sched::PlaceAttr()};
}

/// Whether a call writes one of the pieces.
bool writes(Operation *op, ArrayRef<Piece> pieces) {
  return llvm::any_of(op->getResults(), [&](Value result) {
    return isa<nn::Tensor>(result.getType()) && llvm::any_of(pieces, [&](const Piece &piece) {
             return piece.overlaps(pieceOf(result));
           });
  });
}
bool reads(Operation *op, const Piece &piece) {
  return llvm::any_of(op->getOperands(), [&](Value operand) {
    return isa<nn::Tensor>(operand.getType()) && piece.overlaps(pieceOf(operand));
  });
}

struct CheckAwaitsPass : tplan::memory::impl::CheckAwaitsPassBase<CheckAwaitsPass> {
  LogicalResult check(rt::CollectiveOp started) {
    Piece from = pieceOf(started.getX()), to = pieceOf(started.getResult());
    Operation *await = started.getCompletion();
    for (Operation *op = started->getNextNode(); op != await; op = op->getNextNode()) {
      if (!isa<rt::Call>(op) || sched::movesNoByte(op) || isa<rt::CollectiveOp>(op))
        continue;
      if (writes(op, {from, to}) || reads(op, to))
        return started.emitOpError("is in flight, and its bytes are touched before its await by ")
               << op->getName();
    }
    return success();
  }

  void runOnOperation() final {
    markAllAnalysesPreserved();
    WalkResult wrong = getOperation().walk([&](rt::CollectiveOp op) {
      return op.getEvent() && failed(check(op)) ? WalkResult::interrupt() : WalkResult::advance();
    });
    if (wrong.wasInterrupted())
      signalPassFailure();
  }
};
} // namespace
