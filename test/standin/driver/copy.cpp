//===- copy.cpp - copies of rows, in a stream or at once ------------------===//
//
// One decision: asynchronous copies take pinned host memory only. With pageable memory the
// driver copies before it returns, or after, as it likes; a program that relies on either
// is one that we want to hear of. A copy that blocks reads such memory before it returns, and
// writes in the default stream, for which streams that do not block it do not wait.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/copy.h"
#include "test/standin/driver/log.h"

#include <algorithm>
#include <cstring>

namespace standin {

namespace {
bool inDevice(const Memory &memory, const Rows &rows, size_t bytes, int device) {
  auto table = memory.table();
  const Allocation *a = table->find(rows.base);
  return a && a->end() - rows.base >= bytes &&
         (rows.of < 0 ? memory.reaches(device, a->device) : rows.of == a->device);
}
} // namespace

bool valid(const Rows &rows, size_t width, size_t height, int device, bool pageable) {
  size_t bytes = (height - 1) * rows.pitch + width;
  Memory &memory = system().memory;
  if (rows.device)
    return inDevice(memory, rows, bytes, device);
  return pageable || memory.pinned(reinterpret_cast<void *>(rows.base), bytes);
}

char *place(const Rows &rows, size_t row) {
  uint64_t address = rows.base + row * rows.pitch;
  return rows.device ? hostOf(address) : reinterpret_cast<char *>(address);
}

namespace {
const char *kindOf(const Rows &to, const Rows &from) {
  if (to.of >= 0)
    return "peer";
  return to.device ? from.device ? "dtod" : "htod" : from.device ? "dtoh" : "htoh";
}

CUresult checkCopy(Rows to, Rows from, size_t width, size_t height, bool pageable) {
  int device = currentContext->device;
  for (const Rows &rows : {to, from})
    if (!valid(rows, width, height, device, pageable))
      return refuse(CUDA_ERROR_INVALID_VALUE, "%s does not hold %zu rows of %zu bytes: 0x%llx",
                    rows.device ? "memory of the device" : "pinned memory", height, width,
                    (unsigned long long)rows.base);
  if (to.device == from.device) {
    uint64_t bytes = (height - 1) * std::max(to.pitch, from.pitch) + width;
    if (to.base < from.base + bytes && from.base < to.base + bytes && height == 1)
      return refuse(CUDA_ERROR_INVALID_VALUE, "copy onto itself: 0x%llx",
                    (unsigned long long)to.base);
  }
  return CUDA_SUCCESS;
}

CUresult copyRows(Rows to, Rows from, size_t width, size_t height, int device, bool pageable) {
  auto table = system().memory.table(); // kept while it is copied
  for (const Rows &rows : {to, from})
    if (!valid(rows, width, height, device, pageable))
      return refuse(CUDA_ERROR_ILLEGAL_ADDRESS, "memory of a copy has been freed: 0x%llx",
                    (unsigned long long)rows.base);
  for (size_t row = 0; row < height; ++row)
    memcpy(place(to, row), place(from, row), width);
  return CUDA_SUCCESS;
}
} // namespace

CUresult copyAsync(const char *call, Rows to, Rows from, size_t width, size_t height,
                   CUstream handle) {
  Line line(call);
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", "s" + std::to_string(stream->number)).text("kind", kindOf(to, from));
  line.hex("dst", to.base);
  if (!strcmp(call, "copy2d"))
    line.number("dpitch", to.pitch)
        .hex("src", from.base)
        .number("spitch", from.pitch)
        .number("width", width)
        .number("height", height);
  else
    line.hex("src", from.base).number("bytes", width);
  if (!width || !height)
    return line.end(CUDA_SUCCESS);
  if (CUresult r = checkCopy(to, from, width, height, false))
    return line.end(r);
  auto action = std::make_shared<Action>();
  action->run = [=, device = stream->context->device] {
    return copyRows(to, from, width, height, device, false);
  };
  std::lock_guard<std::mutex> lock(system().mutex);
  return line.end(enqueue(*stream, std::move(action)));
}

CUresult copyNow(Rows to, Rows from, size_t bytes) {
  Line line("copy");
  line.text("s", "-").text("kind", kindOf(to, from)).hex("dst", to.base).hex("src", from.base);
  line.number("bytes", bytes);
  if (CUresult r = enter())
    return line.end(r);
  {
    Lock lock(system().mutex);
    if (CUresult r = checkUnsafe("a copy that blocks"))
      return line.end(r);
    // The default stream waits for blocking streams only.
    if (CUresult r = awaitContext(lock, *currentContext, true))
      return line.end(r);
  }
  if (!bytes)
    return line.end(CUDA_SUCCESS);
  if (CUresult r = checkCopy(to, from, bytes, 1, true))
    return line.end(r);
  int device = currentContext->device;
  if (from.device || valid(from, bytes, 1, device, false))
    return line.end(copyRows(to, from, bytes, 1, device, true));
  const char *begin = place(from, 0);
  auto read = std::make_shared<std::string>(begin, bytes);
  auto action = std::make_shared<Action>();
  action->run = [=] {
    Rows staged = {reinterpret_cast<uint64_t>(read->data()), false, 0};
    return copyRows(to, staged, bytes, 1, device, true);
  };
  std::lock_guard<std::mutex> lock(system().mutex);
  return line.end(enqueue(legacyStream(*currentContext), std::move(action)));
}

} // namespace standin
