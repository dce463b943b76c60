//===- log.cpp - what the host called -------------------------------------===//
#include "test/standin/driver/log.h"
#include "test/standin/driver/environment.h"

#include <atomic>
#include <cstdarg>
#include <cstdio>
#include <cstring>

#include <fcntl.h>
#include <unistd.h>

namespace standin {

namespace {
std::atomic<int> file{-1};

int thread() {
  static std::atomic<int> count{0};
  thread_local int mine = count++;
  return mine;
}
} // namespace

void openLog() {
  int next = -1;
  if (const std::string &name = environment().log; !name.empty()) {
    next = open(name.c_str(), O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (next < 0)
      fprintf(stderr, "standin: cannot write %s: %s\n", name.c_str(), strerror(errno));
  }
  if (int before = file.exchange(next); before >= 0)
    close(before);
}

const char *nameOf(CUresult result) {
  switch (result) {
#define TPLAN_RESULT(name, value)                                                                  \
  case name:                                                                                       \
    return #name;
#include "test/standin/driver/results.def"
  }
  return nullptr;
}

CUresult refuse(CUresult result, const char *format, ...) {
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  fprintf(stderr, "standin: %s: %s\n", nameOf(result), text);
  return result;
}

Line::Line(const char *call) : on(file.load() >= 0) {
  if (on)
    line = std::to_string(getpid()) + " " + std::to_string(thread()) + " " + call;
}
Line &Line::text(const char *key, const std::string &value) {
  if (on)
    line += std::string(" ") + key + "=" + value;
  return *this;
}
Line &Line::number(const char *key, long long value) {
  return on ? text(key, std::to_string(value)) : *this;
}
Line &Line::hex(const char *key, unsigned long long value) {
  if (!on)
    return *this;
  char buffer[20];
  snprintf(buffer, sizeof buffer, "%llx", value);
  return text(key, buffer);
}
CUresult Line::end(CUresult result) {
  if (!on)
    return result;
  if (result)
    line += std::string(" -> ") + nameOf(result);
  line += '\n';
  // One write to a file that is appended to is not torn.
  if (write(file.load(), line.data(), line.size()) < 0)
    fprintf(stderr, "standin: cannot write the log: %s\n", strerror(errno));
  return result;
}

} // namespace standin
