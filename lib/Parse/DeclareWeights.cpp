//===- DeclareWeights.cpp - `linear`, `table`, `weight` and `state` --------===//
#include "lib/Parse/DeclareWeights.h"
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

/// Deviation of the initial values of linears and tables: GPT-2's.
static constexpr double kInitDeviation = 0.02;

/// `= ones`, `= zeros`, `= normal(0.01)` or `= 0.5`; else the default given.
static nn::InitAttr init(ModelBuilder &model, const Stmt &stmt, StringRef kind, double value,
                         const Scope &scope) {
  auto attr = [&](StringRef kind, double value) {
    return nn::InitAttr::get(model.context, kind, model.builder.getF64FloatAttr(value));
  };
  if (stmt.values.empty())
    return attr(kind, value);
  const Expr &expr = *stmt.values.front();
  if (expr.kind == Expr::Ref && (expr.text == "ones" || expr.text == "zeros"))
    return attr("constant", expr.text == "ones");
  if (expr.kind == Expr::Call && expr.lhs->kind == Expr::Ref) {
    if (expr.lhs->text != "normal" || expr.args.size() != 1 || !expr.args[0].key.text.empty() ||
        !expr.args[0].over.text.empty()) {
      model.report.error(expr.loc,
                         "unknown initial value: {0}; known are ones, zeros, normal(deviation) "
                         "and a number",
                         expr.lhs->text);
      return attr(kind, value);
    }
    std::optional<Number> n = number(model.report, *expr.args[0].value, *scope.env);
    if (n && n->real < 0)
      model.report.error(expr.loc, "a deviation cannot be negative: {0}", spell(*n));
    return attr("normal", n ? n->real : value);
  }
  std::optional<Number> n = number(model.report, expr, *scope.env);
  return attr("constant", n ? n->real : value);
}

static Value weight(ModelBuilder &model, StringRef name, nn::ParamKind kind, nn::InitAttr init,
                    nn::Tensor type, Scope &scope, SMLoc loc) {
  if (model.tooLarge(loc))
    return {};
  if (type.has(lang::dimension::batch)) {
    model.report.error(loc, "a weight is the same for all sequences of a batch: drop B, found {0}",
                       spell(type));
    return {};
  }
  WeightInfo info{name.str(), type, kind};
  model.addWeights(info, "", scope, loc);
  return lang::WeightOp::create(model.builder, model.report.at(loc), type, name, kind, init);
}

/// `linear q : D -> K, bias = True`: the dimension of that name, or null.
static const DimDecl *biasAsArgument(const Stmt &stmt) {
  bool isLast = !stmt.to.empty() && stmt.to.back().name.text == "bias" && stmt.to.size() > 1;
  return isLast && !stmt.values.empty() ? &stmt.to.back() : nullptr;
}

void tplan::parse::declareLinear(ModelBuilder &model, const Stmt &stmt, Scope &scope) {
  if (const DimDecl *bias = biasAsArgument(stmt)) {
    StringRef value = stmt.values.front()->text;
    const char *comma = bias->name.loc.getPointer();
    while (*comma != ',') // it is not the first
      --comma;
    model.report.error(bias->name.loc, "a bias is no argument: write `with bias`, or nothing")
        .fix({{StringRef(comma, value.end() - comma), value == "False" ? "" : " with bias"}});
    return;
  }
  auto from = dims(model.report, stmt.from, *scope.env),
       to = dims(model.report, stmt.to, *scope.env);
  for (const DimDecl &out : stmt.to)
    for (const DimDecl &in : stmt.from)
      if (in.name.text == out.name.text) {
        model.report
            .error(out.name.loc, "a linear maps to other names than it reads, found in both: {0}",
                   out.name.text)
            .note(in.name.loc, "{0} is read here", in.name.text);
        return;
      }
  nn::InitAttr initial = init(model, stmt, "normal", kInitDeviation, scope);
  for (const Name &name : stmt.names) {
    if (!declare(model.report, name, scope))
      continue;
    Member &member = scope.members[name.text];
    member.kind = Member::Linear;
    member.name = name;
    if (!from || !to)
      continue;
    member.from = *from;
    member.to = *to;
    // Outputs first: as on disk.
    std::vector<nn::DimAttr> all = *to;
    llvm::append_range(all, *from);
    std::optional<nn::Tensor> type =
        tensor(model.report, all, model.builder.getF32Type(), name.loc);
    if (!type)
      continue;
    member.weight = weight(model, (name.text + ".weight").str(), nn::ParamKind::Linear, initial,
                           *type, scope, name.loc);
    if (stmt.bias)
      member.bias =
          weight(model, (name.text + ".bias").str(), nn::ParamKind::Bias,
                 nn::InitAttr::get(model.context, "constant", model.builder.getF64FloatAttr(0)),
                 nn::Tensor::get(model.context, *to, model.builder.getF32Type()), scope, name.loc);
  }
}

void tplan::parse::declareTable(ModelBuilder &model, const Stmt &stmt, Scope &scope) {
  if (stmt.from.size() != 1) {
    model.report.error(stmt.loc, "a table is looked up by one dimension, found {0}",
                       stmt.from.size());
    return;
  }
  auto from = dims(model.report, stmt.from, *scope.env),
       to = dims(model.report, stmt.to, *scope.env);
  nn::InitAttr initial = init(model, stmt, "normal", kInitDeviation, scope);
  for (const Name &name : stmt.names) {
    if (!declare(model.report, name, scope))
      continue;
    Member &member = scope.members[name.text];
    member.kind = Member::Table;
    member.name = name;
    if (!from || !to)
      continue;
    member.from = *from;
    member.to = *to;
    std::vector<nn::DimAttr> all = *from;
    llvm::append_range(all, *to);
    if (std::optional<nn::Tensor> type =
            tensor(model.report, all, model.builder.getF32Type(), name.loc))
      member.weight = weight(model, (name.text + ".weight").str(), nn::ParamKind::Embedding,
                             initial, *type, scope, name.loc);
  }
}

void tplan::parse::declareWeight(ModelBuilder &model, const Stmt &stmt, Scope &scope) {
  auto shape = dims(model.report, stmt.to, *scope.env);
  bool isState = stmt.kind == Stmt::State;
  nn::InitAttr initial = isState ? init(model, stmt, "constant", 0, scope)
                                 : init(model, stmt, "normal", kInitDeviation, scope);
  nn::ParamKind kind = isState      ? nn::ParamKind::State
                       : scope.norm ? nn::ParamKind::Norm
                                    : nn::ParamKind::Other;
  for (const Name &name : stmt.names) {
    if (!declare(model.report, name, scope))
      continue;
    Val v;
    if (shape)
      if (std::optional<nn::Tensor> type =
              tensor(model.report, *shape, model.builder.getF32Type(), name.loc)) {
        v.value = weight(model, name.text, kind, initial, *type, scope, name.loc);
        v.kind = v.value ? Val::Tensor : Val::Error;
      }
    scope.variables[name.text] = {v, name.loc};
    if (isState)
      scope.states[name.text] = {v.value, {}};
  }
}
