//===- Host/Programs.cpp - the programs of a module, and main -----------------===//
//
// A plan is one tp_program, or one for each rank along the axis of the stages, which are listed in
// each of them. What they have in common is one table.
//
//===----------------------------------------------------------------------===//
#include "dialects/nn/Narrow.h"
#include "lib/Lower/Host/Disk.h"
#include "lib/Lower/Host/Recipe.h"
#include "lib/Lower/Host/Tables.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/SHA256.h"
#include <set>

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::Owner;
using sched::ValueOp;

namespace {
class ProgramTables {
public:
  ProgramTables(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                MutableArrayRef<HostProgram> programs)
      : host(host), groups(groups), calls(calls), programs(programs),
        module(programs.front().op->getParentOfType<ModuleOp>()), params(module), settings(module),
        target(lang::targetOf(module)) {}

  void emit();

private:
  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
  MutableArrayRef<HostProgram> programs;
  ModuleOp module;
  SymbolTable params; // of what the module has before the tables
  lang::Settings settings;
  const lang::Target &target;

  std::string symbolOf(size_t rank);
  std::string fingerprint();
  SmallVector<ValueOp> values();
  void emitMain(const Address<tp_program> &program);
};
} // namespace

/// Other objects know the first.
std::string ProgramTables::symbolOf(size_t rank) {
  return target.program() + (rank ? "." + std::to_string(rank) : "");
}

/// What lives from step to step in any of the programs.
SmallVector<ValueOp> ProgramTables::values() {
  SmallVector<ValueOp> all;
  for (HostProgram &program : programs)
    llvm::append_range(all, valuesInPlace(program.op));
  return all;
}

/// What a checkpoint must agree on: the weights, and how they are trained. It includes neither the
/// layout, nor how long training lasts, nor the order in which a plan has the weights.
std::string ProgramTables::fingerprint() {
  std::set<std::string> lines;
  auto add = [&](auto &&...parts) {
    std::string line;
    llvm::raw_string_ostream os(line);
    (os << ... << parts);
    lines.insert(line);
  };
  for (ValueOp value : values())
    if (FlatSymbolRefAttr symbol = value.getKey().getOf();
        symbol && (value.getOwner() == Owner::Parameter || value.getOwner() == Owner::State)) {
      auto param = params.lookup<nn::ParamOp>(symbol.getValue());
      nn::Tensor type = value.getTensor();
      if (nn::isNarrow(type.getElementType()))
        type = type.withElement(Float32Type::get(type.getContext())); // as f32 goes on from it
      if (auto global = param->getAttrOfType<TypeAttr>(dist::kGlobal))
        type = type.withDims(cast<nn::Tensor>(global.getValue()).getDims());
      add(param.getPath(), " ", stateName(value.getKey()), " ", type, " ", param.getCount(), " ",
          param.getFirst(), " ", param.getStep());
    }
  SmallVector<std::string> text(lines.begin(), lines.end());
  DictionaryAttr recipe = lang::toDictionary(module.getContext(), settings.recipe);
  for (StringRef key : {"batch", "sequence", "optimizer"})
    if (Attribute attr = recipe.get(key))
      llvm::raw_string_ostream(text.emplace_back()) << key << " " << attr;
  std::string joined = llvm::join(text, "\n");
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(joined));
  return llvm::toHex(ArrayRef(hash).take_front(16), /*LowerCase=*/true);
}

/// The object of the last target has `main`, which names the programs of all.
void ProgramTables::emitMain(const Address<tp_program> &program) {
  if (!target.makesMain())
    return;
  std::vector<Cell<const tp_program *>> all;
  for (const std::string &name : target.others)
    all.emplace_back(host.external<tp_program>(name));
  all.emplace_back(program);
  auto table = host.array<const tp_program *>("programs", all);
  host.declare("tp_main", {host.i32, host.ptr, host.ptr, host.i64});
  host.begin("main", {host.i32, host.ptr}, /*exported=*/true);
  host.call("tp_main",
            {host.argument(0), host.argument(1), host.address(table), host.number(all.size())});
  host.end();
}

void ProgramTables::emit() {
  host.loc = programs.front().op.getLoc();
  CommonTables common(params);
  common.data = host.table<tp_source>("data", sourcesOf(settings));
  if (std::optional<Record<tp_source>> eval = evaluatedSource(settings))
    common.eval = host.record("eval", *eval);
  common.rates = host.table<tp_lr_piece>("rates", ratesOf(settings));
  common.axes = host.table<tp_axis>("axes", groups.axes());
  common.disk = diskTable(host, module, values());
  common.fingerprint = fingerprint();
  if (calls.onDevice()) {
    common.sums = host.table<tp_device_sum>("sums", calls.sums()); // names kernels of its own
    std::vector<Cell<const tp_device_kernel *>> kernels(calls.kernelsOfCalls().begin(),
                                                        calls.kernelsOfCalls().end());
    common.kernels = host.array<const tp_device_kernel *>("kernels", kernels);
  }
  std::vector<TableEmitter> emitters;
  for (HostProgram &program : programs)
    emitters.emplace_back(host, groups, calls, program, common).emitTables();
  common.slotNames = {host.text(common.names.getText())};
  common.groups = host.table<tp_group>("groups", groups.groups(host));
  if (programs.size() > 1) {
    std::vector<Cell<const tp_program *>> all;
    for (size_t rank = 0; rank < programs.size(); ++rank)
      all.emplace_back(Address<tp_program>{symbolOf(rank)});
    common.programs = host.array<const tp_program *>("stages", all);
  }
  std::vector<Address<tp_program>> emitted;
  for (auto [rank, emitter] : llvm::enumerate(emitters))
    emitted.push_back(emitter.emit(symbolOf(rank)));
  emitMain(emitted.front());
}

void lower::emitTables(HostBuilder &host, HostGroups &groups, HostCalls &calls,
                       MutableArrayRef<HostProgram> programs) {
  ProgramTables(host, groups, calls, programs).emit();
}
