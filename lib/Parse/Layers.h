//===- Layers.h - layers specialised at their calls ------------------------===//
#ifndef TPLAN_PARSE_LAYERS_H
#define TPLAN_PARSE_LAYERS_H

#include "lib/Parse/Brackets.h"
#include "lib/Parse/ModelBuilder.h"
#include <functional>

namespace tplan::parse {

/// One `tplan.layer`.
struct Specialisation {
  lang::LayerOp op;
  std::vector<mlir::Type> results;
  std::vector<WeightInfo> weights;
  unsigned ops = 0; // once all calls in it are inlined
  bool failed = false, done = false;
};

class Layers {
public:
  /// The statements of a body; a layer's body has calls of layers in turn.
  using ElaborateBody = std::function<void(const Body &, Scope &)>;
  Layers(ModelBuilder &model, ElaborateBody elaborateBody)
      : types(model.report, model.file), model(model), elaborateBody(std::move(elaborateBody)) {}

  /// The function of `layer` for these arguments, elaborated at the first call.
  Specialisation *specialise(const LayerRef &layer, llvm::ArrayRef<Val> args, const Expr &call);

  LayerTypes types;

private:
  void elaborate(Specialisation &made, const LayerDecl &decl, Env env, llvm::ArrayRef<Val> args,
                 const Expr &call);
  void declareArguments(Specialisation &made, const LayerDecl &decl, llvm::ArrayRef<Val> args,
                        Scope &scope);
  void elaborateInside(Specialisation &made, const LayerDecl &decl, const Expr &call, Scope &scope);
  void checkResults(const LayerDecl &decl, Scope &scope);

  ModelBuilder &model;
  ElaborateBody elaborateBody;
  std::map<std::string, std::unique_ptr<Specialisation>> known;
  unsigned nesting = 0;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_LAYERS_H
