//===- Host/Slots.h - which bytes of the arena are whose ------------------===//
#ifndef TPLAN_LOWER_HOST_SLOTS_H
#define TPLAN_LOWER_HOST_SLOTS_H

#include "lib/Lower/Host/Calls.h"
#include "lib/Lower/Host/Places.h"

namespace tplan::lower {

/// Every byte that calls touch: values without the padding between them, frames without their
/// holes.
std::vector<Record<tp_slot>> slotsOf(HostBuilder &host, sched::ProgramOp program,
                                     HostPlaces &places, const HostCalls &calls);

/// The piece of the arena that the host gives for each step: where it begins and ends.
std::pair<int64_t, int64_t> givenPiece(sched::ProgramOp program);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_SLOTS_H
