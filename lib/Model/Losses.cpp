//===- Losses.cpp - the terms of the training loss, by name ---------------===//
#include "lib/Model/Losses.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::model;

/// What one emitted sum is multiplied by: its weight, over the number of its terms where sizes give
/// it.
static double weightOfSum(lang::LossOp loss) {
  return loss.getWeight().convertToDouble() / std::max<int64_t>(1, loss.getTerms());
}

LogicalResult Losses::collect(lang::ModelOp model) {
  WalkResult result = model.walk([&](lang::LossOp loss) {
    lang::LossOp &first = named[loss.getName()];
    if (first && first.getCount() != loss.getCount()) {
      InFlightDiagnostic diag =
          loss.emitError("emitted with other targets than before, so with a count of its own: ")
          << loss.getName();
      diag.attachNote(first.getLoc()) << "emitted here before; give each its layer, or its name";
      return WalkResult::interrupt();
    }
    // A statement of weight 0 says nothing about the others.
    if (!first || first.getWeight().isZero())
      first = loss;
    return WalkResult::advance();
  });
  return failure(result.wasInterrupted());
}

DictionaryAttr Losses::weights(MLIRContext *context) const {
  NamedAttrList list;
  for (auto [name, loss] : named)
    list.set(name, lang::LossOp(loss).getWeightAttr());
  return list.getDictionary(context);
}

double Losses::factor(lang::LossOp loss) const {
  double reference = weightOfSum(named.lookup(loss.getName()));
  return reference == 0 ? 1 : weightOfSum(loss) / reference;
}

SmallVector<lang::LossOp> Losses::counted() const {
  SmallVector<lang::LossOp> losses;
  for (auto [name, loss] : named)
    if (lang::LossOp(loss).getCount() || lang::LossOp(loss).getTerms() > 1) // a sum is not divided
      losses.push_back(loss);
  return losses;
}

Value model::countTerms(NNBuilder &b, lang::LossOp loss, DimAttr batch) {
  double each = static_cast<double>(loss.getTerms()) / batch.getSize();
  Tensor type = Tensor::get(b.getContext(), {batch}, b.getF64Type());
  return b.sumAll(b.create<ConstantOp>(type, b.getF64FloatAttr(each)));
}
