//===- environment.h - variables that the runtime looks at ----------------===//
//
// One decision: whether variables may be read is a fact of the thread, because libraries are loaded
// where they are first needed, far below the code that knows whether the environment is the user's
// to steer tplan or a host's.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_ENVIRONMENT_H
#define TPLAN_RUNTIME_SUPPORT_ENVIRONMENT_H

namespace tplan::runtime {

/// The value of a variable; null where it is not set, or where this thread does not look.
const char *readVariable(const char *name);

/// While it lives this thread looks at no variable, if `closed`.
class EnvironmentClosed {
public:
  explicit EnvironmentClosed(bool closed);
  ~EnvironmentClosed();
  EnvironmentClosed(const EnvironmentClosed &) = delete;

private:
  bool before;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_ENVIRONMENT_H
