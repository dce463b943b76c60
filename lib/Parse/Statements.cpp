//===- Statements.cpp - bodies of layers and models -------------------------===//
#include "lib/Parse/Elaborate.h"
#include "lib/Parse/Foreign.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

/// Deviation of the initial values of linears and tables: GPT-2's.
static constexpr double kInitDeviation = 0.02;

/// True if `name` is free in this scope; else an error.
bool Elaborator::declare(const Name &name, Scope &scope) {
  SMLoc earlier;
  if (auto it = scope.variables.find(name.text); it != scope.variables.end())
    earlier = it->second.loc;
  else if (auto it = scope.members.find(name.text); it != scope.members.end())
    earlier = it->second.name.loc;
  else if (auto it = scope.env->own.find(name.text); it != scope.env->own.end())
    earlier = it->second;
  else
    return true;
  report.error(name.loc, "declared twice: {0}", name.text)
      .note(earlier, "{0} is declared here", name.text);
  return false;
}

//===----------------------------------------------------------------------===//
// Weights
//===----------------------------------------------------------------------===//

/// `= ones`, `= zeros`, `= normal(0.01)` or `= 0.5`; else the default given.
nn::InitAttr Elaborator::init(const Stmt &stmt, StringRef kind, double value, Scope &scope) {
  auto attr = [&](StringRef kind, double value) {
    return nn::InitAttr::get(context, kind, builder.getF64FloatAttr(value));
  };
  if (stmt.values.empty())
    return attr(kind, value);
  const Expr &e = *stmt.values.front();
  if (e.kind == Expr::Ref && (e.text == "ones" || e.text == "zeros"))
    return attr("constant", e.text == "ones");
  if (e.kind == Expr::Call && e.lhs->kind == Expr::Ref) {
    if (e.lhs->text != "normal" || e.args.size() != 1 || !e.args[0].key.text.empty() ||
        !e.args[0].over.text.empty()) {
      report.error(e.loc,
                   "unknown initial value: {0}; known are ones, zeros, normal(deviation) "
                   "and a number",
                   e.lhs->text);
      return attr(kind, value);
    }
    std::optional<Number> n = number(*e.args[0].value, *scope.env);
    if (n && n->real < 0)
      report.error(e.loc, "a deviation cannot be negative: {0}", spell(*n));
    return attr("normal", n ? n->real : value);
  }
  std::optional<Number> n = number(e, *scope.env);
  return attr("constant", n ? n->real : value);
}

Value Elaborator::weight(StringRef name, StringRef kind, nn::InitAttr init, nn::Tensor type,
                         Scope &scope, SMLoc loc) {
  if (tooLarge(loc))
    return {};
  if (type.has("B")) {
    report.error(loc, "a weight is the same for all sequences of a batch: drop B, found {0}",
                 spell(type));
    return {};
  }
  WeightInfo info{name.str(), type, kind};
  addWeights(info, "", scope, loc);
  return lang::WeightOp::create(builder, report.at(loc), type, name, kind, init);
}

/// `linear q : D -> K, bias = True`: the dimension of that name, or null.
static const DimDecl *biasAsArgument(const Stmt &stmt) {
  bool isLast = !stmt.to.empty() && stmt.to.back().name.text == "bias" && stmt.to.size() > 1;
  return isLast && !stmt.values.empty() ? &stmt.to.back() : nullptr;
}

void Elaborator::declareLinear(const Stmt &stmt, Scope &scope) {
  if (const DimDecl *bias = biasAsArgument(stmt)) {
    StringRef value = stmt.values.front()->text;
    const char *comma = bias->name.loc.getPointer();
    while (*comma != ',') // it is not the first
      --comma;
    report.error(bias->name.loc, "a bias is no argument: write `with bias`, or nothing")
        .fix({{StringRef(comma, value.end() - comma), value == "False" ? "" : " with bias"}});
    return;
  }
  auto from = dims(stmt.from, *scope.env), to = dims(stmt.to, *scope.env);
  for (const DimDecl &out : stmt.to)
    for (const DimDecl &in : stmt.from)
      if (in.name.text == out.name.text) {
        report
            .error(out.name.loc, "a linear maps to other names than it reads, found in both: {0}",
                   out.name.text)
            .note(in.name.loc, "{0} is read here", in.name.text);
        return;
      }
  nn::InitAttr initial = init(stmt, "normal", kInitDeviation, scope);
  for (const Name &name : stmt.names) {
    if (!declare(name, scope))
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
    std::optional<nn::Tensor> type = tensor(all, builder.getF32Type(), name.loc);
    if (!type)
      continue;
    member.weight =
        weight((name.text + ".weight").str(), "linear", initial, *type, scope, name.loc);
    if (stmt.bias)
      member.bias = weight((name.text + ".bias").str(), "bias",
                           nn::InitAttr::get(context, "constant", builder.getF64FloatAttr(0)),
                           nn::Tensor::get(context, *to, builder.getF32Type()), scope, name.loc);
  }
}

void Elaborator::declareTable(const Stmt &stmt, Scope &scope) {
  if (stmt.from.size() != 1) {
    report.error(stmt.loc, "a table is looked up by one dimension, found {0}", stmt.from.size());
    return;
  }
  auto from = dims(stmt.from, *scope.env), to = dims(stmt.to, *scope.env);
  nn::InitAttr initial = init(stmt, "normal", kInitDeviation, scope);
  for (const Name &name : stmt.names) {
    if (!declare(name, scope))
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
    if (std::optional<nn::Tensor> type = tensor(all, builder.getF32Type(), name.loc))
      member.weight =
          weight((name.text + ".weight").str(), "embedding", initial, *type, scope, name.loc);
  }
}

/// `weight` and `state`: a state starts at zero and is not trained.
void Elaborator::declareWeight(const Stmt &stmt, Scope &scope) {
  auto shape = dims(stmt.to, *scope.env);
  bool isState = stmt.kind == Stmt::State;
  nn::InitAttr initial =
      isState ? init(stmt, "constant", 0, scope) : init(stmt, "normal", kInitDeviation, scope);
  StringRef kind = isState ? "state" : scope.norm ? "norm" : "other";
  for (const Name &name : stmt.names) {
    if (!declare(name, scope))
      continue;
    Val v;
    if (shape)
      if (std::optional<nn::Tensor> type = tensor(*shape, builder.getF32Type(), name.loc)) {
        v.value = weight(name.text, kind, initial, *type, scope, name.loc);
        v.kind = v.value ? Val::Tensor : Val::Error;
      }
    scope.variables[name.text] = {v, name.loc};
    if (isState)
      scope.states[name.text] = {v.value, {}};
  }
}

//===----------------------------------------------------------------------===//
// Members and inputs
//===----------------------------------------------------------------------===//

void Elaborator::declareMembers(const Stmt &stmt, Scope &scope) {
  Member proto;
  const ListItem &only = stmt.items.front();
  if (stmt.items.size() == 1 && !only.times) {
    proto.kind = Member::Layer;
    proto.layer = resolveLayer(*only.refs.front(), scope);
  } else {
    proto.kind = Member::List;
    int64_t total = 0;
    std::map<std::string, int64_t> known;
    if (stmt.items.size() > limits::items) {
      report.error(stmt.loc, "a list has at most {0} items, found {1}", limits::items,
                   stmt.items.size());
      return;
    }
    for (const ListItem &item : stmt.items) {
      std::optional<int64_t> times = 1;
      if (item.times)
        times = whole(*item.times, *scope.env, 1, limits::layers, "the length of a list");
      std::vector<int64_t> run;
      for (const Expr *ref : item.refs) {
        LayerRef layer = resolveLayer(*ref, scope);
        if (!layer) {
          run.clear();
          break;
        }
        auto [it, fresh] = known.try_emplace(layer->key, proto.kinds.size());
        if (fresh)
          proto.kinds.push_back(layer);
        run.push_back(it->second);
      }
      if (run.empty() || !times) {
        proto.kinds.clear();
        break;
      }
      if (run.size() > limits::items) {
        report.error(item.loc, "a list has at most {0} items, found {1}", limits::items,
                     run.size());
        return;
      }
      total += *times * run.size();
      if (total > limits::layers) {
        report.error(item.loc, "a list has at most {0} layers, found {1}", limits::layers, total);
        return;
      }
      // Equal neighbours are one run, however the list is spelt.
      if (llvm::all_equal(run)) {
        *times *= run.size();
        run.resize(1);
      }
      if (!proto.runs.empty() && run.size() == 1 && proto.runs.back().size() == 2 &&
          proto.runs.back()[1] == run[0])
        proto.runs.back()[0] += *times;
      else {
        run.insert(run.begin(), *times);
        proto.runs.push_back(run);
      }
    }
  }
  for (const Name &name : stmt.names)
    if (declare(name, scope)) {
      Member &member = scope.members[name.text] = proto;
      member.name = name;
    }
}

void Elaborator::declareInput(const Stmt &stmt, Scope &scope) {
  if (!scope.model) {
    report.error(stmt.loc, "an input belongs into a model; a layer gets it as an argument");
    return;
  }
  if (stmt.type->kind != TypeExpr::Tensor || stmt.type->element.text != "i32") {
    report.error(stmt.type->loc, "{0}", sentence(Feature::FloatInput))
        .fix({{stmt.type->element.text, "i32"}});
    return;
  }
  std::vector<nn::DimAttr> shape;
  // Dimensions in another tool's names are mended all at once.
  Report::Error::Changes all;
  auto isUnknown = [&](const DimDecl &decl) {
    return !decl.atMost && !scope.env->numbers.count(decl.name.text);
  };
  for (const DimDecl &decl : stmt.type->dims)
    if (StringRef known = ours(Habit::Size, decl.name.text);
        isUnknown(decl) && scope.env->numbers.count(known))
      all.push_back({decl.name.text, known.str()});
  for (const DimDecl &decl : stmt.type->dims) {
    StringRef name = decl.name.text;
    if (isUnknown(decl) && !all.empty()) {
      report
          .error(decl.name.loc, "unknown dimension: {0}; here it is `{1}`", all[0].first,
                 all[0].second)
          .fix(all);
      return;
    }
    if (isUnknown(decl) && dataLine) {
      auto error = report.error(dataLine->loc, "the data need the size of a dimension: {0}", name);
      error.note(decl.name.loc, "the input has it here");
      fixDataSize(error, name);
      return;
    }
    std::optional<nn::DimAttr> d = dim(decl, *scope.env, /*bounds=*/true);
    if (!d)
      return;
    shape.push_back(*d);
    if (decl.atMost)
      refuse(decl.name.loc, Feature::Bound);
  }
  if (stmt.type->rest) {
    report.error(stmt.type->loc, "an input names all of its dimensions");
    return;
  }
  std::optional<nn::Tensor> type = tensor(shape, builder.getI32Type(), stmt.type->loc);
  for (const Name &name : stmt.names) {
    if (!declare(name, scope))
      continue;
    if (!inputs.empty())
      refuse(name.loc, Feature::Streams);
    Val v;
    if (type) {
      v.kind = Val::Tensor;
      v.value = lang::InputOp::create(builder, report.at(name.loc), *type, name.text, 0, 0);
      inputs[v.value.getAsOpaquePointer()] = {name.text, 0};
    }
    scope.variables[name.text] = {v, name.loc};
  }
}

//===----------------------------------------------------------------------===//
// Assignments and loops
//===----------------------------------------------------------------------===//

void Elaborator::assign(const Stmt &stmt, Scope &scope) {
  std::vector<Val> values = evalMany(*stmt.values.front(), scope);
  bool failed = values.empty();
  if (!failed && values.size() != stmt.names.size()) {
    report.error(stmt.names.front().loc, "{0} names for {1} values", stmt.names.size(),
                 values.size());
    failed = true;
  }
  llvm::StringMap<SMLoc> given;
  for (auto [i, name] : llvm::enumerate(stmt.names)) {
    if (auto [it, fresh] = given.try_emplace(name.text, name.loc); !fresh)
      report.error(name.loc, "a statement gives a name one value, found twice: {0}", name.text)
          .note(it->second, "the first is here");
    bool isVariable = scope.variables.count(name.text);
    if (!isVariable && !declare(name, scope))
      continue;
    Variable &variable = scope.variables[name.text];
    variable.val = failed ? Val() : values[i];
    if (!isVariable)
      variable.loc = name.loc;
  }
}

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

/// `for b in blocks { .. }`: one region per distinct element.
void Elaborator::loop(const Stmt &stmt, Scope &scope) {
  bool outer = false;
  Member *list = findMember(stmt.list.text, scope, &outer);
  if (!scope.model) {
    refuse(stmt.loc, Feature::LoopInLayer);
    return;
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
    return;
  }
  if (list->called) {
    report.error(stmt.loc, "the layers of a list run once: {0}", stmt.list.text)
        .note(list->calledAt, "they run here");
    return;
  }
  list->called = true;
  list->calledAt = stmt.loc;
  const Name &element = stmt.names.front();
  if (scope.variables.count(element.text) || scope.members.count(element.text)) {
    declare(element, scope);
    return;
  }

  SmallVector<StringRef> assigned, read;
  for (const Stmt *s : stmt.body) {
    if (s->kind != Stmt::Assign && s->kind != Stmt::Loss) {
      report.error(s->loc, "only assignments and losses stand in a `for`");
      return;
    }
    for (const Expr *e : s->values)
      reads(*e, read);
    if (s->kind == Stmt::Assign)
      for (const Name &name : s->names)
        assigned.push_back(name.text);
  }
  SmallVector<StringRef> carried, invariant;
  for (StringRef name : assigned)
    if (auto it = scope.variables.find(name);
        it != scope.variables.end() && !llvm::is_contained(carried, name)) {
      if (it->second.val.kind == Val::Error)
        return;
      if (!wantTensor(it->second.val, stmt.loc, "a value that the loop changes"))
        return;
      carried.push_back(name);
    }
  for (StringRef name : read)
    if (auto it = scope.variables.find(name);
        it != scope.variables.end() && it->second.val.kind == Val::Tensor &&
        !llvm::is_contained(carried, name) && !llvm::is_contained(invariant, name))
      invariant.push_back(name);
  if (carried.empty()) {
    report.error(stmt.loc, "the loop changes no value: assign a name that is defined before it");
    return;
  }
  if (list->kinds.empty())
    return; // its declaration failed

  SmallVector<Value> carriedValues, invariantValues;
  SmallVector<Type> types;
  SmallVector<Location> locs;
  for (auto [names, values] : {std::pair(&carried, &carriedValues), {&invariant, &invariantValues}})
    for (StringRef name : *names) {
      Variable &v = scope.variables[name];
      values->push_back(v.val.value);
      types.push_back(v.val.value.getType());
      locs.push_back(report.at(v.loc));
    }
  SmallVector<Attribute> runs;
  for (const std::vector<int64_t> &run : list->runs)
    runs.push_back(builder.getI64ArrayAttr(run));
  auto op = lang::ForOp::create(
      builder, report.at(stmt.loc), ArrayRef(types).take_front(carried.size()), stmt.list.text,
      builder.getArrayAttr(runs), carriedValues, invariantValues, list->kinds.size());
  unsigned before = report.errors();
  for (auto [i, kind] : llvm::enumerate(list->kinds)) {
    std::vector<WeightInfo> weights;
    OpBuilder::InsertionGuard guard(builder);
    Block *block = builder.createBlock(&op.getKinds()[i], {}, types, locs);
    Scope inner;
    inner.env = scope.env;
    inner.outer = &scope;
    inner.loop = inner.model = true;
    inner.where = scope.where;
    inner.weights = &weights;
    unsigned position = 0;
    for (StringRef name : llvm::concat<StringRef>(carried, invariant)) {
      Variable v = scope.variables[name];
      v.val.value = block->getArgument(position++);
      inner.variables[name] = v;
    }
    Member &member = inner.members[element.text];
    member.kind = Member::Layer;
    member.name = element;
    member.layer = kind;
    body(stmt.body, inner);
    if (gaveUp)
      return;
    warnUncalled(inner);
    SmallVector<Value> results;
    for (auto [name, type] : llvm::zip(carried, types)) {
      Val &val = inner.variables[name].val;
      if (val.kind == Val::Error || !wantTensor(val, stmt.loc, "a value that the loop changes")) {
        results.push_back(block->getArgument(results.size()));
        continue;
      }
      results.push_back(val.value);
      if (val.value.getType() != type)
        report.error(stmt.loc, "{0} changes its type in the loop, from {1} to {2}", name,
                     spell(cast<nn::Tensor>(type)), spell(val.type()));
    }
    lang::ReturnOp::create(builder, report.at(stmt.loc), results);
  }
  for (auto [i, name] : llvm::enumerate(carried)) {
    Val &val = scope.variables[name].val;
    val.value = op.getResult(i);
    if (report.errors() != before)
      val = Val();
  }
}

//===----------------------------------------------------------------------===//
// Bodies
//===----------------------------------------------------------------------===//

void Elaborator::body(const Body &stmts, Scope &scope) {
  for (const Stmt *stmt : stmts) {
    if (gaveUp)
      return;
    if (scope.sawReturn) {
      report.error(stmt->loc, "nothing may follow `return`");
      return;
    }
    switch (stmt->kind) {
    case Stmt::Linear:
      declareLinear(*stmt, scope);
      break;
    case Stmt::Table:
      declareTable(*stmt, scope);
      break;
    case Stmt::Weight:
    case Stmt::State:
      declareWeight(*stmt, scope);
      break;
    case Stmt::Members:
      declareMembers(*stmt, scope);
      break;
    case Stmt::Input:
      declareInput(*stmt, scope);
      break;
    case Stmt::Assign:
      assign(*stmt, scope);
      break;
    case Stmt::For:
      loop(*stmt, scope);
      break;
    case Stmt::Loss:
      evalLoss(*stmt, scope);
      break;
    case Stmt::Update:
      update(*stmt, scope);
      break;
    case Stmt::Metric:
      metric(*stmt, scope);
      break;
    case Stmt::WeightMap:
      if (!scope.model) // read when the model is whole
        report.error(stmt->loc, "names on disk stand in the model, those of its layers too");
      break;
    case Stmt::Return:
      if (scope.model) {
        report.error(stmt->loc, "a model returns nothing: name a `loss`");
        break;
      }
      scope.sawReturn = true;
      scope.returnLoc = stmt->loc;
      for (const Expr *e : stmt->values) {
        std::vector<Val> values = evalMany(*e, scope);
        if (values.empty())
          values.push_back({});
        llvm::append_range(scope.returned, values);
      }
      break;
    }
  }
}

void Elaborator::warnUncalled(const Scope &scope) {
  if (report.errors()) // what would have used it may have failed
    return;
  for (auto &[name, member] : scope.members)
    if (!member.called)
      report.warning(member.name.loc, "never used: {0}", name);
}
