//===- nccl-ranks.h - tests on several ranks --------------------------------------===//
//
// Ranks are threads of this process, or processes of their own, each with its device.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NCCL_RANKS_H
#define TPLAN_TEST_STANDIN_NCCL_RANKS_H

#include "fake-driver.h"
#include "nccl_api.h"

#include <gtest/gtest.h>

#include <functional>
#include <string>

#define DECLARE(RESULT, NAME, ARGUMENTS) extern "C" RESULT NAME ARGUMENTS;
namespace standin::nccl {
STANDIN_NCCL_FUNCTIONS(DECLARE)
}
#undef DECLARE

namespace standin::nccl {

struct Rank {
  int rank, ranks;
  UniqueId id;
  Comm comm = nullptr;
  fake::Stream stream;

  /// Device memory with these numbers in it.
  template <typename T> T *with(const std::vector<T> &values) {
    T *device = fake::allocateAs<T>(std::max<size_t>(1, values.size()));
    std::copy(values.begin(), values.end(), fake::hostAs<T>(device));
    return device;
  }
  template <typename T> std::vector<T> read(const T *device, size_t count) {
    T *host = fake::hostAs<T>(device);
    return {host, host + count};
  }
  float *floats(size_t count, float value) { return with(std::vector<float>(count, value)); }
  int error() {
    int result = success;
    EXPECT_EQ(ncclCommGetAsyncError(comm, &result), success);
    return result;
  }
  int sum(float *data, size_t count) {
    return ncclAllReduce(data, data, count, float32, nccl::sum, comm, &stream);
  }
};

enum Transport { threads, processes };

/// The body on each rank, which has no communicator yet; then with one.
void onRanks(Transport transport, int ranks, const std::function<void(Rank &)> &body);
void withComm(Transport transport, int ranks, const std::function<void(Rank &)> &body);

/// What all ranks write to stderr.
std::string textOf(const std::function<void()> &body);
void expectText(const std::string &text, const std::string &part);

/// Polls until it is no longer in progress.
int poll(Comm comm);
double seconds();

/// Set while it lives.
class Environment {
public:
  Environment(const char *name, const std::string &value) : name(name) {
    setenv(name, value.c_str(), 1);
  }
  ~Environment() { unsetenv(name); }

private:
  const char *name;
};

} // namespace standin::nccl

#endif // TPLAN_TEST_STANDIN_NCCL_RANKS_H
