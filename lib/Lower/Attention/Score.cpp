//===- Attention/Score.cpp - how a score is made, and its derivative ------===//
#include "lib/Lower/Attention/Score.h"
#include "lib/Lower/Attention/Mask.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include <limits>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

Value lower::emitScore(Code &code, nn::AttentionAttr spec, Value product) {
  double scale = spec.getScale().getValueAsDouble();
  if (scale == 1.0)
    return product;
  return arith::MulFOp::create(code, product, code.number(product.getType(), scale));
}

Value lower::emitMaskedScore(Code &code, nn::AttentionAttr spec, Value score, Value q, Value k,
                             Value inside) {
  Value sees = emitMask(code, spec.getMask(), q, k);
  if (inside)
    sees = code.createOrFold<arith::AndIOp>(sees, inside);
  Value hidden = code.number(score.getType(), -std::numeric_limits<double>::infinity());
  return arith::SelectOp::create(code, sees, score, hidden);
}

Value lower::emitScoreDerivative(Code &code, nn::AttentionAttr spec, Type type,
                                 function_ref<Value()> score) {
  return code.number(type, spec.getScale().getValueAsDouble());
}
