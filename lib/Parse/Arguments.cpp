//===- Arguments.cpp - a layer's arguments bind dimensions by name ---------===//
#include "lib/Parse/Arguments.h"
#include "lib/Parse/Operators.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

/// One call of a layer: what its arguments, brackets and defaults make of the names of its body.
class Binding {
public:
  Binding(Report &report, LayerTypes &types, const LayerValue &layer, const Expr &call)
      : report(report), types(types), layer(layer), decl(*layer.decl), call(call) {}

  bool bind(ArrayRef<Val> args);
  Env env;

private:
  bool bindArgument(const ArgDecl &argument, const Val &arg);
  std::optional<bool> hasDims(const TypeExpr &type, nn::Tensor found);
  bool bindSize(const ArgDecl &argument, const DimDecl &dim, int64_t size);
  bool bindLayer(const Param &param);
  bool bindDefault(const Param &param);

  Report &report;
  LayerTypes &types;
  const LayerValue &layer;
  const LayerDecl &decl;
  const Expr &call;
};

} // namespace

/// Whether a tensor has the dimensions of the declared type; nothing after an error in that.
std::optional<bool> Binding::hasDims(const TypeExpr &type, nn::Tensor found) {
  bool fits = type.rest || found.getRank() == static_cast<int64_t>(type.dims.size());
  llvm::StringMap<SMLoc> named;
  for (const DimDecl &dim : type.dims) {
    if (auto [it, fresh] = named.try_emplace(dim.name.text, dim.name.loc); !fresh) {
      report
          .error(dim.name.loc, "a tensor's dimensions must have different names, found twice: {0}",
                 dim.name.text)
          .note(it->second, "the first is here");
      return std::nullopt;
    }
    fits &= found.has(dim.name.text);
  }
  return fits;
}

/// A size of the layer's own must agree; an inherited one of the same name is hidden.
bool Binding::bindSize(const ArgDecl &argument, const DimDecl &dim, int64_t size) {
  StringRef name = dim.name.text;
  if (dim.atMost) {
    report.error(dim.name.loc, "a bound belongs to an input: {0} at most", name);
    return false;
  }
  const Bound *known = env.findOwn(name);
  if (known && (!known->number.integer || known->number.whole != size)) {
    report
        .error(call.loc, "argument {0} of {1} has {2} = {3}, but {2} is {4}", argument.name.text,
               decl.name.text, name, size, spell(known->number))
        .note(known->loc, "{0} is given here", name);
    return false;
  }
  env.numbers[name] = {Number::of(size), dim.name.loc};
  env.own.try_emplace(name, dim.name.loc);
  return true;
}

/// Checks one argument against its declared type and binds its dimensions.
bool Binding::bindArgument(const ArgDecl &argument, const Val &arg) {
  const TypeExpr &want = *argument.type;
  if (want.kind == TypeExpr::Mask) {
    if (arg.kind == Val::Mask)
      return true;
    report.error(call.loc, "argument {0} of {1} must be a mask", argument.name.text, decl.name.text)
        .note(argument.name.loc, "{0} is declared here", argument.name.text);
    return false;
  }
  if (!wantTensor(report, arg, call.loc, "argument " + argument.name.text.str()) ||
      !knowsElement(report, want))
    return false;
  nn::Tensor type = arg.type();
  std::optional<bool> fits = hasDims(want, type);
  if (!fits)
    return false;
  if (!*fits || type.getElementType().isInteger(32) != (want.element.text == "i32")) {
    report
        .error(call.loc, "argument {0} of {1} has other dimensions than declared, found {2}",
               argument.name.text, decl.name.text, spell(type))
        .note(argument.name.loc, "{0} is declared here", argument.name.text);
    return false;
  }
  return llvm::all_of(want.dims, [&](const DimDecl &dim) {
    return bindSize(argument, dim, type.getDims()[type.find(dim.name.text)].getSize());
  });
}

/// A layer in brackets, else its default.
bool Binding::bindLayer(const Param &param) {
  StringRef name = param.name.text;
  if (auto it = layer.layers.find(name); it != layer.layers.end()) {
    env.layers[name] = it->second;
    return true;
  }
  if (!param.value) {
    report.error(layer.loc, "{0} needs a layer in brackets: {1}", decl.name.text, name)
        .note(param.name.loc, "{0} is declared here", name);
    return false;
  }
  LayerRef value = types.resolve(*param.value, std::make_shared<Env>(env));
  if (value)
    env.layers[name] = value;
  return value != nullptr;
}

bool Binding::bindDefault(const Param &param) {
  StringRef name = param.name.text;
  if (!param.value) {
    report
        .error(layer.loc, "{0} needs a size: {1}; give it in brackets or to the model",
               decl.name.text, name)
        .note(param.name.loc, "{0} is declared here", name);
    return false;
  }
  std::optional<Number> value = number(report, *param.value, env);
  if (value)
    env.numbers[name] = {*value, param.name.loc};
  return value.has_value();
}

bool Binding::bind(ArrayRef<Val> args) {
  if (args.size() != decl.args.size()) {
    report
        .error(call.loc, "{0} takes {1} values, found {2}", decl.name.text, decl.args.size(),
               args.size())
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return false;
  }
  env.numbers = layer.outer->numbers;
  env.layers = layer.outer->layers;
  for (auto &[name, bound] : layer.numbers) {
    env.numbers[name] = bound;
    env.own[name] = bound.loc;
  }
  for (auto [arg, argument] : llvm::zip(args, decl.args))
    if (!bindArgument(argument, arg))
      return false;
  // What brackets and arguments leave open comes by name from outside, else from the default.
  for (const Param &param : decl.params) {
    bool isOpen = env.own.try_emplace(param.name.text, param.name.loc).second;
    if (param.layer) {
      if (!bindLayer(param))
        return false;
    } else if (isOpen && !env.numbers.count(param.name.text) && !bindDefault(param)) {
      return false;
    }
  }
  return true;
}

std::optional<Env> tplan::parse::bindArguments(Report &report, LayerTypes &types,
                                               const LayerValue &layer, ArrayRef<Val> args,
                                               const Expr &call) {
  Binding binding(report, types, layer, call);
  if (!binding.bind(args))
    return std::nullopt;
  return std::move(binding.env);
}
