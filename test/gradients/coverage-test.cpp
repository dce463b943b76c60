//===- coverage-test.cpp - every op and every function has a row ----------===//
#include "dialects/nn/NN.h"
#include "lib/Differentiate/Differentiate.h"
#include "lib/Parse/Builtins.h"
#include "test/gradients/compiled-program.h"
#include "test/gradients/rows.h"
#include <gtest/gtest.h>
#include <set>

using namespace tplan;
using namespace gradients;

namespace {

/// Names of the ops that a cotangent goes through in the row's layers.
void addTrainedOps(const Row &row, std::set<std::string> &names) {
  std::string errors;
  Result result = compileText(row.source(), Phase::model, errors);
  ASSERT_TRUE(result.ok()) << errors;
  for (auto layer : result.module->getOps<nn::LayerOp>()) {
    llvm::DenseSet<mlir::Value> active;
    for (unsigned i = 0; i < layer.getNumArguments(); ++i)
      if (layer.getArgRole(i) == nn::Role::Param || layer.getArgRole(i) == nn::Role::Carried)
        active.insert(layer.getArgument(i));
    for (mlir::Operation &op : layer.getBlock().without_terminator())
      for (mlir::OpOperand &operand : op.getOpOperands())
        if (active.contains(operand.get()) &&
            differentiate::isDifferentiable(&op, operand.getOperandNumber())) {
          active.insert(op.result_begin(), op.result_end());
          names.insert(op.getName().getStringRef().str());
        }
  }
}

/// Ops of nn that no cotangent goes through: structure, ids and flags, and what
/// `differentiate` or a later phase makes.
const std::set<std::string> kWithoutDerivative = {
    "nn.param", "nn.layer",     "nn.return",       "nn.chain",       "nn.input",
    "nn.run",   "nn.cmp",       "nn.index",        "nn.constant",    "nn.scalar",
    "nn.round", "nn.broadcast", "nn.dropout_mask", "nn.lookup_grad", "nn.attention_grad",
    "nn.pack",  "nn.unpack",    "nn.split",        "nn.merge",       "nn.floor_pow2",
    "nn.audit"};

TEST(Coverage, EachOpWithADerivativeHasARow) {
  std::set<std::string> used;
  for (const Row &row : rows())
    addTrainedOps(row, used);
  mlir::MLIRContext context(dialects());
  context.loadDialect<nn::NNDialect>();
  size_t ops = 0;
  for (mlir::RegisteredOperationName op : context.getRegisteredOperationsByDialect("nn")) {
    std::string name = op.getStringRef().str();
    bool derived = differentiate::hasAdjoint(name);
    EXPECT_NE(derived, kWithoutDerivative.count(name) == 1)
        << name << " has a rule in Adjoints.cpp, or stands among the ops without derivative";
    EXPECT_EQ(derived, used.count(name) == 1) << name << " needs a row in rows.txt";
    ++ops;
  }
  EXPECT_GT(ops, kWithoutDerivative.size());
}

const char *const kNotBuilt[] = {
#define NOT_BUILT(id, sentence) sentence,
#include "lib/Parse/NotBuilt.def"
};

/// Whether a call ends in a sentence of NotBuilt.def; functions that are built may refuse the call
/// because of its arguments.
bool isRefused(llvm::StringRef function) {
  std::string errors;
  (void)compileText(Row{"", "  y = " + function.str() + "(x)\n", {}, false, 0}.source(),
                    Phase::parse, errors);
  return llvm::any_of(kNotBuilt,
                      [&](const char *s) { return llvm::StringRef(errors).contains(s); });
}

TEST(Coverage, EachFunctionHasARow) {
  for (llvm::StringRef name : parse::builtinNames()) {
    bool called = llvm::any_of(rows(), [&](const Row &row) { return calls(row, name.str()); });
    EXPECT_NE(called, isRefused(name)) << name.str() << " needs a row in rows.txt";
  }
}

} // namespace
