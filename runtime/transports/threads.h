//===- threads.h - ranks that are threads of one process ------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_THREADS_H
#define TPLAN_RUNTIME_TRANSPORTS_THREADS_H

#include "runtime/ranks/transport.h"

namespace tplan::runtime {

/// The transports of ranks 0 .. ranks - 1, each to be used by a thread of its own. They may be
/// destroyed in any order.
std::vector<std::unique_ptr<Transport>> threadTransports(int ranks,
                                                         double hangLimit = defaultHangLimit);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_THREADS_H
