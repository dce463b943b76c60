//===- scale_audit.cpp - what a program records, in a file of each rank ---===//
#include "runtime/ranks/scale_audit.h"
#include "runtime/support/types.h"

#include <algorithm>
#include <cerrno>
#include <cinttypes>
#include <cstring>
#include <vector>

using namespace tplan::runtime;

Status ScaleAudit::open(const std::string &path, int64_t rank) {
  name = path + "." + std::to_string(rank);
  file.reset(fopen(name.c_str(), "w"));
  return file ? Status() : errorf("cannot write %s: %s", name.c_str(), strerror(errno));
}

Status ScaleAudit::close() {
  if (!file)
    return {};
  bool failed = ferror(file.get());
  failed |= fclose(file.release()) != 0;
  return failed ? errorf("cannot write %s: %s", name.c_str(), strerror(errno)) : Status();
}

namespace {

/// The part of a value that a rank has: without padding, and where it is.
struct Part {
  std::vector<int64_t> first, size, stride;

  /// Calls `visit(place in memory, place in the part)` for each element, the last dimension
  /// fastest.
  template <typename F> void forEach(F visit) const {
    std::vector<int64_t> at(size.size());
    int64_t count = 1;
    for (int64_t n : size)
      count *= n;
    for (int64_t i = 0; i < count; ++i) {
      int64_t place = 0;
      for (size_t d = 0; d < at.size(); ++d)
        place += at[d] * stride[d];
      visit(place, at);
      for (size_t d = at.size(); d-- > 0 && ++at[d] == size[d];)
        at[d] = 0;
    }
  }
};

int32_t numberAt(void *number, int32_t none) { return number ? *(const int32_t *)number : none; }

Part partOf(const tp_audited &of, const std::function<int64_t(int64_t)> &member, int64_t offset) {
  Part part;
  for (int32_t d = 0; d < of.rank; ++d) {
    int64_t first = of.dim_groups[d] < 0 ? 0 : member(of.dim_groups[d]) * of.shape[d];
    part.size.push_back(std::clamp<int64_t>(of.whole[d] - first, 0, of.shape[d]));
    part.first.push_back(first + (d == of.along ? offset : 0));
  }
  part.stride.resize(of.rank);
  for (int64_t d = of.rank, stride = 1; d-- > 0; stride *= of.shape[d])
    part.stride[d] = stride;
  return part;
}

/// The finalizer of SplitMix64.
uint64_t mix(uint64_t x) {
  x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9;
  x = (x ^ (x >> 27)) * 0x94D049BB133111EB;
  return x ^ (x >> 31);
}

uint64_t hashOf(uint8_t code, const std::vector<int64_t> &at, const std::vector<int64_t> &first) {
  uint64_t hash = mix(code + 1);
  for (size_t d = 0; d < at.size(); ++d)
    hash = mix(hash ^ uint64_t(first[d] + at[d]));
  return hash;
}

} // namespace

void ScaleAudit::write(const tp_audited &of, const std::function<int64_t(int64_t)> &member,
                       const void *values, void *const *numbers) {
  Part part = partOf(of, member, numberAt(numbers[2], 0));
  fprintf(file.get(), "%s\t%d\t%d\t", of.what, numberAt(numbers[0], 0), numberAt(numbers[1], 0));
  for (int32_t d = 0; d < of.rank; ++d)
    fprintf(file.get(), "%s%" PRId64 "+%" PRId64, d ? " " : "", part.first[d], part.size[d]);
  fputc('\t', file.get());
  if (bytesOf(of.type) == 1) {
    uint64_t sum = 0;
    part.forEach([&](int64_t place, const std::vector<int64_t> &at) {
      sum += hashOf(((const uint8_t *)values)[place], at, part.first);
    });
    fprintf(file.get(), "#%016" PRIx64, sum);
  } else {
    const char *space = "";
    part.forEach([&](int64_t place, const std::vector<int64_t> &) {
      uint64_t bits = 0;
      int64_t size = bytesOf(of.type);
      memcpy(&bits, (const char *)values + place * size, size);
      fprintf(file.get(), "%s%0*" PRIx64, space, int(2 * size), bits);
      space = " ";
    });
  }
  fputc('\n', file.get());
}
