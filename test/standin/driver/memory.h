//===- memory.h - device memory and pinned memory of the host -------------===//
//
// A device pointer is the address of host memory plus kDeviceBit, which no processor
// accepts: host code that follows one faults.
//
// One decision: launches and copies look allocations up in an immutable table. Freeing memory makes
// a new table, so that running work keeps its own, and later work finds nothing there.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_MEMORY_H
#define TPLAN_TEST_STANDIN_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <vector>

namespace standin {

inline constexpr uint64_t kDeviceBit = uint64_t(1) << 60;
/// Each 16 bits, and all that is made of them, are a NaN in bf16, f16, f32 and f64, and a
/// large integer.
inline constexpr uint16_t kFresh = 0x7FFB;
inline constexpr size_t kAlign = 512;
inline constexpr int kMostDevices = 64;

void fillFresh(void *memory, size_t bytes);
inline char *hostOf(uint64_t device) { return reinterpret_cast<char *>(device ^ kDeviceBit); }

struct Allocation {
  uint64_t base = 0;
  size_t bytes = 0;
  int device = 0;
  bool constant = false; ///< of a module: not to be written, not to be freed
  char *mapping = nullptr;
  size_t mapped = 0;
  uint64_t end() const { return base + bytes; }
  /// What is around it is as it was.
  bool guardsIntact() const;
  ~Allocation();
};

class Table {
public:
  /// The allocation that holds this byte, or null.
  const Allocation *find(uint64_t address) const;
  /// Its neighbour, for messages.
  const Allocation *nearest(uint64_t address) const;

private:
  friend class Memory;
  std::vector<std::shared_ptr<Allocation>> sorted;
};

class Memory {
public:
  /// 0 if a limit or the host's memory is exceeded.
  uint64_t allocate(size_t bytes, int device, size_t limit, bool constant = false);
  /// False if nothing begins there.
  bool free(uint64_t base);
  std::shared_ptr<const Table> table() const;
  size_t used(int device) const;

  /// Whether work on a device may touch the memory of another device; its own it may.
  bool reaches(int device, int other) const {
    return device == other || peers[device].load() >> other & 1;
  }
  /// False if it did already.
  bool letReach(int device, int other) {
    uint64_t bit = uint64_t(1) << other;
    return !(peers[device].fetch_or(bit) & bit);
  }
  void forgetPeers() {
    for (auto &mask : peers)
      mask = 0;
  }

  void *allocateHost(size_t bytes);
  bool freeHost(void *pointer);
  /// All of it lies in one pinned allocation.
  bool pinned(const void *pointer, size_t bytes) const;
  bool pinnedRange(const void *pointer, uint64_t &base, size_t &bytes) const;

private:
  mutable std::mutex mutex;
  std::shared_ptr<const Table> current = std::make_shared<Table>();
  std::map<uint64_t, size_t> host;
  std::atomic<uint64_t> peers[kMostDevices] = {}; ///< a bit for each device it reaches
};

} // namespace standin

#endif // TPLAN_TEST_STANDIN_MEMORY_H
