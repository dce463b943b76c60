//===- tplan-opt.cpp - runs single passes on IR in text -------------------===//
//
// mlir-opt with the dialects and the passes of lib/Driver/Phases.def: what the
// tests of a pass run.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Phases.h"

#include "mlir/Tools/mlir-opt/MlirOptMain.h"
#include "mlir/Transforms/Passes.h"

int main(int argc, char **argv) {
  tplan::registerPasses();
  mlir::registerTransformsPasses();
  mlir::DialectRegistry registry;
  tplan::dialects().appendTo(registry);
  return mlir::asMainReturnCode(
      mlir::MlirOptMain(argc, argv, "runs passes of tplan on IR in text\n", registry));
}
