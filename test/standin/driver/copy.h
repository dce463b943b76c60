//===- copy.h - copies of rows, in a stream -------------------------------===//
#ifndef TPLAN_TEST_STANDIN_COPY_H
#define TPLAN_TEST_STANDIN_COPY_H

#include "test/standin/driver/stream.h"

namespace standin {

/// A rectangle of rows; one row for what is flat.
struct Rows {
  uint64_t base = 0;
  bool device = false;
  size_t pitch = 0;
  int of = -1; ///< the device whose memory it is said to be; none: any that the stream's reaches
};

/// Whether all rows lie in one allocation that is reached from a device, or in pinned memory.
bool valid(const Rows &rows, size_t width, size_t height, int device, bool pageable);

char *place(const Rows &rows, size_t row);

/// Calls of the driver, as the log names them.
CUresult copyAsync(const char *call, Rows to, Rows from, size_t width, size_t height,
                   CUstream handle);
/// Returns when the copy is done.
CUresult copyNow(Rows to, Rows from, size_t bytes);

} // namespace standin

#endif // TPLAN_TEST_STANDIN_COPY_H
