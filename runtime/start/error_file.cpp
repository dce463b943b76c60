//===- error_file.cpp - what torchrun shows of a process that failed ------===//

#include "runtime/start/error_file.h"

#include "runtime/support/files.h"
#include "runtime/support/json.h"

#include <ctime>

using namespace tplan::runtime;

Status tplan::runtime::writeErrorFile(const std::string &message, const Environment &environment) {
  const char *file = environment("TORCHELASTIC_ERROR_FILE");
  if (!file || !*file)
    return {};
  // torchrun takes the file with the earliest time to be the cause of all failures.
  std::string text = quoteJson(message);
  return writeText(file, format("{\"message\":{\"message\":%s,\"extraInfo\":{\"py_callstack\":%s,"
                                "\"timestamp\":\"%lld\"}}}",
                                quoteJson("TplanError: " + message).c_str(), text.c_str(),
                                (long long)time(nullptr)));
}
