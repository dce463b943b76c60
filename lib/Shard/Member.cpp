//===- Member.cpp - scalars that a function takes ------------------------------===//
#include "lib/Shard/Member.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

Value shard::scalarOf(LayerOp layer, const Label &label) {
  if (auto known = layer.findArg(Role::Scalar, label.name))
    return layer.getArgument(*known);
  MLIRContext *context = layer.getContext();
  return layer.addArg(label, Tensor::get(context, {}, IntegerType::get(context, 32)),
                      layer.getLoc());
}

Value shard::memberOf(LayerOp layer, ArrayRef<StringAttr> axes) {
  std::string name =
      "member." + llvm::join(llvm::map_range(axes, [](StringAttr a) { return a.getValue(); }), "+");
  Label label{Role::Scalar, name};
  label.member = dist::arrayOf(layer.getContext(), axes);
  return scalarOf(layer, label);
}
