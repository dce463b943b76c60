//===- environment.cpp - variables that the runtime looks at --------------===//

#include "runtime/support/environment.h"

#include <cstdlib>

using namespace tplan::runtime;

static thread_local bool isClosed = false;

const char *tplan::runtime::readVariable(const char *name) {
  return isClosed ? nullptr : getenv(name);
}

EnvironmentClosed::EnvironmentClosed(bool closed) : before(isClosed) { isClosed = closed; }
EnvironmentClosed::~EnvironmentClosed() { isClosed = before; }
