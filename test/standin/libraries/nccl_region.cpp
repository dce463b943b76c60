//===- nccl_region.cpp - the memory that members of a communicator share ------------===//

#include "nccl_region.h"

#include "libraries.h"
#include "nccl_api.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <linux/futex.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

using namespace standin;
using namespace standin::nccl;

namespace {

// A bell that is missed, or a process that is killed, is noticed after this.
constexpr long napNanoseconds = 50'000'000;

void *mapFile(int file, size_t bytes) {
  void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
  return at == MAP_FAILED ? nullptr : at;
}

} // namespace

size_t Region::sizeFor(int ranks) {
  return sizeof(Header) + (ranks + 1) * stagingBytes + ranks * ranks * sizeof(Channel);
}

int Region::make(std::string &where) {
  int file = memfd_create("standin-nccl", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, sizeof(Header)) != 0)
    return -1;
  auto *header = (Header *)mapFile(file, sizeof(Header));
  if (!header || getrandom(&header->nonce, sizeof header->nonce, 0) < 0)
    return -1;
  where = format("standin %d %d %016llx", (int)getpid(), file, (unsigned long long)header->nonce);
  munmap(header, sizeof(Header));
  return file;
}

std::shared_ptr<Region> Region::open(const std::string &where, int ranks, std::string &why) {
  int pid = 0, number = 0;
  unsigned long long nonce = 0;
  if (sscanf(where.c_str(), "standin %d %d %llx", &pid, &number, &nonce) != 3) {
    why = "the unique id is none of ncclGetUniqueId";
    return nullptr;
  }
  int file = ::open(format("/proc/%d/fd/%d", pid, number).c_str(), O_RDWR | O_CLOEXEC);
  struct stat status = {};
  bool isHere = file >= 0 && fstat(file, &status) == 0 && (size_t)status.st_size >= sizeof(Header);
  auto *header = isHere ? (Header *)mapFile(file, sizeof(Header)) : nullptr;
  if (!header || header->nonce != nonce) {
    why = format("what process %d made a unique id for is gone; it has to live until all joined",
                 pid);
    if (file >= 0)
      close(file);
    return nullptr;
  }
  int others = 0;
  bool isSame = header->ranks.compare_exchange_strong(others, ranks) || others == ranks;
  munmap(header, sizeof(Header));
  size_t bytes = sizeFor(ranks);
  void *at = isSame && ftruncate(file, bytes) == 0 ? mapFile(file, bytes) : nullptr;
  close(file);
  if (!at) {
    why = isSame ? "no memory" : format("another rank counts %d ranks, this one %d", others, ranks);
    return nullptr;
  }
  return std::shared_ptr<Region>(new Region(ranks, (char *)at, bytes));
}

Region::~Region() { munmap(base, bytes); }

void Region::ring(int rank) const {
  std::atomic<uint32_t> &bell = header->members[rank].bell;
  bell.fetch_add(1);
  syscall(SYS_futex, &bell, FUTEX_WAKE, INT32_MAX, nullptr, nullptr, 0);
}

void Region::ringAll() const {
  for (int rank = 0; rank < ranks; ++rank)
    ring(rank);
}

void Region::sleep(int rank, uint32_t heard) const {
  timespec limit = {0, napNanoseconds};
  syscall(SYS_futex, &header->members[rank].bell, FUTEX_WAIT, heard, &limit, nullptr, 0);
}

void Header::Broken::set(int why, const std::string &text) {
  if (isBreaking.exchange(1))
    return;
  snprintf(reason, sizeof reason, "%s", text.c_str());
  result = why;
}

void Region::breakWith(int result, const std::string &why) const {
  header->broken.set(result, why);
  ringAll();
}

uint64_t nccl::startOf(int pid) {
  FILE *file = fopen(format("/proc/%d/stat", pid).c_str(), "r");
  if (!file)
    return 0;
  char text[1024];
  size_t size = fread(text, 1, sizeof text - 1, file);
  fclose(file);
  text[size] = 0;
  // The name of the program may have anything in it, but nothing after has parentheses.
  const char *rest = strrchr(text, ')');
  char state = 0;
  unsigned long long started = 0;
  if (!rest || sscanf(rest + 1,
                      " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d "
                      "%*d %*d %llu",
                      &state, &started) != 2)
    return 0;
  return state == 'Z' || state == 'X' ? 0 : started;
}
