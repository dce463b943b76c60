//===- StepTime.h - how long a step will take on its cluster --------------===//
//
// The programs that are lowered, played with the prices of lib/Cost: tasks in the order of each
// pipeline rank, messages between them, then sums of the norm, updates and gathers.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DRIVER_STEPTIME_H
#define TPLAN_DRIVER_STEPTIME_H

#include "lib/Cost/Prices.h"
#include "lib/Pipeline/Policy.h"
#include "lib/Pipeline/Timeline.h"
#include "mlir/IR/BuiltinOps.h"

namespace tplan {

struct StepTime {
  std::string device; // "H100"; empty where the cluster does not say what its devices do
  double seconds = 0; // of a step
  double tasks = 0;   // from the first task to the last of any rank
  double idle = 0;    // of a rank in a step, for stages of other ranks; the mean of them
  double norm = 0;    // for which ranks of all stages wait before any of them updates
  cost::Spent spent;  // of a rank, but idle; the mean of pipeline ranks
  std::vector<cost::Spent> ofPrograms; // of a rank of each program
  double modelFlops = 0; // of all ranks in a step: three times the forward's GEMMs and attention
  double peak = 0;       // FLOPs a second of all ranks
  double mfu() const { return modelFlops / (seconds * peak); }
};

/// Valid after `memory`.
StepTime predictStep(mlir::ModuleOp module);

/// Tasks in time, in seconds, and what is under way beside them on each rank: collectives by the
/// axes of their group ("dp"), messages by their axis and who receives them ("pp to 1").
struct TaskTimes {
  pipeline::Simulation simulation;
  std::vector<pipeline::Streams> streams;
};
/// Times of the programs of a module; nothing where the cluster does not say what its devices do.
std::optional<TaskTimes> predictTasks(mlir::ModuleOp module);

} // namespace tplan

#endif // TPLAN_DRIVER_STEPTIME_H
