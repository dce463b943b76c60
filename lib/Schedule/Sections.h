//===- Sections.h - the ops of a section ------------------------------------===//
#ifndef TPLAN_SCHEDULE_SECTIONS_H
#define TPLAN_SCHEDULE_SECTIONS_H

#include "lib/Schedule/Values.h"

namespace tplan::schedule {

/// Builds what the runs of a chain do in a part. The size of it does not depend on the number of
/// layers.
class SectionBuilder {
public:
  /// Appends to the section.
  SectionBuilder(ProgramValues &values, const Chain &chain, sched::SectionOp section)
      : values(values), chain(chain), slots(section.isOfTask()),
        b(mlir::OpBuilder::atBlockEnd(&section.getBody().front())) {}

  /// The layers of a run, in order (backward parts and the norm: from the last).
  void addRun(const Run &run, Part part);
  /// Zeros of contributions, before the first microbatch of a step.
  void zeroContributions(const Run &run);
  /// What runs of a stage add to the squared norm goes to and fro between two scalars. Returns the
  /// one in which it begins, chosen so that the sum is in the first when all have run.
  int64_t beginNorm(llvm::ArrayRef<const Run *> runs);
  /// A value of the chain, or its cotangent.
  sched::Use chainUse(mlir::Value value, bool cotangent = false);

private:
  ProgramValues &values;
  const Chain &chain;
  const bool slots; // for a microbatch: what the backward needs is kept
  mlir::OpBuilder b;
  int64_t normCalls = 0;

  /// Function j of the period.
  struct Layer {
    const Run &run;
    Part part;
    unsigned j;
    // Norm calls before the run, of a period, and before this one in its period: the parity of all
    // of them says which of two numbers a call reads, and which it writes.
    int64_t normBase, normsPerPeriod, normsBefore;
    const Callee &callee() const { return run.callees[j]; }
    int64_t functions() const { return run.callees.size(); }
  };

  mlir::AffineExpr number(int64_t value);
  mlir::AffineExpr period();
  sched::RunOp openRun(const Run &run, llvm::StringRef part, bool descending);
  void unpackInputs(const Run &run);
  void addLayer(const Layer &layer);
  sched::Use argument(const Layer &layer, const nn::Label &label);
  sched::Use result(const Layer &layer, const nn::Label &label);
  mlir::AffineExpr instanceOf(const Layer &layer, sched::KeyAttr key);
  static sched::Use atBorder(sched::Border border, sched::Use outer, sched::Use inner);
  sched::Use input(const Layer &layer, unsigned k);
  sched::Use innerInput(const Layer &layer, unsigned k, unsigned j, mlir::AffineExpr period);
  sched::Use output(const Layer &layer, unsigned k);
  sched::Use cotangentIn(const Layer &layer, unsigned k);
  sched::Use cotangentOut(const Layer &layer, unsigned k);
  sched::Use innerCotangent(const Layer &layer, unsigned k, unsigned j, mlir::AffineExpr period);
  sched::Use handover(const Layer &layer, unsigned k, mlir::AffineExpr number);
  sched::Use normUse(const Layer &layer, bool isRead);
  llvm::SmallVector<sched::ValueOp> contributionsOf(const Run &run, const Callee &callee);
  void zeroCotangents(const Run &run);
  void zeroMissing(const Layer &layer);
  void zero(const Run &run, sched::Use use);
};

} // namespace tplan::schedule

#endif // TPLAN_SCHEDULE_SECTIONS_H
