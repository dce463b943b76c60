//===- job.h - processes and threads that meet, for tests --------------------===//

#ifndef TPLAN_TEST_RUNTIME_JOB_H
#define TPLAN_TEST_RUNTIME_JOB_H

#include "helpers.h"

#include "runtime/transports/links.h"

#include <chrono>
#include <csignal>

#include <sys/wait.h>
#include <unistd.h>

namespace job {

using namespace tplan::runtime;

constexpr const char *here = "127.0.0.1";
inline Reach loopback() { return {{here}, ""}; }

struct Serving {
  explicit Serving(int64_t ranks = 16, const std::string &secret = "") {
    EXPECT_OK(server.start(loopback(), 0, ranks, secret));
  }
  StoreServer server;
};

inline int freePort() {
  Serving serving;
  return serving.server.port();
}

inline Launch launchOf(int64_t rank, int64_t ranks, int port, const std::string &secret = "") {
  Launch launch;
  launch.launcher = "torchrun", launch.rank = rank, launch.ranks = ranks;
  launch.host = here, launch.port = port, launch.run = "j", launch.seen = "RANK = ...";
  launch.secret = secret;
  return launch;
}

inline double secondsOf(const std::function<void()> &function) {
  auto begin = std::chrono::steady_clock::now();
  function();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// A process that calls the function.
class Process {
public:
  explicit Process(const std::function<int()> &function) : id(fork()) {
    if (id == 0)
      _exit(function());
  }
  Process(Process &&other) noexcept : id(std::exchange(other.id, -1)) {}
  ~Process() { kill(); }
  /// Its exit code, or 128 and its signal.
  int wait() {
    int code = 0;
    waitpid(std::exchange(id, -1), &code, 0);
    return WIFEXITED(code) ? WEXITSTATUS(code) : 128 + WTERMSIG(code);
  }
  void kill() {
    if (id > 0) {
      ::kill(id, SIGKILL);
      wait();
    }
  }
  pid_t get() const { return id; }

private:
  pid_t id;
};

/// Calls the function in a process for each rank; the exit codes.
inline std::vector<int> inProcesses(int count, const std::function<int(int)> &function) {
  std::vector<Process> processes;
  for (int i = 0; i < count; ++i)
    processes.emplace_back([&, i] { return function(i); });
  std::vector<int> codes;
  for (Process &process : processes)
    codes.push_back(process.wait());
  return codes;
}

} // namespace job

#endif // TPLAN_TEST_RUNTIME_JOB_H
