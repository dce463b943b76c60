//===- Builtins.cpp - calls of built-in functions, and losses ---------------===//
//
// The rules behind the forms of Builtins.def: operands, attributes and result
// shapes. Dimensions in arguments are names, not values.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Elaborate.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Parse.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace tplan::parse {
/// One call: its values by position, dimensions after `over`, and named arguments.
struct Builtins {
  Elaborator &e;
  const Expr &call;
  Scope &scope;
  StringRef name;
  std::vector<Val> values;
  std::vector<Name> over;
  std::map<StringRef, const Arg *> named;

  template <class... A> Val fail(SMLoc loc, const char *text, A &&...args) {
    e.report.error(loc, text, std::forward<A>(args)...);
    return {};
  }

  /// `softmax(x, dim = D)` for `softmax(x over D)`.
  void explainOver(Report::Error &error, const Arg &arg) {
    error.say("; dimensions come after `over`: {0}(x over D)", name);
    const char *comma = arg.key.loc.getPointer(); // of the call, so a bracket ends the search
    while (*comma != ',' && *comma != '(')
      --comma;
    if (*comma == ',' && arg.value->kind == Expr::Ref)
      error.fix(
          {{StringRef(comma, arg.value->text.end() - comma), (" over " + arg.value->text).str()}});
  }

  /// Sorts the arguments; `takes` are the names it knows, `bare` keeps values
  /// unevaluated (dimension names).
  bool read(ArrayRef<StringRef> takes, size_t least, size_t most, bool hasOver) {
    for (const Arg &arg : call.args) {
      if (!arg.key.text.empty()) {
        if (!llvm::is_contained(takes, arg.key.text)) {
          auto error =
              e.report.error(arg.key.loc, "{0} has no argument named {1}", name, arg.key.text);
          if (hasOver && (arg.key.text == "dim" || arg.key.text == "axis"))
            explainOver(error, arg);
          else
            error.suggest(arg.key.text, takes);
          return false;
        }
        if (!named.try_emplace(arg.key.text, &arg).second) {
          fail(arg.key.loc, "given twice: {0}", arg.key.text);
          return false;
        }
        continue;
      }
      if (!over.empty()) {
        if (arg.value->kind != Expr::Ref || !arg.over.text.empty()) {
          fail(arg.value->loc, "expected the name of a dimension after `over`");
          return false;
        }
        over.push_back({arg.value->text, arg.value->loc});
        continue;
      }
      values.push_back(e.eval(*arg.value, scope));
      if (values.back().kind == Val::Error)
        return false;
      if (!arg.over.text.empty())
        over.push_back(arg.over);
    }
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

  /// Position of dimension `dim` in x, or -1 after an error.
  int64_t find(nn::Tensor x, const Name &dim, StringRef what) {
    int64_t i = x.find(dim.text);
    if (i < 0) {
      std::vector<StringRef> names;
      for (nn::DimAttr d : x.getDims())
        names.push_back(d.getName());
      e.report.error(dim.loc, "{0} has no dimension {1}: {2}", what, dim.text, spell(x))
          .suggest(dim.text, names);
    }
    return i;
  }

  /// The dimension given as `key = D`, or the default.
  Name dimArg(StringRef key, StringRef standard) {
    auto it = named.find(key);
    if (it == named.end())
      return {standard, call.loc};
    if (it->second->value->kind != Expr::Ref) {
      fail(it->second->key.loc, "{0} must name a dimension", key);
      return {"", it->second->key.loc};
    }
    return {it->second->value->text, it->second->value->loc};
  }

  std::optional<double> numberArg(StringRef key, double standard) {
    auto it = named.find(key);
    if (it == named.end())
      return standard;
    Val v = e.eval(*it->second->value, scope);
    if (v.kind == Val::Error)
      return std::nullopt;
    if (v.kind == Val::Num)
      return v.number.real;
    fail(it->second->key.loc, "{0} must be a number", key);
    return std::nullopt;
  }

  NamedAttribute text(StringRef key, StringRef value) {
    return e.builder.getNamedAttr(key, e.builder.getStringAttr(value));
  }
  NamedAttribute real(StringRef key, double value) {
    return e.builder.getNamedAttr(key, e.builder.getF64FloatAttr(value));
  }
  bool wantFloat(unsigned i) {
    values[i] = e.asTensor(values[i], call.loc);
    return e.wantFloat(values[i], call.loc, "the operand of " + name.str());
  }

  //===--- forms ----------------------------------------------------------===//

  Val formUnary() {
    if (!read({}, 1, 1, false) || !wantFloat(0))
      return {};
    return e.apply(name, values[0].value, values[0].type(), call.loc);
  }

  Val reduce(StringRef function) {
    if (!wantFloat(0))
      return {};
    nn::Tensor x = values[0].type();
    SmallVector<StringRef> names;
    SmallVector<Attribute> attrs;
    for (const Name &dim : over) {
      if (find(x, dim, "the operand") < 0)
        return {};
      if (llvm::is_contained(names, dim.text))
        return fail(dim.loc, "given twice: {0}", dim.text);
      names.push_back(dim.text);
      attrs.push_back(e.builder.getStringAttr(dim.text));
    }
    return e.apply(function, values[0].value, x.without(names), call.loc,
                   e.builder.getNamedAttr("over", e.builder.getArrayAttr(attrs)));
  }

  Val formReduce() {
    if (!read({}, 1, 1, true))
      return {};
    if (over.empty())
      return fail(call.loc, "{0} needs dimensions: {0}(x over D)", name);
    return reduce(name);
  }

  Val formMaxMin() {
    if (!read({}, 1, 2, true))
      return {};
    if (values.size() == 1 && name == "max" && !over.empty())
      return reduce("max");
    if (values.size() != 2 || !over.empty())
      return fail(call.loc, "{0} takes two values{1}", name,
                  name == "max" ? ", or one `over` dimensions" : "");
    return e.binary(name == "max" ? "max2" : "min2", values[0], values[1], call.loc);
  }

  Val formSoftmax() {
    if (!read({}, 1, 1, true) || !wantFloat(0))
      return {};
    if (over.size() != 1)
      return fail(call.loc, "softmax needs one dimension: softmax(x over D)");
    if (find(values[0].type(), over[0], "the operand") < 0)
      return {};
    return e.apply(name, values[0].value, values[0].type(), call.loc, text("over", over[0].text));
  }

  Val formRope() {
    if (!read({"positions", "base"}, 1, 1, true) || !wantFloat(0))
      return {};
    if (over.size() > 1)
      return fail(over[1].loc, "rope turns one dimension, found also {0}", over[1].text);
    Name turned = over.empty() ? Name{"K", call.loc} : over[0];
    Name along = dimArg("positions", "S");
    std::optional<double> base = numberArg("base", 10000.0);
    if (!base || along.text.empty())
      return {};
    nn::Tensor x = values[0].type();
    int64_t i = find(x, turned, "the operand of rope");
    if (i < 0 || find(x, along, "the operand of rope") < 0)
      return {};
    if (turned.text == along.text)
      return fail(call.loc,
                  "rope turns one dimension by positions along another, found {0} for both",
                  turned.text);
    int64_t size = x.getDims()[i].getSize();
    if (size % 2)
      return fail(turned.loc, "rope needs an even size of {0}: {1} or {2}, found {3}", turned.text,
                  size - 1, size + 1, size);
    if (*base <= 0)
      return fail(call.loc, "base must be positive, found {0}", spell(Number::of(*base)));
    return e.apply(name, values[0].value, x, call.loc,
                   {text("over", turned.text), text("positions", along.text), real("base", *base)});
  }

  Val formAttention() {
    if (!read({"scale", "query", "key", "heads", "groups", "size"}, 3, 4, false))
      return {};
    nn::MaskAttr mask = nn::MaskAttr::getLeaf(e.context, "all");
    if (values.size() == 4) {
      if (values[3].kind != Val::Mask)
        return fail(call.loc, "the fourth value of attention must be a mask");
      mask = values[3].mask;
    }
    for (unsigned i = 0; i < 3; ++i)
      if (!wantFloat(i))
        return {};
    nn::Tensor q = values[0].type(), k = values[1].type(), v = values[2].type();
    Name query = dimArg("query", "S"), key = dimArg("key", "S"), heads = dimArg("heads", "H");
    Name groups = dimArg("groups", k.has("G") ? "G" : heads.text), size = dimArg("size", "K");
    for (const Name *n : {&query, &key, &heads, &groups, &size})
      if (n->text.empty())
        return {};
    if (k != v)
      return fail(call.loc, "attention needs k and v of one type, found {0} and {1}", spell(k),
                  spell(v));
    int64_t h = find(q, heads, "q of attention"), g = find(k, groups, "k of attention");
    int64_t sq = find(q, size, "q of attention"), sk = find(k, size, "k of attention");
    if (h < 0 || g < 0 || sq < 0 || sk < 0 || find(q, query, "q of attention") < 0 ||
        find(k, key, "k of attention") < 0)
      return {};
    if (q.getDims()[sq] != k.getDims()[sk])
      return fail(call.loc, "q and k of attention disagree on {0}: {1} and {2}", size.text,
                  spell(q), spell(k));
    if (sq + 1 != q.getRank() || sk + 1 != k.getRank())
      return fail(call.loc, "attention needs {0} as the last dimension, found {1} and {2}",
                  size.text, spell(q), spell(k));
    // Whatever is left is a batch, and the same for both.
    SmallVector<nn::DimAttr> rest(q.without({query.text, heads.text, size.text}).getDims());
    nn::Tensor other = k.without({key.text, groups.text, size.text});
    bool same =
        static_cast<int64_t>(rest.size()) == other.getRank() &&
        llvm::all_of(rest, [&](nn::DimAttr d) { return llvm::is_contained(other.getDims(), d); });
    if (!same || (query.text == key.text &&
                  q.getDims()[q.find(query.text)] != k.getDims()[k.find(key.text)]))
      return fail(call.loc, "q and k of attention disagree outside of heads: {0} and {1}", spell(q),
                  spell(k));
    int64_t nh = q.getDims()[h].getSize(), ng = k.getDims()[g].getSize();
    if (nh % ng) {
      auto cut = e.ranks.find(groups.text);
      int64_t ranks = cut == e.ranks.end() ? 1 : cut->second;
      auto error =
          e.report.error(call.loc,
                         "{0} = {1} key heads do not divide {2} = {3} query heads; the "
                         "nearest that do: {4}",
                         groups.text, ng, heads.text, nh, nearestDivisors(nh, ng, "and", ranks));
      if (auto it = scope.env->numbers.find(groups.text); it != scope.env->numbers.end())
        fixNumber(error, valueOf(it->second.loc), divisorsBeside(nh, ng, ranks));
      return {};
    }
    std::optional<double> scale =
        numberArg("scale", 1.0 / std::sqrt(static_cast<double>(q.getDims()[sq].getSize())));
    if (!scale)
      return {};
    auto spec = nn::AttentionAttr::get(e.context, query.text, key.text, heads.text, groups.text,
                                       e.builder.getF64FloatAttr(*scale), mask);
    return e.apply(name, {values[0].value, values[1].value, values[2].value}, q, call.loc,
                   {e.builder.getNamedAttr("spec", spec)});
  }

  Val formCrossEntropy() {
    if (!read({}, 2, 2, true) || !wantFloat(0))
      return {};
    if (!e.wantTensor(values[1], call.loc, "the targets of cross_entropy"))
      return {};
    nn::Tensor logits = values[0].type(), targets = values[1].type();
    if (!targets.getElementType().isInteger(32))
      return fail(call.loc, "the targets of cross_entropy must be i32 ids, found {0}",
                  spell(targets));
    nn::DimAttr classes;
    bool fits = logits.getRank() == targets.getRank() + 1;
    for (nn::DimAttr dim : logits.getDims())
      if (!llvm::is_contained(targets.getDims(), dim)) {
        fits &= !classes;
        classes = dim;
      }
    if (!fits || !classes || (!over.empty() && over[0].text != classes.getName()))
      return fail(call.loc,
                  "cross_entropy needs logits [.., V] and targets i32[..], found {0} and {1}",
                  spell(logits), spell(targets));
    Type scalar = nn::Tensor::get(e.context, {}, e.builder.getF64Type());
    if (e.tooLarge(call.loc))
      return {};
    if (!e.logitsOut && scope.model && !scope.loop) {
      lang::OutputOp::create(e.builder, e.report.at(call.loc), "logits", values[0].value);
      e.logitsOut = true;
    }
    auto op = lang::ApplyOp::create(e.builder, e.report.at(call.loc), TypeRange{scalar, scalar},
                                    name, ValueRange{values[0].value, values[1].value});
    op->setAttr("over", e.builder.getStringAttr(classes.getName()));
    Val v;
    v.kind = Val::Loss;
    v.value = op.getResult(0);
    v.count = op.getResult(1);
    return v;
  }

  Val formDropout() {
    if (!read({}, 2, 2, false) || !wantFloat(0))
      return {};
    if (values[1].kind != Val::Num || values[1].number.real < 0 || values[1].number.real >= 1)
      return fail(call.loc, "the rate of dropout must be a number from 0 to below 1{0}",
                  values[1].kind == Val::Num ? ", found " + spell(values[1].number) : "");
    if (values[1].number.real == 0)
      return values[0];
    return e.apply(name, values[0].value, values[0].type(), call.loc,
                   {real("rate", values[1].number.real),
                    e.builder.getNamedAttr("site", e.builder.getI64IntegerAttr(e.sites++))});
  }

  Val formPositions() {
    if (call.args.size() != 1 || call.args[0].value->kind != Expr::Ref ||
        !call.args[0].key.text.empty() || !call.args[0].over.text.empty())
      return fail(call.loc, "positions takes the name of one dimension: positions(S)");
    DimDecl decl{{call.args[0].value->text, call.args[0].value->loc}, nullptr};
    std::optional<nn::DimAttr> dim = e.dim(decl, *scope.env);
    if (!dim)
      return {};
    return e.apply(name, {}, nn::Tensor::get(e.context, *dim, e.builder.getI32Type()), call.loc,
                   text("dim", dim->getName()));
  }

  Val formShift() {
    if (!read({}, 2, 2, false))
      return {};
    auto it = values[0].kind == Val::Tensor ? e.inputs.find(values[0].value.getAsOpaquePointer())
                                            : e.inputs.end();
    if (it == e.inputs.end())
      return fail(call.loc, "shift takes an input of the model");
    constexpr int64_t most = 1 << 20;
    if (values[1].kind != Val::Num || !values[1].number.integer || values[1].number.whole < 0 ||
        values[1].number.whole > most - it->second.second)
      return fail(call.loc, "shift takes a whole number of positions from 0 to {0}", most);
    auto [source, by] = it->second;
    by += values[1].number.whole;
    if (e.tooLarge(call.loc))
      return {};
    Val v = values[0];
    v.value = lang::InputOp::create(e.builder, e.report.at(call.loc), v.type(), source, by, 0);
    e.inputs[v.value.getAsOpaquePointer()] = {source, by};
    return v;
  }

  Val formCast() {
    if (!read({}, 1, 1, false))
      return {};
    values[0] = e.asTensor(values[0], call.loc);
    if (!e.wantTensor(values[0], call.loc, "the operand of " + name.str()))
      return {};
    Type to = e.builder.getF32Type();
    return e.apply("cast", values[0].value, values[0].type().withElement(to), call.loc,
                   e.builder.getNamedAttr("to", TypeAttr::get(to)));
  }

  Val formMaskNumber() {
    if (!read({}, 1, 1, false))
      return {};
    if (values[0].kind != Val::Num || !values[0].number.integer || values[0].number.whole < 1)
      return fail(call.loc, "{0} takes a whole number of positions from 1", name);
    Val v;
    v.kind = Val::Mask;
    v.mask = nn::MaskAttr::getLeaf(e.context, name, values[0].number.whole);
    return v;
  }

  Val notBuilt(Feature feature) {
    e.refuse(call.loc, feature);
    return {};
  }
  Val formMaskOfData() { return notBuilt(Feature::MaskOfData); }
  Val formExperts() { return notBuilt(Feature::Experts); }
};
} // namespace tplan::parse

namespace {
struct Row {
  StringRef name, arguments, result, meaning;
  Val (Builtins::*form)();
};
const Row kRows[] = {
#define BUILTIN(name, rule, arguments, result, meaning)                                            \
  {name, arguments, result, meaning, &Builtins::form##rule},
#include "lib/Parse/Builtins.def"
};
} // namespace

bool Elaborator::isBuiltin(StringRef name) const {
  return llvm::any_of(kRows, [&](const Row &row) { return row.name == name; });
}

std::vector<StringRef> Elaborator::builtinNames() {
  std::vector<StringRef> names;
  for (const Row &row : kRows)
    names.push_back(row.name);
  return names;
}

void tplan::parse::printBuiltins(llvm::raw_ostream &os) {
  for (const Row &row : kRows)
    os << "| `" << row.name << "(" << row.arguments << ")` | " << row.result << " | " << row.meaning
       << " |\n";
}

Val Elaborator::callBuiltin(const Expr &call, Scope &scope) {
  for (const Row &row : kRows)
    if (row.name == call.lhs->text) {
      Builtins rules{*this, call, scope, row.name, {}, {}, {}};
      return (rules.*row.form)();
    }
  return {};
}

//===----------------------------------------------------------------------===//
// Losses
//===----------------------------------------------------------------------===//

/// `loss name = factor * term`, where term is a cross_entropy or a sum or mean
/// over tokens: a mean is its sum and the number of terms, so that microbatches add.
void Elaborator::evalLoss(const Stmt &stmt, Scope &scope) {
  const Expr *term = stmt.values.front();
  double factor = 1;
  std::function<bool(const Expr &)> isNumber = [&](const Expr &e) {
    return e.kind == Expr::Literal || (e.kind == Expr::Unary && isNumber(*e.lhs)) ||
           (e.kind == Expr::Ref && !findVariable(e.text, scope) && scope.env->own.count(e.text) &&
            scope.env->numbers.count(e.text));
  };
  while (term->kind == Expr::Unary ||
         (term->kind == Expr::Binary && (term->text == "*" || term->text == "/"))) {
    if (term->kind == Expr::Unary) {
      factor = -factor;
      term = term->lhs;
      continue;
    }
    const Expr *other = isNumber(*term->lhs) && term->text == "*" ? term->lhs
                        : isNumber(*term->rhs)                    ? term->rhs
                                                                  : nullptr;
    if (!other)
      break;
    Val v = eval(*other, scope);
    if (term->text == "/" && v.number.real == 0) {
      report.error(term->loc, "division by zero");
      return;
    }
    factor = term->text == "*" ? factor * v.number.real : factor / v.number.real;
    term = other == term->lhs ? term->rhs : term->lhs;
  }
  const Name &name = stmt.names.front();
  if (!declareNumber(name))
    return;
  bool isCall = term->kind == Expr::Call && term->lhs->kind == Expr::Ref;
  bool isMean = isCall && term->lhs->text == "mean", isSum = isCall && term->lhs->text == "sum";
  if ((isMean || isSum) && !findMember(term->lhs->text, scope)) {
    Expr sum = *term, callee = *term->lhs;
    callee.text = "sum";
    sum.lhs = &callee;
    Val v = eval(sum, scope);
    if (v.kind == Val::Error)
      return;
    if (!v.type().isScalar()) {
      report.error(term->loc, "a loss must be a number, found {0}: reduce over its dimensions too",
                   spell(v.type()));
      return;
    }
    auto x = cast<nn::Tensor>(v.value.getDefiningOp()->getOperand(0).getType());
    if (!x.has("B")) {
      refuse(term->loc, Feature::PlainLoss);
      return;
    }
    lang::LossOp::create(builder, report.at(name.loc), builder.getStringAttr(name.text),
                         builder.getF64FloatAttr(factor), v.value, Value(),
                         builder.getI64IntegerAttr(isMean ? x.getNumElements() : 1));
    return;
  }
  Val v = eval(*term, scope);
  if (v.kind == Val::Error)
    return;
  if (v.kind != Val::Loss) {
    report.error(term->loc, "a loss is cross_entropy(..), or mean(.. over B, ..) or sum(.. over B, "
                            "..), times a number");
    return;
  }
  lang::LossOp::create(builder, report.at(name.loc), builder.getStringAttr(name.text),
                       builder.getF64FloatAttr(factor * v.factor), v.value, v.count,
                       builder.getI64IntegerAttr(0));
}
