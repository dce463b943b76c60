//===- shared.cpp - which warps touch shared memory between barriers ------===//
#include "test/standin/warp.h"

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
