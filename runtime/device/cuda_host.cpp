//===- cuda_host.cpp - a GPU of NVIDIA's: what the host gives and takes -----===//
//
// What the host gives for a step goes by pinned memory; what runs again and again is a graph.
//
// Decision: work is captured only after it has run call by call. By then every library has made
// what it makes on a first call, which a capture would refuse.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_device.h"
#include "runtime/support/profile.h"
#include "runtime/support/random.h"

#include <algorithm>
#include <cstring>

#include <unistd.h>

using namespace tplan::runtime;

/// A device may wait for another one that is lost, and then no call of the driver returns: so where
/// somebody watches, the host polls, at first without a pause.
Status CudaDevice::await(cuda::EventHandle *event) {
  constexpr double busy = 200e-6, pause = 50e-6, look = 5e-3;
  if (!watcher) {
    TP_CUDA(EventSynchronize(event));
    return {};
  }
  double begin = monotonicSeconds(), looked = begin;
  for (;;) {
    cuda::Result result = cu.EventQuery(event);
    if (result != cuda::notReady)
      return cu.check(result, "cuEventQuery");
    double now = monotonicSeconds();
    if (now - looked > look) {
      TP_TRY(watcher(now - begin));
      looked = now;
    }
    if (now - begin > busy)
      usleep(useconds_t(pause * 1e6));
  }
}

Status CudaDevice::await(cuda::StreamHandle *stream) {
  if (!watcher) {
    TP_CUDA(StreamSynchronize(stream));
    return {};
  }
  TP_CUDA(EventRecord(awaited, stream));
  return await(awaited);
}

Status CudaDevice::finish() {
  for (cuda::StreamHandle *stream : streams)
    TP_TRY(await(stream));
  return {};
}

void CudaDevice::forget() {
  for (auto [number, graph] : std::exchange(graphs, {}))
    cu.GraphExecDestroy(graph);
}

Status CudaDevice::read(void *to, const void *from, int64_t bytes) {
  TP_TRY(finish());
  if (bytes)
    TP_CUDA(MemcpyDtoH(to, pointer(from), bytes));
  return {};
}

Status CudaDevice::write(void *to, const void *from, int64_t bytes) {
  TP_TRY(finish());
  if (!bytes)
    return {};
  TP_CUDA(MemcpyHtoD(pointer(to), from, bytes));
  // The call has read memory that is not pinned, but the bytes may still be on their way, in a
  // stream of the driver's that ours do not wait for.
  TP_CUDA(StreamSynchronize(nullptr));
  return {};
}

Status CudaDevice::send() {
  if (!facts->given_bytes)
    return {};
  int next = 1 - current;
  TP_CUDA(StreamWaitEvent(givingStream, taken, 0)); // what was there has been taken
  TP_CUDA(MemcpyHtoDAsync(arena + facts->staging_offset, pinned[current], facts->given_bytes,
                          givingStream));
  TP_CUDA(EventRecord(sent, givingStream));
  TP_CUDA(EventRecord(pinnedSent[current], givingStream));
  // The other piece was sent a step ago. Whatever is not written again keeps its value.
  TP_TRY(await(pinnedSent[next]));
  memcpy(pinned[next], pinned[current], facts->given_bytes);
  current = next;
  return {};
}

Status CudaDevice::take() {
  if (!facts->given_bytes)
    return {};
  TP_CUDA(StreamWaitEvent(streams[0], sent, 0));
  TP_CUDA(MemcpyDtoDAsync(arena + facts->given_offset, arena + facts->staging_offset,
                          facts->given_bytes, streams[0]));
  TP_CUDA(EventRecord(taken, streams[0]));
  return {};
}

/// An error of work that already runs ends the rank; any other is a reason to do without a graph.
static Status orRefused(const CudaDriver &cu, cuda::Result result, const char *what,
                        Status &refused) {
  Status status = cu.check(result, what);
  if (CudaDriver::isLate(result))
    return status;
  refused = std::move(status);
  return {};
}

/// Loading a graph allocates all memory that it needs, which otherwise may be found missing at its
/// first launch.
Status CudaDevice::instantiate(cuda::Graph *captured, bool loads, cuda::GraphExec *&graph,
                               Status &refused) {
  TP_TRY(orRefused(cu, cu.GraphInstantiate(&graph, captured, cuda::graphUseNodePriority),
                   "cuGraphInstantiate", refused));
  if (!refused.ok())
    graph = nullptr;
  if (!graph || !loads)
    return {};
  TP_TRY(orRefused(cu, cu.GraphUpload(graph, streams[0]), "cuGraphUpload", refused));
  if (!refused.ok())
    cu.GraphExecDestroy(std::exchange(graph, nullptr));
  return {};
}

Status CudaDevice::beginCapture() {
  size_t total = 0;
  TP_CUDA(MemGetInfo(&freeBefore, &total));
  TP_CUDA(StreamBeginCapture(streams[0], cuda::captureThreadLocal));
  return {};
}

Status CudaDevice::endCapture(int64_t number, Capture &made) {
  cuda::Graph *captured = nullptr;
  cuda::Result ended = cu.StreamEndCapture(streams[0], &captured);
  Status refused;
  Status status = orRefused(cu, ended, "cuStreamEndCapture", refused);
  cuda::GraphExec *graph = nullptr;
  if (status.ok() && refused.ok() && made.refused.ok()) // no memory for those that will not be run
    status = instantiate(captured, made.loads, graph, refused);
  if (captured)
    cu.GraphDestroy(captured);
  if (made.refused.ok())
    made.refused = std::move(refused);
  if (!graph)
    return status;
  graphs[number] = graph;
  size_t freeAfter = 0, total = 0;
  TP_CUDA(MemGetInfo(&freeAfter, &total));
  made.bytes += (int64_t)freeBefore - (int64_t)freeAfter;
  return status;
}

Status CudaDevice::replay(int64_t number) {
  auto found = graphs.find(number);
  if (found == graphs.end())
    return errorf("no graph has been captured as number %lld", (long long)number);
  TP_CUDA(GraphLaunch(found->second, streams[0]));
  return watcher && ++replays % replaysAhead == 0 ? keepPace() : Status();
}

/// Waits for what was replayed some time ago. Without this the host comes so far ahead that it
/// blocks in the driver, where nobody notices that another rank is lost.
Status CudaDevice::keepPace() {
  cuda::EventHandle *reached = paces[replays / replaysAhead % 2];
  TP_TRY(await(reached));
  TP_CUDA(EventRecord(reached, streams[0]));
  return {};
}

/// Numbers below 2 in every floating-point type: in each byte the bit that makes exponents large is
/// off. Products of zeros take another time than products of other numbers.
Status CudaDevice::fillRandomly(int64_t begin, int64_t bytes) {
  std::vector<std::array<uint32_t, 4>> piece(1 << 16);
  for (size_t i = 0; i < piece.size(); ++i)
    for (uint32_t &word : piece[i] = philox(0, 0, i))
      word &= 0xBFBFBFBF;
  int64_t done = std::min<int64_t>(bytes, sizeof piece[0] * piece.size());
  TP_TRY(write((char *)(uintptr_t)arena + begin, piece.data(), done));
  for (int64_t more; done < bytes; done += more) {
    more = std::min(done, bytes - done);
    TP_CUDA(MemcpyDtoDAsync(arena + begin + done, arena + begin, more, streams[0]));
  }
  return {};
}

/// Measures on the larger part of the arena beside the workspace.
Status CudaDevice::chooseGemms(std::span<const GemmUse> uses, int64_t &measured) {
  int64_t before = facts->workspace_offset, after = before + facts->workspace_bytes;
  bool isBefore = before >= program->arena_bytes - after;
  int64_t begin = isBefore ? 0 : after;
  int64_t bytes = isBefore ? before : program->arena_bytes - after, most = 0;
  for (const GemmUse &use : uses)
    most = std::max(most, CudaMatmul::bytesToMeasure(use));
  TP_TRY(fillRandomly(begin, std::min(bytes, most)));
  for (const GemmUse &use : uses)
    TP_TRY(gemms.choose(use, (char *)(uintptr_t)arena + begin, bytes, streams[0], measured));
  return {};
}

GemmChoices CudaDevice::gemmChoices() const { return gemms.choices(gpuName); }

Status CudaDevice::setGemmChoices(const GemmChoices &choices, int64_t &refused) {
  for (auto &[key, algorithm] : choices.chosen)
    gemms.take(key, algorithm, refused);
  return {};
}

Status CudaDevice::collectTimes(const std::function<void(const tp_call &, double)> &add) {
  if (timed.empty())
    return {};
  TP_TRY(finish());
  for (const TimedCall &call : timed) {
    float milliseconds = 0;
    TP_CUDA(EventElapsedTime(&milliseconds, call.begin, call.end));
    add(*call.call, 1e-3 * milliseconds);
    spare.push_back(call.begin);
    spare.push_back(call.end);
  }
  timed.clear();
  return {};
}
