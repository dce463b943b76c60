//===- Layers.cpp - members, and layers specialised at their calls ---------===//
#include "lib/Parse/Elaborate.h"
#include "lib/Parse/Foreign.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Brackets
//===----------------------------------------------------------------------===//

static const Param *findParam(const LayerDecl &decl, StringRef name) {
  for (const Param &param : decl.params)
    if (param.name.text == name)
      return &param;
  return nullptr;
}

static void refsOf(const Expr &expr, std::set<StringRef> &names) {
  if (expr.kind == Expr::Ref)
    names.insert(expr.text);
  for (const Expr *sub : {expr.lhs, expr.rhs})
    if (sub)
      refsOf(*sub, names);
  for (const Arg &arg : expr.args)
    refsOf(*arg.value, names);
}

/// Names that a layer, or a layer below it, has in brackets: all that can reach it by
/// name. Keys hold no others, so that equal layers in different places are one.
const std::set<StringRef> &Elaborator::needs(const LayerDecl &decl) {
  auto [it, fresh] = needed.try_emplace(&decl);
  if (!fresh)
    return it->second;
  std::set<StringRef> names, visited;
  std::vector<const LayerDecl *> open = {&decl};
  while (!open.empty()) {
    const LayerDecl *at = open.back();
    open.pop_back();
    if (!visited.insert(at->name.text).second)
      continue;
    std::set<StringRef> refs;
    for (const Param &param : at->params) {
      names.insert(param.name.text);
      if (param.value)
        refsOf(*param.value, refs);
    }
    for (const Stmt *stmt : at->body)
      for (const ListItem &item : stmt->items)
        for (const Expr *ref : item.refs)
          refsOf(*ref, refs);
    for (StringRef ref : refs)
      if (auto known = layers.find(ref); known != layers.end())
        open.push_back(known->second);
  }
  return it->second = names;
}

/// `block[swiglu]` or a name: a layer type, or a parameter that stands for one.
LayerRef Elaborator::resolveLayer(const Expr &expr, Scope &scope) {
  const Expr &name = expr.kind == Expr::Specialise ? *expr.lhs : expr;
  if (name.kind != Expr::Ref) {
    report.error(expr.loc, "expected the name of a layer");
    return nullptr;
  }
  if (auto it = scope.env->layers.find(name.text);
      it != scope.env->layers.end() && scope.env->own.count(name.text)) {
    if (expr.kind == Expr::Specialise) {
      report.error(expr.loc, "{0} has its brackets already: it is a parameter", name.text);
      return nullptr;
    }
    return it->second;
  }
  auto it = layers.find(name.text);
  if (it == layers.end()) {
    std::vector<StringRef> names;
    for (auto &entry : layers)
      names.push_back(entry.getKey());
    for (auto &[own, loc] : scope.env->own)
      names.push_back(own);
    llvm::sort(names);
    auto error = report.error(expr.loc, "unknown layer: {0}", name.text);
    if (!explainImport(error, file, "layer", name.text))
      suggestOurs(error, Habit::Function, name.text, names);
    return nullptr;
  }
  static const Args none;
  return fillBrackets(*it->second, expr.kind == Expr::Specialise ? expr.args : none, expr.loc,
                      scope);
}

LayerRef Elaborator::fillBrackets(const LayerDecl &decl, const Args &args, SMLoc loc,
                                  Scope &scope) {
  auto layer = std::make_shared<LayerValue>();
  layer->decl = &decl;
  layer->outer = scope.env;
  layer->loc = loc;
  unsigned position = 0;
  for (const Arg &arg : args) {
    const Param *param = nullptr;
    if (!arg.over.text.empty()) {
      report.error(arg.over.loc, "`over` has no meaning in brackets");
      return nullptr;
    }
    if (!arg.key.text.empty()) {
      param = findParam(decl, arg.key.text);
    } else if (position < decl.params.size()) {
      param = &decl.params[position++];
    } else {
      report
          .error(arg.value->loc, "{0} takes {1} in brackets, found more", decl.name.text,
                 decl.params.size())
          .note(decl.name.loc, "{0} is declared here", decl.name.text);
      return nullptr;
    }
    if (!param) {
      std::vector<StringRef> names;
      for (const Param &p : decl.params)
        names.push_back(p.name.text);
      report.error(arg.key.loc, "{0} has no {1} in its brackets", decl.name.text, arg.key.text)
          .suggest(arg.key.text, names)
          .note(decl.name.loc, "{0} is declared here", decl.name.text);
      return nullptr;
    }
    if (layer->numbers.count(param->name.text) || layer->layers.count(param->name.text)) {
      report.error(arg.value->loc, "given twice: {0}", param->name.text);
      return nullptr;
    }
    if (param->layer) {
      LayerRef value = resolveLayer(*arg.value, scope);
      if (!value)
        return nullptr;
      layer->layers[param->name.text] = value;
    } else {
      std::optional<Number> value = number(*arg.value, *scope.env);
      if (!value)
        return nullptr;
      layer->numbers[param->name.text] = {*value, arg.value->loc};
    }
  }
  llvm::raw_string_ostream os(layer->key);
  os << static_cast<const void *>(&decl) << "{";
  Env own;
  own.numbers = layer->numbers;
  own.layers = layer->layers;
  os << own.key() << "|";
  Env outer;
  for (StringRef name : needs(decl)) {
    if (auto it = scope.env->numbers.find(name); it != scope.env->numbers.end())
      outer.numbers.insert(*it);
    if (auto it = scope.env->layers.find(name); it != scope.env->layers.end())
      outer.layers.insert(*it);
  }
  os << outer.key() << "}";
  if (layer->key.size() > 1 << 16) {
    report.error(loc, "brackets nested too deeply: {0}", decl.name.text);
    return nullptr;
  }
  return layer;
}

//===----------------------------------------------------------------------===//
// Arguments bind dimensions by name
//===----------------------------------------------------------------------===//

/// Whether a declared type says nothing of its elements, or one of the words that it may; else an
/// error.
static bool knowsElement(Report &report, const TypeExpr &want) {
  StringRef text = want.element.text;
  if (text.empty() || text == "f32" || text == "i32")
    return true;
  report.error(want.element.loc, "unknown element type: {0}; known are f32, i32 and mask", text);
  return false;
}

/// Checks one argument against its declared type and binds its dimensions.
bool Elaborator::bindDims(const LayerValue &layer, const ArgDecl &decl, const Val &arg,
                          const Expr &call, Env &env) {
  const TypeExpr &want = *decl.type;
  if (want.kind == TypeExpr::Mask) {
    if (arg.kind == Val::Mask)
      return true;
    report
        .error(call.loc, "argument {0} of {1} must be a mask", decl.name.text,
               layer.decl->name.text)
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return false;
  }
  if (!wantTensor(arg, call.loc, "argument " + decl.name.text.str()))
    return false;
  nn::Tensor type = arg.type();
  if (!knowsElement(report, want))
    return false;
  bool fits = type.getElementType().isInteger(32) == (want.element.text == "i32");
  llvm::StringMap<SMLoc> named;
  for (const DimDecl &dim : want.dims) {
    if (auto [it, fresh] = named.try_emplace(dim.name.text, dim.name.loc); !fresh) {
      report
          .error(dim.name.loc, "a tensor's dimensions must have different names, found twice: {0}",
                 dim.name.text)
          .note(it->second, "the first is here");
      return false;
    }
    fits &= type.has(dim.name.text);
  }
  fits &= want.rest || type.getRank() == static_cast<int64_t>(want.dims.size());
  if (!fits) {
    report
        .error(call.loc, "argument {0} of {1} has other dimensions than declared, found {2}",
               decl.name.text, layer.decl->name.text, spell(type))
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return false;
  }
  for (const DimDecl &dim : want.dims) {
    StringRef name = dim.name.text;
    int64_t size = type.getDims()[type.find(name)].getSize();
    if (dim.atMost) {
      report.error(dim.name.loc, "a bound belongs to an input: {0} at most", name);
      return false;
    }
    // Own sizes must agree; inherited ones of the same name are hidden.
    auto it = env.numbers.find(name);
    if (it != env.numbers.end() && env.own.count(name) &&
        (!it->second.number.integer || it->second.number.whole != size)) {
      report
          .error(call.loc, "argument {0} of {1} has {2} = {3}, but {2} is {4}", decl.name.text,
                 layer.decl->name.text, name, size, spell(it->second.number))
          .note(it->second.loc, "{0} is given here", name);
      return false;
    }
    env.numbers[name] = {Number::of(size), dim.name.loc};
    env.own.try_emplace(name, dim.name.loc);
  }
  return true;
}

std::optional<Env> Elaborator::bindArgs(const LayerValue &layer, ArrayRef<Val> args,
                                        const Expr &call) {
  const LayerDecl &decl = *layer.decl;
  if (args.size() != decl.args.size()) {
    report
        .error(call.loc, "{0} takes {1} values, found {2}", decl.name.text, decl.args.size(),
               args.size())
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return std::nullopt;
  }
  Env env;
  env.numbers = layer.outer->numbers;
  env.layers = layer.outer->layers;
  for (auto &[name, bound] : layer.numbers) {
    env.numbers[name] = bound;
    env.own[name] = bound.loc;
  }
  for (auto [arg, argDecl] : llvm::zip(args, decl.args))
    if (!bindDims(layer, argDecl, arg, call, env))
      return std::nullopt;
  // What brackets and arguments leave open: by name from outside, else the default.
  for (const Param &param : decl.params) {
    StringRef name = param.name.text;
    bool first = env.own.try_emplace(name, param.name.loc).second;
    if (param.layer) {
      if (auto it = layer.layers.find(name); it != layer.layers.end()) {
        env.layers[name] = it->second;
      } else if (param.value) {
        Scope scope;
        scope.env = std::make_shared<Env>(env);
        LayerRef value = resolveLayer(*param.value, scope);
        if (!value)
          return std::nullopt;
        env.layers[name] = value;
      } else {
        report.error(layer.loc, "{0} needs a layer in brackets: {1}", decl.name.text, name)
            .note(param.name.loc, "{0} is declared here", name);
        return std::nullopt;
      }
      continue;
    }
    if (!first || env.numbers.count(name))
      continue;
    if (!param.value) {
      report
          .error(layer.loc, "{0} needs a size: {1}; give it in brackets or to the model",
                 decl.name.text, name)
          .note(param.name.loc, "{0} is declared here", name);
      return std::nullopt;
    }
    std::optional<Number> value = number(*param.value, env);
    if (!value)
      return std::nullopt;
    env.numbers[name] = {*value, param.name.loc};
  }
  return env;
}

//===----------------------------------------------------------------------===//
// Specialisation
//===----------------------------------------------------------------------===//

/// The function of `layer` for these arguments, elaborated at the first call.
Specialisation *Elaborator::specialise(const LayerRef &layer, ArrayRef<Val> args,
                                       const Expr &call) {
  const LayerDecl &decl = *layer->decl;
  std::string key = layer->key;
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
  std::unique_ptr<Specialisation> &entry = made[key];
  if (entry) {
    if (!entry->done && !entry->failed) {
      report.error(call.loc, "{0} contains itself", decl.name.text)
          .note(decl.name.loc, "{0} is declared here", decl.name.text);
      entry->failed = true;
    }
    return entry.get();
  }
  entry = std::make_unique<Specialisation>();
  Specialisation *result = entry.get();
  result->failed = true;
  if (made.size() > limits::specialisations || nesting >= limits::nesting) {
    report.error(call.loc, "layers nested too deeply or in too many forms: {0}", decl.name.text);
    gaveUp = true;
    return result;
  }
  std::optional<Env> env = bindArgs(*layer, args, call);
  if (!env)
    return result;
  result->failed = false;

  OpBuilder::InsertionGuard guard(builder);
  builder.setInsertionPoint(model);
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (auto [arg, argDecl] : llvm::zip(args, decl.args))
    if (arg.kind == Val::Tensor) {
      types.push_back(arg.value.getType());
      locs.push_back(report.at(argDecl.name.loc));
    }
  // The type is set once the results are known.
  result->op =
      lang::LayerOp::create(builder, report.at(decl.name.loc), symbol(decl.name.text, "layer"),
                            builder.getFunctionType(types, {}), ArrayAttr(), ArrayAttr());
  Block *block = builder.createBlock(&result->op.getBody(), {}, types, locs);

  Scope scope;
  scope.env = std::make_shared<Env>(std::move(*env));
  scope.weights = &result->weights;
  scope.norm = decl.norm;
  scope.where = decl.name.text;
  unsigned tensors = 0;
  SmallVector<Attribute> names;
  for (auto [arg, argDecl] : llvm::zip(args, decl.args)) {
    Val v = arg;
    if (arg.kind == Val::Tensor) {
      v.value = block->getArgument(tensors++);
      names.push_back(builder.getDictionaryAttr(
          builder.getNamedAttr(nn::kName, builder.getStringAttr(argDecl.name.text))));
    }
    if (!declare(argDecl.name, scope))
      continue;
    scope.variables[argDecl.name.text] = {v, argDecl.name.loc};
  }
  unsigned before = report.errors();
  {
    Report::Context context(report, call.loc, decl.name.text);
    ++nesting;
    unsigned outer = std::exchange(ops, 0);
    body(decl.body, scope);
    result->ops = std::exchange(ops, outer);
    --nesting;
    if (!scope.sawReturn && report.errors() == before)
      report.error(decl.name.loc, "layer without a `return`: {0}", decl.name.text);
    if (scope.sawReturn)
      checkResults(decl, *scope.env, scope, scope.returnLoc);
    warnUncalled(scope);
  }
  // What failed in an earlier form of a layer is not reported again.
  bool known = llvm::any_of(scope.returned, [](const Val &v) { return v.kind != Val::Tensor; });
  if (report.errors() != before || gaveUp || known) {
    result->failed = true;
    return result;
  }
  SmallVector<Value> returned;
  for (const Val &v : scope.returned) {
    returned.push_back(v.value);
    result->results.push_back(v.value.getType());
  }
  lang::ReturnOp::create(builder, report.at(scope.returnLoc), returned);
  result->op.setFunctionType(builder.getFunctionType(types, result->results));
  if (!names.empty())
    result->op.setArgAttrsAttr(builder.getArrayAttr(names));
  result->done = true;
  return result;
}

/// The returned values against the declared result types.
void Elaborator::checkResults(const LayerDecl &decl, const Env &env, Scope &scope, SMLoc loc) {
  if (scope.returned.size() != decl.results.size()) {
    report
        .error(loc, "{0} returns {1} values, but declares {2}", decl.name.text,
               scope.returned.size(), decl.results.size())
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return;
  }
  for (auto [val, want] : llvm::zip(scope.returned, decl.results)) {
    if (val.kind == Val::Error)
      continue;
    if (!wantTensor(val, loc, "a returned value"))
      continue;
    if (want->kind == TypeExpr::Tensor && !knowsElement(report, *want))
      continue;
    nn::Tensor type = val.type();
    std::optional<std::vector<nn::DimAttr>> declared = dims(want->dims, env);
    if (!declared)
      continue;
    bool fits = want->kind == TypeExpr::Tensor &&
                type.getElementType().isInteger(32) == (want->element.text == "i32");
    for (nn::DimAttr dim : *declared) {
      int64_t i = type.find(dim.getName());
      fits &= i >= 0 && type.getDims()[i].getSize() == dim.getSize();
    }
    fits &= want->rest || type.getRank() == static_cast<int64_t>(declared->size());
    if (!fits)
      report
          .error(loc, "{0} returns other dimensions than declared: {1}", decl.name.text,
                 spell(type))
          .note(want->loc, "the result is declared here");
  }
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

static bool sameWeights(ArrayRef<WeightInfo> a, ArrayRef<WeightInfo> b) {
  return llvm::equal(a, b, [](const WeightInfo &x, const WeightInfo &y) {
    return x.path == y.path && x.type == y.type;
  });
}

/// Calls `layer`; yields its results, and its weights in `weights`.
std::vector<Val> Elaborator::callLayer(const LayerRef &layer, StringRef member, const Expr &call,
                                       Scope &scope, std::vector<WeightInfo> *weights) {
  std::vector<Val> args;
  for (const Arg &arg : call.args) {
    if (!arg.key.text.empty() || !arg.over.text.empty()) {
      report.error(arg.key.text.empty() ? arg.over.loc : arg.key.loc,
                   "a layer's values go by position; sizes belong in its brackets, at its "
                   "declaration");
      return {};
    }
    args.push_back(eval(*arg.value, scope));
    if (args.back().kind == Val::Error)
      return {};
    if (args.back().kind == Val::Num)
      args.back() = asTensor(args.back(), call.loc);
  }
  if (gaveUp)
    return {};
  Specialisation *callee = specialise(layer, args, call);
  if (callee->failed || tooLarge(call.loc, 1 + callee->ops))
    return {};
  SmallVector<Value> operands;
  for (const Val &arg : args)
    if (arg.kind == Val::Tensor)
      operands.push_back(arg.value);
  auto op = lang::CallOp::create(builder, report.at(call.loc), callee->results,
                                 SymbolRefAttr::get(callee->op), builder.getStringAttr(member),
                                 operands, ArrayAttr(), ArrayAttr());
  if (weights)
    *weights = callee->weights;
  std::vector<Val> results;
  for (Value value : op.getResults()) {
    Val v;
    v.kind = Val::Tensor;
    v.value = value;
    v.loc = call.loc;
    results.push_back(v);
  }
  return results;
}

std::vector<Val> Elaborator::callMember(Member &member, const Expr &call, Scope &scope) {
  if (member.kind == Member::List) {
    refuse(call.loc, Feature::ListCall);
    return {};
  }
  if (member.kind != Member::Layer) {
    member.called = true;
    if (call.args.size() != 1 || !call.args[0].key.text.empty() ||
        !call.args[0].over.text.empty()) {
      report.error(call.loc, "{0} takes one value, found {1}", member.name.text, call.args.size());
      return {};
    }
    Val x = eval(*call.args[0].value, scope);
    if (x.kind == Val::Error)
      return {};
    Val v = member.kind == Member::Linear ? applyLinear(member, x, call.loc)
                                          : applyTable(member, x, false, call.loc);
    return v.kind == Val::Error ? std::vector<Val>() : std::vector<Val>{v};
  }
  if (!member.layer) {
    member.called = true;
    return {};
  }
  std::vector<WeightInfo> weights;
  // In a for body the element's own prefix is that of the list.
  StringRef prefix = scope.loop ? StringRef() : member.name.text;
  std::vector<Val> results = callLayer(member.layer, prefix, call, scope, &weights);
  // Only now: the arguments may call it too.
  bool first = !std::exchange(member.called, true);
  if (results.empty())
    return {};
  if (first) {
    member.calledAt = call.loc;
    member.weights = weights;
    addWeights(weights, prefix, scope, call.loc);
  } else if (!sameWeights(member.weights, weights)) {
    report
        .error(call.loc,
               "two calls of {0} need different weights: calls of one member share "
               "them",
               member.name.text)
        .note(member.calledAt, "the first call is here");
    return {};
  }
  return results;
}

void Elaborator::addWeights(ArrayRef<WeightInfo> from, StringRef prefix, Scope &scope, SMLoc loc) {
  for (const WeightInfo &weight : from) {
    if (scope.weights->size() >= limits::weights) {
      report.error(loc, "the program is too large: more than {0} weights; repeat layers in lists",
                   limits::weights);
      gaveUp = true;
      return;
    }
    scope.weights->push_back(weight);
    if (!prefix.empty())
      scope.weights->back().path = (prefix + "." + weight.path).str();
  }
}

//===----------------------------------------------------------------------===//
// Linear maps and tables
//===----------------------------------------------------------------------===//

/// x without `from`, then `to`: the result of a map from names to names.
static std::optional<nn::Tensor> mapped(Elaborator &e, nn::Tensor x, ArrayRef<nn::DimAttr> from,
                                        ArrayRef<nn::DimAttr> to, const Member &member, SMLoc loc) {
  SmallVector<StringRef> gone;
  for (nn::DimAttr dim : from) {
    int64_t i = x.find(dim.getName());
    if (i < 0 || x.getDims()[i] != dim) {
      e.report
          .error(loc, "{0} needs {1} of size {2}, found {3}", member.name.text, dim.getName(),
                 dim.getSize(), spell(x))
          .note(member.name.loc, "{0} is declared here", member.name.text);
      return std::nullopt;
    }
    gone.push_back(dim.getName());
  }
  SmallVector<nn::DimAttr> dims(x.without(gone).getDims());
  for (nn::DimAttr dim : to) {
    if (llvm::any_of(dims, [&](nn::DimAttr d) { return d.getName() == dim.getName(); })) {
      e.report
          .error(loc, "{0} yields {1}, which its operand already has: {2}", member.name.text,
                 dim.getName(), spell(x))
          .note(member.name.loc, "{0} is declared here", member.name.text);
      return std::nullopt;
    }
    dims.push_back(dim);
  }
  return e.tensor(dims, x.getElementType(), loc);
}

Val Elaborator::applyLinear(Member &member, Val x, SMLoc loc) {
  if (!wantFloat(x, loc, "the operand of " + member.name.text.str()) || !member.weight)
    return {};
  std::optional<nn::Tensor> type = mapped(*this, x.type(), member.from, member.to, member, loc);
  if (!type)
    return {};
  Val v = apply("contract", {x.value, member.weight}, *type, loc);
  if (v.kind != Val::Error && member.bias)
    v = apply("add", {v.value, member.bias}, *type, loc);
  return v;
}

Val Elaborator::applyTable(Member &member, Val ids, bool backwards, SMLoc loc) {
  if (!wantTensor(ids, loc, "the operand of " + member.name.text.str()) || !member.weight)
    return {};
  nn::DimAttr rows = member.from.front();
  if (!ids.type().getElementType().isInteger(32)) {
    report
        .error(loc, "{0} looks up i32 ids, found {1}; write {0}.T(x) for the map backwards",
               member.name.text, spell(ids.type()))
        .note(member.name.loc, "{0} is declared here", member.name.text);
    return {};
  }
  // Learned positions: the largest id is known here.
  if (auto op = ids.value.getDefiningOp<lang::ApplyOp>(); op && op.getFunction() == "positions") {
    nn::DimAttr along = ids.type().getDims().front();
    if (along.getSize() > rows.getSize()) {
      report
          .error(loc, "{0} has {1} rows, fewer than the positions along {2}: {3}", member.name.text,
                 rows.getSize(), along.getName(), along.getSize())
          .note(member.name.loc, "{0} is declared here", member.name.text);
      return {};
    }
  }
  std::optional<nn::Tensor> type =
      mapped(*this, ids.type().withElement(builder.getF32Type()), {}, member.to, member, loc);
  if (!type)
    return {};
  return apply("lookup", {member.weight, ids.value}, *type, loc,
               builder.getNamedAttr("dim", builder.getStringAttr(rows.getName())));
}

/// embed.T(x): a table or linear read from its outputs to its inputs, without bias.
Val Elaborator::applyBackwards(Member &member, Val x, SMLoc loc) {
  if (member.kind != Member::Linear && member.kind != Member::Table) {
    report.error(loc, "only a linear or a table has a map backwards: {0}.T", member.name.text)
        .note(member.name.loc, "{0} is declared here", member.name.text);
    return {};
  }
  member.called = true;
  if (!wantFloat(x, loc, "the operand of " + member.name.text.str() + ".T") || !member.weight)
    return {};
  std::optional<nn::Tensor> type = mapped(*this, x.type(), member.to, member.from, member, loc);
  if (!type)
    return {};
  return apply("contract", {x.value, member.weight}, *type, loc);
}
