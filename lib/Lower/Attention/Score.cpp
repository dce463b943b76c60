//===- Attention/Score.cpp - how a score is made, and its derivative ------===//
#include "lib/Lower/Attention/Score.h"
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

void lower::emitHide(TileCode &code, nn::AttentionAttr spec, const Scratch &scores,
                     const Positions &rowSide, const Positions &laneSide, Value rows,
                     bool lanesAreQueries) {
  code.loop(code.index(0), rows, 1, [&](Value i) {
    Value row = code.splat(code.loadScalar(rowSide.table, i));
    code.loop(code.index(0), code.index(scores.panels()), 1, [&](Value panel) {
      for (int64_t v = 0; v < scores.panel; v += code.lanes) {
        Value lane = code.load(laneSide.table, code.add(code.mul(panel, scores.panel), v));
        Value q = lanesAreQueries ? lane : row, k = lanesAreQueries ? row : lane;
        Value at = code.add(code.mul(panel, scores.panelStride),
                            code.add(code.mul(i, scores.rowStride), v));
        Value x = code.load(scores.memory, at);
        code.store(emitMaskedScore(code, spec, x, q, k), scores.memory, at);
      }
    });
  });
}
