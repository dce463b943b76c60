//===- scale_audit.h - what a program records, in a file of each rank ----===//
#ifndef TPLAN_RUNTIME_RANKS_SCALE_AUDIT_H
#define TPLAN_RUNTIME_RANKS_SCALE_AUDIT_H

#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <cstdio>
#include <functional>
#include <memory>
#include <string>

namespace tplan::runtime {

/// A line for each value that tp_audit gets, its fields with tabs between them: what it is; layer;
/// step; of each dimension the logical position of the part that this rank has, and its size; then
/// the part's elements, bits in hexadecimal. Of elements of one byte, which are many, there is one
/// number instead: the sum, over the elements, of a hash of the element and its position.
class ScaleAudit {
public:
  /// Rank r writes PATH.r.
  Status open(const std::string &path, int64_t rank);
  explicit operator bool() const { return file != nullptr; }
  /// `member` gives the rank's member number in a group.
  void write(const tp_audited &of, const std::function<int64_t(int64_t group)> &member,
             const void *values, void *const *numbers);
  /// The first error of writing.
  Status close();

private:
  struct Close {
    void operator()(FILE *file) const { fclose(file); }
  };
  std::unique_ptr<FILE, Close> file;
  std::string name;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_RANKS_SCALE_AUDIT_H
