//===- shared.cpp - which warps touch shared memory between barriers ------===//
#include "test/standin/driver/warp.h"

#include <algorithm>
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

/// Nearly always nobody, or the warp itself, has touched the four bytes before.
bool SharedUse::addWord(uint32_t at, int warp, bool write) {
  uint32_t mine = warp * 0x01010101u, writer, reader;
  memcpy(&writer, &writers[at], 4);
  memcpy(&reader, &readers[at], 4);
  if (writer != ~0u && writer != mine)
    return false;
  if (!write && reader == kSeveral * 0x01010101u)
    return true;
  if (reader != ~0u && reader != mine)
    return false;
  memcpy(write ? &writers[at] : &readers[at], &mine, 4);
  return true;
}

int SharedUse::add(uint32_t offset, uint32_t width, int warp, bool write) {
  low = std::min(low, offset), high = std::max(high, offset + width);
  uint32_t begin = offset, end = offset + width;
  if (width % 4 == 0)
    while (begin < end && addWord(begin, warp, write))
      begin += 4;
  for (uint32_t i = begin; i < end; ++i) {
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
