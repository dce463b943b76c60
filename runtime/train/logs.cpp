//===- logs.cpp - the kinds of logs ---------------------------------------===//

#include "runtime/train/logs.h"

#include <cerrno>
#include <cstring>

#include <unistd.h>

using namespace tplan::runtime;

namespace {
struct LogKind {
  const char *name;
  std::unique_ptr<Log> (*make)();
};
constexpr LogKind kKinds[] = {
    {"jsonl", makeJsonLog},
    {"prometheus", makePrometheusLog},
    {"tensorboard", makeTensorBoardLog},
};
} // namespace

std::string tplan::runtime::logKinds() {
  std::string names;
  for (const LogKind &kind : kKinds)
    names += std::string(names.empty() ? "" : ", ") + kind.name;
  return names;
}

bool tplan::runtime::isLogKind(const std::string &name) {
  for (const LogKind &kind : kKinds)
    if (name == kind.name)
      return true;
  return false;
}

Status tplan::runtime::writeAll(int descriptor, const std::string &path, const char *data,
                                size_t bytes) {
  while (bytes > 0) {
    ssize_t written = write(descriptor, data, bytes);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return errorf("cannot write '%s': %s", path.c_str(), strerror(errno));
    data += written;
    bytes -= (size_t)written;
  }
  return {};
}

Status Logs::open(const std::vector<LogRequest> &requests, const tp_program &program, bool resume,
                  int64_t lastStep) {
  for (const LogRequest &request : requests)
    for (const LogKind &kind : kKinds)
      if (request.kind == kind.name) {
        logs.push_back(kind.make());
        TP_TRY(logs.back()->open(request.path, program, resume, lastStep));
      }
  return {};
}

Status Logs::step(const Metrics &metrics, const StepReport &report) {
  for (auto &log : logs)
    TP_TRY(log->step(metrics, report));
  return {};
}

Status Logs::evaluation(int64_t step, double loss, int64_t tokens) {
  for (auto &log : logs)
    TP_TRY(log->evaluation(step, loss, tokens));
  return {};
}

Status Logs::finish() {
  for (auto &log : logs)
    TP_TRY(log->finish());
  return {};
}
