//===- Member.cpp - a rank's number in a group, in a function -----------------===//
#include "lib/Shard/Member.h"
#include "llvm/ADT/StringExtras.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;

Value shard::memberOf(LayerOp layer, ArrayRef<StringAttr> axes) {
  MLIRContext *context = layer.getContext();
  std::string name =
      "member." + llvm::join(llvm::map_range(axes, [](StringAttr a) { return a.getValue(); }), "+");
  if (auto known = layer.findArg(Role::Scalar, name))
    return layer.getArgument(*known);
  Label label{Role::Scalar, name};
  label.member = dist::arrayOf(context, axes);
  return layer.addArg(label, Tensor::get(context, {}, IntegerType::get(context, 32)),
                      layer.getLoc());
}
