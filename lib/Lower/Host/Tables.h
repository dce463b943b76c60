//===- Host/Tables.h - a tp_program and its tables --------------------------===//
#ifndef TPLAN_LOWER_HOST_TABLES_H
#define TPLAN_LOWER_HOST_TABLES_H

#include "dialects/tplan/Settings.h"
#include "lib/Lower/Host/Arena.h"
#include "lib/Lower/Host/Program.h"
#include "mlir/IR/SymbolTable.h"
#include "tplan/runtime.h"

namespace tplan::lower {

/// What the programs of a module have in common.
struct CommonTables {
  explicit CommonTables(const mlir::SymbolTable &params) : params(params) {}

  const mlir::SymbolTable &params;
  Table<tp_source> data;
  Address<tp_source> eval;
  Table<tp_lr_piece> rates;
  Table<tp_axis> axes;
  Table<tp_group> groups;
  Table<const tp_device_kernel *> kernels;
  Table<tp_device_sum> sums;
  Address<tp_disk> disk;
  std::string fingerprint;
  ArenaNames names;
  Address<char> slotNames;
  Table<const tp_program *> programs; // one for each rank along the axis of the stages
};

class TableEmitter {
public:
  TableEmitter(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostProgram &of,
               CommonTables &common)
      : host(host), groups(groups), calls(calls), places(of.places), program(of.op),
        entries(of.entries), graphs(of.graphs), common(common),
        module(program->getParentOfType<mlir::ModuleOp>()), settings(module),
        target(lang::targetOf(module)) {}

  /// All tables except those that programs have in common; the groups that they use are noted for
  /// those.
  void emitTables();
  /// The program, under this symbol.
  Address<tp_program> emit(llvm::StringRef symbol);

private:
  struct {
    Table<tp_tensor> tensors;
    Table<tp_input> inputs;
    Table<tp_scalar> scalars;
    Table<tp_metric> metrics;
    ArenaTables slots;
  } tables;

  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
  HostPlaces &places;
  sched::ProgramOp program;
  const EntryPoints &entries;
  const memory::GraphCounts graphs;
  CommonTables &common;
  mlir::ModuleOp module;
  lang::Settings settings;
  const lang::Target &target;
  int64_t skippedMetric = 0; // from 1; 0: there is none

  std::vector<Record<tp_tensor>> tensors();
  std::vector<Record<tp_input>> inputs();
  std::vector<Record<tp_scalar>> scalars();
  int64_t microbatch();
  /// The metrics; sets skippedMetric.
  std::vector<Record<tp_metric>> metrics();
  std::pair<Table<int64_t>, Table<int64_t>> scratchOfStreams();
  Table<int32_t> groupsOfStreams();
  Address<tp_device> device();
};

/// What the checkpoint calls a value beside its parameter: "" is the parameter itself.
llvm::StringRef stateName(sched::KeyAttr key);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_TABLES_H
