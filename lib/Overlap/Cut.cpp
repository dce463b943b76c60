//===- Cut.cpp - how values are cut in parts --------------------------------===//
#include "lib/Overlap/Cut.h"
#include "dialects/sched/Sched.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using nn::DimAttr;
using nn::Tensor;
using nn::typeOf;

/// The outermost dimension of more than one, or none.
DimAttr overlap::outermost(Tensor type) {
  for (DimAttr dim : type.getDims())
    if (dim.getSize() > 1)
      return dim;
  return {};
}

Tensor Cut::partOf(Tensor whole) const {
  DimAttr first = outermost(whole);
  if (!first || first.getName() != dim || first.getBounded() || first.getSize() % parts)
    return {};
  SmallVector<DimAttr> dims(whole.getDims());
  for (DimAttr &each : dims)
    if (each == first)
      each = DimAttr::get(whole.getContext(), dim, first.getSize() / parts, false);
  Tensor part = whole.withDims(dims);
  return part.getBytes() % sched::kAlign ? Tensor() : part;
}

Value overlap::viewOfPart(OpBuilder &b, Value x, const Cut &cut, ArrayAttr axes, int64_t i) {
  return rt::SliceOp::create(b, x.getLoc(), cut.partOf(typeOf(x)), x, axes, StringAttr(), i,
                             /*view=*/true);
}
