//===- Brackets.cpp - layer types and what their brackets hold -------------===//
#include "lib/Parse/Brackets.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Sizes.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

LayerTypes::LayerTypes(Report &report, const File &file) : report(report), file(file) {
  for (const LayerDecl *layer : file.layers)
    declared[layer->name.text] = layer;
}

//===----------------------------------------------------------------------===//
// What reaches a layer by name
//===----------------------------------------------------------------------===//

static void refsOf(const Expr &expr, std::set<StringRef> &names) {
  if (expr.kind == Expr::Ref)
    names.insert(expr.text);
  for (const Expr *sub : {expr.lhs, expr.rhs})
    if (sub)
      refsOf(*sub, names);
  for (const Arg &arg : expr.args)
    refsOf(*arg.value, names);
}

/// Names that a layer's defaults and members refer to.
static std::set<StringRef> refsOf(const LayerDecl &decl) {
  std::set<StringRef> refs;
  for (const Param &param : decl.params)
    if (param.value)
      refsOf(*param.value, refs);
  for (const Stmt *stmt : decl.body)
    for (const ListItem &item : stmt->items)
      for (const Expr *ref : item.refs)
        refsOf(*ref, refs);
  return refs;
}

/// Names that a layer, or a layer below it, has in brackets: all that can reach it by name. Keys
/// hold only these names, so that equal layers in different places are one.
const std::set<StringRef> &LayerTypes::needs(const LayerDecl &decl) {
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
    for (const Param &param : at->params)
      names.insert(param.name.text);
    for (StringRef ref : refsOf(*at))
      if (auto known = declared.find(ref); known != declared.end())
        open.push_back(known->second);
  }
  return it->second = names;
}

/// Layers that are one have equal keys. A key contains the address of the declaration, which no
/// other declaration has.
std::string LayerTypes::keyOf(const LayerValue &layer) {
  Env own, outer;
  own.numbers = layer.numbers;
  own.layers = layer.layers;
  for (StringRef name : needs(*layer.decl)) {
    if (auto it = layer.outer->numbers.find(name); it != layer.outer->numbers.end())
      outer.numbers.insert(*it);
    if (auto it = layer.outer->layers.find(name); it != layer.outer->layers.end())
      outer.layers.insert(*it);
  }
  std::string key;
  llvm::raw_string_ostream os(key);
  os << static_cast<const void *>(layer.decl) << "{" << own.key() << "|" << outer.key() << "}";
  return key;
}

//===----------------------------------------------------------------------===//
// Brackets
//===----------------------------------------------------------------------===//

LayerRef LayerTypes::resolve(const Expr &expr, const EnvRef &env) {
  const Expr &name = expr.kind == Expr::Specialise ? *expr.lhs : expr;
  if (name.kind != Expr::Ref) {
    report.error(expr.loc, "expected the name of a layer");
    return nullptr;
  }
  if (auto it = env->layers.find(name.text); it != env->layers.end() && env->own.count(name.text)) {
    if (expr.kind == Expr::Specialise) {
      report.error(expr.loc, "{0} has its brackets already: it is a parameter", name.text);
      return nullptr;
    }
    return it->second;
  }
  auto it = declared.find(name.text);
  if (it == declared.end()) {
    std::vector<StringRef> names = env->ownNames();
    for (auto &entry : declared)
      names.push_back(entry.getKey());
    llvm::sort(names);
    auto error = report.error(expr.loc, "unknown layer: {0}", name.text);
    if (!explainImport(error, file, "layer", name.text))
      suggestOurs(error, Habit::Function, name.text, names);
    return nullptr;
  }
  static const Args none;
  return fillBrackets(*it->second, expr.kind == Expr::Specialise ? expr.args : none, expr.loc, env);
}

LayerRef LayerTypes::fillBrackets(const LayerDecl &decl, const Args &args, SMLoc loc,
                                  const EnvRef &env) {
  auto layer = std::make_shared<LayerValue>();
  layer->decl = &decl;
  layer->outer = env;
  layer->loc = loc;
  unsigned position = 0;
  for (const Arg &arg : args) {
    const Param *param = paramOf(decl, arg, position);
    if (!param || !fill(*layer, *param, arg, env))
      return nullptr;
  }
  layer->key = keyOf(*layer);
  if (layer->key.size() > 1 << 16) {
    report.error(loc, "brackets nested too deeply: {0}", decl.name.text);
    return nullptr;
  }
  return layer;
}

/// The parameter that an argument in brackets is for: by name, else the next one.
const Param *LayerTypes::paramOf(const LayerDecl &decl, const Arg &arg, unsigned &position) {
  if (!arg.over.text.empty()) {
    report.error(arg.over.loc, "`over` has no meaning in brackets");
    return nullptr;
  }
  if (arg.key.text.empty()) {
    if (position < decl.params.size())
      return &decl.params[position++];
    report
        .error(arg.value->loc, "{0} takes {1} in brackets, found more", decl.name.text,
               decl.params.size())
        .note(decl.name.loc, "{0} is declared here", decl.name.text);
    return nullptr;
  }
  std::vector<StringRef> names;
  for (const Param &param : decl.params) {
    if (param.name.text == arg.key.text)
      return &param;
    names.push_back(param.name.text);
  }
  report.error(arg.key.loc, "{0} has no {1} in its brackets", decl.name.text, arg.key.text)
      .suggest(arg.key.text, names)
      .note(decl.name.loc, "{0} is declared here", decl.name.text);
  return nullptr;
}

/// False after an error.
bool LayerTypes::fill(LayerValue &layer, const Param &param, const Arg &arg, const EnvRef &env) {
  StringRef name = param.name.text;
  if (layer.numbers.count(name) || layer.layers.count(name)) {
    report.error(arg.value->loc, "given twice: {0}", name);
    return false;
  }
  if (param.layer) {
    LayerRef value = resolve(*arg.value, env);
    if (value)
      layer.layers[name] = value;
    return value != nullptr;
  }
  std::optional<Number> value = number(report, *arg.value, *env);
  if (value)
    layer.numbers[name] = {*value, arg.value->loc};
  return value.has_value();
}
