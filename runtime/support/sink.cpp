//===- sink.cpp - the standard streams as a sink --------------------------===//

#include "runtime/support/sink.h"

#include <cstdio>

using namespace tplan::runtime;

Sink tplan::runtime::standardSink() {
  return [](Tone tone, const std::string &lines) {
    FILE *to = tone == Tone::warning ? stderr : stdout;
    fwrite(lines.data(), 1, lines.size(), to);
    fflush(to);
  };
}
