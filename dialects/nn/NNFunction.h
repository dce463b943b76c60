//===- NNFunction.h - the one syntax of our function-like ops -------------===//
//
// Layers of `tplan` and `nn` and functions of `rt` are written alike: a symbol,
// arguments and results with their attributes, a body. Those of `nn` and `rt` may be
// parts of a layer.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_FUNCTION_H
#define TPLAN_DIALECTS_NN_FUNCTION_H

#include "dialects/nn/NN.h"
#include "mlir/IR/Builders.h"
#include "mlir/Interfaces/FunctionImplementation.h"

namespace tplan::nn {

template <typename Op>
mlir::ParseResult parseFunction(mlir::OpAsmParser &parser, mlir::OperationState &result) {
  auto build = [](mlir::Builder &b, llvm::ArrayRef<mlir::Type> args,
                  llvm::ArrayRef<mlir::Type> results, mlir::function_interface_impl::VariadicFlag,
                  std::string &) { return b.getFunctionType(args, results); };
  return mlir::function_interface_impl::parseFunctionOp(
      parser, result, /*allowVariadic=*/false, Op::getFunctionTypeAttrName(result.name), build,
      Op::getArgAttrsAttrName(result.name), Op::getResAttrsAttrName(result.name));
}

template <typename Op> void printFunction(mlir::OpAsmPrinter &printer, Op op) {
  mlir::function_interface_impl::printFunctionOp(
      printer, op, /*isVariadic=*/false, op.getFunctionTypeAttrName(), op.getArgAttrsAttrName(),
      op.getResAttrsAttrName());
}

/// Positions and slots of arguments and results: (C6) and (C7) of `nn.layer`.
mlir::LogicalResult verifyLabels(mlir::Operation *op, mlir::ArrayAttr args,
                                 mlir::ArrayAttr results);

/// A part says whose part it is.
template <typename Op> mlir::LogicalResult verifyPart(Op op) {
  if (bool(op.getPart()) == bool(op.getLayerAttr()))
    return mlir::success();
  if (op.getPart())
    return op.emitOpError("needs the layer of which it is a part, `layer = @...`: ")
           << stringifyPart(*op.getPart());
  return op.emitOpError("needs the part that it is of its layer, `part = #nn.part<...>`: ")
         << op.getLayerAttr();
}

/// Two functions that are the same part of a layer: nothing could tell which of them runs.
template <typename Op> mlir::LogicalResult verifyPartIsUnique(Op op) {
  if (!op.getPart())
    return mlir::success();
  for (mlir::Operation *before = op->getPrevNode(); before; before = before->getPrevNode())
    if (auto other = llvm::dyn_cast<Op>(before);
        other && other.getPart() == op.getPart() && other.getLayerAttr() == op.getLayerAttr()) {
      mlir::InFlightDiagnostic diag = op.emitOpError("is a second part ")
                                      << stringifyPart(*op.getPart()) << " of layer "
                                      << op.getLayerAttr();
      diag.attachNote(other.getLoc()) << "the first is " << other.getSymName() << ", here";
      return diag;
    }
  return mlir::success();
}

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_FUNCTION_H
