//===- fake-driver.h - just enough of a driver to test libraries on top of it ------===//
//
// Streams are threads, device memory is memory of the host at addresses that fault there.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_FAKE_DRIVER_H
#define TPLAN_TEST_STANDIN_FAKE_DRIVER_H

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

namespace fake {

using HostFunction = std::pair<void (*)(void *), void *>;
using Graph = std::vector<HostFunction>;

class Stream {
public:
  Stream();
  ~Stream();
  void push(HostFunction function);
  void push(const Graph &graph);
  void synchronize();
  bool isIdle();
  void beginCapture() { capturing = true; }
  Graph endCapture();
  bool isCapturing() const { return capturing; }

private:
  void work();

  std::mutex lock;
  std::condition_variable changed;
  std::deque<HostFunction> queue;
  Graph captured;
  bool capturing = false, busy = false, ended = false;
  std::thread thread;
};

/// Aligned to 256 bytes, and filled with 0xFF, which is NaN in every type.
void *allocate(size_t bytes);
void release(void *device);
void *host(const void *device);

/// The context of this thread; -1: none.
void setDevice(int device);

template <typename T> T *allocateAs(size_t count) { return (T *)allocate(count * sizeof(T)); }
template <typename T> T *hostAs(const void *device) { return (T *)host(device); }

} // namespace fake

#endif // TPLAN_TEST_STANDIN_FAKE_DRIVER_H
