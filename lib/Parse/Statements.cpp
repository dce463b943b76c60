//===- Statements.cpp - bodies of layers and models ------------------------===//
#include "lib/Parse/Statements.h"
#include "lib/Parse/DeclareMembers.h"
#include "lib/Parse/DeclareWeights.h"
#include "lib/Parse/Loops.h"
#include "lib/Parse/Losses.h"
#include "lib/Parse/States.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

Statements::Statements(ModelBuilder &model)
    : model(model),
      elaborateBody([this](const Body &body, Scope &scope) { elaborate(body, scope); }),
      layers(model, elaborateBody), expressions(model, layers) {}

void Statements::assign(const Stmt &stmt, Scope &scope) {
  Report &report = model.report;
  std::vector<Val> values = expressions.evalMany(*stmt.values.front(), scope);
  bool failed = values.empty();
  if (!failed && values.size() != stmt.names.size()) {
    report.error(stmt.names.front().loc, "{0} names for {1} values", stmt.names.size(),
                 values.size());
    failed = true;
  }
  llvm::StringMap<SMLoc> given;
  for (auto [i, name] : llvm::enumerate(stmt.names)) {
    if (auto [it, fresh] = given.try_emplace(name.text, name.loc); !fresh)
      report.error(name.loc, "a statement gives a name one value, found twice: {0}", name.text)
          .note(it->second, "the first is here");
    bool isVariable = scope.variables.count(name.text);
    if (!isVariable && !declare(report, name, scope))
      continue;
    Variable &variable = scope.variables[name.text];
    variable.val = failed ? Val() : values[i];
    if (!isVariable)
      variable.loc = name.loc;
  }
}

void Statements::takeReturn(const Stmt &stmt, Scope &scope) {
  if (scope.model) {
    model.report.error(stmt.loc, "a model returns nothing: name a `loss`");
    return;
  }
  scope.sawReturn = true;
  scope.returnLoc = stmt.loc;
  for (const Expr *expr : stmt.values) {
    std::vector<Val> values = expressions.evalMany(*expr, scope);
    if (values.empty())
      values.push_back({});
    llvm::append_range(scope.returned, values);
  }
}

void Statements::elaborate(const Stmt &stmt, Scope &scope) {
  switch (stmt.kind) {
  case Stmt::Linear:
    return declareLinear(model, stmt, scope);
  case Stmt::Table:
    return declareTable(model, stmt, scope);
  case Stmt::Weight:
  case Stmt::State:
    return declareWeight(model, stmt, scope);
  case Stmt::Members:
    return declareMembers(model.report, layers.types, stmt, scope);
  case Stmt::Input:
    return declareInput(model, stmt, scope);
  case Stmt::Assign:
    return assign(stmt, scope);
  case Stmt::For:
    return elaborateLoop(model, stmt, scope, elaborateBody);
  case Stmt::Loss:
    return elaborateLoss(model, expressions, stmt, scope);
  case Stmt::Update:
    return elaborateUpdate(model, expressions, stmt, scope);
  case Stmt::Metric:
    return elaborateMetric(model, expressions, stmt, scope);
  case Stmt::WeightMap:
    if (!scope.model) // read when the model is whole
      model.report.error(stmt.loc, "names on disk stand in the model, those of its layers too");
    return;
  case Stmt::Return:
    return takeReturn(stmt, scope);
  }
}

void Statements::elaborate(const Body &body, Scope &scope) {
  for (const Stmt *stmt : body) {
    if (model.gaveUp)
      return;
    if (scope.sawReturn) {
      model.report.error(stmt->loc, "nothing may follow `return`");
      return;
    }
    elaborate(*stmt, scope);
  }
}
