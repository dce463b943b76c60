//===- nccl.h - ranks that are processes, with a GPU each --------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_NCCL_H
#define TPLAN_RUNTIME_TRANSPORTS_NCCL_H

#include "runtime/libraries/library.h"
#include "runtime/ranks/transport.h"
#include "runtime/start/launcher.h"

namespace tplan::runtime {

/// Connects this process with the others that its launcher has started. NCCL itself is loaded here,
/// and made ready by `connect`, when the device is there. A group of one needs nothing of NCCL, and
/// gets no communicator; with `ofOneToo` it does, so that a single GPU can show that NCCL does what
/// it is asked for.
Status connectNccl(const tp_program &program, const Launch &launch, NamedFile library,
                   std::unique_ptr<Transport> &transport, double hangLimit = defaultHangLimit,
                   bool ofOneToo = false);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_NCCL_H
