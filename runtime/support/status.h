//===- status.h - success, or one message with its place ------------------===//
//
// Every function of the runtime that can fail returns a Status, or fills one.
//
// One decision: a message is complete where it is made (file, place, found
// value, way out), so that callers only pass it on and tp_main prints it once.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_STATUS_H
#define TPLAN_RUNTIME_SUPPORT_STATUS_H

#include <string>
#include <utility>

namespace tplan::runtime {

class [[nodiscard]] Status {
public:
  Status() = default;
  static Status error(std::string message) {
    Status status;
    status.failed = true;
    status.text = std::move(message);
    return status;
  }
  bool ok() const { return !failed; }
  const std::string &message() const { return text; }

  /// Puts the .tplan line of the work that failed, and what it was part of, before the message,
  /// once.
  Status at(const char *file, int line, const std::string &task = {}) && {
    if (failed && file && *file)
      text = std::string(file) + ":" + std::to_string(line) + task + ": " + text;
    return std::move(*this);
  }

private:
  bool failed = false;
  std::string text;
};

/// printf into a Status, made printable: its values come from files too.
__attribute__((format(printf, 1, 2))) Status errorf(const char *format, ...);

/// printf into a string.
__attribute__((format(printf, 1, 2))) std::string format(const char *format, ...);

} // namespace tplan::runtime

/// Leaves the enclosing function with the status of `expr` unless it is success.
#define TP_TRY(expr)                                                                               \
  do {                                                                                             \
    if (::tplan::runtime::Status tpStatus = (expr); !tpStatus.ok())                                \
      return tpStatus;                                                                             \
  } while (false)

#endif // TPLAN_RUNTIME_SUPPORT_STATUS_H
