//===- SharedWeights.h - weights that several stages read -------------------===//
#ifndef TPLAN_SCHEDULE_SHAREDWEIGHTS_H
#define TPLAN_SCHEDULE_SHAREDWEIGHTS_H

#include "lib/Schedule/Values.h"

namespace tplan::schedule {

/// What a program does about weights that several stages read, as a tied embedding.
class SharedWeights {
public:
  SharedWeights(ProgramValues &values, const Chain &chain) : values(values), chain(chain) {}

  /// Memory for the parts of gradients that come from other ranks. Error: a state of the model that
  /// stages of several ranks read.
  mlir::LogicalResult declare();
  /// Where the step begins: the parts of gradients that stages keep are set to zero.
  void zeroGradients(sched::SectionOp section);
  /// After the last backward: the parts of other stages are added, in the order of the stages, to
  /// the gradient of the stage that updates the weight.
  void addGradients(sched::SectionOp section);
  /// The result of an update, or a preparation, goes to the ranks that read it.
  void sendUpdated(sched::SectionOp section);
  void sendPrepared(sched::SectionOp section);

private:
  ProgramValues &values;
  const Chain &chain;

  void addGradient(mlir::OpBuilder &b, const SharedWeight &weight, int64_t stage);
  void sendFrom(sched::SectionOp section, const SharedWeight &weight, int64_t owner);
};

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_SHAREDWEIGHTS_H
