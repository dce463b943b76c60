//===- mpi.h - ranks that are processes under MPI -------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_MPI_H
#define TPLAN_RUNTIME_TRANSPORTS_MPI_H

#include "runtime/ranks/transport.h"
#include "runtime/start/launcher.h"

namespace tplan::runtime {

/// Loads and starts MPI. An error unless it has as many ranks as the program needs.
Status connectMpi(const tp_program &program, const Launch &launch,
                  std::unique_ptr<Transport> &transport, double hangLimit = defaultHangLimit);

/// The ranks of a communicator of Open MPI's that a host has started, and will end; called by all
/// of them. A rank that fails ends the waits of the others, but no process.
Status joinMpi(const tp_program &program, void *communicator, std::unique_ptr<Transport> &transport,
               double hangLimit);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_MPI_H
