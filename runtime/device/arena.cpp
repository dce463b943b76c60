//===- arena.cpp - the memory of a rank -----------------------------------===//

#include "runtime/device/arena.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <vector>

#include <sys/mman.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

constexpr size_t hugePage = size_t(2) << 20;
constexpr size_t guardBytes = size_t(64) << 10;

size_t roundUp(size_t value, size_t unit) { return (value + unit - 1) / unit * unit; }

/// A pattern that is a quiet NaN in bf16, f16, f32 and f64 (each 16-bit piece is 0x7FF8 with three
/// bits of a hash), and out of range as a token.
uint64_t patternWord(uint64_t word) {
  uint64_t hash = (word + 1) * 0x9E3779B97F4A7C15ull;
  return 0x7FF87FF87FF87FF8ull | ((hash >> 17) & 0x0007000700070007ull);
}

uint64_t load(const char *at, size_t bytes) {
  uint64_t value = 0;
  memcpy(&value, at, bytes);
  return value;
}

} // namespace

Arena::~Arena() {
  if (mapping)
    munmap(mapping, mappingBytes);
}

Status Arena::map(int64_t wanted) {
  if (wanted < 0)
    return errorf("the program asks for an arena of a negative size: %lld", (long long)wanted);
  size_t page = sysconf(_SC_PAGESIZE);
  size_t usable = roundUp(std::max<size_t>(wanted, 1), page);
  mappingBytes = guardBytes + hugePage + usable + guardBytes;
  mapping =
      mmap(nullptr, mappingBytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapping == MAP_FAILED) {
    mapping = nullptr;
    return errorf("cannot reserve %lld bytes for the arena: %s", (long long)wanted,
                  strerror(errno));
  }
  start = (char *)roundUp((size_t)mapping + guardBytes, hugePage);
  if (mprotect(start, usable, PROT_READ | PROT_WRITE) != 0)
    return errorf("cannot obtain %lld bytes for the arena: %s", (long long)wanted, strerror(errno));
  // Advice only: a kernel without transparent huge pages runs with small ones.
  madvise(start, usable, MADV_HUGEPAGE);
  bytes = wanted;
  return {};
}

Status Arena::fillPattern() {
  HostView view(device, start, bytes, HostView::writes);
  TP_TRY(view.open());
  for (int64_t at = 0; at < bytes; at += 8) {
    uint64_t word = patternWord(at / 8);
    memcpy(view.data() + at, &word, std::min<int64_t>(8, bytes - at));
  }
  return view.close();
}

std::vector<Slot> tplan::runtime::slotsOf(const tp_program &program) {
  std::vector<Slot> all;
  for (int64_t i = 0; i < program.num_slots; ++i) {
    const tp_slot &slot = program.slots[i];
    for (int64_t k = 0; k < std::max<int64_t>(slot.num_bases, 1); ++k) {
      int64_t base = slot.num_bases ? program.slot_bases[slot.first_base + k] : 0;
      all.push_back({program.slot_names + slot.name, base + slot.offset, slot.bytes, slot.use});
    }
  }
  return all;
}

Status Arena::audit(const Slot *slots, int64_t count) const {
  HostView view(device, start, bytes, HostView::reads);
  TP_TRY(view.open());
  const char *memory = view.data();
  for (int64_t i = 0; i < count; ++i) {
    const Slot &slot = slots[i];
    if (slot.offset < 0 || slot.bytes < 0 || slot.offset % 8 || slot.offset > bytes ||
        slot.bytes > bytes - slot.offset)
      return errorf("memory audit: slot '%s' [%lld, +%lld) does not lie in the arena of %lld bytes",
                    slot.name, (long long)slot.offset, (long long)slot.bytes, (long long)bytes);
    if (slot.use != TP_WRITTEN)
      continue;
    int64_t missing = 0, first = -1;
    // A last piece of fewer than four bytes could equal the pattern by accident.
    for (int64_t at = slot.offset, end = slot.offset + slot.bytes; end - at >= 4; at += 8) {
      int64_t size = std::min<int64_t>(8, end - at);
      uint64_t pattern = patternWord(at / 8);
      if (load(memory + at, size) != load((const char *)&pattern, size))
        continue;
      missing += size;
      if (first < 0)
        first = at;
    }
    if (missing)
      return errorf(
          "memory audit: %lld of %lld bytes of slot '%s' were never written, the first at "
          "arena offset %lld",
          (long long)missing, (long long)slot.bytes, slot.name, (long long)first);
  }

  // Outside the slots: walks the gaps between them in order of offset.
  std::vector<const Slot *> order;
  for (int64_t i = 0; i < count; ++i)
    if (slots[i].use != TP_EVALUATION)
      order.push_back(&slots[i]);
  std::sort(order.begin(), order.end(),
            [](const Slot *a, const Slot *b) { return a->offset < b->offset; });
  int64_t at = 0;
  const char *before = "the start of the arena";
  auto checkGap = [&](int64_t end, const char *after) -> Status {
    for (; at < end; ++at) {
      uint64_t word = patternWord(at / 8);
      if (memory[at] != ((const char *)&word)[at % 8])
        return errorf("memory audit: arena offset %lld, between '%s' and '%s', was written but "
                      "belongs to no slot",
                      (long long)at, before, after);
    }
    return {};
  };
  for (const Slot *slot : order) {
    if (slot->offset > at)
      TP_TRY(checkGap(slot->offset, slot->name));
    if (slot->offset + slot->bytes >= at) {
      at = slot->offset + slot->bytes;
      before = slot->name;
    }
  }
  return checkGap(bytes, "the end of the arena");
}
