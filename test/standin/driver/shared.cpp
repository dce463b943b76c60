//===- shared.cpp - which warps touch shared memory between barriers ------===//
#include "test/standin/driver/lanes.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <type_traits>

namespace standin {

void SharedUse::start(uint32_t bytes) {
  if (writers.size() != bytes) {
    writers.assign(bytes, kNone), readers.assign(bytes, kNone);
    low = high = 0;
  }
  clear();
  on = true;
}

void SharedUse::clear() {
  if (low < high) {
    memset(writers.data() + low, kNone, high - low);
    memset(readers.data() + low, kNone, high - low);
  }
  low = writers.size(), high = 0;
}

/// Bytes of [begin, end), a multiple of kBytes, at once. False before it has changed anything of
/// the first piece in which another warp is in the way.
template <unsigned kBytes>
bool SharedUse::addRange(uint32_t begin, uint32_t end, int warp, bool write) {
  using Bytes [[gnu::vector_size(kBytes)]] = uint8_t;
  using Whole = std::conditional_t<kBytes == 4, uint32_t, unsigned _BitInt(8 * kBytes)>;
  const Bytes mine = Bytes{} + uint8_t(warp), none = Bytes{} + kNone, several = Bytes{} + kSeveral;
  low = std::min(low, begin), high = std::max(high, end);
  for (uint32_t at = begin; at < end; at += kBytes) {
    Bytes writer, reader;
    memcpy(&writer, writers.data() + at, kBytes);
    memcpy(&reader, readers.data() + at, kBytes);
    auto free = (reader == none) | (reader == mine);
    auto bad = (writer != none) & (writer != mine);
    if (write)
      bad |= ~free;
    if (std::bit_cast<Whole>(bad))
      return false;
    if (write)
      memcpy(writers.data() + at, &mine, kBytes);
    else
      reader = free ? mine : several, memcpy(readers.data() + at, &reader, kBytes);
  }
  return true;
}

/// Threads nearly always access what the one before does, or what lies next to it: such a run is
/// one range.
bool SharedUse::addAll(const uint32_t *offsets, uint32_t threads, uint32_t width, int warp,
                       bool write) {
  if (width % 4 != 0)
    return false;
  Lanes<uint32_t> here, after = {};
  memcpy(&here, offsets, sizeof here);
  memcpy(&after, offsets + 1, sizeof after - sizeof(uint32_t));
  uint32_t joined = maskOf((after == here) | (after == here + width));
  uint32_t starts = threads & ~((threads & joined) << 1),
           ends = threads & ~((threads & ~starts) >> 1);
  auto add = width % 16 == 0  ? &SharedUse::addRange<16>
             : width % 8 == 0 ? &SharedUse::addRange<8>
                              : &SharedUse::addRange<4>;
  for (; starts; starts &= starts - 1, ends &= ends - 1)
    if (!(this->*add)(offsets[std::countr_zero(starts)], offsets[std::countr_zero(ends)] + width,
                      warp, write))
      return false;
  return true;
}

int SharedUse::add(uint32_t offset, uint32_t width, int warp, bool write) {
  low = std::min(low, offset), high = std::max(high, offset + width);
  for (uint32_t i = offset; i < offset + width; ++i) {
    if (writers[i] != kNone && writers[i] != warp)
      return writers[i];
    if (write) {
      if (readers[i] != kNone && readers[i] != warp)
        return readers[i] == kSeveral ? warp : readers[i];
      writers[i] = warp;
    } else {
      readers[i] = readers[i] == kNone || readers[i] == warp ? warp : kSeveral;
    }
  }
  return -1;
}

} // namespace standin
