//===- NNFunction.h - the one syntax of our function-like ops -------------===//
//
// Layers of `tplan` and `nn` and functions of `rt` are written alike: a symbol,
// arguments and results with their attributes, a body.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_NN_FUNCTION_H
#define TPLAN_DIALECTS_NN_FUNCTION_H

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

} // namespace tplan::nn

#endif // TPLAN_DIALECTS_NN_FUNCTION_H
