//===- ModelBuilder.h - the module that is being built ---------------------===//
//
// What all parts of a model share while it is built: where errors and ops go, the
// symbols that are taken, and how much code there may be. Each distinct (layer,
// sizes, sub-layers, argument types, masks) becomes one `tplan.layer`, a list of
// layers one `tplan.for` with run lengths: nothing walks a list layer by layer.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_MODELBUILDER_H
#define TPLAN_PARSE_MODELBUILDER_H

#include "dialects/tplan/Tplan.h"
#include "lib/Parse/Scope.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::parse {

/// What a plan and a recipe have said so far; errors need it to propose edits.
struct Proposals {
  std::map<llvm::StringRef, int64_t> ranks; // ranks over which the plan's lines cut a dimension
  const Setting *dataLine = nullptr;        // where the recipe says the sizes of the data
};

class ModelBuilder {
public:
  ModelBuilder(Report &report, const File &file);

  /// `name`, or one with a number if it is taken: all symbols share one table.
  std::string symbol(llvm::StringRef name, llvm::StringRef kind);

  /// A call of a built-in function.
  Val apply(llvm::StringRef function, llvm::ArrayRef<mlir::Value> args, nn::Tensor result,
            llvm::SMLoc loc, llvm::ArrayRef<mlir::NamedAttribute> attrs = {});
  /// A number becomes a constant; any other value stays.
  Val asTensor(Val val, llvm::SMLoc loc);
  /// An input as the model declares it, or `shift` positions later.
  Val input(llvm::StringRef source, nn::Tensor type, int64_t shift, llvm::SMLoc loc);
  /// Adds `from`, weights of the member `prefix`, to those of the scope.
  void addWeights(llvm::ArrayRef<WeightInfo> from, llvm::StringRef prefix, Scope &scope,
                  llvm::SMLoc loc);

  /// Counts ops of the layer or model that is open; true, after an error, if there are too many.
  bool tooLarge(llvm::SMLoc loc, unsigned added = 1);
  /// Counts the ops that `elaborate` makes, apart from the others.
  unsigned countOps(llvm::function_ref<void()> elaborate);

  Report &report;
  const File &file;
  Proposals proposals;
  mlir::MLIRContext *context;
  mlir::OwningOpRef<mlir::ModuleOp> module;
  mlir::OpBuilder builder;
  lang::ModelOp op;
  bool gaveUp = false;            // the program is too large
  std::vector<std::string> files; // that lines name and that were read, real paths

  struct Input {
    llvm::StringRef source;
    int64_t shift;
  };
  std::map<void *, Input> inputs;                 // by their value
  std::map<llvm::StringRef, llvm::SMLoc> numbers; // losses and metrics
  int64_t dropouts = 0;                           // places that draw random numbers
  bool logitsOut = false;                         // the model has its output

  // Once the model is built.
  std::map<llvm::StringRef, Number> sizes; // defaults included
  ModelInfo info;

private:
  llvm::StringSet<> symbols;
  unsigned ops = 0; // of the layer or model that is open, once all calls in it are inlined
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_MODELBUILDER_H
