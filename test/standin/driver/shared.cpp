//===- shared.cpp - which warps touch shared memory between barriers ------===//
#include "test/standin/driver/warp.h"

#include <algorithm>
#include <bit>
#include <cstring>

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

/// Nearly always nobody, or the warp itself, has touched the bytes of a word before.
template <typename Word>
bool SharedUse::addWords(const uint32_t *offsets, uint32_t threads, uint32_t width, int warp,
                         bool write) {
  constexpr Word none = ~Word(0), ones = none / 255, several = kSeveral * ones;
  const Word mine = warp * ones;
  uint8_t *const written = writers.data(), *const read = readers.data();
  uint32_t least = low, most = high;
  bool isPlain = true;
  for (; threads && isPlain; threads &= threads - 1) {
    uint32_t at = offsets[std::countr_zero(threads)], end = at + width;
    least = std::min(least, at), most = std::max(most, end);
    for (; at < end && isPlain; at += sizeof(Word)) {
      Word writer, reader;
      memcpy(&writer, written + at, sizeof(Word));
      memcpy(&reader, read + at, sizeof(Word));
      bool isFree = reader == none || reader == mine;
      if ((writer != none && writer != mine) || (!isFree && (write || reader != several)))
        isPlain = false;
      else if (isFree)
        memcpy((write ? written : read) + at, &mine, sizeof(Word));
    }
  }
  low = least, high = most;
  return isPlain;
}

bool SharedUse::addAll(const uint32_t *offsets, uint32_t threads, uint32_t width, int warp,
                       bool write) {
  if (width % 8 == 0)
    return addWords<uint64_t>(offsets, threads, width, warp, write);
  return width % 4 == 0 && addWords<uint32_t>(offsets, threads, width, warp, write);
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
