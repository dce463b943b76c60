//===- Arithmetic.h - arithmetic in code, written as arithmetic -----------===//
#ifndef TPLAN_LOWER_ARITHMETIC_H
#define TPLAN_LOWER_ARITHMETIC_H

#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/Dialect/Math/IR/Math.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"
#include "mlir/IR/TypeUtilities.h"

namespace tplan::lower {

/// A number in code: float or integer of one width, scalar or vector.
struct Num {
  mlir::Value v;
  mlir::ImplicitLocOpBuilder *b;
};

inline Num operator+(Num x, Num y) { return {mlir::arith::AddFOp::create(*x.b, x.v, y.v), x.b}; }
inline Num operator-(Num x, Num y) { return {mlir::arith::SubFOp::create(*x.b, x.v, y.v), x.b}; }
inline Num operator*(Num x, Num y) { return {mlir::arith::MulFOp::create(*x.b, x.v, y.v), x.b}; }
inline Num operator/(Num x, Num y) { return {mlir::arith::DivFOp::create(*x.b, x.v, y.v), x.b}; }
inline Num fma(Num x, Num y, Num z) {
  return {mlir::math::FmaOp::create(*x.b, x.v, y.v, z.v), x.b};
}
inline Num select(Num c, Num x, Num y) {
  return {mlir::arith::SelectOp::create(*x.b, c.v, x.v, y.v), x.b};
}
inline Num compare(mlir::arith::CmpFPredicate p, Num x, Num y) {
  return {mlir::arith::CmpFOp::create(*x.b, p, x.v, y.v), x.b};
}
// Ordered: false where an operand is NaN.
inline Num operator<(Num x, Num y) { return compare(mlir::arith::CmpFPredicate::OLT, x, y); }
inline Num operator>(Num x, Num y) { return compare(mlir::arith::CmpFPredicate::OGT, x, y); }
inline Num same(Num x, Num y) { return compare(mlir::arith::CmpFPredicate::OEQ, x, y); }

inline Num iadd(Num x, Num y) { return {mlir::arith::AddIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num isub(Num x, Num y) { return {mlir::arith::SubIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num iand(Num x, Num y) { return {mlir::arith::AndIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num ior(Num x, Num y) { return {mlir::arith::OrIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num ixor(Num x, Num y) { return {mlir::arith::XOrIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num shl(Num x, Num y) { return {mlir::arith::ShLIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num sra(Num x, Num y) { return {mlir::arith::ShRSIOp::create(*x.b, x.v, y.v), x.b}; }
inline Num isZero(Num x, Num zero) {
  return {mlir::arith::CmpIOp::create(*x.b, mlir::arith::CmpIPredicate::eq, x.v, zero.v), x.b};
}

/// Numbers of one float type, scalar or vector, and their bits.
class Numbers {
public:
  Numbers(mlir::ImplicitLocOpBuilder &b, mlir::Type type)
      : b(b), type(type), element(mlir::cast<mlir::FloatType>(mlir::getElementTypeOrSelf(type))),
        bits(b.getIntegerType(element.getWidth())) {}

  Num real(double x) { return {constant(b.getFloatAttr(element, x)), &b}; }
  Num integer(int64_t x) { return {constant(b.getIntegerAttr(bits, x)), &b}; }
  Num asBits(Num x) { return {mlir::arith::BitcastOp::create(b, like(bits), x.v), &b}; }
  Num asReal(Num x) { return {mlir::arith::BitcastOp::create(b, type, x.v), &b}; }
  Num toReal(Num x) { return {mlir::arith::SIToFPOp::create(b, type, x.v), &b}; }
  int64_t bitsOf(double x) {
    return b.getFloatAttr(element, x).getValue().bitcastToAPInt().getSExtValue();
  }
  Num magnitude(Num x) { return {mlir::math::AbsFOp::create(b, x.v), &b}; }

  /// The type with another element.
  mlir::Type like(mlir::Type t) {
    auto vector = mlir::dyn_cast<mlir::VectorType>(type);
    return vector ? mlir::Type(vector.clone(t)) : t;
  }

  mlir::ImplicitLocOpBuilder &b;
  mlir::Type type;
  mlir::FloatType element;
  mlir::Type bits;

private:
  mlir::Value constant(mlir::TypedAttr x) {
    if (mlir::isa<mlir::VectorType>(type))
      x = mlir::DenseElementsAttr::get(mlir::cast<mlir::VectorType>(like(x.getType())),
                                       mlir::Attribute(x));
    return mlir::arith::ConstantOp::create(b, x);
  }
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_ARITHMETIC_H
