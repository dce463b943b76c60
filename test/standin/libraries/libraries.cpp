//===- libraries.cpp - what the stand-ins for cuBLASLt, cuDNN and NCCL share ----===//

#include "libraries.h"

#include <cstdarg>
#include <cstdio>
#include <cstdlib>

#include <dlfcn.h>
#include <fcntl.h>
#include <unistd.h>

using namespace standin;

namespace {

struct Found {
  Driver driver;
  std::string why;
};

void *openDriver(std::string &name) {
  const char *given = getenv("STANDIN_CUDA");
  name = given && *given ? given : "libcuda.so.1";
  return dlopen(name.c_str(), RTLD_NOW | RTLD_GLOBAL);
}

Found lookUp() {
  Found found;
  std::string name = "this program";
  void *library = RTLD_DEFAULT;
  if (!dlsym(RTLD_DEFAULT, "cuLaunchHostFunc") && !(library = openDriver(name))) {
    found.why = format("no driver: %s", dlerror());
    return found;
  }
  auto find = [&](auto &function, const char *symbol) {
    function = (std::remove_reference_t<decltype(function)>)dlsym(library, symbol);
  };
  Driver &driver = found.driver;
  find(driver.launchHostFunction, "cuLaunchHostFunc");
  find(driver.host, "standin_host");
  find(driver.streamIsCapturing, "cuStreamIsCapturing");
  find(driver.currentContext, "cuCtxGetCurrent");
  find(driver.currentDevice, "cuCtxGetDevice");
  find(driver.busIdOf, "cuDeviceGetPCIBusId");
  if (!driver.launchHostFunction || !driver.host)
    found.why = format("the driver in '%s' has no %s: this library works with a stand-in only",
                       name.c_str(), driver.host ? "cuLaunchHostFunc" : "standin_host");
  return found;
}

void announce(const void *data, const std::vector<Access> &accesses) {
  const char *file = getenv("STANDIN_LOG");
  if (!file || !*file)
    return;
  auto number = [](const void *at) { return (unsigned long long)(uintptr_t)at; };
  std::string line = format("%d - library data=%llx", getpid(), number(data));
  for (const Access &it : accesses)
    line +=
        format(" %c=%llx-%llx", it.isWritten ? 'w' : 'r', number(it.at), number(it.at) + it.bytes);
  line += "\n";
  // One write, so that ranks may share the file.
  int out = open(file, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0666);
  if (out < 0 || write(out, line.data(), line.size()) != (ssize_t)line.size())
    complain(format("standin: cannot write STANDIN_LOG: %s", file));
  if (out >= 0)
    close(out);
}

} // namespace

const Driver *standin::findDriver(std::string &why) {
  static const Found found = lookUp();
  why = found.why;
  return why.empty() ? &found.driver : nullptr;
}

char *standin::hostOf(const void *device, size_t bytes) {
  std::string why;
  const Driver *driver = findDriver(why);
  if (!driver || !device)
    return nullptr;
  auto *first = (char *)driver->host((unsigned long long)device);
  if (!first || bytes <= 1)
    return first;
  // Two allocations may lie side by side on the device, but then not on the host.
  auto *last = (char *)driver->host((unsigned long long)device + bytes - 1);
  return last == first + bytes - 1 ? first : nullptr;
}

bool standin::isCapturing(void *stream) {
  std::string why;
  const Driver *driver = findDriver(why);
  int status = 0;
  return !driver || !driver->streamIsCapturing || driver->streamIsCapturing(stream, &status) != 0 ||
         status != 0;
}

int standin::currentDevice() {
  std::string why;
  const Driver *driver = findDriver(why);
  void *context = nullptr;
  int device = 0;
  if (!driver || !driver->currentContext)
    return 0;
  if (driver->currentContext(&context) != 0 || !context)
    return -1;
  return !driver->currentDevice || driver->currentDevice(&device) == 0 ? device : -1;
}

std::string standin::format(const char *text, ...) {
  char buffer[2048];
  va_list arguments;
  va_start(arguments, text);
  vsnprintf(buffer, sizeof buffer, text, arguments);
  va_end(arguments);
  return buffer;
}

void standin::complain(const std::string &what) {
  std::string line = what + "\n";
  // One write, so that lines of several ranks do not mix.
  if (write(2, line.data(), line.size()) < 0)
    abort();
}

bool standin::overlap(const Access &one, const Access &other) {
  auto *first = (const char *)one.at, *second = (const char *)other.at;
  return first < second + other.bytes && second < first + one.bytes;
}

std::string standin::issue(void *stream, void (*function)(void *), void *data,
                           const std::vector<Access> &accesses) {
  std::string why;
  const Driver *driver = findDriver(why);
  if (!driver)
    return why;
  announce(data, accesses);
  int status = driver->launchHostFunction(stream, function, data);
  return status ? format("cuLaunchHostFunc failed: %d", status) : "";
}

double standin::setting(const char *name, double otherwise) {
  const char *value = getenv(name);
  return value && *value ? atof(value) : otherwise;
}
