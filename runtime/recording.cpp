//===- recording.cpp - what every rank issued, in which order -----------------===//

#include "runtime/recording.h"

#include "runtime/collectives.h"
#include "runtime/types.h"

#include <string_view>

using namespace tplan::runtime;

namespace {

class RecordingCommunicator : public Communicator {
public:
  RecordingCommunicator(Communicator &inner, Recording &log, size_t index)
      : Communicator({inner.name(), inner.members(), inner.member()}), inner(inner), log(log),
        index(index) {}
  RecordingCommunicator(std::unique_ptr<Communicator> inner, Recording &log, size_t index)
      : RecordingCommunicator(*inner, log, index) {
    owned = std::move(inner);
  }

  Status issue(std::span<const Operation> operations, Team &team, Stream *stream) override {
    std::vector<Recorded> &to = log.groups[index].operations;
    for (const Operation &operation : operations) {
      Recorded recorded = {*operation.what, {}, operation.call, bucket};
      if (const int32_t *source = operation.what->source)
        recorded.sources.assign(source, source + size());
      recorded.what.source = nullptr;
      to.push_back(std::move(recorded));
    }
    ++bucket;
    return inner.issue(operations, team, stream);
  }
  Status poll() override { return inner.poll(); }

private:
  Communicator &inner;
  std::unique_ptr<Communicator> owned; // that of a group; the world is its transport's
  Recording &log;
  const size_t index; // in the log
  int bucket = 0;
};

class RecordingTransport : public Transport {
public:
  RecordingTransport(std::unique_ptr<Transport> wrapped, Recording &log)
      : inner(std::move(wrapped)), log(log), all(inner->world(), log, add(inner->world())) {}

  ~RecordingTransport() override { log.bytesSent = inner->bytesSent(); }

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }
  Communicator &world() override { return all; }
  void abort(const Status &why) override { inner->abort(why); }
  int64_t bytes() const override { return inner->bytes(); }
  int64_t bytesSent() const override { return inner->bytesSent(); }
  std::string left() const override { return inner->left(); }

  Status connect(const tp_program &program,
                 std::vector<std::unique_ptr<Communicator>> &groups) override {
    std::vector<std::unique_ptr<Communicator>> plain;
    TP_TRY(inner->connect(program, plain));
    for (std::unique_ptr<Communicator> &group : plain) {
      size_t index = add(*group);
      groups.push_back(std::make_unique<RecordingCommunicator>(std::move(group), log, index));
    }
    return {};
  }

private:
  size_t add(const Communicator &of) {
    log.groups.push_back({{of.name(), of.members(), of.member()}, {}});
    return log.groups.size() - 1;
  }

  std::unique_ptr<Transport> inner;
  Recording &log;
  RecordingCommunicator all;
};

bool sameLine(const tp_call *a, const tp_call *b) {
  if (!a || !b)
    return a == b;
  return a->line == b->line && std::string_view(a->file) == b->file;
}

bool same(const Recorded &a, const Recorded &b) {
  const tp_collective &x = a.what, &y = b.what;
  return x.kind == y.kind && x.reduction == y.reduction && x.type == y.type && x.outer == y.outer &&
         x.inner == y.inner && x.middle == y.middle && x.last == y.last && x.whole == y.whole &&
         x.split_last == y.split_last && a.sources == b.sources && a.bucket == b.bucket &&
         sameLine(a.call, b.call);
}

Status compare(const RecordedGroup &a, int rankA, const RecordedGroup &b, int rankB) {
  for (size_t i = 0; i < std::max(a.operations.size(), b.operations.size()); ++i) {
    bool hasA = i < a.operations.size(), hasB = i < b.operations.size();
    if (hasA && hasB && same(a.operations[i], b.operations[i]))
      continue;
    return errorf("operation %zu over '%s' is not the same on all its ranks: on rank %d %s, on "
                  "rank %d %s",
                  i, a.members.name.c_str(), rankA,
                  hasA ? describe(a.operations[i]).c_str() : "none", rankB,
                  hasB ? describe(b.operations[i]).c_str() : "none");
  }
  return {};
}

} // namespace

std::string tplan::runtime::describe(const Recorded &it) {
  const tp_collective &c = it.what;
  std::string text = format("%s %s [%lld, %lld, %lld, %lld] in bucket %d", nameOfKind(c.kind),
                            nameOf(c.type), (long long)c.outer, (long long)c.middle,
                            (long long)c.inner, (long long)c.last, it.bucket);
  if (it.call)
    text += format(" of %s:%d", it.call->file, it.call->line);
  return text;
}

std::unique_ptr<Transport> tplan::runtime::recordTransport(std::unique_ptr<Transport> inner,
                                                           Recording &log) {
  return std::make_unique<RecordingTransport>(std::move(inner), log);
}

Status tplan::runtime::checkSameOrder(std::span<const Recording> logs) {
  for (size_t rank = 0; rank < logs.size(); ++rank)
    for (size_t group = 0; group < logs[rank].groups.size(); ++group) {
      const RecordedGroup &mine = logs[rank].groups[group];
      int first = mine.members.ranks[0];
      if (first >= (int)logs.size() || group >= logs[first].groups.size())
        return errorf("rank %zu has a group '%s' that rank %d has no log of", rank,
                      mine.members.name.c_str(), first);
      TP_TRY(compare(logs[first].groups[group], first, mine, (int)rank));
    }
  return {};
}

Status tplan::runtime::checkBytesSent(const Recording &log) {
  int64_t bytes = 0;
  for (const RecordedGroup &group : log.groups)
    for (const Recorded &operation : group.operations) {
      tp_collective what = operation.what;
      what.source = operation.sources.data();
      bytes += tp_bytes_sent(&what, (int64_t)group.members.ranks.size(), group.members.self,
                             bytesOf(what.type));
    }
  if (bytes != log.bytesSent)
    return errorf("collectives of %lld bytes have sent %lld", (long long)bytes,
                  (long long)log.bytesSent);
  return {};
}
