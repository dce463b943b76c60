//===- BuiltinCall.cpp - the arguments of one call of a built-in function --===//
#include "lib/Parse/BuiltinCall.h"
#include "lib/Parse/Operators.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

/// `softmax(x, dim = D)` for `softmax(x over D)`.
void BuiltinCall::explainOver(Report::Error &error, const Arg &arg) {
  error.say("; dimensions come after `over`: {0}(x over D)", name);
  const char *comma = arg.key.loc.getPointer(); // of the call, so a bracket ends the search
  while (*comma != ',' && *comma != '(')
    --comma;
  if (*comma == ',' && arg.value->kind == Expr::Ref)
    error.fix(
        {{StringRef(comma, arg.value->text.end() - comma), (" over " + arg.value->text).str()}});
}

bool BuiltinCall::readNamed(const Arg &arg, ArrayRef<StringRef> takes, bool hasOver) {
  StringRef key = arg.key.text;
  if (!llvm::is_contained(takes, key)) {
    auto error = model.report.error(arg.key.loc, "{0} has no argument named {1}", name, key);
    if (hasOver && (key == "dim" || key == "axis"))
      explainOver(error, arg);
    else
      error.suggest(key, takes);
    return false;
  }
  if (!named.try_emplace(key, &arg).second) {
    fail(arg.key.loc, "given twice: {0}", key);
    return false;
  }
  return true;
}

/// One more dimension: `mean(x over B, S)`.
bool BuiltinCall::readDimension(const Arg &arg) {
  if (arg.value->kind != Expr::Ref || !arg.over.text.empty()) {
    fail(arg.value->loc, "expected the name of a dimension after `over`");
    return false;
  }
  over.push_back({arg.value->text, arg.value->loc});
  return true;
}

bool BuiltinCall::readValue(const Arg &arg) {
  values.push_back(evaluate(*arg.value));
  if (values.back().kind == Val::Error)
    return false;
  if (!arg.over.text.empty())
    over.push_back(arg.over);
  return true;
}

bool BuiltinCall::read(ArrayRef<StringRef> takes, size_t least, size_t most, bool hasOver) {
  for (const Arg &arg : call.args)
    if (!(!arg.key.text.empty() ? readNamed(arg, takes, hasOver)
          : !over.empty()       ? readDimension(arg)
                                : readValue(arg)))
      return false;
  if (values.size() < least || values.size() > most) {
    fail(call.loc, "{0} takes {1} values, found {2}", name,
         least == most ? std::to_string(least) : llvm::formatv("{0} to {1}", least, most).str(),
         values.size());
    return false;
  }
  if (!hasOver && !over.empty()) {
    fail(over.front().loc, "{0} takes no `over`", name);
    return false;
  }
  return true;
}

int64_t BuiltinCall::find(nn::Tensor x, const Name &dim, StringRef what) {
  int64_t position = x.find(dim.text);
  if (position < 0) {
    std::vector<StringRef> names;
    for (nn::DimAttr known : x.getDims())
      names.push_back(known.getName());
    model.report.error(dim.loc, "{0} has no dimension {1}: {2}", what, dim.text, spell(x))
        .suggest(dim.text, names);
  }
  return position;
}

Name BuiltinCall::dimArg(StringRef key, StringRef standard) {
  auto it = named.find(key);
  if (it == named.end())
    return {standard, call.loc};
  const Arg &arg = *it->second;
  if (arg.value->kind != Expr::Ref) {
    fail(arg.key.loc, "{0} must name a dimension", key);
    return {"", arg.key.loc};
  }
  return {arg.value->text, arg.value->loc};
}

std::optional<double> BuiltinCall::numberArg(StringRef key, double standard) {
  auto it = named.find(key);
  if (it == named.end())
    return standard;
  Val value = evaluate(*it->second->value);
  if (value.kind == Val::Error)
    return std::nullopt;
  if (value.kind == Val::Num)
    return value.number.real;
  fail(it->second->key.loc, "{0} must be a number", key);
  return std::nullopt;
}

bool BuiltinCall::wantFloat(unsigned i) {
  values[i] = model.asTensor(values[i], call.loc);
  return parse::wantFloat(model.report, values[i], call.loc, "the operand of " + name.str());
}
