//===- memory.cpp - device memory and pinned memory of the host -----------===//
#include "test/standin/driver/memory.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include <sys/mman.h>

namespace standin {

namespace {
constexpr size_t kPage = 4096;
size_t pages(size_t bytes) { return (bytes + kPage - 1) / kPage * kPage; }

bool isFresh(const char *memory, const char *end) {
  for (; memory < end; memory += 2)
    if (memcmp(memory, &kFresh, std::min<size_t>(2, end - memory)) != 0)
      return false;
  return true;
}
} // namespace

void fillFresh(void *memory, size_t bytes) {
  auto *out = static_cast<uint16_t *>(memory);
  std::fill_n(out, bytes / 2, kFresh);
  if (bytes % 2)
    memcpy(out + bytes / 2, &kFresh, 1);
}

bool Allocation::guardsIntact() const {
  char *begin = hostOf(base), *last = mapping + mapped - kPage;
  // An odd end shifts the pattern by a byte.
  char *after = begin + bytes + (bytes & 1);
  return isFresh(mapping + kPage, begin) && isFresh(after, last);
}

Allocation::~Allocation() {
  if (mapping)
    munmap(mapping, mapped);
}

const Allocation *Table::find(uint64_t address) const {
  auto it = std::upper_bound(sorted.begin(), sorted.end(), address,
                             [](uint64_t a, const auto &x) { return a < x->base; });
  if (it == sorted.begin())
    return nullptr;
  const Allocation *found = std::prev(it)->get();
  return address < found->end() ? found : nullptr;
}

const Allocation *Table::nearest(uint64_t address) const {
  const Allocation *best = nullptr;
  uint64_t least = ~uint64_t(0);
  for (const auto &a : sorted) {
    uint64_t distance = address < a->base ? a->base - address : address - a->end();
    if (distance < least)
      least = distance, best = a.get();
  }
  return best;
}

// A page that nobody may touch, a guard that makes the base no multiple of more than
// kAlign, the memory, a guard, a page.
uint64_t Memory::allocate(size_t bytes, int device, size_t limit, bool constant) {
  std::lock_guard<std::mutex> lock(mutex);
  size_t already = 0;
  for (const auto &a : current->sorted)
    already += a->device == device ? a->bytes : 0;
  if (bytes > limit || already > limit - bytes)
    return 0;
  size_t mapped = pages(kAlign + bytes + kAlign) + 2 * kPage;
  void *mapping = mmap(nullptr, mapped, PROT_READ | PROT_WRITE,
                       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED)
    return 0;
  auto a = std::make_shared<Allocation>();
  a->mapping = static_cast<char *>(mapping), a->mapped = mapped;
  fillFresh(a->mapping + kPage, mapped - 2 * kPage);
  mprotect(a->mapping, kPage, PROT_NONE);
  mprotect(a->mapping + mapped - kPage, kPage, PROT_NONE);
  a->base = (reinterpret_cast<uint64_t>(a->mapping) + kPage + kAlign) | kDeviceBit;
  a->bytes = bytes, a->device = device, a->constant = constant;
  auto table = std::make_shared<Table>(*current);
  auto place = std::find_if(table->sorted.begin(), table->sorted.end(),
                            [&](const auto &x) { return x->base > a->base; });
  table->sorted.insert(place, a);
  current = table;
  return a->base;
}

bool Memory::free(uint64_t base) {
  std::lock_guard<std::mutex> lock(mutex);
  auto table = std::make_shared<Table>(*current);
  for (auto it = table->sorted.begin(); it != table->sorted.end(); ++it)
    if ((*it)->base == base) {
      table->sorted.erase(it);
      current = table;
      return true;
    }
  return false;
}

std::shared_ptr<const Table> Memory::table() const {
  std::lock_guard<std::mutex> lock(mutex);
  return current;
}

size_t Memory::used(int device) const {
  std::lock_guard<std::mutex> lock(mutex);
  size_t bytes = 0;
  for (const auto &a : current->sorted)
    bytes += a->device == device ? a->bytes : 0;
  return bytes;
}

void *Memory::allocateHost(size_t bytes) {
  void *pointer = nullptr;
  if (posix_memalign(&pointer, kPage, pages(bytes)))
    return nullptr;
  fillFresh(pointer, bytes);
  std::lock_guard<std::mutex> lock(mutex);
  host[reinterpret_cast<uint64_t>(pointer)] = bytes;
  return pointer;
}

bool Memory::freeHost(void *pointer) {
  std::lock_guard<std::mutex> lock(mutex);
  if (!host.erase(reinterpret_cast<uint64_t>(pointer)))
    return false;
  ::free(pointer);
  return true;
}

bool Memory::pinnedRange(const void *pointer, uint64_t &base, size_t &bytes) const {
  std::lock_guard<std::mutex> lock(mutex);
  auto address = reinterpret_cast<uint64_t>(pointer);
  auto it = host.upper_bound(address);
  if (it == host.begin() || address >= std::prev(it)->first + std::prev(it)->second)
    return false;
  base = std::prev(it)->first, bytes = std::prev(it)->second;
  return true;
}

bool Memory::pinned(const void *pointer, size_t bytes) const {
  uint64_t base;
  size_t size;
  return pinnedRange(pointer, base, size) &&
         reinterpret_cast<uint64_t>(pointer) - base + bytes <= size;
}

} // namespace standin
