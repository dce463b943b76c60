//===- environment.h - how the stand-in is asked to behave ----------------===//
//
// STANDIN_ORDER=late|eager|random  when the work of streams runs, see stream.h; late
// STANDIN_SEED=N                   of everything random; 1
// STANDIN_STRICT=1                 a wait for an event that was never recorded is an error
// STANDIN_DEVICES=N                1, of at most 64
// STANDIN_PEERS=0                  no device can access the memory of another
// STANDIN_MIXED=1                  devices have names of their own
// STANDIN_ARCH=90                  compute capability
// STANDIN_MEMORY=BYTES             of a device; 16 GiB
// STANDIN_DRIVER_VERSION=13000
// STANDIN_THREADS=N                of the host that run blocks of a kernel; 1
// STANDIN_RACES=0                  warps that share memory without a barrier are no error
// STANDIN_FAULT=N                  launch n=N of the log ends with an illegal address when it runs
// STANDIN_GRAPH_FAULT=end|instantiate|upload  this call of a graph is not supported
// STANDIN_NODE_BYTES=N             of the device, that each node of a graph takes; 0
// STANDIN_LOG=FILE                 calls, see log.h
// STANDIN_TOUCH=1                  what kernels read and write, in the log
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_ENVIRONMENT_H
#define TPLAN_TEST_STANDIN_ENVIRONMENT_H

#include <cstddef>
#include <cstdint>
#include <string>

namespace standin {

enum class Order { late, eager, random };

struct Environment {
  Order order = Order::late;
  uint64_t seed = 1;
  bool strict = false, touch = false, races = true, peers = true, mixed = false;
  int devices = 1, arch = 90, driver = 13000, threads = 1;
  size_t memory = size_t(16) << 30;
  uint64_t fault = UINT64_MAX; ///< the number of no launch
  size_t nodeBytes = 0;
  std::string graphFault, log;
};

/// Read by the first cuInit, and again by each that follows, for tests.
const Environment &environment();
/// False, with a message, if a variable has no meaning.
bool readEnvironment();

} // namespace standin

#endif // TPLAN_TEST_STANDIN_ENVIRONMENT_H
