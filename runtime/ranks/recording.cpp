//===- recording.cpp - what every rank issued, in which order -----------------===//

#include "runtime/ranks/recording.h"

#include "runtime/ranks/collectives.h"
#include "runtime/support/types.h"

#include <algorithm>
#include <cstdlib>
#include <string_view>

using namespace tplan::runtime;

namespace {

/// All but the group, whose number says nothing to another rank.
bool same(const Recorded &a, const Recorded &b) {
  auto fields = [](const tp_collective &c) {
    return std::array<int64_t, 9>{c.kind,  c.reduction, c.type,  c.outer,     c.middle,
                                  c.inner, c.last,      c.whole, c.split_last};
  };
  return fields(a.what) == fields(b.what) && a.sources == b.sources;
}

bool sameLine(const tp_call *a, const tp_call *b) {
  return a == b || (a && b && a->line == b->line && std::string_view(a->file) == b->file);
}

bool same(const Bucket &a, const Bucket &b) {
  return sameLine(a.call, b.call) && std::string_view(a.activity) == b.activity &&
         std::equal(a.operations.begin(), a.operations.end(), b.operations.begin(),
                    b.operations.end(), [](auto &x, auto &y) { return same(x, y); });
}

Traffic &operator+=(Traffic &to, const Traffic &more) {
  for (int kind = 0; kind < TP_COLLECTIVE_KINDS; ++kind) {
    to.sent[kind] += more.sent[kind];
    to.staged[kind] += more.staged[kind];
  }
  return to;
}

Traffic operator-(Traffic from, const Traffic &less) {
  for (int kind = 0; kind < TP_COLLECTIVE_KINDS; ++kind) {
    from.sent[kind] -= less.sent[kind];
    from.staged[kind] -= less.staged[kind];
  }
  return from;
}

class RecordingTransport;

class RecordingCommunicator : public Communicator {
public:
  RecordingCommunicator(Communicator &inner, RecordingTransport &transport, size_t index)
      : Communicator({inner.name(), inner.members(), inner.member()}), inner(inner),
        transport(transport), index(index) {}
  RecordingCommunicator(std::unique_ptr<Communicator> inner, RecordingTransport &transport,
                        size_t index)
      : RecordingCommunicator(*inner, transport, index) {
    owned = std::move(inner);
  }

  Status issue(std::span<const Operation> operations, Team &team, Stream *stream) override;
  Status start(std::span<const Operation> operations, Team &team, Stream stream,
               int64_t event) override;
  Status settle(Stream stream, int64_t event) override { return inner.settle(stream, event); }
  Status begin(std::span<const Operation> operations) override;
  Status advance(Team &team, Advance &how) override;
  void attend(bool is) override { inner.attend(is); }
  Status rest(Patience &patience) override { return inner.rest(patience); }
  Traffic traffic() const override { return inner.traffic(); }
  Status broadcast(void *data, int64_t bytes, int root) override;
  Status sum(double *values, int64_t count, Team &team) override;

private:
  Bucket &record(std::span<const Operation> operations);

  Communicator &inner;
  std::unique_ptr<Communicator> owned; // that of a group; the world is its transport's
  RecordingTransport &transport;
  const size_t index;   // in the log
  bool isNoted = false; // what is under way
  size_t underWay = 0;  // the bucket that has begun
  Traffic before;       // it began
};

class RecordingTransport : public Transport {
public:
  RecordingTransport(std::unique_ptr<Transport> wrapped, Recording &log)
      : inner(std::move(wrapped)), log(log), all(inner->world(), *this, add(inner->world())) {
    log.stages = inner->stages();
  }

  int rank() const override { return inner->rank(); }
  int size() const override { return inner->size(); }
  Communicator &world() override { return all; }
  void abort(const Status &why) override { inner->abort(why); }
  int64_t bytes() const override { return inner->bytes(); }
  Traffic traffic() const override { return inner->traffic(); }
  void attach(Device &device, char *arena, int64_t bytes) override {
    inner->attach(device, arena, bytes);
  }
  void detach() override { inner->detach(); }
  bool hostApart() const override { return inner->hostApart(); }
  bool stages() const override { return inner->stages(); }
  Notes *notes() override { return inner->notes(); }
  const Waiting *waiting() const override { return inner->waiting(); }
  Bell *bell() override { return inner->bell(); }
  bool sharesMemory() const override { return inner->sharesMemory(); }
  bool takesThreads() const override { return inner->takesThreads(); }
  std::string left() const override { return inner->left(); }
  std::string lastOf(int rank) const override { return inner->lastOf(rank); }

  Status connect(const tp_program &program,
                 std::vector<std::unique_ptr<Communicator>> &groups) override {
    std::vector<std::unique_ptr<Communicator>> plain;
    TP_TRY(inner->connect(program, plain));
    for (size_t i = 0; i < plain.size(); ++i) {
      if (!plain[i]) { // the log has its place
        log.groups.push_back({membersOf(program, (int64_t)i, rank()), {}, {}});
        groups.emplace_back();
        continue;
      }
      size_t index = add(*plain[i]);
      groups.push_back(std::make_unique<RecordingCommunicator>(std::move(plain[i]), *this, index));
    }
    return {};
  }

private:
  friend RecordingCommunicator;

  size_t add(const Communicator &of) {
    log.groups.push_back({{of.name(), of.members(), of.member()}, {}, {}});
    return log.groups.size() - 1;
  }

  std::unique_ptr<Transport> inner;
  Recording &log;
  RecordingCommunicator all;
};

Bucket &RecordingCommunicator::record(std::span<const Operation> operations) {
  Bucket bucket = {transport.activity, operations.empty() ? nullptr : operations[0].call, {}};
  for (const Operation &operation : operations) {
    Recorded recorded = {*operation.what, {}};
    if (const int32_t *source = operation.what->source)
      recorded.sources.assign(source, source + size());
    recorded.what.source = nullptr;
    bucket.operations.push_back(std::move(recorded));
  }
  RecordedGroup &log = transport.log.groups[index];
  auto known = std::find_if(log.buckets.begin(), log.buckets.end(),
                            [&](const Bucket &other) { return same(other, bucket); });
  if (known == log.buckets.end())
    known = log.buckets.insert(known, std::move(bucket));
  log.order.push_back(uint32_t(known - log.buckets.begin()));
  return *known;
}

/// All bytes that this rank sends are counted by the time when the members leave the operations.
Status RecordingCommunicator::issue(std::span<const Operation> operations, Team &team,
                                    Stream *stream) {
  if (transport.log.closed || operations.empty())
    return inner.issue(operations, team, stream);
  Bucket &bucket = record(operations);
  Traffic before = inner.traffic();
  TP_TRY(inner.issue(operations, team, stream));
  ++bucket.times;
  bucket.traffic += inner.traffic() - before;
  return {};
}

Status RecordingCommunicator::start(std::span<const Operation> operations, Team &team,
                                    Stream stream, int64_t event) {
  if (transport.log.closed)
    return inner.start(operations, team, stream, event);
  Bucket &bucket = record(operations);
  Traffic before = inner.traffic();
  TP_TRY(inner.start(operations, team, stream, event));
  ++bucket.times;
  bucket.traffic += inner.traffic() - before;
  return {};
}

Status RecordingCommunicator::begin(std::span<const Operation> operations) {
  isNoted = !transport.log.closed;
  if (isNoted) {
    Bucket &bucket = record(operations);
    underWay = &bucket - transport.log.groups[index].buckets.data();
    before = inner.traffic();
  }
  return inner.begin(operations);
}

Status RecordingCommunicator::advance(Team &team, Advance &how) {
  TP_TRY(inner.advance(team, how));
  if (how == Advance::done && isNoted) {
    Bucket &bucket = transport.log.groups[index].buckets[underWay];
    ++bucket.times;
    bucket.traffic += inner.traffic() - before;
  }
  return {};
}

Status RecordingCommunicator::broadcast(void *data, int64_t bytes, int root) {
  return transport.hostApart() ? inner.broadcast(data, bytes, root)
                               : Communicator::broadcast(data, bytes, root);
}

Status RecordingCommunicator::sum(double *values, int64_t count, Team &team) {
  return transport.hostApart() ? inner.sum(values, count, team)
                               : Communicator::sum(values, count, team);
}

/// The full text of one operation, on one line.
std::string operationText(const Bucket &bucket, size_t index) {
  const auto &[c, sources] = bucket.operations[index];
  std::string text = format("%s%s %s [%lld, %lld, %lld, %lld] of %lld%s", nameOfKind(c.kind),
                            c.reduction == TP_MAX ? " max" : "", nameOf(c.type), (long long)c.outer,
                            (long long)c.middle, (long long)c.inner, (long long)c.last,
                            (long long)c.whole, c.split_last ? ", last split" : "");
  for (int32_t source : sources)
    text += format(" %d", source);
  text += format(", %zu of %zu together, in the %s", index + 1, bucket.operations.size(),
                 bucket.activity);
  if (bucket.call)
    text += format(" of %s:%d", bucket.call->file, bucket.call->line);
  return text;
}

std::vector<std::string_view> split(std::string_view text, char by) {
  std::vector<std::string_view> parts;
  for (size_t end; (end = text.find(by)) != text.npos; text.remove_prefix(end + 1))
    parts.push_back(text.substr(0, end));
  return parts;
}

/// The lines of each bucket, in the order of the text's first line.
class IssuedText {
public:
  explicit IssuedText(std::string_view text) {
    std::vector<std::string_view> lines = split(text, '\n');
    for (std::string_view number : split(lines[0], ' '))
      order.push_back(strtoul(number.data(), nullptr, 10));
    buckets.emplace_back();
    for (size_t i = 1; i < lines.size(); ++i)
      lines[i].empty() ? (void)buckets.emplace_back() : buckets.back().push_back(lines[i]);
  }
  size_t size() const { return order.size(); }
  /// Bucket i of those that were issued; empty after the last.
  std::span<const std::string_view> operator[](size_t i) const {
    return i < size() ? buckets[order[i]] : std::span<const std::string_view>();
  }

private:
  std::vector<size_t> order;
  std::vector<std::vector<std::string_view>> buckets;
};

} // namespace

int64_t Recording::bytes() const {
  int64_t sum = 0;
  for (const RecordedGroup &group : groups) {
    sum += group.order.capacity() * sizeof(uint32_t) + group.buckets.capacity() * sizeof(Bucket);
    for (const Bucket &bucket : group.buckets)
      for (const Recorded &operation : bucket.operations)
        sum += sizeof operation + operation.sources.capacity() * sizeof(int32_t);
  }
  return sum;
}

std::unique_ptr<Transport> tplan::runtime::recordTransport(std::unique_ptr<Transport> inner,
                                                           Recording &log) {
  return std::make_unique<RecordingTransport>(std::move(inner), log);
}

std::string tplan::runtime::textOf(const RecordedGroup &group) {
  std::string text;
  for (uint32_t number : group.order)
    text += format("%u ", number);
  text += "\n";
  for (const Bucket &bucket : group.buckets) {
    for (size_t i = 0; i < bucket.operations.size(); ++i)
      text += operationText(bucket, i) + "\n";
    text += "\n";
  }
  return text;
}

Status tplan::runtime::checkSameOrder(const std::string &name, const std::string &a, int rankA,
                                      const std::string &b, int rankB) {
  if (a == b)
    return {};
  IssuedText one(a), other(b);
  size_t before = 0;
  for (size_t i = 0; i < std::max(one.size(), other.size()); ++i) {
    std::span<const std::string_view> x = one[i], y = other[i];
    size_t at = std::mismatch(x.begin(), x.end(), y.begin(), y.end()).first - x.begin();
    auto text = [&](std::span<const std::string_view> lines) {
      return at < lines.size() ? std::string(lines[at]) : "none";
    };
    if (at < std::max(x.size(), y.size()))
      return errorf("operation %zu over '%s' is not the same on all its ranks: on rank %d %s, on "
                    "rank %d %s",
                    before + at, name.c_str(), rankA, text(x).c_str(), rankB, text(y).c_str());
    before += x.size();
  }
  return {};
}

Status tplan::runtime::checkBytes(const Recording &log) {
  for (const RecordedGroup &group : log.groups)
    for (const Bucket &bucket : group.buckets) {
      Traffic said;
      for (const Recorded &operation : bucket.operations) {
        tp_collective what = operation.what;
        what.source = operation.sources.data();
        int64_t members = (int64_t)group.members.ranks.size(), self = group.members.self;
        if (!checkCollective(what, (int)members, "").ok())
          continue; // refused: its kind and type may be none
        int64_t width = bytesOf(what.type);
        said.sent[what.kind] += bucket.times * tp_bytes_sent(&what, members, self, width);
        if (log.stages)
          said.staged[what.kind] += bucket.times * tp_mpi_bytes_staged(&what, members, self, width);
      }
      for (int kind = 0; kind < TP_COLLECTIVE_KINDS; ++kind)
        if (said.sent[kind] != bucket.traffic.sent[kind] ||
            said.staged[kind] != bucket.traffic.staged[kind])
          return errorf("each %s over '%s' in the %s: %lld times, to send %lld bytes and stage "
                        "%lld; it has sent %lld and staged %lld",
                        nameOfKind(kind), group.members.name.c_str(), bucket.activity,
                        (long long)bucket.times, (long long)said.sent[kind],
                        (long long)said.staged[kind], (long long)bucket.traffic.sent[kind],
                        (long long)bucket.traffic.staged[kind]);
    }
  return {};
}
