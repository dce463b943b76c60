//===- mpi.h - ranks that are processes under MPI -------------------------===//
#ifndef TPLAN_RUNTIME_MPI_H
#define TPLAN_RUNTIME_MPI_H

#include "runtime/transport.h"

namespace tplan::runtime {

/// What the environment says of a launcher.
struct Launch {
  const char *launcher = nullptr; // "mpirun of Open MPI", ...; null: started by hand
  int64_t ranks = 1;
  std::string seen; // each variable that was looked at, with its value
};
Launch findLaunch();

/// Loads and starts MPI. An error unless it has as many ranks as the program needs.
Status connectMpi(const tp_program &program, std::unique_ptr<Transport> &transport,
                  double hangLimit = defaultHangLimit);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_MPI_H
