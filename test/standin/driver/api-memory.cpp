//===- api-memory.cpp - memory, copies and fills --------------------------===//
#include "test/standin/driver/copy.h"
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"

#include <algorithm>
#include <cstring>

using namespace standin;

namespace {
Rows deviceRows(CUdeviceptr pointer, size_t pitch = 0) { return {pointer, true, pitch}; }
Rows hostRows(const void *pointer, size_t pitch = 0) {
  return {reinterpret_cast<uint64_t>(pointer), false, pitch};
}

CUresult fill(Line &line, CUdeviceptr to, size_t pitch, uint32_t value, int width, size_t count,
              size_t height, CUstream handle) {
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", "s" + std::to_string(stream->number)).hex("dst", to);
  if (height > 1 || pitch)
    line.number("pitch", pitch)
        .number("value", value)
        .number("width", count)
        .number("height", height);
  else
    line.number("value", value).number("width", width).number("count", count);
  if (!count || !height)
    return line.end(CUDA_SUCCESS);
  Rows rows = deviceRows(to, pitch);
  size_t bytes = count * width;
  int device = stream->context->device;
  if (to % width || (height > 1 && pitch < bytes) || !valid(rows, bytes, height, device, false))
    return line.end(refuse(CUDA_ERROR_INVALID_VALUE,
                           "memory of the device does not hold %zu rows of %zu bytes: 0x%llx",
                           height, bytes, to));
  auto action = std::make_shared<Action>();
  action->run = [=]() -> CUresult {
    auto table = standin::system().memory.table();
    if (!valid(rows, bytes, height, device, false))
      return refuse(CUDA_ERROR_ILLEGAL_ADDRESS, "memory of a fill has been freed: 0x%llx", to);
    for (size_t row = 0; row < height; ++row)
      if (width == 4)
        std::fill_n(reinterpret_cast<uint32_t *>(place(rows, row)), count, value);
      else
        memset(place(rows, row), value, count);
    return CUDA_SUCCESS;
  };
  std::lock_guard<std::mutex> lock(standin::system().mutex);
  return line.end(enqueue(*stream, std::move(action)));
}
} // namespace

CUresult cuMemGetInfo_v2(size_t *free, size_t *total) {
  if (CUresult r = enter())
    return r;
  if (!free || !total)
    return CUDA_ERROR_INVALID_VALUE;
  *total = environment().memory;
  *free = *total - std::min(*total, standin::system().memory.used(currentContext->device));
  return CUDA_SUCCESS;
}

CUresult cuMemAlloc_v2(CUdeviceptr *pointer, size_t bytes) {
  Line line("alloc");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (CUresult r = checkUnsafe("cuMemAlloc"))
      return line.end(r);
  }
  if (!pointer || !bytes)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  *pointer = s.memory.allocate(bytes, currentContext->device, environment().memory);
  line.hex("p", *pointer).number("bytes", bytes);
  return line.end(*pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuMemFree_v2(CUdeviceptr pointer) {
  Line line("free");
  line.hex("p", pointer);
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (CUresult r = checkUnsafe("cuMemFree"))
      return line.end(r);
  }
  if (!pointer)
    return line.end(CUDA_SUCCESS);
  // Logged before it is freed: from then on another thread may be given the address.
  bool guards = true;
  {
    auto table = s.memory.table();
    const Allocation *a = table->find(pointer);
    if (!a || a->constant || a->base != pointer)
      return line.end(
          refuse(CUDA_ERROR_INVALID_VALUE, "free of what was not allocated: 0x%llx", pointer));
    guards = a->guardsIntact();
  }
  if (!guards) {
    std::lock_guard<std::mutex> lock(s.mutex);
    currentContext->error = CUDA_ERROR_ILLEGAL_ADDRESS;
    line.end(refuse(CUDA_ERROR_ILLEGAL_ADDRESS, "a library wrote outside of an allocation: 0x%llx",
                    pointer));
  } else {
    line.end(CUDA_SUCCESS);
  }
  if (!s.memory.free(pointer))
    return refuse(CUDA_ERROR_INVALID_VALUE, "free of what another thread frees: 0x%llx", pointer);
  return guards ? CUDA_SUCCESS : CUDA_ERROR_ILLEGAL_ADDRESS;
}

CUresult cuMemHostAlloc(void **pointer, size_t bytes, unsigned flags) {
  Line line("hostalloc");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (CUresult r = checkUnsafe("cuMemHostAlloc"))
      return line.end(r);
  }
  if (!pointer || !bytes || flags & ~7u)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  *pointer = s.memory.allocateHost(bytes);
  line.hex("p", *pointer).number("bytes", bytes);
  return line.end(*pointer ? CUDA_SUCCESS : CUDA_ERROR_OUT_OF_MEMORY);
}

CUresult cuMemFreeHost(void *pointer) {
  Line line("hostfree");
  line.hex("p", pointer);
  if (CUresult r = enter())
    return line.end(r);
  Memory &memory = standin::system().memory;
  uint64_t base = 0;
  size_t bytes = 0;
  if (!memory.pinnedRange(pointer, base, bytes) || base != reinterpret_cast<uint64_t>(pointer))
    return line.end(
        refuse(CUDA_ERROR_INVALID_VALUE, "free of what was not allocated: %p", pointer));
  line.end(CUDA_SUCCESS); // before another thread can be given the address
  return memory.freeHost(pointer) ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
}

CUresult cuPointerGetAttribute(void *data, CUpointer_attribute which, CUdeviceptr pointer) {
  if (CUresult r = enter())
    return r;
  if (!data)
    return CUDA_ERROR_INVALID_VALUE;
  Memory &memory = standin::system().memory;
  auto table = memory.table();
  const Allocation *a = table->find(pointer);
  uint64_t base = a ? a->base : 0;
  size_t bytes = a ? a->bytes : 0;
  if (!a && !memory.pinnedRange(reinterpret_cast<void *>(pointer), base, bytes))
    return CUDA_ERROR_INVALID_VALUE;
  switch (which) {
  case CU_POINTER_ATTRIBUTE_MEMORY_TYPE:
    *static_cast<unsigned *>(data) = a ? CU_MEMORYTYPE_DEVICE : CU_MEMORYTYPE_HOST;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_DEVICE_ORDINAL:
    *static_cast<int *>(data) = a ? a->device : currentContext->device;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_START_ADDR:
    *static_cast<CUdeviceptr *>(data) = base;
    return CUDA_SUCCESS;
  case CU_POINTER_ATTRIBUTE_RANGE_SIZE:
    *static_cast<size_t *>(data) = bytes;
    return CUDA_SUCCESS;
  default:
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown attribute of a pointer: %d", int(which));
  }
}

CUresult cuMemcpyHtoD_v2(CUdeviceptr to, const void *from, size_t bytes) {
  return copyNow(deviceRows(to), hostRows(from), bytes);
}
CUresult cuMemcpyDtoH_v2(void *to, CUdeviceptr from, size_t bytes) {
  return copyNow(hostRows(to), deviceRows(from), bytes);
}
CUresult cuMemcpyHtoDAsync_v2(CUdeviceptr to, const void *from, size_t bytes, CUstream stream) {
  return copyAsync("copy", deviceRows(to), hostRows(from), bytes, 1, stream);
}
CUresult cuMemcpyDtoHAsync_v2(void *to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAsync("copy", hostRows(to), deviceRows(from), bytes, 1, stream);
}
CUresult cuMemcpyDtoDAsync_v2(CUdeviceptr to, CUdeviceptr from, size_t bytes, CUstream stream) {
  return copyAsync("copy", deviceRows(to), deviceRows(from), bytes, 1, stream);
}

CUresult cuMemcpy2DAsync_v2(const CUDA_MEMCPY2D *c, CUstream stream) {
  if (!c)
    return CUDA_ERROR_INVALID_VALUE;
  auto side = [](CUmemorytype type, uint64_t host, CUdeviceptr device, size_t x, size_t y,
                 size_t pitch) {
    bool onDevice = type == CU_MEMORYTYPE_DEVICE;
    return Rows{(onDevice ? device : host) + y * pitch + x, onDevice, pitch};
  };
  for (CUmemorytype type : {c->srcMemoryType, c->dstMemoryType})
    if (type != CU_MEMORYTYPE_DEVICE && type != CU_MEMORYTYPE_HOST)
      return refuse(CUDA_ERROR_INVALID_VALUE, "unknown type of memory: %d", int(type));
  if (c->Height > 1 && (c->srcPitch < c->WidthInBytes || c->dstPitch < c->WidthInBytes))
    return refuse(CUDA_ERROR_INVALID_VALUE, "rows of a copy overlap: %zu bytes", c->WidthInBytes);
  return copyAsync("copy2d",
                   side(c->dstMemoryType, reinterpret_cast<uint64_t>(c->dstHost), c->dstDevice,
                        c->dstXInBytes, c->dstY, c->dstPitch),
                   side(c->srcMemoryType, reinterpret_cast<uint64_t>(c->srcHost), c->srcDevice,
                        c->srcXInBytes, c->srcY, c->srcPitch),
                   c->WidthInBytes, c->Height, stream);
}

/// Memory of the device, or pinned memory, which has one address on both sides.
CUresult cuStreamWriteValue32_v2(CUstream handle, CUdeviceptr to, unsigned value, unsigned flags) {
  Line line("write");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", "s" + std::to_string(stream->number)).hex("dst", to).number("value", value);
  Rows place = deviceRows(to);
  if (!valid(place, sizeof value, 1, stream->context->device, false))
    place = hostRows(reinterpret_cast<void *>(to));
  if (flags || to % sizeof value || !valid(place, sizeof value, 1, stream->context->device, false))
    return line.end(refuse(CUDA_ERROR_INVALID_VALUE, "no place for a number: 0x%llx", to));
  auto action = std::make_shared<Action>();
  action->run = [=, device = stream->context->device] {
    if (!valid(place, sizeof value, 1, device, false))
      return refuse(CUDA_ERROR_ILLEGAL_ADDRESS, "the place of a number has been freed: 0x%llx", to);
    __atomic_store_n(reinterpret_cast<unsigned *>(::place(place, 0)), value, __ATOMIC_RELEASE);
    return CUDA_SUCCESS;
  };
  std::lock_guard<std::mutex> lock(standin::system().mutex);
  return line.end(enqueue(*stream, std::move(action)));
}

CUresult cuMemsetD8Async(CUdeviceptr to, unsigned char value, size_t count, CUstream stream) {
  Line line("memset");
  return fill(line, to, 0, value, 1, count, 1, stream);
}
CUresult cuMemsetD32Async(CUdeviceptr to, unsigned value, size_t count, CUstream stream) {
  Line line("memset");
  return fill(line, to, 0, value, 4, count, 1, stream);
}
CUresult cuMemsetD2D8Async(CUdeviceptr to, size_t pitch, unsigned char value, size_t width,
                           size_t height, CUstream stream) {
  Line line("memset2d");
  return fill(line, to, pitch, value, 1, width, height, stream);
}

void *standin_host(unsigned long long pointer) {
  return standin::system().memory.table()->find(pointer) ? hostOf(pointer) : nullptr;
}
