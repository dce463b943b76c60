//===- cuda_device.cpp - a GPU of NVIDIA's: start and end -------------------===//
//
// One allocation for the arena, streams and events as the program counts them, one stream beside
// them for what the host gives.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_device.h"
#include "runtime/libraries/library.h"
#include "runtime/support/types.h"

#include <array>
#include <cinttypes>
#include <cstring>
#include <vector>
#include <zstd.h>

using namespace tplan::runtime;

Status CudaDevice::open() {
  char text[256] = "";
  TP_CUDA(DeviceGet(&gpu, (int)options.ordinal));
  TP_CUDA(DeviceGetName(text, sizeof text, gpu));
  TP_CUDA(PrimaryCtxRetain(&context, gpu));
  TP_CUDA(CtxSetCurrent(context));
  gpuName = text;
  title = format("%s, driver for CUDA %s", text, cudaVersion(cu.version).c_str());
  return {};
}

/// Errors are not reported here: they have been, or the process ends.
CudaDevice::~CudaDevice() {
  if (!context)
    return;
  cu.CtxSetCurrent(context);
  for (cuda::StreamHandle *stream : streams)
    cu.StreamSynchronize(stream);
  if (givingStream)
    cu.StreamSynchronize(givingStream);
  forget();
  attentions.stop();
  gemms.stop();
  auto destroy = [&](cuda::EventHandle *event) {
    if (event)
      cu.EventDestroy(event);
  };
  for (cuda::EventHandle *event : events)
    destroy(event);
  for (cuda::EventHandle *event : marks)
    destroy(event);
  for (cuda::EventHandle *event : spare)
    destroy(event);
  for (const TimedCall &call : timed)
    destroy(call.begin), destroy(call.end);
  for (cuda::EventHandle *event :
       {sent, taken, pinnedSent[0], pinnedSent[1], awaited, paces[0], paces[1]})
    destroy(event);
  for (cuda::StreamHandle *stream : streams)
    cu.StreamDestroy(stream);
  if (givingStream)
    cu.StreamDestroy(givingStream);
  for (void *memory : {(void *)pinned[0], (void *)pinned[1], (void *)notes})
    if (memory)
      cu.MemFreeHost(memory);
  if (module)
    cu.ModuleUnload(module);
  if (arena)
    cu.MemFree(arena);
  cu.PrimaryCtxRelease(gpu);
}

Status CudaDevice::start(const tp_program &started, char *&address) {
  program = &started;
  facts = program->device;
  TP_TRY(checkArchitecture());
  TP_TRY(allocateArena(program->arena_bytes));
  TP_TRY(loadKernels());
  TP_TRY(makeStreams());
  TP_TRY(makePinned());
  address = (char *)(uintptr_t)arena;
  if (facts->workspace_bytes)
    TP_TRY(gemms.start(cu, address + facts->workspace_offset, facts->workspace_bytes));
  attentions.start(address + facts->workspace_offset, facts->workspace_bytes);
  return {};
}

/// Kernels run on the architecture that they were compiled for, and on later ones.
Status CudaDevice::checkArchitecture() {
  int major = 0, minor = 0, wanted = atoi(facts->arch + strlen("sm_"));
  TP_CUDA(DeviceGetAttribute(&major, cuda::attributeMajor, gpu));
  TP_CUDA(DeviceGetAttribute(&minor, cuda::attributeMinor, gpu));
  if (10 * major + minor < wanted)
    return errorf("the plan '%s' is compiled for %s, and this GPU (%s) is an sm_%d%d: compile it "
                  "with --target=cuda:sm_%d%d",
                  program->plan, facts->arch, title.c_str(), major, minor, major, minor);
  return {};
}

Status CudaDevice::allocateArena(int64_t bytes) {
  cuda::Result result = cu.MemAlloc(&arena, bytes);
  if (result != cuda::outOfMemory)
    return cu.check(result, "cuMemAlloc");
  size_t free = 0, total = 0;
  TP_CUDA(MemGetInfo(&free, &total));
  return errorf("the plan '%s' needs %" PRId64 " bytes of the GPU (%s), which has %zu free of %zu",
                program->plan, bytes, title.c_str(), free, total);
}

Status CudaDevice::loadModule(const void *image) {
  std::array<char, 4096> log = {};
  int names[] = {cuda::jitErrorBuffer, cuda::jitErrorBytes};
  void *values[] = {log.data(), (void *)log.size()};
  cuda::Result result = cu.ModuleLoadDataEx(&module, image, 2, names, values);
  Status status = cu.check(result, "cuModuleLoadDataEx");
  if (status.ok() || !log[0])
    return status;
  return errorf("%s: %s", status.message().c_str(), log.data());
}

static Status unpack(const tp_image &image, std::vector<char> &bytes) {
  bytes.resize(image.bytes);
  size_t got = ZSTD_decompress(bytes.data(), bytes.size(), image.packed, image.packed_bytes);
  if (ZSTD_isError(got))
    return errorf("the kernels of this program are damaged: zstd says '%s'",
                  ZSTD_getErrorName(got));
  return {};
}

/// Code that ptxas made is for one architecture; the text serves all later ones.
Status CudaDevice::loadKernels() {
  if (!facts->ptx->bytes)
    return {};
  std::vector<char> image;
  if (facts->cubin->bytes)
    TP_TRY(unpack(*facts->cubin, image));
  if (image.empty() || !loadModule(image.data()).ok()) {
    TP_TRY(unpack(*facts->ptx, image));
    TP_TRY(loadModule(image.data()));
  }
  kernels.resize(facts->num_kernels);
  for (int64_t i = 0; i < facts->num_kernels; ++i)
    TP_CUDA(ModuleGetFunction(&kernels[i], module, facts->kernels[i]->name));
  return {};
}

/// Collectives have priority where both could run, because other ranks wait for them.
Status CudaDevice::makeStreams() {
  streams.resize(program->num_streams);
  for (size_t i = 0; i < streams.size(); ++i)
    TP_CUDA(StreamCreate(&streams[i], cuda::streamNonBlocking, i ? -1 : 0));
  TP_CUDA(StreamCreate(&givingStream, cuda::streamNonBlocking, 0));
  events.resize(program->num_events);
  for (cuda::EventHandle *&event : events)
    TP_CUDA(EventCreate(&event, cuda::eventDisableTiming));
  marks.resize(sharedMarks * streams.size());
  for (cuda::EventHandle *&event : marks)
    TP_CUDA(EventCreate(&event, cuda::eventDisableTiming));
  for (cuda::EventHandle **event :
       {&sent, &taken, &pinnedSent[0], &pinnedSent[1], &awaited, &paces[0], &paces[1]})
    TP_CUDA(EventCreate(event, cuda::eventDisableTiming));
  size_t bytes = (streams.size() + 1) * sizeof *notes;
  TP_CUDA(MemHostAlloc((void **)&notes, bytes, cuda::hostAllocPortable));
  memset(notes, 0, bytes);
  return {};
}

Status CudaDevice::makePinned() {
  for (char *&given : pinned) {
    TP_CUDA(MemHostAlloc((void **)&given, std::max<int64_t>(facts->given_bytes, 1),
                         cuda::hostAllocPortable));
    memset(given, 0, facts->given_bytes);
  }
  return {};
}
