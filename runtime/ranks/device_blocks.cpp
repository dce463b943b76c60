//===- device_blocks.cpp - blocks of collectives in the memory of a device ----===//

#include "runtime/ranks/device_blocks.h"

#include "runtime/support/types.h"

using namespace tplan::runtime;

Status tplan::runtime::copyBlock(Stream stream, int64_t bytes, const void *from,
                                 const Block &source, void *to, const Block &target) {
  if (source.count() == 0)
    return {};
  const Block &cut = source.contiguous() ? target : source; // has the rows
  if (source.count() != target.count() ||
      (!source.contiguous() && !target.contiguous() && source.row != target.row))
    return errorf("blocks of %lld and %lld rows cannot be copied in one go", (long long)source.rows,
                  (long long)target.rows);
  auto stride = [&](const Block &block) {
    return (block.contiguous() ? cut.row : block.stride) * bytes;
  };
  return stream.device->copy(stream.number, (char *)to + target.offset * bytes,
                             (const char *)from + source.offset * bytes,
                             {cut.rows, cut.row * bytes, stride(source), stride(target)});
}

Status tplan::runtime::clearRest(Stream stream, const tp_collective &what, int members, int member,
                                 void *out) {
  int64_t bytes = bytesOf(what.type);
  int64_t row = what.outer ? tp_block(&what, members, member, 1) / what.outer : 0;
  if (row >= what.inner)
    return {};
  return stream.device->zero(
      stream.number, (char *)out + row * bytes,
      {what.outer, (what.inner - row) * bytes, what.inner * bytes, what.inner * bytes});
}
