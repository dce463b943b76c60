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

/// Nearly always nobody, or the warp itself, has touched the bytes of a word before.
template <typename Word> bool SharedUse::addWord(uint32_t at, int warp, bool write) {
  constexpr Word none = ~Word(0), ones = none / 255;
  Word mine = warp * ones, writer, reader;
  memcpy(&writer, &writers[at], sizeof(Word));
  memcpy(&reader, &readers[at], sizeof(Word));
  if (writer != none && writer != mine)
    return false;
  if (!write && reader == kSeveral * ones)
    return true;
  if (reader != none && reader != mine)
    return false;
  memcpy(write ? &writers[at] : &readers[at], &mine, sizeof(Word));
  return true;
}

/// Where the first word begins that has to be looked at by bytes, or the end.
template <typename Word>
uint32_t SharedUse::addWords(uint32_t begin, uint32_t end, int warp, bool write) {
  while (begin < end && addWord<Word>(begin, warp, write))
    begin += sizeof(Word);
  return begin;
}

int SharedUse::add(uint32_t offset, uint32_t width, int warp, bool write) {
  low = std::min(low, offset), high = std::max(high, offset + width);
  uint32_t begin = offset, end = offset + width;
  if (width % 8 == 0)
    begin = addWords<uint64_t>(begin, end, warp, write);
  else if (width % 4 == 0)
    begin = addWords<uint32_t>(begin, end, warp, write);
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
