//===- count-memory.cpp - who obtains memory, by LD_PRELOAD -----------------===//
//
// Every allocation and every writable anonymous mapping of a process is charged to
// the library that asked; at exit the file $COUNT_MEMORY gets one line for each:
// owner, bytes held at the peak, bytes held at exit, calls. Then a line "mapping", owner, bytes
// for each mapping, in their order. A rank of mpirun appends its number to the file's name.
//
// One decision: nothing here allocates, so that it may stand below malloc.
//
//===----------------------------------------------------------------------===//
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <dlfcn.h>
#include <fcntl.h>
#include <link.h>
#include <new>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
void *__libc_memalign(size_t, size_t);
void __libc_free(void *);
}

namespace {

constexpr int kOwners = 256;
constexpr size_t kBlocks = size_t(1) << 20; // live at once, at most
constexpr int kMappings = 1024;             // of which a line is written

struct Owner {
  char path[256]; // a copy: libraries are unloaded
  int64_t held, peak, calls;
};
Owner owners[kOwners];
int numOwners = 0;

struct Block {
  void *at;
  int64_t bytes;
  int owner;
};
Block blocks[kBlocks];

struct Mapping {
  int owner;
  int64_t bytes;
};
Mapping mappings[kMappings];
int numMappings = 0;

std::atomic_flag lock = ATOMIC_FLAG_INIT;

struct Locked {
  Locked() {
    while (lock.test_and_set(std::memory_order_acquire))
      ;
  }
  ~Locked() { lock.clear(std::memory_order_release); }
};

int ownerNamed(const char *path) {
  for (int i = 0; i < numOwners; ++i)
    if (!strncmp(owners[i].path, path, sizeof owners[i].path - 1))
      return i;
  if (numOwners == kOwners)
    abort();
  snprintf(owners[numOwners].path, sizeof owners[0].path, "%s", path);
  return numOwners++;
}

/// The object that holds `caller`: found without malloc, by a walk over the link map.
const char *objectOf(void *caller) {
  dl_find_object found;
  if (_dl_find_object(caller, &found) != 0 || !found.dlfo_link_map)
    return "unknown";
  const char *path = found.dlfo_link_map->l_name;
  return path && *path ? path : "program";
}

void charge(int owner, int64_t bytes) {
  owners[owner].held += bytes;
  owners[owner].peak =
      owners[owner].held > owners[owner].peak ? owners[owner].held : owners[owner].peak;
}

Block *slotOf(void *at) {
  size_t i = ((uintptr_t)at >> 4) * 0x9E3779B97F4A7C15ull >> 44;
  for (size_t probes = 0; probes < kBlocks; ++probes, i = (i + 1) % kBlocks)
    if (!blocks[i].at || blocks[i].at == at)
      return &blocks[i];
  abort();
}

void add(void *at, int64_t bytes, const char *path, bool isMapping = false) {
  if (!at)
    return;
  Locked locked;
  int owner = ownerNamed(path);
  ++owners[owner].calls;
  charge(owner, bytes);
  *slotOf(at) = {at, bytes, owner};
  if (isMapping && numMappings < kMappings)
    mappings[numMappings++] = {owner, bytes};
}

void drop(void *at) {
  if (!at)
    return;
  Locked locked;
  Block *block = slotOf(at);
  if (!block->at)
    return;
  charge(block->owner, -block->bytes);
  // Blocks after a hole of a probed table move up.
  size_t hole = block - blocks;
  for (size_t i = (hole + 1) % kBlocks; blocks[i].at; i = (i + 1) % kBlocks) {
    size_t home = ((uintptr_t)blocks[i].at >> 4) * 0x9E3779B97F4A7C15ull >> 44;
    if ((i - home) % kBlocks >= (i - hole) % kBlocks)
      blocks[hole] = blocks[i], hole = i;
  }
  blocks[hole] = {};
}

__attribute__((destructor)) void report() {
  const char *file = getenv("COUNT_MEMORY"), *rank = getenv("OMPI_COMM_WORLD_RANK");
  char name[4096];
  snprintf(name, sizeof name, "%s%s%s", file ? file : "", rank ? "." : "", rank ? rank : "");
  int to = file ? open(name, O_WRONLY | O_CREAT | O_TRUNC, 0644) : -1;
  if (to < 0)
    return;
  for (int i = 0; i < numOwners; ++i)
    dprintf(to, "%s %lld %lld %lld\n", owners[i].path, (long long)owners[i].peak,
            (long long)owners[i].held, (long long)owners[i].calls);
  for (int i = 0; i < numMappings; ++i)
    dprintf(to, "mapping %s %lld\n", owners[mappings[i].owner].path, (long long)mappings[i].bytes);
  close(to);
}

/// new and delete are in libstdc++, which is not the one that asks.
void *obtain(size_t bytes, void *caller) {
  void *at = __libc_malloc(bytes);
  add(at, bytes, objectOf(caller));
  return at;
}

void *obtainAligned(size_t alignment, size_t bytes, void *caller) {
  void *at = __libc_memalign(alignment, bytes);
  add(at, bytes, objectOf(caller));
  return at;
}

} // namespace

#define CALLER __builtin_return_address(0)

extern "C" {
void *malloc(size_t bytes) { return obtain(bytes, CALLER); }
void free(void *at) {
  drop(at);
  __libc_free(at);
}
void *calloc(size_t count, size_t bytes) {
  void *at = __libc_calloc(count, bytes);
  add(at, count * bytes, objectOf(CALLER));
  return at;
}
void *realloc(void *old, size_t bytes) {
  drop(old);
  void *at = __libc_realloc(old, bytes);
  add(at, bytes, objectOf(CALLER));
  return at;
}
void *memalign(size_t alignment, size_t bytes) { return obtainAligned(alignment, bytes, CALLER); }
void *aligned_alloc(size_t alignment, size_t bytes) {
  return obtainAligned(alignment, bytes, CALLER);
}
int posix_memalign(void **to, size_t alignment, size_t bytes) {
  *to = obtainAligned(alignment, bytes, CALLER);
  return *to ? 0 : 12; // ENOMEM
}

/// A mapping counts from when it may be written: a reservation costs nothing.
void *mmap(void *hint, size_t bytes, int protection, int flags, int file, off_t offset) noexcept {
  void *at = (void *)syscall(SYS_mmap, hint, bytes, protection, flags, file, offset);
  if (at != MAP_FAILED && (flags & MAP_ANONYMOUS) && (protection & PROT_WRITE))
    add(at, bytes, objectOf(CALLER), true);
  return at;
}
int mprotect(void *at, size_t bytes, int protection) noexcept {
  if (protection & PROT_WRITE)
    add(at, bytes, objectOf(CALLER), true);
  return syscall(SYS_mprotect, at, bytes, protection);
}
int munmap(void *at, size_t bytes) noexcept {
  drop(at);
  return syscall(SYS_munmap, at, bytes);
}
}

void *operator new(size_t bytes) { return obtain(bytes, CALLER); }
void *operator new[](size_t bytes) { return obtain(bytes, CALLER); }
void *operator new(size_t bytes, std::align_val_t a) {
  return obtainAligned((size_t)a, bytes, CALLER);
}
void *operator new(size_t bytes, const std::nothrow_t &) noexcept { return obtain(bytes, CALLER); }
void *operator new[](size_t bytes, const std::nothrow_t &) noexcept {
  return obtain(bytes, CALLER);
}
void operator delete(void *at) noexcept { free(at); }
void operator delete[](void *at) noexcept { free(at); }
void operator delete(void *at, size_t) noexcept { free(at); }
void operator delete[](void *at, size_t) noexcept { free(at); }
void operator delete(void *at, std::align_val_t) noexcept { free(at); }
void operator delete(void *at, size_t, std::align_val_t) noexcept { free(at); }
