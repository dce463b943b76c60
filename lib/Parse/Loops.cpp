//===- Loops.cpp - `for b in blocks { .. }` --------------------------------===//
//
// One decision: what a loop carries is what its body assigns and the model has
// before it; all else that the body reads is the same for each layer.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Loops.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Operators.h"
#include "lib/Parse/Spelling.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

namespace {

class Loop {
public:
  Loop(ModelBuilder &model, const Stmt &stmt, Scope &scope,
       const Layers::ElaborateBody &elaborateBody)
      : model(model), report(model.report), stmt(stmt), scope(scope), elaborateBody(elaborateBody) {
  }

  void elaborate();

private:
  Member *takeList();
  bool readNames();
  bool addCarried(StringRef name);
  void addInvariant(StringRef name);
  lang::ForOp createOp(const Member &list);
  bool fillRegion(Region &region, const LayerRef &layer);
  void returnCarried(Block &block, Scope &inner);

  ModelBuilder &model;
  Report &report;
  const Stmt &stmt;
  Scope &scope; // around the loop
  const Layers::ElaborateBody &elaborateBody;

  SmallVector<StringRef> carried, invariant; // in the order of operands
  SmallVector<Type> types;
  SmallVector<Location> locs;
};

} // namespace

//===----------------------------------------------------------------------===//
// The list
//===----------------------------------------------------------------------===//

/// The list that the loop runs over, which now has run; null after an error.
Member *Loop::takeList() {
  Member *list = scope.findMember(stmt.list.text);
  if (!scope.model) {
    refuse(report, stmt.loc, Feature::LoopInLayer);
    return nullptr;
  }
  if (!list || list->kind != Member::List) {
    std::vector<StringRef> lists;
    for (auto &[name, member] : scope.members)
      if (member.kind == Member::List)
        lists.push_back(name);
    auto error = report.error(stmt.list.loc, "not a list of layers: {0}", stmt.list.text);
    error.suggest(stmt.list.text, lists);
    if (list)
      error.note(list->name.loc, "{0} is declared here", stmt.list.text);
    return nullptr;
  }
  if (list->called) {
    report.error(stmt.loc, "the layers of a list run once: {0}", stmt.list.text)
        .note(list->calledAt, "they run here");
    return nullptr;
  }
  list->called = true;
  list->calledAt = stmt.loc;
  return list;
}

//===----------------------------------------------------------------------===//
// Names
//===----------------------------------------------------------------------===//

/// Names that `expr` reads, in order.
static void reads(const Expr &expr, SmallVectorImpl<StringRef> &names) {
  if (expr.kind == Expr::Ref)
    names.push_back(expr.text);
  if (expr.lhs)
    reads(*expr.lhs, names);
  if (expr.rhs)
    reads(*expr.rhs, names);
  for (const Arg &arg : expr.args)
    reads(*arg.value, names);
}

/// A name that the body assigns; it is local to the loop where the name is not known before it.
bool Loop::addCarried(StringRef name) {
  auto it = scope.variables.find(name);
  if (it == scope.variables.end() || llvm::is_contained(carried, name))
    return true;
  const Val &val = it->second.val;
  if (val.kind == Val::Error || !wantTensor(report, val, stmt.loc, "a value that the loop changes"))
    return false;
  carried.push_back(name);
  return true;
}

void Loop::addInvariant(StringRef name) {
  auto it = scope.variables.find(name);
  if (it != scope.variables.end() && it->second.val.kind == Val::Tensor &&
      !llvm::is_contained(carried, name) && !llvm::is_contained(invariant, name))
    invariant.push_back(name);
}

/// What goes through the loop; false after an error.
bool Loop::readNames() {
  SmallVector<StringRef> assigned, read;
  for (const Stmt *inner : stmt.body) {
    if (inner->kind != Stmt::Assign && inner->kind != Stmt::Loss) {
      report.error(inner->loc, "only assignments and losses stand in a `for`");
      return false;
    }
    for (const Expr *value : inner->values)
      reads(*value, read);
    if (inner->kind == Stmt::Assign)
      for (const Name &name : inner->names)
        assigned.push_back(name.text);
  }
  if (!llvm::all_of(assigned, [&](StringRef name) { return addCarried(name); }))
    return false;
  for (StringRef name : read)
    addInvariant(name);
  if (!carried.empty())
    return true;
  report.error(stmt.loc, "the loop changes no value: assign a name that is defined before it");
  return false;
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

lang::ForOp Loop::createOp(const Member &list) {
  OpBuilder &builder = model.builder;
  SmallVector<Value> carriedValues, invariantValues;
  for (auto [names, values] : {std::pair(&carried, &carriedValues), {&invariant, &invariantValues}})
    for (StringRef name : *names) {
      const Variable &variable = scope.variables[name];
      values->push_back(variable.val.value);
      types.push_back(variable.val.value.getType());
      locs.push_back(report.at(variable.loc));
    }
  SmallVector<Attribute> runs;
  for (const std::vector<int64_t> &run : list.runs)
    runs.push_back(builder.getI64ArrayAttr(run));
  return lang::ForOp::create(
      builder, report.at(stmt.loc), ArrayRef(types).take_front(carried.size()), stmt.list.text,
      builder.getArrayAttr(runs), carriedValues, invariantValues, list.kinds.size());
}

/// The body for one kind of layer; false if the program is too large.
bool Loop::fillRegion(Region &region, const LayerRef &layer) {
  OpBuilder::InsertionGuard guard(model.builder);
  Block *block = model.builder.createBlock(&region, {}, types, locs);
  std::vector<WeightInfo> weights;
  Scope inner;
  inner.env = scope.env;
  inner.outer = &scope;
  inner.loop = inner.model = true;
  inner.where = scope.where;
  inner.weights = &weights;
  unsigned position = 0;
  for (StringRef name : llvm::concat<StringRef>(carried, invariant)) {
    Variable variable = scope.variables[name];
    variable.val.value = block->getArgument(position++);
    inner.variables[name] = variable;
  }
  const Name &element = stmt.names.front();
  Member &member = inner.members[element.text];
  member.kind = Member::Layer;
  member.name = element;
  member.layer = layer;
  elaborateBody(stmt.body, inner);
  if (model.gaveUp)
    return false;
  warnUncalled(report, inner);
  returnCarried(*block, inner);
  return true;
}

/// A value with a mistake stays as it was, so that the region ends as it should.
void Loop::returnCarried(Block &block, Scope &inner) {
  SmallVector<Value> results;
  for (auto [name, type] : llvm::zip(carried, types)) {
    const Val &val = inner.variables[name].val;
    if (val.kind == Val::Error ||
        !wantTensor(report, val, stmt.loc, "a value that the loop changes")) {
      results.push_back(block.getArgument(results.size()));
      continue;
    }
    results.push_back(val.value);
    if (val.value.getType() != type)
      report.error(stmt.loc, "{0} changes its type in the loop, from {1} to {2}", name,
                   spell(cast<nn::Tensor>(type)), spell(val.type()));
  }
  lang::ReturnOp::create(model.builder, report.at(stmt.loc), results);
}

void Loop::elaborate() {
  Member *list = takeList();
  if (!list)
    return;
  const Name &element = stmt.names.front();
  if (scope.variables.count(element.text) || scope.members.count(element.text)) {
    declare(report, element, scope);
    return;
  }
  if (!readNames() || list->kinds.empty()) // without kinds its declaration failed
    return;
  lang::ForOp op = createOp(*list);
  unsigned before = report.errors();
  for (auto [region, kind] : llvm::zip(op.getKinds(), list->kinds))
    if (!fillRegion(region, kind))
      return;
  for (auto [i, name] : llvm::enumerate(carried)) {
    Val &val = scope.variables[name].val;
    val.value = op.getResult(i);
    if (report.errors() != before)
      val = Val();
  }
}

void tplan::parse::elaborateLoop(ModelBuilder &model, const Stmt &stmt, Scope &scope,
                                 const Layers::ElaborateBody &elaborateBody) {
  Loop(model, stmt, scope, elaborateBody).elaborate();
}
