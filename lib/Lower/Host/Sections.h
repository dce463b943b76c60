//===- Host/Sections.h - code of the sections of a program -----------------===//
#ifndef TPLAN_LOWER_HOST_SECTIONS_H
#define TPLAN_LOWER_HOST_SECTIONS_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"

namespace tplan::lower {

/// What a program says of a message.
struct MessageConstants {
  Address<tp_call> call;
  Table<tp_collective> all; // one for each value
};

/// Emits the ops of a section, in order. The size of the code does not depend on the number of
/// layers: a run is a loop.
class HostSections {
public:
  HostSections(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostPlaces &places)
      : host(host), groups(groups), calls(calls), places(places) {}

  /// An op of a section. A run has as many periods as it says, or as `times`.
  void emit(mlir::Operation *op, const SectionContext &context, mlir::Value times = {});
  MessageConstants constantsOf(sched::Step message);

private:
  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
  HostPlaces &places;

  void emitPeriod(sched::RunOp run, const SectionContext &context, mlir::Value period);
  void emitStep(mlir::Operation *op, const SectionContext &context);
  void emit(sched::CallOp call, const SectionContext &context);
  void emit(sched::AwaitOp await, const SectionContext &context);
  void emit(sched::ZeroOp zero, const SectionContext &context);
  void emit(sched::UnpackOp unpack, const SectionContext &context);
  void emit(sched::CopyOp copy, const SectionContext &context);
  void emit(sched::AllReduceOp sum, const SectionContext &context);
  void emit(sched::LaunchOp launch, const SectionContext &context);
  void emitMessage(sched::Step message, const SectionContext &context);
};

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_SECTIONS_H
