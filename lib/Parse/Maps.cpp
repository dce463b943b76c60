//===- Maps.cpp - linear maps and tables, applied --------------------------===//
#include "lib/Parse/Maps.h"
#include "lib/Parse/Operators.h"
#include "lib/Parse/Sizes.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

/// x without `from`, then `to`: the result of a map from names to names.
static std::optional<nn::Tensor> mapped(ModelBuilder &model, nn::Tensor x,
                                        ArrayRef<nn::DimAttr> from, ArrayRef<nn::DimAttr> to,
                                        const Member &member, SMLoc loc) {
  SmallVector<StringRef> gone;
  for (nn::DimAttr dim : from) {
    int64_t i = x.find(dim.getName());
    if (i < 0 || x.getDims()[i] != dim) {
      model.report
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
      model.report
          .error(loc, "{0} yields {1}, which its operand already has: {2}", member.name.text,
                 dim.getName(), spell(x))
          .note(member.name.loc, "{0} is declared here", member.name.text);
      return std::nullopt;
    }
    dims.push_back(dim);
  }
  return tensor(model.report, dims, x.getElementType(), loc);
}

Val tplan::parse::applyLinear(ModelBuilder &model, const Member &linear, const Val &x, SMLoc loc) {
  if (!wantFloat(model.report, x, loc, "the operand of " + linear.name.text.str()) ||
      !linear.weight)
    return {};
  std::optional<nn::Tensor> type = mapped(model, x.type(), linear.from, linear.to, linear, loc);
  if (!type)
    return {};
  Val v = model.apply("contract", {x.value, linear.weight}, *type, loc);
  if (v.kind != Val::Error && linear.bias)
    v = model.apply("add", {v.value, linear.bias}, *type, loc);
  return v;
}

Val tplan::parse::applyTable(ModelBuilder &model, const Member &table, const Val &ids, SMLoc loc) {
  if (!wantTensor(model.report, ids, loc, "the operand of " + table.name.text.str()) ||
      !table.weight)
    return {};
  nn::DimAttr rows = table.from.front();
  if (!ids.type().getElementType().isInteger(32)) {
    model.report
        .error(loc, "{0} looks up i32 ids, found {1}; write {0}.T(x) for the map backwards",
               table.name.text, spell(ids.type()))
        .note(table.name.loc, "{0} is declared here", table.name.text);
    return {};
  }
  // Learned positions: the largest id is known here.
  if (auto op = ids.value.getDefiningOp<lang::ApplyOp>(); op && op.getFunction() == "positions") {
    nn::DimAttr along = ids.type().getDims().front();
    if (along.getSize() > rows.getSize()) {
      model.report
          .error(loc, "{0} has {1} rows, fewer than the positions along {2}: {3}", table.name.text,
                 rows.getSize(), along.getName(), along.getSize())
          .note(table.name.loc, "{0} is declared here", table.name.text);
      return {};
    }
  }
  std::optional<nn::Tensor> type =
      mapped(model, ids.type().withElement(model.builder.getF32Type()), {}, table.to, table, loc);
  if (!type)
    return {};
  return model.apply(
      "lookup", {table.weight, ids.value}, *type, loc,
      model.builder.getNamedAttr("dim", model.builder.getStringAttr(rows.getName())));
}

Val tplan::parse::applyBackwards(ModelBuilder &model, Member &member, const Val &x, SMLoc loc) {
  if (member.kind != Member::Linear && member.kind != Member::Table) {
    model.report.error(loc, "only a linear or a table has a map backwards: {0}.T", member.name.text)
        .note(member.name.loc, "{0} is declared here", member.name.text);
    return {};
  }
  member.called = true;
  if (!wantFloat(model.report, x, loc, "the operand of " + member.name.text.str() + ".T") ||
      !member.weight)
    return {};
  std::optional<nn::Tensor> type = mapped(model, x.type(), member.to, member.from, member, loc);
  if (!type)
    return {};
  return model.apply("contract", {x.value, member.weight}, *type, loc);
}
