//===- NNBuilder.h - formulas in nn primitives, written like formulas -----===//
//
// Shared by the phases that write mathematics: `model` (composites),
// `differentiate` (adjoints, optimizers), `precision` (casts). Result types
// follow from the operands by name.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_BUILDER_H
#define TPLAN_DIALECTS_NN_BUILDER_H

#include "dialects/nn/NN.h"
#include "mlir/IR/ImplicitLocOpBuilder.h"

namespace tplan::nn {

class NNBuilder : public mlir::ImplicitLocOpBuilder {
public:
  using Value = mlir::Value;
  using ImplicitLocOpBuilder::ImplicitLocOpBuilder;

  Value add(Value a, Value b) { return create<AddOp>(a, b); }
  Value sub(Value a, Value b) { return create<SubOp>(a, b); }
  Value mul(Value a, Value b) { return create<MulOp>(a, b); }
  Value div(Value a, Value b) { return create<DivOp>(a, b); }
  Value max(Value a, Value b) { return create<MaxOp>(a, b); }
  Value min(Value a, Value b) { return create<MinOp>(a, b); }
  Value neg(Value x) { return create<NegOp>(x); }
  Value exp(Value x) { return create<ExpOp>(x); }
  Value log(Value x) { return create<LogOp>(x); }
  Value tanh(Value x) { return create<TanhOp>(x); }
  Value erf(Value x) { return create<ErfOp>(x); }
  Value sin(Value x) { return create<SinOp>(x); }
  Value cos(Value x) { return create<CosOp>(x); }
  Value rsqrt(Value x) { return create<RsqrtOp>(x); }
  Value sqrt(Value x) { return create<SqrtOp>(x); }

  /// A scalar of the given element type.
  Value number(double value, mlir::Type element) {
    return create<ConstantOp>(Tensor::get(getContext(), {}, element), getF64FloatAttr(value));
  }
  /// A scalar of x's element type.
  Value like(Value x, double value) { return number(value, typeOf(x).getElementType()); }
  Value addNumber(Value x, double c) { return add(x, like(x, c)); }
  Value scale(Value x, double c) { return mul(x, like(x, c)); }

  Value cast(Value x, mlir::Type element) {
    if (typeOf(x).getElementType() == element)
      return x;
    return create<CastOp>(typeOf(x).withElement(element), x);
  }
  Value compare(CmpKind kind, Value a, Value b) {
    Tensor type = broadcastType(typeOf(a), typeOf(b)).withElement(getI1Type());
    return create<CmpOp>(type, kind, a, b);
  }
  Value select(Value condition, Value yes, Value no) {
    Tensor type = broadcastType(broadcastType(typeOf(yes), typeOf(no)), typeOf(condition));
    return create<SelectOp>(type.withElement(typeOf(yes).getElementType()), condition, yes, no);
  }
  /// Positions along a dimension, of which a rank has one piece where there is a start.
  Value index(DimAttr dim, Value start = {}) {
    return create<IndexOp>(Tensor::get(getContext(), {dim}, getI32Type()),
                           start ? mlir::ValueRange(start) : mlir::ValueRange(),
                           start ? getDenseI64ArrayAttr({dim.getSize()})
                                 : mlir::DenseI64ArrayAttr());
  }
  Value broadcast(Value x, Tensor shape) {
    Tensor type = shape.withElement(typeOf(x).getElementType());
    return typeOf(x) == type ? x : create<BroadcastOp>(type, x);
  }
  /// Reduces the named dimensions; x itself where there are none.
  Value reduce(ReduceKind kind, Value x, llvm::ArrayRef<llvm::StringRef> over,
               bool detached = false) {
    if (over.empty())
      return x;
    return create<ReduceOp>(typeOf(x).without(over), kind, x, detached);
  }
  Value sum(Value x, llvm::ArrayRef<llvm::StringRef> over) {
    return reduce(ReduceKind::sum, x, over);
  }
  Value split(Value x, llvm::StringRef dim, int64_t by) {
    return create<SplitOp>(splitType(typeOf(x), dim, by), x, getStringAttr(dim), by);
  }
  /// The inverse of `split`.
  Value merge(Value x, llvm::StringRef dim) {
    Tensor type = typeOf(x);
    llvm::SmallVector<DimAttr> dims(type.getDims());
    DimAttr *at = dims.begin() + type.find(dim);
    *at = DimAttr::get(getContext(), dim, at[0].getSize() * at[1].getSize(), false);
    dims.erase(at + 1);
    return create<MergeOp>(type.withDims(dims), x, dim);
  }
  /// Over all dimensions: the last first, so that long sums are row sums.
  Value sumAll(Value x) {
    if (typeOf(x).getRank() > 1)
      x = sum(x, {typeOf(x).getDims().back().getName()});
    llvm::SmallVector<llvm::StringRef> rest;
    for (DimAttr dim : typeOf(x).getDims())
      rest.push_back(dim.getName());
    return sum(x, rest);
  }
  /// Product of the sizes of the named dimensions of x.
  static int64_t extent(Tensor type, llvm::ArrayRef<llvm::StringRef> names) {
    int64_t n = 1;
    for (llvm::StringRef name : names)
      n *= type.getDims()[type.find(name)].getSize();
    return n;
  }
};

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_BUILDER_H
