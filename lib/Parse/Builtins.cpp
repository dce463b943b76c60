//===- Builtins.cpp - calls of built-in functions --------------------------===//
//
// The rules of the forms in Builtins.def: operands, attributes and result shapes.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Builtins.h"
#include "dialects/tplan/Dimensions.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Operators.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

struct Forms : BuiltinCall {
  Val formUnary() {
    if (!read({}, 1, 1, false) || !wantFloat(0))
      return {};
    return model.apply(name, values[0].value, values[0].type(), call.loc);
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
      attrs.push_back(model.builder.getStringAttr(dim.text));
    }
    return model.apply(function, values[0].value, x.without(names), call.loc,
                       model.builder.getNamedAttr("over", model.builder.getArrayAttr(attrs)));
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
    return binary(model, name == "max" ? "max2" : "min2", values[0], values[1], call.loc);
  }

  Val formSoftmax() {
    if (!read({}, 1, 1, true) || !wantFloat(0))
      return {};
    if (over.size() != 1)
      return fail(call.loc, "softmax needs one dimension: softmax(x over D)");
    if (find(values[0].type(), over[0], "the operand") < 0)
      return {};
    return model.apply(name, values[0].value, values[0].type(), call.loc,
                       text("over", over[0].text));
  }

  Val formRope() {
    if (!read({"positions", "base"}, 1, 1, true) || !wantFloat(0))
      return {};
    if (over.size() > 1)
      return fail(over[1].loc, "rope turns one dimension, found also {0}", over[1].text);
    Name turned = over.empty() ? Name{lang::dimension::headSize, call.loc} : over[0];
    Name along = dimArg("positions", lang::dimension::sequence);
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
    return model.apply(
        name, values[0].value, x, call.loc,
        {text("over", turned.text), text("positions", along.text), real("base", *base)});
  }

  //===--- attention ------------------------------------------------------===//

  Val formAttention() {
    if (!read({"scale", "query", "key", "heads", "groups", "size"}, 3, 4, false))
      return {};
    nn::MaskAttr mask = nn::MaskAttr::getLeaf(model.context, nn::MaskKind::All);
    if (values.size() == 4) {
      if (values[3].kind != Val::Mask)
        return fail(call.loc, "the fourth value of attention must be a mask");
      mask = values[3].mask;
    }
    for (unsigned i = 0; i < 3; ++i)
      if (!wantFloat(i))
        return {};
    nn::Tensor q = values[0].type(), k = values[1].type(), v = values[2].type();
    AttentionDims dims = attentionDims(k);
    for (const Name *dim : {&dims.query, &dims.key, &dims.heads, &dims.groups, &dims.size})
      if (dim->text.empty())
        return {};
    if (k != v)
      return fail(call.loc, "attention needs k and v of one type, found {0} and {1}", spell(k),
                  spell(v));
    if (!checkAttention(q, k, dims) ||
        !checkGroups(sizeOf(q, dims.heads), sizeOf(k, dims.groups), dims))
      return {};
    std::optional<double> scale =
        numberArg("scale", 1.0 / std::sqrt(static_cast<double>(sizeOf(q, dims.size))));
    if (!scale)
      return {};
    auto spec =
        nn::AttentionAttr::get(model.context, dims.query.text, dims.key.text, dims.heads.text,
                               dims.groups.text, model.builder.getF64FloatAttr(*scale), mask);
    return model.apply(name, {values[0].value, values[1].value, values[2].value}, q, call.loc,
                       {model.builder.getNamedAttr("spec", spec)});
  }

  /// What each dimension of q and k is called, by the arguments or as usual.
  struct AttentionDims {
    Name query, key, heads, groups, size;
  };
  AttentionDims attentionDims(nn::Tensor k) {
    Name query = dimArg("query", lang::dimension::sequence),
         key = dimArg("key", lang::dimension::sequence);
    Name heads = dimArg("heads", lang::dimension::heads);
    StringRef usual =
        k.has(lang::dimension::groups) ? StringRef(lang::dimension::groups) : heads.text;
    Name groups = dimArg("groups", usual), size = dimArg("size", lang::dimension::headSize);
    return {query, key, heads, groups, size};
  }

  static int64_t sizeOf(nn::Tensor x, const Name &dim) {
    return x.getDims()[x.find(dim.text)].getSize();
  }

  /// False after an error: q and k have their dimensions, the last of them is that of a head, and
  /// whatever is left is a batch, and the same for both.
  bool checkAttention(nn::Tensor q, nn::Tensor k, const AttentionDims &dims) {
    int64_t h = find(q, dims.heads, "q of attention"), g = find(k, dims.groups, "k of attention");
    int64_t sq = find(q, dims.size, "q of attention"), sk = find(k, dims.size, "k of attention");
    if (h < 0 || g < 0 || sq < 0 || sk < 0 || find(q, dims.query, "q of attention") < 0 ||
        find(k, dims.key, "k of attention") < 0)
      return false;
    if (q.getDims()[sq] != k.getDims()[sk]) {
      fail(call.loc, "q and k of attention disagree on {0}: {1} and {2}", dims.size.text, spell(q),
           spell(k));
      return false;
    }
    if (sq + 1 != q.getRank() || sk + 1 != k.getRank()) {
      fail(call.loc, "attention needs {0} as the last dimension, found {1} and {2}", dims.size.text,
           spell(q), spell(k));
      return false;
    }
    SmallVector<nn::DimAttr> rest(
        q.without({dims.query.text, dims.heads.text, dims.size.text}).getDims());
    nn::Tensor other = k.without({dims.key.text, dims.groups.text, dims.size.text});
    bool same =
        static_cast<int64_t>(rest.size()) == other.getRank() &&
        llvm::all_of(rest, [&](nn::DimAttr d) { return llvm::is_contained(other.getDims(), d); });
    if (same && (dims.query.text != dims.key.text ||
                 q.getDims()[q.find(dims.query.text)] == k.getDims()[k.find(dims.key.text)]))
      return true;
    fail(call.loc, "q and k of attention disagree outside of heads: {0} and {1}", spell(q),
         spell(k));
    return false;
  }

  /// Each head of k serves equally many of q.
  bool checkGroups(int64_t heads, int64_t groups, const AttentionDims &dims) {
    if (heads % groups == 0)
      return true;
    auto cut = model.proposals.ranks.find(dims.groups.text);
    int64_t ranks = cut == model.proposals.ranks.end() ? 1 : cut->second;
    auto error = model.report.error(call.loc,
                                    "{0} = {1} key heads do not divide {2} = {3} query heads; the "
                                    "nearest that do: {4}",
                                    dims.groups.text, groups, dims.heads.text, heads,
                                    nearestDivisors(heads, groups, "and", ranks));
    if (auto it = scope.env->numbers.find(dims.groups.text); it != scope.env->numbers.end())
      fixNumber(error, valueOf(it->second.loc), divisorsBeside(heads, groups, ranks));
    return false;
  }

  //===--- others ---------------------------------------------------------===//

  Val formCrossEntropy() {
    if (!read({}, 2, 2, true) || !wantFloat(0))
      return {};
    if (!wantTensor(model.report, values[1], call.loc, "the targets of cross_entropy"))
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
    Type scalar = nn::Tensor::get(model.context, {}, model.builder.getF64Type());
    if (model.tooLarge(call.loc))
      return {};
    if (!model.logitsOut && scope.model && !scope.loop) {
      lang::OutputOp::create(model.builder, model.report.at(call.loc), "logits", values[0].value);
      model.logitsOut = true;
    }
    auto op =
        lang::ApplyOp::create(model.builder, model.report.at(call.loc), TypeRange{scalar, scalar},
                              name, ValueRange{values[0].value, values[1].value});
    op->setAttr("over", model.builder.getStringAttr(classes.getName()));
    return {.kind = Val::Loss, .value = op.getResult(0), .count = op.getResult(1)};
  }

  Val formDropout() {
    if (!read({}, 2, 2, false) || !wantFloat(0))
      return {};
    if (values[1].kind != Val::Num || values[1].number.real < 0 || values[1].number.real >= 1)
      return fail(call.loc, "the rate of dropout must be a number from 0 to below 1{0}",
                  values[1].kind == Val::Num ? ", found " + spell(values[1].number) : "");
    if (values[1].number.real == 0)
      return values[0];
    return model.apply(
        name, values[0].value, values[0].type(), call.loc,
        {real("rate", values[1].number.real),
         model.builder.getNamedAttr("site", model.builder.getI64IntegerAttr(model.dropouts++))});
  }

  Val formPositions() {
    if (call.args.size() != 1 || call.args[0].value->kind != Expr::Ref ||
        !call.args[0].key.text.empty() || !call.args[0].over.text.empty())
      return fail(call.loc, "positions takes the name of one dimension: positions(S)");
    DimDecl decl{{call.args[0].value->text, call.args[0].value->loc}, nullptr};
    std::optional<nn::DimAttr> along = dim(model.report, decl, *scope.env);
    if (!along)
      return {};
    nn::Tensor type = nn::Tensor::get(model.context, *along, model.builder.getI32Type());
    return model.apply(name, {}, type, call.loc, text("dim", along->getName()));
  }

  Val formShift() {
    if (!read({}, 2, 2, false))
      return {};
    auto it = values[0].kind == Val::Tensor
                  ? model.inputs.find(values[0].value.getAsOpaquePointer())
                  : model.inputs.end();
    if (it == model.inputs.end())
      return fail(call.loc, "shift takes an input of the model");
    constexpr int64_t most = 1 << 20;
    if (values[1].kind != Val::Num || !values[1].number.integer || values[1].number.whole < 0 ||
        values[1].number.whole > most - it->second.shift)
      return fail(call.loc, "shift takes a whole number of positions from 0 to {0}", most);
    if (model.tooLarge(call.loc))
      return {};
    ModelBuilder::Input input = it->second;
    return model.input(input.source, values[0].type(), input.shift + values[1].number.whole,
                       call.loc);
  }

  Val formCast() {
    if (!read({}, 1, 1, false))
      return {};
    values[0] = model.asTensor(values[0], call.loc);
    if (!wantTensor(model.report, values[0], call.loc, "the operand of " + name.str()))
      return {};
    Type to = model.builder.getF32Type();
    return model.apply("cast", values[0].value, values[0].type().withElement(to), call.loc,
                       model.builder.getNamedAttr("to", TypeAttr::get(to)));
  }

  Val formMaskNumber() {
    if (!read({}, 1, 1, false))
      return {};
    if (values[0].kind != Val::Num || !values[0].number.integer || values[0].number.whole < 1)
      return fail(call.loc, "{0} takes a whole number of positions from 1", name);
    return Val::of(
        nn::MaskAttr::getLeaf(model.context, *nn::symbolizeMaskKind(name), values[0].number.whole));
  }

  Val notBuilt(Feature feature) {
    refuse(model.report, call.loc, feature);
    return {};
  }
  Val formMaskOfData() { return notBuilt(Feature::MaskOfData); }
  Val formExperts() { return notBuilt(Feature::Experts); }
};

struct Row {
  StringRef name, arguments, result, meaning;
  Val (Forms::*form)();
};
const Row kRows[] = {
#define BUILTIN(name, rule, arguments, result, meaning)                                            \
  {name, arguments, result, meaning, &Forms::form##rule},
#include "lib/Parse/Builtins.def"
};
} // namespace

bool tplan::parse::isBuiltin(StringRef name) {
  return llvm::any_of(kRows, [&](const Row &row) { return row.name == name; });
}

std::vector<StringRef> tplan::parse::builtinNames() {
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

Val tplan::parse::callBuiltin(ModelBuilder &model, const Expr &call, Scope &scope,
                              Evaluate evaluate) {
  for (const Row &row : kRows)
    if (row.name == call.lhs->text) {
      Forms forms{{model, call, scope, evaluate, row.name}};
      return (forms.*row.form)();
    }
  return {};
}
