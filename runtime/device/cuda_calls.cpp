//===- cuda_calls.cpp - a GPU of NVIDIA's: calls of generated code ----------===//
//
// Each is issued to its stream; with --profile it stands between two events.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_device.h"
#include "runtime/support/types.h"

#include <array>

using namespace tplan::runtime;

Status CudaDevice::beforeCall(const tp_call &call) {
  if (!options.times)
    return {};
  TimedCall &entry = timed.emplace_back(TimedCall{&call, nullptr, nullptr});
  for (cuda::EventHandle **event : {&entry.begin, &entry.end}) {
    if (spare.empty()) {
      TP_CUDA(EventCreate(event, cuda::eventDefault));
      continue;
    }
    *event = spare.back();
    spare.pop_back();
  }
  TP_CUDA(EventRecord(entry.begin, streams[call.stream]));
  return {};
}

Status CudaDevice::afterCall(const tp_call &call) {
  if (options.times)
    TP_CUDA(EventRecord(timed.back().end, streams[call.stream]));
  if (options.synchronous)
    TP_TRY(await(streams[call.stream]));
  return {};
}

Status CudaDevice::launch(const tp_call &call, const tp_device_kernel &kernel, void *const *args,
                          int64_t layers) {
  constexpr int mostArguments = 512; // 4 KiB of parameters
  if (kernel.num_args > mostArguments)
    return errorf("kernel '%s' has %d arguments, a GPU takes %d", kernel.name, kernel.num_args,
                  mostArguments);
  std::array<void *, mostArguments> parameters;
  for (int32_t i = 0; i < kernel.num_args; ++i)
    parameters[i] = (void *)&args[i];
  TP_CUDA(LaunchKernel(kernels[kernel.number], kernel.grid, unsigned(layers), 1, kernel.block, 1, 1,
                       0, streams[call.stream], parameters.data(), nullptr));
  return {};
}

Status CudaDevice::matmul(const tp_call &call, const tp_gemm &gemm, const tp_scales *scales,
                          const GemmOperands &operands) {
  return cu.ofLibrary(gemms.run(gemm, scales, operands, streams[call.stream]), marks.front());
}

Status CudaDevice::attend(const tp_call &call, const tp_attention &attention,
                          void *const *pointers) {
  return cu.ofLibrary(attentions.run(attention, pointers, streams[call.stream]), marks.front());
}

static bool isWhole(const Rows &rows) {
  return rows.rows == 1 || (rows.row == rows.fromStride && rows.row == rows.toStride);
}

Status CudaDevice::copy(int64_t stream, void *to, const void *from, const Rows &rows) {
  if (rows.rows == 0 || rows.row == 0)
    return {};
  if (!neighbours.empty() && (contextOf(to) != context || contextOf(from) != context))
    return copyBetween(stream, to, from, rows);
  if (isWhole(rows)) {
    TP_CUDA(MemcpyDtoDAsync(pointer(to), pointer(from), rows.rows * rows.row, streams[stream]));
    return {};
  }
  cuda::Copy2D piece = cuda::copyOfRows(pointer(to), rows.toStride, pointer(from), rows.fromStride,
                                        rows.row, rows.rows);
  TP_CUDA(Memcpy2DAsync(&piece, streams[stream]));
  return {};
}

cuda::Context *CudaDevice::contextOf(const void *address) const {
  for (const Neighbour &it : neighbours)
    if (pointer(address) >= it.begin && pointer(address) < it.end)
      return it.context;
  return context;
}

/// Both contexts are named, so the driver finds a way where neither GPU reaches the other.
Status CudaDevice::copyBetween(int64_t stream, void *to, const void *from, const Rows &rows) {
  cuda::Context *target = contextOf(to), *source = contextOf(from);
  if (isWhole(rows)) {
    TP_CUDA(MemcpyPeerAsync(pointer(to), target, pointer(from), source, rows.rows * rows.row,
                            streams[stream]));
    return {};
  }
  cuda::Copy3DPeer piece;
  piece.srcMemoryType = piece.dstMemoryType = cuda::memoryTypeDevice;
  piece.srcDevice = pointer(from), piece.srcContext = source, piece.srcPitch = rows.fromStride;
  piece.dstDevice = pointer(to), piece.dstContext = target, piece.dstPitch = rows.toStride;
  piece.WidthInBytes = rows.row, piece.Height = rows.rows;
  TP_CUDA(Memcpy3DPeerAsync(&piece, streams[stream]));
  return {};
}

Status CudaDevice::zero(int64_t stream, void *place, const Rows &rows) {
  if (rows.rows == 0 || rows.row == 0)
    return {};
  if (rows.rows == 1)
    TP_CUDA(MemsetD8Async(pointer(place), 0, rows.row, streams[stream]));
  else
    TP_CUDA(
        MemsetD2D8Async(pointer(place), rows.toStride, 0, rows.row, rows.rows, streams[stream]));
  return {};
}

Status CudaDevice::sum(int64_t stream, int32_t type, int32_t reduction, void *out, const void *in,
                       int64_t members, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < facts->num_sums; ++i) {
    const tp_device_sum &it = facts->sums[i];
    if (it.type != type || it.reduction != reduction)
      continue;
    void *parameters[] = {(void *)&in, &out, &members, &count, &stride};
    auto blocks = unsigned((count + it.kernel->block - 1) / it.kernel->block);
    TP_CUDA(LaunchKernel(kernels[it.kernel->number], blocks, 1, 1, it.kernel->block, 1, 1, 0,
                         streams[stream], parameters, nullptr));
    return {};
  }
  return errorf("the plan '%s' has no kernel that adds up %s of ranks", program->plan,
                nameOf(type));
}

Status CudaDevice::mark(int64_t stream, SharedMark mark) {
  TP_CUDA(EventRecord(marks[sharedMarks * stream + mark], streams[stream]));
  return {};
}

/// Called the first time that another rank is followed: from then on copies know which memory
/// belongs to that rank, and go straight to it where the GPUs reach each other.
Status CudaDevice::meet(const CudaDevice &other) {
  if (other.context == context)
    return {};
  for (const Neighbour &it : neighbours)
    if (it.begin == other.arena)
      return {};
  int reaches = 0;
  TP_CUDA(DeviceCanAccessPeer(&reaches, gpu, other.gpu));
  if (reaches) {
    cuda::Result result = cu.CtxEnablePeerAccess(other.context, 0);
    bool goesOn = result == cuda::peerAccessEnabled || result == cuda::tooManyPeers;
    TP_TRY(goesOn ? Status() : cu.check(result, "cuCtxEnablePeerAccess"));
  }
  auto bytes = (cuda::Pointer)other.program->arena_bytes;
  neighbours.push_back({other.arena, other.arena + bytes, other.context});
  return {};
}

Status CudaDevice::follow(int64_t stream, Device &other, int64_t otherStream, SharedMark mark) {
  auto &its = static_cast<CudaDevice &>(other);
  TP_TRY(meet(its));
  TP_CUDA(StreamWaitEvent(streams[stream], its.marks[sharedMarks * otherStream + mark], 0));
  return {};
}

Status CudaDevice::follow(int64_t stream, Device &other, int64_t event) {
  auto &its = static_cast<CudaDevice &>(other);
  TP_TRY(meet(its));
  TP_CUDA(StreamWaitEvent(streams[stream], its.events[event], 0));
  return {};
}

/// Memory of the host has one address on all sides.
Status CudaDevice::note(int64_t stream, uint32_t number, int64_t place) {
  TP_CUDA(StreamWriteValue32(streams[stream], pointer(&notes[place]), number, 0));
  return {};
}

Status CudaDevice::record(int64_t stream, int64_t event) {
  TP_CUDA(EventRecord(events[event], streams[stream]));
  return {};
}

Status CudaDevice::wait(int64_t stream, int64_t event) {
  TP_CUDA(StreamWaitEvent(streams[stream], events[event], 0));
  return {};
}
