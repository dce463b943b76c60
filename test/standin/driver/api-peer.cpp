//===- api-peer.cpp - memory of other devices -----------------------------===//
//
// What runs on a device reaches the memory of another only after cuCtxEnablePeerAccess; copies
// that name both contexts go without.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/copy.h"
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"

using namespace standin;

namespace {
/// The device of a context that somebody holds, or -1.
int deviceOf(CUcontext handle) {
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  for (auto &context : s.contexts)
    if (reinterpret_cast<CUcontext>(context.get()) == handle && context->retained)
      return context->device;
  refuse(CUDA_ERROR_INVALID_CONTEXT, "unknown context: %p", (void *)handle);
  return -1;
}
} // namespace

CUresult cuDeviceCanAccessPeer(int *can, CUdevice device, CUdevice peer) {
  if (CUresult r = enter())
    return r;
  if (!can)
    return CUDA_ERROR_INVALID_VALUE;
  for (CUdevice d : {device, peer})
    if (d < 0 || d >= environment().devices)
      return CUDA_ERROR_INVALID_DEVICE;
  *can = device != peer && environment().peers;
  return CUDA_SUCCESS;
}

CUresult cuCtxEnablePeerAccess(CUcontext handle, unsigned flags) {
  Line line("peer");
  if (CUresult r = enter())
    return line.end(r);
  if (flags)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  int device = currentContext->device, peer = deviceOf(handle);
  if (peer < 0 || peer == device)
    return line.end(CUDA_ERROR_INVALID_CONTEXT);
  line.number("from", device).number("to", peer);
  if (!environment().peers)
    return line.end(CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  return line.end(standin::system().memory.letReach(device, peer)
                      ? CUDA_SUCCESS
                      : CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
}

CUresult cuMemcpyPeerAsync(CUdeviceptr to, CUcontext toContext, CUdeviceptr from,
                           CUcontext fromContext, size_t bytes, CUstream stream) {
  if (CUresult r = enter())
    return r;
  Rows target{to, true, 0, deviceOf(toContext)}, source{from, true, 0, deviceOf(fromContext)};
  if (target.of < 0 || source.of < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  return copyAsync("copy", target, source, bytes, 1, stream);
}

CUresult cuMemcpy3DPeerAsync(const CUDA_MEMCPY3D_PEER *c, CUstream stream) {
  if (CUresult r = enter())
    return r;
  if (!c)
    return CUDA_ERROR_INVALID_VALUE;
  if (c->Depth != 1 || c->srcZ || c->dstZ || c->srcLOD || c->dstLOD ||
      c->srcMemoryType != CU_MEMORYTYPE_DEVICE || c->dstMemoryType != CU_MEMORYTYPE_DEVICE)
    return refuse(CUDA_ERROR_NOT_SUPPORTED, "copies of devices have one level here, found %zu",
                  c->Depth);
  if (c->Height > 1 && (c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "rows of a copy overlap: %zu bytes", c->WidthInBytes);
  Rows target{c->dstDevice + c->dstY * c->dstPitch + c->dstXInBytes, true, c->dstPitch,
              deviceOf(c->dstContext)};
  Rows source{c->srcDevice + c->srcY * c->srcPitch + c->srcXInBytes, true, c->srcPitch,
              deviceOf(c->srcContext)};
  if (target.of < 0 || source.of < 0)
    return CUDA_ERROR_INVALID_CONTEXT;
  return copyAsync("copy2d", target, source, c->WidthInBytes, c->Height, stream);
}
