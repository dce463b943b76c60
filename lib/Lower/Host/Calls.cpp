//===- Host/Calls.cpp - the calls of the runtime that generated code makes -===//
#include "lib/Lower/Host/Calls.h"
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Gpu/Names.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

int64_t lower::runtimeType(Type element) {
  std::string text = nn::elementName(element);
#define TYPE(ID, NAME, BYTES) .Case(NAME, ID)
  int64_t id = llvm::StringSwitch<int64_t>(text) TP_TYPES(TYPE).Default(-1);
#undef TYPE
  if (id < 0)
    llvm::reportFatalInternalError(llvm::Twine("the runtime has no element type ") + text);
  return id;
}

Record<tp_collective> lower::collectiveOf(HostBuilder &host, int64_t group, int64_t kind,
                                          int64_t reduction, Type element,
                                          const rt::BlockShape &shape, ArrayRef<int32_t> sources) {
  return {.kind = kind,
          .reduction = reduction,
          .type = runtimeType(element),
          .group = group,
          .outer = shape.outer,
          .inner = shape.inner,
          .middle = shape.middle,
          .last = shape.last,
          .whole = shape.whole,
          .split_last = shape.splitLast,
          .source = sources.empty() ? Table<int32_t>() : host.numbers("sources", sources)};
}

HostCalls::HostCalls(HostBuilder &host, HostGroups &groups, ModuleOp module)
    : host(host), groups(groups), module(module),
      device(lang::targetOf(module).isGpu() || module.lookupSymbol<gpu::GPUModuleOp>(kGpuModule)) {
  if (device)
    kernels = module.lookupSymbol<gpu::GPUModuleOp>(kGpuModule);
  if (auto lists = module->getAttrOfType<ArrayAttr>(sched::kStreams))
    llvm::append_range(streams, lists.getAsRange<sched::StreamAttr>());
  if (auto events = module->getAttrOfType<IntegerAttr>(sched::kEvents))
    numEvents = events.getInt();
  Type ptr = host.ptr, i64 = host.i64;
  host.declare(device ? "tp_launch_device" : "tp_launch", {ptr, ptr, ptr, ptr, i64});
  host.declare("tp_matmul", {ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64});
  host.declare("tp_scaled_matmul", {ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, ptr, i64});
  host.declare("tp_copy", {ptr, ptr, ptr, ptr, i64});
  host.declare("tp_audit", {ptr, ptr, ptr, ptr, ptr, ptr});
  host.declare("tp_zero", {ptr, ptr, ptr, i64});
  host.declare("tp_collectives", {ptr, ptr, ptr, i64, ptr});
  host.declare("tp_start", {ptr, ptr, ptr, i64, ptr, ptr});
  host.declare("tp_slice", {ptr, ptr, ptr, ptr, ptr});
  host.declare("tp_member", {ptr, i64}, i64);
  host.declare("tp_record", {ptr, i64, i64});
  host.declare("tp_wait", {ptr, i64, i64});
  host.declare("tp_signal", {ptr, i64, ptr});
  host.declare("tp_await", {ptr, i64, ptr});
  if (device)
    host.declare("tp_attend", {ptr, ptr, ptr, ptr});
}

Address<tp_call> HostCalls::constantOf(const CallFacts &call) {
  auto [file, line] = sourceOf(call.loc);
  return host.record<tp_call>("call", {.name = call.name,
                                       .file = file,
                                       .line = line,
                                       .category = call.category,
                                       .flops = call.flops,
                                       .bytes = call.bytes,
                                       .stream = call.stream});
}

Value HostCalls::address(const CallFacts &call) { return host.address(constantOf(call)); }

//===----------------------------------------------------------------------===//
// Kernels and library calls
//===----------------------------------------------------------------------===//

Value HostCalls::tableOf(ArrayRef<Value> pointers) {
  Value table = host.pointers(pointers.size());
  for (auto [i, pointer] : llvm::enumerate(pointers))
    host.storePointer(pointer, table, i);
  return table;
}

/// A kernel's tp_device_kernel: one for all its calls, whose operands have the same types.
Address<tp_device_kernel> HostCalls::kernelOf(StringRef kernel, ArrayRef<int64_t> bytes,
                                              unsigned inputs) {
  Address<tp_device_kernel> &known = kernelSymbols[kernel];
  if (!known.symbol.empty())
    return known;
  auto launches = kernels ? kernels->getAttrOfType<DictionaryAttr>(kLaunches) : DictionaryAttr();
  auto launch = launches ? launches.getAs<rt::DeviceKernelAttr>(kernel) : rt::DeviceKernelAttr();
  if (!launch)
    llvm::reportFatalInternalError("no kernel of the device is called " + kernel);
  SmallVector<int64_t> all(bytes);
  if (launch.getCounted())
    all.push_back(8);
  auto strides = kernels->getAttrOfType<DictionaryAttr>(sched::kStrides);
  auto ofLayers = strides ? strides.getAs<DenseI64ArrayAttr>(kernel) : DenseI64ArrayAttr();
  known = host.record<tp_device_kernel>(
      "kernel",
      {.name = ptxName(kernel),
       .number = kernelTable.size(),
       .grid = launch.getBlocks(),
       .block = launch.getThreads(),
       .inputs = inputs,
       .outputs = bytes.size() - inputs,
       .num_args = all.size(),
       .bytes = host.numbers("bytes", all),
       .strides = ofLayers ? host.numbers("strides", ofLayers.asArrayRef()) : Table<int64_t>()});
  kernelTable.push_back(known);
  return known;
}

void HostCalls::launch(Value rank, const CallFacts &call, StringRef kernel, ArrayRef<Value> args,
                       ArrayRef<int64_t> bytes, unsigned inputs, Value tasks, Value layers) {
  Value table = tableOf(args);
  if (onDevice())
    host.call("tp_launch_device",
              {rank, address(call), host.address(kernelOf(kernel, bytes, inputs)), table,
               layers ? layers : host.number(1)});
  else
    host.call("tp_launch", {rank, address(call), host.address(kernel), table, tasks});
}

void HostCalls::matmul(Value rank, const CallFacts &call, const Record<tp_gemm> &gemm, Value a,
                       Value b, Value bias, Value c, Value rows) {
  host.call("tp_matmul",
            {rank, address(call), host.address(host.record("gemm", gemm)), a, b, bias, c, rows});
}

void HostCalls::scaledMatmul(Value rank, const CallFacts &call, const Record<tp_gemm> &gemm,
                             const Record<tp_scales> &scales, ArrayRef<Value> operands,
                             Value rows) {
  SmallVector<Value> args = {rank, address(call), host.address(host.record("gemm", gemm)),
                             host.address(host.record("scales", scales))};
  llvm::append_range(args, operands);
  args.push_back(rows);
  host.call("tp_scaled_matmul", args);
}

void HostCalls::attend(Value rank, const CallFacts &call, const Record<tp_attention> &attention,
                       ArrayRef<Value> pointers) {
  host.call("tp_attend", {rank, address(call), host.address(host.record("attention", attention)),
                          tableOf(pointers)});
}

void HostCalls::copy(Value rank, const CallFacts &call, Value to, Value from, int64_t bytes) {
  host.call("tp_copy", {rank, address(call), to, from, host.number(bytes)});
}

void HostCalls::audit(Value rank, const CallFacts &call, const Record<tp_audited> &what, Value from,
                      Value to, ArrayRef<Value> numbers) {
  records = true;
  host.call("tp_audit", {rank, address(call), host.address(host.record("audit", what)), from, to,
                         tableOf(numbers)});
}

void HostCalls::zero(Value rank, const CallFacts &call, Value place, int64_t bytes) {
  host.call("tp_zero", {rank, address(call), place, host.number(bytes)});
}

//===----------------------------------------------------------------------===//
// Ranks and streams
//===----------------------------------------------------------------------===//

void HostCalls::slice(Value rank, const CallFacts &call, const Record<tp_collective> &what,
                      Value in, Value out) {
  host.call("tp_slice", {rank, address(call), host.address(host.record("slice", what)), in, out});
}

void HostCalls::collectives(Value rank, const sched::Turn &turn, const CallFacts &call,
                            ArrayRef<CollectiveCall> all, bool waits, int64_t home) {
  std::vector<Record<tp_collective>> records;
  SmallVector<Value> pointers;
  for (const CollectiveCall &collective : all) {
    records.push_back(collective.what);
    pointers.append({collective.in, collective.out});
  }
  collectives(rank, turn, address(call),
              host.address(host.table<tp_collective>("collectives", records)), pointers, waits,
              home);
}

void HostCalls::collectives(Value rank, const sched::Turn &turn, Value call, Value all,
                            ArrayRef<Value> pointers, bool waits, int64_t home, Value event) {
  if (turn.stream != home)
    follow(rank, home, turn.stream, turn.before);
  SmallVector<Value> args = {rank, call, all, host.number(pointers.size() / 2), tableOf(pointers)};
  if (event) {
    args.push_back(event);
    host.call("tp_start", args);
    return;
  }
  host.call("tp_collectives", args);
  if (turn.stream != home || !waits)
    record(rank, turn.stream, turn.after);
  if (turn.stream != home && waits)
    wait(rank, home, turn.after);
}

void HostCalls::follow(Value rank, int64_t from, int64_t to, int64_t event) {
  if (from == 0 && !device) // what a CPU has called is done
    return;
  record(rank, from, event);
  wait(rank, to, event);
}

void HostCalls::record(Value rank, int64_t stream, int64_t event) {
  host.call("tp_record", {rank, host.number(stream), host.number(event)});
}

void HostCalls::wait(Value rank, int64_t stream, int64_t event) {
  host.call("tp_wait", {rank, host.number(stream), host.number(event)});
}

void HostCalls::signal(Value rank, int64_t stream, Value event) {
  host.call("tp_signal", {rank, host.number(stream), event});
}

void HostCalls::await(Value rank, Value event) {
  host.call("tp_await", {rank, host.number(0), event});
}

Value HostCalls::member(Value rank, ArrayRef<StringAttr> axes) {
  return host.callForNumber("tp_member", {rank, host.number(groups.numberOf(axes))});
}

std::vector<Record<tp_device_sum>> HostCalls::sums() {
  std::vector<Record<tp_device_sum>> table;
  for (auto sum : module.getOps<rt::SumOp>())
    // Sizes are arguments of each call.
    table.push_back({.type = runtimeType(sum.getElement()),
                     .reduction = sum.getKind() == nn::ReduceKind::max ? TP_MAX : TP_SUM,
                     .kernel = kernelOf(sum.getSymName(), {0, 0, 8, 8, 8}, 1)});
  return table;
}
