//===- libraries.h - what the stand-ins for cuBLASLt, cuDNN and NCCL share ------===//
//
// A stand-in has the interface of a library of NVIDIA and does its work on the CPU, in
// stream order, by host functions that it gives to the driver, which is a stand-in as well.
// It refuses, aloud, what the library refuses and what it leaves undefined.
//
// One decision: the driver is looked up when it is first needed, in the whole program first,
// so that a library can be loaded before the driver, and tests can bring a driver of their own.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_LIBRARIES_H
#define TPLAN_TEST_STANDIN_LIBRARIES_H

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#define STANDIN_EXPORT extern "C" __attribute__((visibility("default")))

namespace standin {

/// Functions of the driver. All but the first two may be missing.
struct Driver {
  int (*launchHostFunction)(void *stream, void (*function)(void *), void *data) = nullptr;
  void *(*host)(unsigned long long device) = nullptr;
  int (*streamIsCapturing)(void *stream, int *status) = nullptr;
  int (*currentContext)(void **context) = nullptr;
  int (*currentDevice)(int *device) = nullptr;
  int (*busIdOf)(char *id, int bytes, int device) = nullptr;
};

/// Null where there is none; `why` then says so.
const Driver *findDriver(std::string &why);

/// Where a range of device memory is on the host; null unless all of it is device memory.
char *hostOf(const void *device, size_t bytes);

/// True also where the driver cannot say: then data of a host function is kept for good.
bool isCapturing(void *stream);

/// The device of the current context, -1 without one, 0 where the driver cannot say.
int currentDevice();

__attribute__((format(printf, 1, 2))) std::string format(const char *text, ...);

/// One line to stderr.
void complain(const std::string &what);

/// Memory that a call of a library reads or writes.
struct Access {
  const void *at;
  size_t bytes;
  bool isWritten;
};

bool overlap(const Access &one, const Access &other);

/// Has the driver call a function in a stream, after writing to the driver's log (STANDIN_LOG) what
/// that will touch. Empty, or why it will not be called.
std::string issue(void *stream, void (*function)(void *), void *data,
                  const std::vector<Access> &accesses);

/// A number in the environment.
double setting(const char *name, double otherwise);

/// Well mixed bits of a number.
inline uint64_t mix(uint64_t x) {
  x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9ull;
  x = (x ^ x >> 27) * 0x94D049BB133111EBull;
  return x ^ x >> 31;
}

} // namespace standin

#endif // TPLAN_TEST_STANDIN_LIBRARIES_H
