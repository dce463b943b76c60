//===- Host/Runs.h - code of one run in one part --------------------------===//
#ifndef TPLAN_LOWER_HOST_RUNS_H
#define TPLAN_LOWER_HOST_RUNS_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"
#include "lib/Schedule/Chain.h"

namespace tplan::lower {

/// What holds for all runs of a task.
struct TaskContext {
  mlir::Value rank, arena;
  mlir::Value microbatch; // i64
  bool training;          // families have slots and keep values; else slot 0, nothing kept
};

/// Emits calls of the layers of a run, in order (backward parts: from the last),
/// with every pointer that they take. The size of the code does not depend on
/// the number of layers.
class HostRuns {
public:
  HostRuns(HostBuilder &host, HostCalls &calls, HostPlaces &places, const schedule::Chain &chain)
      : host(host), calls(calls), places(places), chain(chain) {}

  void emit(const schedule::Run &run, schedule::Part part, const TaskContext &context);

  /// Before the first microbatch of a step.
  void zeroContributions(const schedule::Run &run, const TaskContext &context);

  /// Where the squared norm is after the parts `norm` so far: 0 or 1 of the two scalars.
  int64_t normCell() const { return normCalls & 1; }
  /// Copies the inputs of the chain that `run` is the first to read into one piece.
  void unpackInputs(const schedule::Run &run, const TaskContext &context);

private:
  HostBuilder &host;
  HostCalls &calls;
  HostPlaces &places;
  const schedule::Chain &chain;
  int64_t normCalls = 0;

  struct Layer {
    const schedule::Run &run;
    schedule::Part part;
    const TaskContext &context;
    unsigned j;                                    // function of the period
    mlir::Value period;                            // i64
    int64_t normBase, normsPerPeriod, normsBefore; // calls of part `norm`, for its cells
  };

  void emitLayer(const Layer &layer);
  void call(const Layer &layer, mlir::Value layers);
  bool isRepeated(const schedule::Run &run, unsigned j, schedule::Part part);
  mlir::Value argument(const Layer &layer, const nn::Label &label);
  mlir::Value result(const Layer &layer, const nn::Label &label);
  mlir::Value parameter(const Layer &layer, const nn::Label &label);
  mlir::Value instanceOf(const Layer &layer, nn::ParamOp param);
  mlir::Value instanceOf(const Layer &layer, llvm::StringRef scalar);
  mlir::Value keyed(const Layer &layer, const std::string &key, mlir::Value instance);
  mlir::Value chainPlace(const Layer &layer, const std::string &key);
  mlir::Value layerNumber(const Layer &layer, int64_t plus);
  mlir::Value input(const Layer &layer, unsigned k);
  mlir::Value innerInput(const Layer &layer, unsigned k, unsigned j, mlir::Value period);
  mlir::Value output(const Layer &layer, unsigned k);
  mlir::Value cotangentIn(const Layer &layer, unsigned k);
  mlir::Value cotangentOut(const Layer &layer, unsigned k);
  mlir::Value innerCotangent(const Layer &layer, unsigned k, unsigned j, mlir::Value period);
  mlir::Value handover(const Layer &layer, unsigned k, mlir::Value number);
  mlir::Value normCell(const Layer &layer, int64_t plus);
  mlir::Value at(const Layer &layer, bool first, mlir::Value border, mlir::Value inner);
  void zeroCotangents(const schedule::Run &run, const TaskContext &context);
  void zeroMissing(const Layer &layer);
  void zero(const schedule::Run &run, const TaskContext &context, mlir::Value place, int64_t bytes);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_RUNS_H
