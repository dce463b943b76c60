//===- helpers.h - what the runtime's tests share ---------------------------===//

#ifndef TPLAN_TEST_RUNTIME_HELPERS_H
#define TPLAN_TEST_RUNTIME_HELPERS_H

#include "runtime/ranks/peers.h"
#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <functional>
#include <gtest/gtest.h>
#include <string>
#include <vector>

namespace helpers {

/// A directory that is empty at first and removed at the end.
class Scratch {
public:
  Scratch();
  ~Scratch();
  std::string operator/(const std::string &name) const { return path + "/" + name; }
  std::string path;
};

void writeFile(const std::string &path, const std::string &bytes);
std::string readFile(const std::string &path);

/// English-like text of `bytes` bytes below 128, a function of `seed`.
std::string someText(size_t bytes, unsigned seed = 1);

struct Outcome {
  int code;
  std::string out, err;
};
/// tp_main in this process.
Outcome runMain(const tp_program &program, std::vector<std::string> arguments);

/// Calls the function on a thread for each rank, and waits for them.
void onTransports(int ranks, const std::function<void(tplan::runtime::Transport &)> &function);
void onRanks(
    int ranks,
    const std::function<void(tplan::runtime::Peers &peers, tplan::runtime::Team &team)> &function);

/// The status is an error whose message holds every one of `parts`.
::testing::AssertionResult failsWith(const tplan::runtime::Status &status,
                                     const std::vector<std::string> &parts);
::testing::AssertionResult succeeds(const tplan::runtime::Status &status);

} // namespace helpers

#define EXPECT_OK(expr) EXPECT_TRUE(::helpers::succeeds(expr))
#define ASSERT_OK(expr) ASSERT_TRUE(::helpers::succeeds(expr))
#define EXPECT_FAILS(expr, ...) EXPECT_TRUE(::helpers::failsWith(expr, {__VA_ARGS__}))

#endif // TPLAN_TEST_RUNTIME_HELPERS_H
