//===- Host/Calls.h - the calls of the runtime that generated code makes ---===//
//
// One decision: what differs between a CPU and a device in the host program is here: how a kernel
// is named and launched, and streams. All else is the same code on addresses.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_CALLS_H
#define TPLAN_LOWER_HOST_CALLS_H

#include "dialects/rt/RT.h"
#include "include/tplan/collectives.h"
#include "lib/Lower/Host/Builder.h"
#include "lib/Lower/Host/Groups.h"

namespace tplan::lower {

/// What a tp_call says.
struct CallFacts {
  llvm::StringRef name;
  mlir::Location loc;
  int64_t category, flops = 0, bytes = 0, stream = 0;
};

/// A collective to be issued, with its memory.
struct CollectiveCall {
  Record<tp_collective> what;
  mlir::Value in, out;
};

class HostCalls {
public:
  using Value = mlir::Value;
  HostCalls(HostBuilder &host, HostGroups &groups, mlir::ModuleOp module);

  bool onDevice() const { return device; }

  /// Runs the kernel, with the memory of its inputs and outputs and, where it takes one, its count.
  /// `bytes` are those of each operand. `tasks` is for a CPU only. `layers` is for a device only:
  /// `args` are those of the first of so many layers; null means one.
  void launch(Value rank, const CallFacts &call, llvm::StringRef kernel, llvm::ArrayRef<Value> args,
              llvm::ArrayRef<int64_t> bytes, unsigned inputs, Value tasks, Value layers = {});
  void matmul(Value rank, const CallFacts &call, const Record<tp_gemm> &gemm, Value a, Value b,
              Value bias, Value c, Value rows);
  /// `operands`: a, b, their scales, c.
  void scaledMatmul(Value rank, const CallFacts &call, const Record<tp_gemm> &gemm,
                    const Record<tp_scales> &scales, llvm::ArrayRef<Value> operands, Value rows);
  void attend(Value rank, const CallFacts &call, const Record<tp_attention> &attention,
              llvm::ArrayRef<Value> pointers);
  void copy(Value rank, const CallFacts &call, Value to, Value from, int64_t bytes);
  void audit(Value rank, const CallFacts &call, const Record<tp_audited> &what, Value from,
             Value to, llvm::ArrayRef<Value> numbers);
  /// Whether there is such a call.
  bool recordsValues() const { return records; }
  void zero(Value rank, const CallFacts &call, Value place, int64_t bytes);
  void slice(Value rank, const CallFacts &call, const Record<tp_collective> &what, Value in,
             Value out);
  /// Collectives that are issued together: their stream waits for what was issued before them to
  /// the stream `home`, and, where it `waits`, what is issued after them waits for them. Where
  /// streams have numbers all are of one group.
  void collectives(Value rank, const sched::Turn &turn, const CallFacts &call,
                   llvm::ArrayRef<CollectiveCall> all, bool waits, int64_t home);
  void record(Value rank, int64_t stream, int64_t event);
  void wait(Value rank, int64_t stream, int64_t event);
  /// The rank's member number in the group of these axes.
  Value member(Value rank, llvm::ArrayRef<mlir::StringAttr> axes);

  /// The same, where `call` and `all` are addresses of constants. Who awaits them somewhere else
  /// has an event for it, a value of the program.
  void collectives(Value rank, const sched::Turn &turn, Value call, Value all,
                   llvm::ArrayRef<Value> pointers, bool waits, int64_t home = 0, Value event = {});
  /// What is issued to a stream from here on waits for what was issued to another one.
  void follow(Value rank, int64_t from, int64_t to, int64_t event);
  /// The same with an event that is a value of the program.
  void signal(Value rank, int64_t stream, Value event);
  void await(Value rank, Value event);
  /// The constant of a call.
  Address<tp_call> constantOf(const CallFacts &call);

  Value address(const CallFacts &call);
  llvm::ArrayRef<sched::StreamAttr> streamsOfCollectives() const { return streams; }

  /// The kernels that add up the parts of ranks, by type and reduction.
  std::vector<Record<tp_device_sum>> sums();
  /// The kernels that calls have named so far, and sums.
  llvm::ArrayRef<Address<tp_device_kernel>> kernelsOfCalls() const { return kernelTable; }
  int64_t countStreams() const { return 1 + streams.size(); }
  int64_t countEvents() const { return numEvents; }

private:
  HostBuilder &host;
  HostGroups &groups;
  mlir::ModuleOp module;
  const bool device;
  mlir::Operation *kernels = nullptr; // gpu.module
  llvm::StringMap<Address<tp_device_kernel>> kernelSymbols;
  std::vector<Address<tp_device_kernel>> kernelTable;
  std::vector<sched::StreamAttr> streams; // 1, 2, ...
  int64_t numEvents = 0;
  bool records = false;

  Value tableOf(llvm::ArrayRef<Value> pointers);
  Address<tp_device_kernel> kernelOf(llvm::StringRef kernel, llvm::ArrayRef<int64_t> bytes,
                                     unsigned inputs);
};

Record<tp_collective> collectiveOf(HostBuilder &host, int64_t group, int64_t kind,
                                   int64_t reduction, mlir::Type element,
                                   const rt::BlockShape &shape,
                                   llvm::ArrayRef<int32_t> sources = {});

/// Values of tp_type.
int64_t runtimeType(mlir::Type element);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_CALLS_H
