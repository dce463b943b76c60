//===- Adjoints.cpp - the adjoint of every nn primitive -------------------===//
//
// One rule for each op: the cotangents of its operands as nn ops. A broadcast operand gets the sum
// over what it was repeated along. An op without a rule has no derivative (comparisons, indices,
// masks): a list names these ops, so that a forgotten rule is an error and not a zero.
//
//===----------------------------------------------------------------------===//
#include "lib/Differentiate/Differentiate.h"
#include "llvm/ADT/TypeSwitch.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

/// Sums a cotangent over the dimensions that `like` lacks, in the type of `like`.
static Value reduceTo(NNBuilder &b, Value cotangent, Value like) {
  Tensor type = typeOf(like);
  SmallVector<StringRef> extra;
  for (DimAttr dim : typeOf(cotangent).getDims())
    if (!type.has(dim.getName()))
      extra.push_back(dim.getName());
  if (static_cast<int64_t>(extra.size()) == typeOf(cotangent).getRank())
    return b.sumAll(cotangent);
  return b.broadcast(b.sum(cotangent, extra), type); // a change of order at most
}

namespace {
struct Adjoint {
  NNBuilder &b;
  ArrayRef<Value> cotangents;
  SmallVector<Value> result;

  Value dy() const { return cotangents.front(); }
  void set(unsigned operand, Value v) { result[operand] = v; }
  /// For an element-wise op: sums over broadcast dimensions first.
  void reduced(Operation *op, unsigned operand, Value v) {
    result[operand] = reduceTo(b, v, op->getOperand(operand));
  }

  void visit(AddOp op) {
    reduced(op, 0, dy());
    reduced(op, 1, dy());
  }
  void visit(SubOp op) {
    reduced(op, 0, dy());
    reduced(op, 1, b.neg(dy()));
  }
  void visit(MulOp op) {
    reduced(op, 0, b.mul(dy(), op.getRhs()));
    reduced(op, 1, b.mul(dy(), op.getLhs()));
  }
  void visit(DivOp op) {
    Value scaled = b.div(dy(), op.getRhs());
    reduced(op, 0, scaled);
    reduced(op, 1, b.neg(b.mul(scaled, op.getResult())));
  }
  void extremum(Operation *op, CmpKind keepsLhs) {
    Value lhs = op->getOperand(0), rhs = op->getOperand(1);
    Value left = b.compare(keepsLhs, lhs, rhs), zero = b.like(dy(), 0);
    reduced(op, 0, b.select(left, dy(), zero));
    reduced(op, 1, b.select(left, zero, dy()));
  }
  void visit(MaxOp op) { extremum(op, CmpKind::ge); }
  void visit(MinOp op) { extremum(op, CmpKind::le); }

  void visit(NegOp) { set(0, b.neg(dy())); }
  void visit(ExpOp op) { set(0, b.mul(dy(), op.getResult())); }
  void visit(LogOp op) { set(0, b.div(dy(), op.getX())); }
  void visit(TanhOp op) {
    set(0, b.mul(dy(), b.sub(b.like(dy(), 1), b.mul(op.getResult(), op.getResult()))));
  }
  void visit(ErfOp op) {
    Value bell = b.exp(b.neg(b.mul(op.getX(), op.getX())));
    set(0, b.mul(dy(), b.scale(bell, 2 / std::sqrt(M_PI))));
  }
  void visit(SinOp op) { set(0, b.mul(dy(), b.cos(op.getX()))); }
  void visit(CosOp op) { set(0, b.neg(b.mul(dy(), b.sin(op.getX())))); }
  void visit(RsqrtOp op) {
    Value y = op.getResult(), cube = b.mul(b.mul(y, y), y);
    set(0, b.mul(dy(), b.scale(cube, -0.5)));
  }
  void visit(SqrtOp op) { set(0, b.div(b.scale(dy(), 0.5), op.getResult())); }

  void visit(SelectOp op) {
    Value zero = b.like(dy(), 0);
    reduced(op, 1, b.select(op.getCondition(), dy(), zero));
    reduced(op, 2, b.select(op.getCondition(), zero, dy()));
  }
  void visit(CastOp op) { set(0, b.cast(dy(), typeOf(op.getX()).getElementType())); }

  void visit(ReduceOp op) {
    Tensor type = typeOf(op.getX());
    if (op.getKind() == ReduceKind::sum)
      return set(0, b.broadcast(dy(), type));
    if (op.getDetached())
      return;
    // Equal maxima share the cotangent.
    Value hit = b.compare(CmpKind::eq, op.getX(), op.getResult());
    Value one = b.select(hit, b.like(dy(), 1), b.like(dy(), 0));
    Value share = b.div(dy(), reduceTo(b, one, op.getResult()));
    set(0, b.select(hit, b.broadcast(share, type), b.like(dy(), 0)));
  }

  void visit(ContractOp op) {
    set(0, b.create<ContractOp>(op.getLhs().getType(), dy(), op.getRhs()));
    set(1, b.create<ContractOp>(op.getRhs().getType(), dy(), op.getLhs()));
  }
  void visit(RopeOp op) { // tables are constants
    set(0, b.create<RopeOp>(dy(), op.getCos(), op.getSin(), op.getDim(), !op.getInverse()));
  }
  void visit(LookupOp op) {
    set(0, b.create<LookupGradOp>(op.getTable().getType(), dy(), op.getIds(), op.getDim()));
  }
  void visit(AttentionOp op) {
    Value dOut = cotangents[0], dLse = cotangents[1];
    if (!dOut)
      dOut = b.broadcast(b.like(op.getOut(), 0), typeOf(op.getOut()));
    auto grad = b.create<AttentionGradOp>(
        op.getQ().getType(), op.getK().getType(), op.getV().getType(), op.getQ(), op.getK(),
        op.getV(), op.getOut(), op.getLse(), dOut, dLse, op.getQStarts(), op.getKStarts(),
        op.getSpecAttr(), op.getQPiecesAttr(), op.getKPiecesAttr());
    for (unsigned i = 0; i < 3; ++i)
      set(i, grad->getResult(i));
  }
};
} // namespace

bool differentiate::isDifferentiable(Operation *op, unsigned operand) {
  if (isa<CmpOp, IndexOp, ConstantOp, DropoutMaskOp, ScalarOp>(op))
    return false;
  if (auto reduce = dyn_cast<ReduceOp>(op))
    return !reduce.getDetached();
  if (isa<RopeOp>(op))
    return operand == 0;
  if (!isa<FloatType>(typeOf(op->getResult(0)).getElementType()))
    return false;
  return isa<FloatType>(typeOf(op->getOperand(operand)).getElementType());
}

namespace {
/// The ops with a rule above.
template <typename... Ops> struct Rules {
  static bool contain(StringRef name) { return ((Ops::getOperationName() == name) || ...); }
  static void apply(Adjoint &adjoint, Operation *op) {
    TypeSwitch<Operation *>(op)
        .Case<Ops...>([&](auto typed) { adjoint.visit(typed); })
        .Default([](Operation *other) {
          llvm::report_fatal_error("no adjoint of " + other->getName().getStringRef());
        });
  }
};
using AllRules = Rules<AddOp, SubOp, MulOp, DivOp, MaxOp, MinOp, NegOp, ExpOp, LogOp, TanhOp, ErfOp,
                       SinOp, CosOp, RsqrtOp, SqrtOp, SelectOp, CastOp, ReduceOp, ContractOp,
                       RopeOp, LookupOp, AttentionOp>;
} // namespace

bool differentiate::hasAdjoint(StringRef op) { return AllRules::contain(op); }

SmallVector<Value> differentiate::buildAdjoint(NNBuilder &b, Operation *op,
                                               ArrayRef<Value> cotangents) {
  Adjoint adjoint{b, cotangents, SmallVector<Value>(op->getNumOperands())};
  AllRules::apply(adjoint, op);
  return adjoint.result;
}
