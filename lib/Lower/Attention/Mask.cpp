//===- Attention/Mask.cpp - masks as code ---------------------------------===//
//
// A tile is empty, full or mixed by the range of its positions (rt::sightOf, the
// same rule that counts FLOPs). Only mixed tiles ask the mask for each element.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Attention/Mask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/MemRef/IR/MemRef.h"
#include "mlir/Dialect/Vector/IR/VectorOps.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using nn::AttentionAttr;
using nn::MaskAttr;
using nn::MaskKind;

namespace {
/// Arithmetic on i32 positions and i1, scalars or vectors, as code.
struct CodeMath {
  using Bool = Value;
  Code &code;
  Type position; // i32 or a vector

  Value constant(int64_t n) {
    // Positions are not negative, so a window wider than i32 hides nothing.
    n = std::min<int64_t>(n, std::numeric_limits<int32_t>::max());
    TypedAttr attr = code.getI32IntegerAttr(n);
    if (auto vector = dyn_cast<VectorType>(position))
      attr = DenseElementsAttr::get(vector, attr);
    return arith::ConstantOp::create(code, attr);
  }
  Value compare(arith::CmpIPredicate p, Value a, Value b) {
    return code.createOrFold<arith::CmpIOp>(p, a, b);
  }
  Value less(Value a, Value b) { return compare(arith::CmpIPredicate::slt, a, b); }
  Value lessEqual(Value a, Value b) { return compare(arith::CmpIPredicate::sle, a, b); }
  Value minus(Value a, int64_t n) { return code.createOrFold<arith::SubIOp>(a, constant(n)); }
  Value truth(bool b) {
    TypedAttr attr = code.getBoolAttr(b);
    if (auto vector = dyn_cast<VectorType>(position))
      attr = DenseElementsAttr::get(VectorType::get(vector.getShape(), code.getI1Type()), b);
    return arith::ConstantOp::create(code, attr);
  }
  Value both(Value a, Value b) { return code.createOrFold<arith::AndIOp>(a, b); }
  Value either(Value a, Value b) { return code.createOrFold<arith::OrIOp>(a, b); }
};
} // namespace

//===----------------------------------------------------------------------===//
// Positions
//===----------------------------------------------------------------------===//

constexpr int64_t kTableLanes = 16; // i32 in 64 bytes

static SmallVector<Piece> loadPieces(Code &code, std::optional<ArrayRef<int64_t>> sizes,
                                     ArrayRef<Operand> starts) {
  SmallVector<Piece> pieces;
  CodeMath math{code, code.getI32Type()};
  int64_t begin = 0;
  for (auto [size, start] : llvm::zip(sizes.value_or(ArrayRef<int64_t>()), starts)) {
    Value at = memref::LoadOp::create(code, start.memory, code.index(0));
    pieces.push_back({begin, begin + size, begin ? math.minus(at, begin) : at});
    begin += size;
  }
  return pieces;
}

Places Places::take(Code &code, rt::TileOp tile, SmallVectorImpl<Operand> &args) {
  auto first = args.begin() + tile.getNumTensors();
  size_t queries = tile.getQPieces() ? tile.getQPieces()->size() : 0;
  ArrayRef<Operand> starts(first, args.begin() + tile.getFunctionType().getNumInputs());
  Places places{loadPieces(code, tile.getQPieces(), starts.take_front(queries)),
                loadPieces(code, tile.getKPieces(), starts.drop_front(queries))};
  args.erase(first, first + starts.size());
  return places;
}

Positions::Positions(TileCode &code, ArrayRef<Piece> pieces, int64_t tile, int64_t size)
    : code(code), pieces(pieces), tile(tile), size(size) {
  int64_t padded = (tile + kTableLanes - 1) / kTableLanes * kTableLanes;
  auto type = MemRefType::get({padded}, code.getI32Type());
  table = memref::AllocaOp::create(code, type, code.getI64IntegerAttr(64));
}

// By the last piece that begins at or before each row.
Value lower::positionsOf(Code &code, ArrayRef<Piece> pieces, Value rows) {
  if (pieces.empty())
    return rows;
  CodeMath math{code, rows.getType()};
  auto vector = dyn_cast<VectorType>(rows.getType());
  Value result;
  for (const Piece &piece : pieces) {
    Value shift = piece.shift;
    if (vector)
      shift = vector::BroadcastOp::create(code, vector, shift);
    Value at = code.createOrFold<arith::AddIOp>(rows, shift);
    if (result) {
      Value inside = math.lessEqual(math.constant(piece.begin), rows);
      at = code.createOrFold<arith::SelectOp>(inside, at, result);
    }
    result = at;
  }
  return result;
}

void Positions::fill(Value begin) {
  auto vector = VectorType::get({kTableLanes}, code.getI32Type());
  CodeMath math{code, vector};
  Value base = arith::IndexCastOp::create(code, code.getI32Type(), begin);
  Value rows = vector::BroadcastOp::create(code, vector, base);
  SmallVector<int32_t> iota = llvm::to_vector(llvm::seq<int32_t>(0, kTableLanes));
  Value first = arith::ConstantOp::create(code, DenseElementsAttr::get(vector, ArrayRef(iota)));
  Value low, high;
  for (int64_t i = 0; i < tile; i += kTableLanes) {
    Value row = arith::AddIOp::create(code, rows, first);
    if (i)
      row = arith::AddIOp::create(code, row, math.constant(i));
    row = arith::MinSIOp::create(code, row, math.constant(size - 1));
    Value position = positionsOf(code, pieces, row);
    vector::StoreOp::create(code, position, table, code.index(i));
    low = low ? arith::MinSIOp::create(code, low, position) : position;
    high = high ? arith::MaxSIOp::create(code, high, position) : position;
  }
  min = vector::ReductionOp::create(code, vector::CombiningKind::MINSI, low);
  max = vector::ReductionOp::create(code, vector::CombiningKind::MAXSI, high);
}

//===----------------------------------------------------------------------===//
// Masks
//===----------------------------------------------------------------------===//

static Value emitMask(CodeMath &math, MaskAttr mask, Value q, Value k) {
  MaskKind kind = mask.getKind();
  if (kind == MaskKind::Causal)
    return math.lessEqual(k, q);
  if (kind == MaskKind::Window)
    return math.less(math.minus(q, mask.getN()), k);
  if (kind == MaskKind::Prefix)
    return math.less(k, math.constant(mask.getN()));
  Value sees = math.truth(kind != MaskKind::Or);
  for (MaskAttr term : mask.getTerms()) {
    Value other = emitMask(math, term, q, k);
    sees = kind == MaskKind::Or ? math.either(sees, other) : math.both(sees, other);
  }
  return sees;
}

Value lower::emitMask(Code &code, MaskAttr mask, Value q, Value k) {
  CodeMath math{code, q.getType()};
  return ::emitMask(math, mask, q, k);
}

rt::Sight<Value> lower::emitSight(Code &code, MaskAttr mask, const PositionRange &q,
                                  const PositionRange &k) {
  CodeMath math{code, code.getI32Type()};
  return rt::sightOf<CodeMath, Value>(mask, math, q.min, q.max, k.min, k.max);
}
