//===- transport.cpp - what the runtime itself needs of a communicator ------===//

#include "runtime/ranks/transport.h"

#include "runtime/ranks/collectives.h"
#include "runtime/support/environment.h"

#include <cmath>
#include <cstdlib>
#include <numeric>

using namespace tplan::runtime;

std::string TaskPlace::text() const {
  return stage < 0
             ? std::string()
             : format(" (stage %lld, microbatch %lld)", (long long)stage, (long long)microbatch);
}

std::string tplan::runtime::describe(const Operation &operation, const std::string &group) {
  std::string text = format("%s over '%s'", nameOfKind(operation.what->kind), group.c_str());
  if (const tp_call *call = operation.call; call && call->file && *call->file)
    text += format(" of %s:%d", call->file, call->line);
  return text + operation.task.text();
}

Status Communicator::checkStart(std::span<const Operation> operations, bool isUnderWay) const {
  for (const Operation &operation : operations)
    TP_TRY(checkCollective(*operation.what, size(), group.name.c_str()));
  if (isUnderWay)
    return errorf("operations over '%s' begin while others are under way: %s", group.name.c_str(),
                  describe(operations[0], group.name).c_str());
  return {};
}

Status Communicator::start(std::span<const Operation> operations, Team &team, Stream stream,
                           int64_t event) {
  TP_TRY(issue(operations, team, &stream));
  return stream.device->record(stream.number, event);
}

Status Communicator::settle(Stream stream, int64_t event) {
  return stream.device->wait(stream.number, event);
}

Status Communicator::begin(std::span<const Operation>) {
  return errorf("this transport starts no operations in the memory of the host: '%s'",
                group.name.c_str());
}
Status Communicator::advance(Team &, Advance &) { return begin({}); }
Status Communicator::rest(Patience &) { return begin({}); }

int64_t Transport::bytesSent() const {
  Traffic all = traffic();
  return std::accumulate(all.sent.begin(), all.sent.end(), int64_t(0));
}

Status tplan::runtime::readHangLimit(double &seconds) {
  seconds = defaultHangLimit;
  const char *text = readVariable("TPLAN_HANG_LIMIT");
  if (!text || !*text)
    return {};
  char *end;
  seconds = strtod(text, &end);
  if (*end || !std::isfinite(seconds) || seconds <= 0 || seconds > 1e6)
    return errorf("TPLAN_HANG_LIMIT is the seconds that a collective waits for other ranks, above "
                  "0 and at most 1000000; found '%s'",
                  text);
  return {};
}

/// A sum, because no member can have it before all have given their part.
Status Communicator::barrier() {
  double nothing = 0;
  Team alone;
  return sum(&nothing, 1, alone);
}

Status Communicator::sum(double *values, int64_t count, Team &team) {
  tp_collective what = {};
  what.kind = TP_ALL_REDUCE, what.reduction = TP_SUM, what.type = TP_F64;
  what.outer = what.middle = what.last = 1;
  what.inner = what.whole = count;
  Operation operation = {&what, values, values, nullptr};
  return issue({&operation, 1}, team, nullptr);
}

/// A tree: in each round every member that has the data gives it to one more.
Status Communicator::broadcast(void *data, int64_t bytes, int root) {
  int n = size();
  source.resize(n);
  tp_collective what = {};
  what.kind = TP_PERMUTE, what.type = TP_I1;
  what.outer = what.middle = what.last = 1;
  what.inner = what.whole = bytes;
  what.source = source.data();
  Operation operation = {&what, data, data, nullptr};
  Team alone;
  for (int have = 1; have < n; have *= 2) {
    for (int i = 0; i < n; ++i)
      source[(root + i) % n] = (root + (i >= have && i < 2 * have ? i - have : i)) % n;
    TP_TRY(issue({&operation, 1}, alone, nullptr));
  }
  return {};
}
