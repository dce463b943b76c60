//===- WorkingCopies.cpp - narrow forms in which contractions read weights ---===//
#include "lib/Precision/WorkingCopies.h"
#include "dialects/nn/Narrow.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::nn;
using namespace tplan::precision;

/// What a working copy is called, for people to read: `q.weight.bf16`.
static std::string copyName(StringRef master, StringRef array) {
  return (master + "." + array).str();
}

WorkingCopies::WorkingCopies(ModuleOp module) : symbols(module), parts(module) {}

/// Copies are made of a master in f32, also of one that is kept narrow.
static Tensor widened(Tensor master) {
  return isNarrow(master.getElementType())
             ? master.withElement(Float32Type::get(master.getContext()))
             : master;
}

SmallVector<Value, 2> WorkingCopies::read(LayerOp layer, BlockArgument param,
                                          const CopyForm &form) {
  auto &arrays = args[param][form.arrays.front().name];
  if (!arrays.empty())
    return arrays;
  const CopyForm &known = forms.emplace_back(form);
  std::string weight = layer.getArgName(param.getArgNumber()).str();
  for (auto [array, type] : llvm::zip(known.arrays, known.types(widened(typeOf(param)))))
    arrays.push_back(layer.addArg(Role::Param, copyName(weight, array.name), type, param.getLoc()));
  reads[layer.getSymName()].push_back({weight, &known});
  return arrays;
}

void WorkingCopies::finish(ArrayRef<RunOp> runs) {
  do
    for (RunOp run : runs)
      bind(run);
  while (followMasters(runs));
  for (RunOp run : runs)
    write(run);
}

/// A working copy is a parameter of its own, bound beside its master.
void WorkingCopies::bind(RunOp run) {
  SmallVector<Attribute> params;
  for (auto [callee, bound] : llvm::zip(run.getCallees().getAsValueRange<FlatSymbolRefAttr>(),
                                        run.getParams().getAsRange<DictionaryAttr>())) {
    NamedAttrList list(bound);
    for (const Read &read : reads.lookup(callee)) {
      auto master =
          symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(bound.get(read.weight)).getValue());
      Copy &copy = copyOf(master, *read.form);
      copy.read.push_back(instancesOf(run, master));
      for (auto [each, array] : llvm::zip(read.form->arrays, copy.arrays))
        list.set(copyName(read.weight, each.name), FlatSymbolRefAttr::get(array));
    }
    params.push_back(list.getDictionary(run.getContext()));
  }
  run.setParamsAttr(ArrayAttr::get(run.getContext(), params));
}

/// Made when it is first asked for.
WorkingCopies::Copy &WorkingCopies::copyOf(ParamOp master, const CopyForm &form) {
  auto &known = copies[FlatSymbolRefAttr::get(master)];
  for (Copy &copy : known)
    if (copy.form->arrays == form.arrays)
      return copy;
  Copy made{&form, {}, {}};
  for (auto [each, type] :
       llvm::zip(form.arrays, form.types(widened(cast<Tensor>(master.getType()))))) {
    ParamOp array = master.clone();
    array.setSymName(copyName(master.getSymName(), each.name));
    array.setPath(copyName(master.getPath(), each.name));
    array.setKind(ParamKind::Copy);
    array.setCopyOfAttr(FlatSymbolRefAttr::get(master));
    array.setType(type);
    if (each.isWhole)
      array->setAttr(kWhole, UnitAttr::get(type.getContext()));
    OpBuilder(master).insert(array);
    symbols.insert(array);
    made.arrays.push_back(array);
  }
  known.push_back(std::move(made));
  return known.back();
}

/// The name under which a layer binds a working copy, or null.
static StringAttr nameOfCopy(DictionaryAttr bound, ParamOp copy) {
  for (NamedAttribute entry : bound)
    if (entry.getValue() == FlatSymbolRefAttr::get(copy))
      return entry.getName();
  return {};
}

static bool updates(LayerOp update, StringRef name) {
  return update && update.findResult(Role::Param, name);
}

/// A tied weight is updated by one layer and its copy read by another: the layer that updates binds
/// the copy too, unless nobody reads the instances that it updates. Whether there is more to bind.
bool WorkingCopies::followMasters(ArrayRef<RunOp> runs) {
  bool changed = false;
  for (RunOp run : runs)
    for (auto [callee, bound] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                          run.getParams().getAsRange<DictionaryAttr>()))
      for (NamedAttribute entry : bound) {
        StringRef name = entry.getName();
        auto found = copies.find(entry.getValue());
        if (found == copies.end() || !updates(parts.lookup(callee, Part::Update), name))
          continue;
        for (const Copy &copy : found->second) {
          Instances mine = instancesOf(
              run, symbols.lookup<ParamOp>(cast<FlatSymbolRefAttr>(entry.getValue()).getValue()));
          if (nameOfCopy(bound, copy.arrays.front()) ||
              llvm::none_of(copy.read, [&](const Instances &read) { return read.meet(mine); }))
            continue;
          reads[callee.getValue()].push_back({name.str(), copy.form});
          changed = true;
        }
      }
  return changed;
}

/// Whoever updates a master writes its copies; part `prepare` does so before the first step.
void WorkingCopies::write(RunOp run) {
  for (auto [callee, bound] : llvm::zip(run.getCallees().getAsRange<FlatSymbolRefAttr>(),
                                        run.getParams().getAsRange<DictionaryAttr>()))
    if (LayerOp update = parts.lookup(callee, Part::Update))
      write(bound, callee, update);
}

static void append(LayerOp layer, ArrayRef<StringAttr> names, const CopyForm &form, Value master) {
  NNBuilder b(master.getLoc(), layer.getReturn());
  if (Tensor wide = widened(typeOf(master)); wide != master.getType())
    master = b.cast(master, cast<FloatType>(wide.getElementType()));
  for (auto [name, array] : llvm::zip(names, form.make(b, master)))
    layer.addResult(Role::Param, name, array);
}

void WorkingCopies::write(DictionaryAttr bound, FlatSymbolRefAttr callee, LayerOp update) {
  for (unsigned i = 0, e = update.getNumResults(); i < e; ++i) {
    StringRef name = update.getResultName(i);
    auto found =
        update.getResultRole(i) == Role::Param ? copies.find(bound.get(name)) : copies.end();
    if (found == copies.end())
      continue;
    Value master = update.getReturn().getOperand(i);
    for (const Copy &copy : found->second) {
      SmallVector<StringAttr> names;
      for (ParamOp array : copy.arrays)
        names.push_back(nameOfCopy(bound, array));
      // A layer that several runs call is written once.
      if (!names.front() || update.findResult(Role::Param, names.front()))
        continue;
      OpBuilder before(update);
      LayerOp prepare = partOrMade(symbols, parts, before, update.getLoc(), callee, Part::Prepare);
      std::optional<unsigned> arg = prepare.findArg(Role::Param, name);
      Value prepared = arg ? Value(prepare.getArgument(*arg))
                           : prepare.addArg(Role::Param, name, master.getType(), master.getLoc());
      append(update, names, *copy.form, master);
      append(prepare, names, *copy.form, prepared);
    }
  }
}
