//===- ExpandBuiltins.cpp - built-in functions in nn primitives -----------===//
//
// One table from the name of a built-in to its formula. Composites are kept numerically careful
// here and nowhere else: softmax and cross-entropy subtract a maximum that counts as a constant,
// because it cancels; a sigmoid takes no exp of large numbers, because its cotangent would be
// infinity times zero.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/NNBuilder.h"
#include "dialects/nn/Scalars.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Model/Model.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/StringMap.h"
#include <cmath>

namespace tplan::model {
#define GEN_PASS_DEF_EXPANDBUILTINSPASS
#include "lib/Model/Passes.h.inc"
} // namespace tplan::model

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using lang::ApplyOp;

namespace {

using Values = SmallVector<Value, 2>;
using Expansion = Values (*)(NNBuilder &, ApplyOp);

Value arg(ApplyOp op, unsigned i = 0) { return op.getArgs()[i]; }
Tensor resultType(ApplyOp op) { return cast<Tensor>(op.getResult(0).getType()); }
StringRef name(ApplyOp op, StringRef key) { return op->getAttrOfType<StringAttr>(key).getValue(); }
double number(ApplyOp op, StringRef key) {
  return op->getAttrOfType<FloatAttr>(key).getValueAsDouble();
}

template <Value (NNBuilder::*method)(Value)> Values unary(NNBuilder &b, ApplyOp op) {
  return {(b.*method)(arg(op))};
}
template <typename Op> Values binary(NNBuilder &b, ApplyOp op) {
  return {b.create<Op>(resultType(op), arg(op, 0), arg(op, 1))};
}

//===----------------------------------------------------------------------===//
// Activations
//===----------------------------------------------------------------------===//

// With z = exp(-|x|): 1 / (1 + z), or z / (1 + z) below zero.
Value sigmoidOf(NNBuilder &b, Value x) {
  Value below = b.compare(CmpKind::lt, x, b.like(x, 0));
  Value z = b.exp(b.select(below, x, b.neg(x)));
  Value inverse = b.div(b.like(x, 1), b.addNumber(z, 1));
  return b.select(below, b.mul(z, inverse), inverse);
}
Values sigmoid(NNBuilder &b, ApplyOp op) { return {sigmoidOf(b, arg(op))}; }
Values silu(NNBuilder &b, ApplyOp op) { return {b.mul(arg(op), sigmoidOf(b, arg(op)))}; }
Values relu(NNBuilder &b, ApplyOp op) { return {b.max(arg(op), b.like(arg(op), 0))}; }
Values sign(NNBuilder &b, ApplyOp op) {
  Value x = arg(op), zero = b.like(x, 0), one = b.like(x, 1), minus = b.like(x, -1);
  Value below = b.select(b.compare(CmpKind::lt, x, zero), minus, zero);
  return {b.select(b.compare(CmpKind::gt, x, zero), one, below)};
}
Values square(NNBuilder &b, ApplyOp op) { return {b.mul(arg(op), arg(op))}; }

// Hendrycks and Gimpel, "Gaussian error linear units", 2016: exact and tanh form.
Values gelu(NNBuilder &b, ApplyOp op) {
  Value x = arg(op), phi = b.addNumber(b.erf(b.scale(x, std::sqrt(0.5))), 1);
  return {b.mul(b.scale(x, 0.5), phi)};
}
Values geluTanh(NNBuilder &b, ApplyOp op) {
  Value x = arg(op), cube = b.mul(b.mul(x, x), x);
  Value inner = b.scale(b.add(x, b.scale(cube, 0.044715)), std::sqrt(2 / M_PI));
  return {b.mul(b.scale(x, 0.5), b.addNumber(b.tanh(inner), 1))};
}

//===----------------------------------------------------------------------===//
// Reductions
//===----------------------------------------------------------------------===//

SmallVector<StringRef> over(ApplyOp op) {
  SmallVector<StringRef> names;
  for (auto name : op->getAttrOfType<ArrayAttr>("over").getAsValueRange<StringAttr>())
    names.push_back(name);
  return names;
}

/// All dimensions at once are summed in two steps, rows first.
Value sumOver(NNBuilder &b, Value x, ArrayRef<StringRef> names) {
  return static_cast<int64_t>(names.size()) == typeOf(x).getRank() ? b.sumAll(x) : b.sum(x, names);
}
Values sum(NNBuilder &b, ApplyOp op) { return {sumOver(b, arg(op), over(op))}; }
Values mean(NNBuilder &b, ApplyOp op) {
  SmallVector<StringRef> names = over(op);
  return {b.scale(sumOver(b, arg(op), names), 1.0 / NNBuilder::extent(typeOf(arg(op)), names))};
}
Values maximum(NNBuilder &b, ApplyOp op) { return {b.reduce(ReduceKind::max, arg(op), over(op))}; }

Values softmax(NNBuilder &b, ApplyOp op) {
  Value x = arg(op);
  StringRef dim = name(op, "over");
  Value e = b.exp(b.sub(x, b.reduce(ReduceKind::max, x, {dim}, /*detached=*/true)));
  return {b.div(e, b.sum(e, {dim}))};
}

// -> sum of -log softmax(x)[target] over targets >= 0, and their count.
Values crossEntropy(NNBuilder &b, ApplyOp op) {
  Value x = arg(op, 0), target = arg(op, 1);
  StringRef dim = name(op, "over");
  DimAttr classes = typeOf(x).getDims()[typeOf(x).find(dim)];
  Value shift = b.reduce(ReduceKind::max, x, {dim}, /*detached=*/true);
  Value lse = b.add(b.log(b.sum(b.exp(b.sub(x, shift)), {dim})), shift);
  Value hit = b.compare(CmpKind::eq, b.broadcast(b.index(classes), typeOf(x)), target);
  Value picked = b.sum(b.select(hit, x, b.like(x, 0)), {dim});
  Value valid = b.compare(CmpKind::ge, target, b.number(0, b.getI32Type()));
  Value loss = b.select(valid, b.sub(lse, picked), b.like(x, 0));
  Value one = b.number(1, b.getF64Type()), zero = b.number(0, b.getF64Type());
  return {b.sumAll(b.cast(loss, b.getF64Type())), b.sumAll(b.select(valid, one, zero))};
}

//===----------------------------------------------------------------------===//
// Structured
//===----------------------------------------------------------------------===//

Values contract(NNBuilder &b, ApplyOp op) {
  return {b.create<ContractOp>(resultType(op), arg(op, 0), arg(op, 1))};
}

Values lookup(NNBuilder &b, ApplyOp op) {
  return {b.create<LookupOp>(resultType(op), arg(op, 0), arg(op, 1), name(op, "dim"))};
}

// Angles position * base^(-2 i / K), i < K / 2, in f64: at position 8192 an f32 angle would be
// off by 1e-3.
Values rope(NNBuilder &b, ApplyOp op) {
  Value x = arg(op);
  Tensor type = typeOf(x);
  DimAttr k = type.getDims()[type.find(name(op, "over"))];
  DimAttr s = type.getDims()[type.find(name(op, "positions"))];
  std::string half = "half." + k.getName().str();
  Value pair = b.index(DimAttr::get(b.getContext(), half, k.getSize() / 2, /*bounded=*/false));
  double rate = -2.0 / k.getSize() * std::log(number(op, "base"));
  Value frequency = b.exp(b.scale(b.cast(pair, b.getF64Type()), rate));
  Value angle = b.mul(b.cast(b.index(s), b.getF64Type()), frequency);
  Value cos = b.cast(b.cos(angle), type.getElementType());
  Value sin = b.cast(b.sin(angle), type.getElementType());
  return {b.create<RopeOp>(x, cos, sin, k.getName(), /*inverse=*/false)};
}

/// The row statistics have queries last, as libraries keep them.
Values attention(NNBuilder &b, ApplyOp op) {
  Tensor q = typeOf(arg(op));
  auto spec = op->getAttrOfType<AttentionAttr>("spec");
  StringRef width = q.getDims().back().getName(), query = spec.getQuery();
  SmallVector<DimAttr> rows(q.without({width, query}).getDims());
  rows.push_back(q.getDims()[q.find(query)]);
  auto call =
      b.create<AttentionOp>(q, q.withDims(rows), arg(op, 0), arg(op, 1), arg(op, 2), ValueRange(),
                            ValueRange(), spec, DenseI64ArrayAttr(), DenseI64ArrayAttr());
  return {call.getOut()};
}

Values dropout(NNBuilder &b, ApplyOp op) {
  auto scalar = [&](StringRef what) -> Value {
    return b.create<ScalarOp>(Tensor::get(b.getContext(), {}, b.getI32Type()), what);
  };
  Value mask = b.create<DropoutMaskOp>(
      typeOf(arg(op)), scalar(nn::kSeed), scalar(nn::kStepNumber), scalar(nn::kLayerScalar),
      scalar(nn::kOffsetScalar), op->getAttrOfType<IntegerAttr>("site"),
      op->getAttrOfType<FloatAttr>("rate"), ValueRange(), DenseI64ArrayAttr(), ArrayAttr());
  return {b.mul(arg(op), mask)};
}

Values constant(NNBuilder &b, ApplyOp op) {
  return {b.create<ConstantOp>(resultType(op), op->getAttrOfType<FloatAttr>("value"))};
}
Values positions(NNBuilder &b, ApplyOp op) { return {b.index(resultType(op).getDims().front())}; }
Values convert(NNBuilder &b, ApplyOp op) {
  return {b.cast(arg(op), resultType(op).getElementType())};
}

const llvm::StringMap<Expansion> &table() {
  static const llvm::StringMap<Expansion> rows = {{"add", binary<AddOp>},
                                                  {"sub", binary<SubOp>},
                                                  {"mul", binary<MulOp>},
                                                  {"div", binary<DivOp>},
                                                  {"max2", binary<MaxOp>},
                                                  {"min2", binary<MinOp>},
                                                  {"neg", unary<&NNBuilder::neg>},
                                                  {"exp", unary<&NNBuilder::exp>},
                                                  {"log", unary<&NNBuilder::log>},
                                                  {"tanh", unary<&NNBuilder::tanh>},
                                                  {"erf", unary<&NNBuilder::erf>},
                                                  {"sin", unary<&NNBuilder::sin>},
                                                  {"cos", unary<&NNBuilder::cos>},
                                                  {"sqrt", unary<&NNBuilder::sqrt>},
                                                  {"rsqrt", unary<&NNBuilder::rsqrt>},
                                                  {"sigmoid", sigmoid},
                                                  {"silu", silu},
                                                  {"relu", relu},
                                                  {"gelu", gelu},
                                                  {"gelu_tanh", geluTanh},
                                                  {"sign", sign},
                                                  {"square", square},
                                                  {"sum", sum},
                                                  {"mean", mean},
                                                  {"max", maximum},
                                                  {"softmax", softmax},
                                                  {"cross_entropy", crossEntropy},
                                                  {"contract", contract},
                                                  {"lookup", lookup},
                                                  {"rope", rope},
                                                  {"attention", attention},
                                                  {"dropout", dropout},
                                                  {"constant", constant},
                                                  {"positions", positions},
                                                  {"cast", convert}};
  return rows;
}

struct ExpandBuiltinsPass : tplan::model::impl::ExpandBuiltinsPassBase<ExpandBuiltinsPass> {
  void runOnOperation() final {
    WalkResult result = getOperation().walk([](ApplyOp op) {
      auto row = table().find(op.getFunction());
      if (row == table().end()) {
        op.emitOpError("has no expansion: ") << op.getFunction();
        return WalkResult::interrupt();
      }
      NNBuilder builder(op.getLoc(), op);
      Values values = row->second(builder, op);
      for (auto [result, value] : llvm::zip(op.getResults(), values))
        result.replaceAllUsesWith(value);
      op.erase();
      return WalkResult::advance();
    });
    if (result.wasInterrupted())
      signalPassFailure();
  }
};

} // namespace
