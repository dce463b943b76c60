//===- Layers.cpp - layers specialised at their calls ----------------------===//
#include "lib/Parse/Layers.h"
#include "lib/Parse/Arguments.h"
#include "lib/Parse/Limits.h"
#include "lib/Parse/Operators.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

/// Equal for calls that one function serves.
static std::string keyOf(const LayerValue &layer, ArrayRef<Val> args) {
  std::string key = layer.key;
  llvm::raw_string_ostream os(key);
  for (const Val &arg : args) {
    os << ",";
    if (arg.kind == Val::Tensor)
      os << arg.type().getAsOpaquePointer();
    else if (arg.kind == Val::Mask)
      os << arg.mask.getAsOpaquePointer();
    else
      os << "?";
  }
  return key;
}

Specialisation *Layers::specialise(const LayerRef &layer, ArrayRef<Val> args, const Expr &call) {
  const LayerDecl &decl = *layer->decl;
  std::unique_ptr<Specialisation> &entry = known[keyOf(*layer, args)];
  if (entry) {
    if (!entry->done && !entry->failed) {
      model.report.error(call.loc, "{0} contains itself", decl.name.text)
          .note(decl.name.loc, "{0} is declared here", decl.name.text);
      entry->failed = true;
    }
    return entry.get();
  }
  entry = std::make_unique<Specialisation>();
  Specialisation *result = entry.get();
  result->failed = true;
  if (known.size() > limits::specialisations || nesting >= limits::nesting) {
    model.report.error(call.loc, "layers nested too deeply or in too many forms: {0}",
                       decl.name.text);
    model.gaveUp = true;
    return result;
  }
  if (std::optional<Env> env = bindArguments(model.report, types, *layer, args, call)) {
    result->failed = false;
    elaborate(*result, decl, std::move(*env), args, call);
  }
  return result;
}

/// Makes the op, and its body in it.
void Layers::elaborate(Specialisation &made, const LayerDecl &decl, Env env, ArrayRef<Val> args,
                       const Expr &call) {
  Report &report = model.report;
  OpBuilder &builder = model.builder;
  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(model.op);
  Scope scope;
  scope.env = std::make_shared<Env>(std::move(env));
  scope.weights = &made.weights;
  scope.norm = decl.norm;
  scope.where = decl.name.text;
  declareArguments(made, decl, args, scope);
  unsigned before = report.errors();
  elaborateInside(made, decl, call, scope);
  // What failed in an earlier form of a layer is not reported again.
  bool failedBefore =
      llvm::any_of(scope.returned, [](const Val &val) { return val.kind != Val::Tensor; });
  if (report.errors() != before || model.gaveUp || failedBefore) {
    made.failed = true;
    return;
  }
  SmallVector<Value> returned;
  for (const Val &val : scope.returned) {
    returned.push_back(val.value);
    made.results.push_back(val.value.getType());
  }
  lang::ReturnOp::create(builder, report.at(scope.returnLoc), returned);
  made.op.setFunctionType(
      builder.getFunctionType(made.op.getFunctionType().getInputs(), made.results));
  made.done = true;
}

/// The op without its results, which are not known yet, and its arguments as variables: tensors
/// are the block's, masks are part of the specialisation.
void Layers::declareArguments(Specialisation &made, const LayerDecl &decl, ArrayRef<Val> args,
                              Scope &scope) {
  OpBuilder &builder = model.builder;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  SmallVector<Attribute> names;
  for (auto [arg, argument] : llvm::zip(args, decl.args))
    if (arg.kind == Val::Tensor) {
      types.push_back(arg.value.getType());
      locs.push_back(model.report.at(argument.name.loc));
      names.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(nn::kName, builder.getStringAttr(argument.name.text))));
    }
  made.op = lang::LayerOp::create(builder, model.report.at(decl.name.loc),
                                  model.symbol(decl.name.text, "layer"),
                                  builder.getFunctionType(types, {}), ArrayAttr(), ArrayAttr());
  if (!names.empty())
    made.op.setArgAttrsAttr(builder.getArrayAttr(names));
  Block *block = builder.createBlock(&made.op.getBody(), {}, types, locs);
  unsigned tensors = 0;
  for (auto [arg, argument] : llvm::zip(args, decl.args)) {
    Val val = arg;
    if (arg.kind == Val::Tensor)
      val.value = block->getArgument(tensors++);
    if (declare(model.report, argument.name, scope))
      scope.variables[argument.name.text] = {val, argument.name.loc};
  }
}

/// The statements; their errors get a note at the call.
void Layers::elaborateInside(Specialisation &made, const LayerDecl &decl, const Expr &call,
                             Scope &scope) {
  Report &report = model.report;
  unsigned before = report.errors();
  Report::Context context(report, call.loc, decl.name.text);
  ++nesting;
  made.ops = model.countOps([&] { elaborateBody(decl.body, scope); });
  --nesting;
  if (!scope.sawReturn && report.errors() == before)
    report.error(decl.name.loc, "layer without a `return`: {0}", decl.name.text);
  if (scope.sawReturn)
    checkResults(decl, scope);
  warnUncalled(report, scope);
}

static bool fits(nn::Tensor type, const TypeExpr &want, ArrayRef<nn::DimAttr> declared) {
  bool same = want.kind == TypeExpr::Tensor &&
              type.getElementType().isInteger(32) == (want.element.text == "i32");
  for (nn::DimAttr dim : declared) {
    int64_t i = type.find(dim.getName());
    same &= i >= 0 && type.getDims()[i].getSize() == dim.getSize();
  }
  return same && (want.rest || type.getRank() == static_cast<int64_t>(declared.size()));
}

/// The returned values against the declared result types.
void Layers::checkResults(const LayerDecl &decl, Scope &scope) {
  Report &report = model.report;
  if (scope.returned.size() != decl.results.size()) {
    report
        .error(scope.returnLoc, "{0} returns {1} values, but declares {2}", decl.name.text,
               scope.returned.size(), decl.results.size())
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return;
  }
  for (auto [val, want] : llvm::zip(scope.returned, decl.results)) {
    if (val.kind == Val::Error || !wantTensor(report, val, scope.returnLoc, "a returned value"))
      continue;
    if (want->kind == TypeExpr::Tensor && !knowsElement(report, *want))
      continue;
    auto declared = dims(report, want->dims, *scope.env);
    if (declared && !fits(val.type(), *want, *declared))
      report
          .error(scope.returnLoc, "{0} returns other dimensions than declared: {1}", decl.name.text,
                 spell(val.type()))
          .note(want->loc, "the result is declared here");
  }
}
