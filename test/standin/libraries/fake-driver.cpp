//===- fake-driver.cpp - just enough of a driver to test libraries on top of it ----===//

#include "fake-driver.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <map>

using namespace fake;

namespace {

constexpr uint64_t tag = 1ull << 62; // no address of the host
thread_local int device = 0;

struct Memory {
  std::mutex lock;
  std::map<uint64_t, size_t> blocks; // by device address
};
Memory &memory() {
  static auto *it = new Memory;
  return *it;
}

} // namespace

Stream::Stream() : thread([this] { work(); }) {}

Stream::~Stream() {
  {
    std::lock_guard guard(lock);
    ended = true;
  }
  changed.notify_all();
  thread.join();
}

void Stream::push(HostFunction function) {
  if (capturing)
    return captured.push_back(function);
  std::lock_guard guard(lock);
  queue.push_back(function);
  changed.notify_all();
}

void Stream::push(const Graph &graph) {
  for (HostFunction function : graph)
    push(function);
}

Graph Stream::endCapture() {
  capturing = false;
  return std::exchange(captured, {});
}

void Stream::synchronize() {
  std::unique_lock guard(lock);
  changed.wait(guard, [&] { return queue.empty() && !busy; });
}

bool Stream::isIdle() {
  std::lock_guard guard(lock);
  return queue.empty() && !busy;
}

void Stream::work() {
  std::unique_lock guard(lock);
  for (;;) {
    changed.wait(guard, [&] { return ended || !queue.empty(); });
    if (queue.empty())
      return;
    auto [function, data] = queue.front();
    queue.pop_front();
    busy = true;
    guard.unlock();
    function(data);
    guard.lock();
    busy = false;
    changed.notify_all();
  }
}

void *fake::allocate(size_t bytes) {
  size_t whole = (bytes + 255) / 256 * 256;
  void *at = aligned_alloc(256, whole);
  memset(at, 0xFF, whole);
  std::lock_guard guard(memory().lock);
  memory().blocks[(uint64_t)at | tag] = bytes;
  return (void *)((uint64_t)at | tag);
}

void fake::release(void *device) {
  std::lock_guard guard(memory().lock);
  memory().blocks.erase((uint64_t)device);
  free((void *)((uint64_t)device & ~tag));
}

void *fake::host(const void *device) {
  std::lock_guard guard(memory().lock);
  auto it = memory().blocks.upper_bound((uint64_t)device);
  if (it == memory().blocks.begin())
    return nullptr;
  --it;
  bool isInside = (uint64_t)device - it->first < it->second;
  return isInside ? (void *)((uint64_t)device & ~tag) : nullptr;
}

void fake::setDevice(int number) { device = number; }

extern "C" {
int cuLaunchHostFunc(void *stream, void (*function)(void *), void *data) {
  ((Stream *)stream)->push({function, data});
  return 0;
}
int cuStreamIsCapturing(void *stream, int *status) {
  *status = ((Stream *)stream)->isCapturing();
  return 0;
}
void *standin_host(unsigned long long device) { return fake::host((void *)device); }
int cuCtxGetCurrent(void **context) {
  *context = device < 0 ? nullptr : &device;
  return 0;
}
int cuCtxGetDevice(int *number) {
  *number = device;
  return device < 0 ? 201 : 0; // CUDA_ERROR_INVALID_CONTEXT
}
int cuDeviceGetPCIBusId(char *id, int bytes, int number) {
  snprintf(id, bytes, "0000:%02x:00.0", number);
  return 0;
}
}
