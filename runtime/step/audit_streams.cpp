//===- audit_streams.cpp - --audit-streams ----------------------------------===//
//
// The host program of a plan for GPUs, as each rank runs it, on a device that notes every call:
// then every access of the arena must be ordered by streams and events alone, and lie in the arena.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/programs.h"
#include "runtime/ranks/rank.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/trace_device.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

using namespace tplan::runtime;

namespace {

/// Stands for the connection of a rank, which has no others.
class NoTransport : public Transport {
public:
  NoTransport(int self, int ranks) : self(self), ranks(ranks) {}
  int rank() const override { return self; }
  int size() const override { return ranks; }
  Communicator &world() override { ::abort(); }
  Status connect(const tp_program &, std::vector<std::unique_ptr<Communicator>> &) override {
    return {};
  }
  void abort(const Status &) override {}
  Traffic traffic() const override { return {}; }

private:
  const int self, ranks;
};

/// The trace as text: slots of the arena, arguments of kernels, and one piece of work a line, for
/// other programs to judge.
class TraceFile {
public:
  ~TraceFile() {
    if (file)
      fclose(file);
  }
  Status open(const std::string &path) {
    file = fopen(path.c_str(), "w");
    return file ? Status() : errorf("cannot write '%s': %s", path.c_str(), strerror(errno));
  }
  void add(const StreamEvent &it) {
    if (!file)
      return;
    static constexpr const char *words[] = {"work", "record", "wait", "sync"};
    fprintf(file, "%s %lld %lld", words[it.kind], (long long)it.stream, (long long)it.event);
    addExtents('r', it.reads);
    addExtents('w', it.writes);
    fprintf(file, " %s\n", it.title.text().c_str());
  }
  /// The header, before the ranks that run it.
  void addTables(const tp_program &program) {
    if (last == &program)
      return;
    last = &program;
    for (const Slot &slot : file ? slotsOf(program) : std::vector<Slot>())
      fprintf(file, "slot %lld-%lld %s\n", (long long)slot.offset,
              (long long)(slot.offset + slot.bytes), slot.name);
    for (int64_t i = 0; file && i < program.device->num_kernels; ++i) {
      const tp_device_kernel &kernel = *program.device->kernels[i];
      fprintf(file, "kernel %s %d %d", kernel.name, kernel.inputs, kernel.outputs);
      for (int32_t argument = 0; argument < kernel.num_args; ++argument)
        fprintf(file, " %lld+%lld", (long long)kernel.bytes[argument],
                kernel.strides ? (long long)kernel.strides[argument] : 0);
      fprintf(file, "\n");
    }
  }
  void begin(int rank, int64_t streams, int64_t events) {
    if (file)
      fprintf(file, "rank %d %lld %lld\n", rank, (long long)streams, (long long)events);
  }

private:
  void addExtents(char letter, const std::vector<Extent> &extents) {
    for (Extent extent : extents)
      fprintf(file, " %c%lld-%lld", letter, (long long)extent.begin, (long long)extent.end);
  }
  FILE *file = nullptr;
  const tp_program *last = nullptr;
};

Status checkInside(const tp_program &program, const StreamEvent &it) {
  for (const std::vector<Extent> *extents : {&it.reads, &it.writes})
    for (Extent extent : *extents)
      if (extent.begin < 0 || extent.end > program.arena_bytes)
        return errorf("'%s' touches bytes [%lld, %lld) of an arena of %lld",
                      it.title.text().c_str(), (long long)extent.begin, (long long)extent.end,
                      (long long)program.arena_bytes);
  return {};
}

/// All ranks, or the first and the last of each program.
std::vector<int64_t> ranksToAudit(const tp_program &program) {
  std::vector<int64_t> ranks;
  int64_t all = ranksOf(program), last = programCount(program) - 1;
  for (int64_t rank = 0; all <= mostAudited && rank < all; ++rank)
    ranks.push_back(rank);
  for (int64_t number = 0; all > mostAudited && number <= last; ++number) {
    int64_t first = firstRankOf(program, number);
    ranks.push_back(first);
    if (int64_t end = all - 1 - firstRankOf(program, last) + first; end != first)
      ranks.push_back(end);
  }
  return ranks;
}

} // namespace

Status tplan::runtime::traceProgram(const tp_program &plan, int number, const StreamSink &sink) {
  const tp_program &program = programOf(plan, number);
  tp_rank rank;
  NoTransport none(number, (int)ranksOf(program));
  rank.program = &program;
  rank.transport = program.num_groups ? &none : nullptr;
  rank.device = traceDevice(sink);
  char *arena = nullptr;
  TP_TRY(rank.device->start(program, arena));
  rank.arena.adopt(*rank.device, arena, program.arena_bytes);
  TP_TRY(traceGroups(program, number, sink, rank.groups));
  Device &device = *rank.device;

  if (program.prepare)
    TP_TRY(runEntry(rank, program.prepare, "preparation"));
  TP_TRY(device.send());
  for (int step = program.early_step ? -1 : 0; step < 2; ++step) {
    TP_TRY(device.take());
    TP_TRY(runEntry(rank, step < 0 ? program.early_step : program.step, "a step"));
    rank.copiesAreStale = true;
    TP_TRY(device.send());
    for (int64_t i = 0; i < program.num_metrics; ++i)
      for (int64_t part = 0; part < program.metrics[i].parts; ++part)
        TP_TRY(device.read(nullptr, arena + program.metrics[i].offset + part * scalarStride, 8));
  }
  for (auto entry : {program.evaluate, program.predict})
    if (entry) {
      TP_TRY(give(rank));
      TP_TRY(prepareCopies(rank));
      TP_TRY(runEntry(rank, entry, "evaluation"));
    }
  return device.finish();
}

Status tplan::runtime::auditStreams(const tp_program &program, const std::string &traceFile) {
  if (!program.device)
    return errorf("--audit-streams is for programs of a GPU, and the plan '%s' is compiled for a "
                  "CPU: compile it with --target=cuda:ARCH",
                  program.plan);
  int64_t most[] = {0, 0}, works = 0;
  TraceFile file;
  if (!traceFile.empty())
    TP_TRY(file.open(traceFile));
  const std::vector<int64_t> ranks = ranksToAudit(program);
  for (int64_t rank : ranks) {
    const tp_program &own = programOf(program, rank);
    int64_t streams = tracedStreams(own), events = tracedEvents(own);
    most[0] = std::max(most[0], streams), most[1] = std::max(most[1], events);
    StreamOrder order(streams, events);
    file.addTables(own);
    file.begin((int)rank, streams, events);
    Status status = traceProgram(program, (int)rank, [&](const StreamEvent &it) -> Status {
      file.add(it);
      TP_TRY(checkInside(own, it));
      return order.add(it);
    });
    if (!status.ok())
      return errorf("rank %lld: %s", (long long)rank, status.message().c_str());
    works += order.works();
  }
  printf("stream audit: %lld calls of %zu ranks in %lld streams with %lld events: each access of "
         "the arena has its order\n",
         (long long)works, ranks.size(), (long long)most[0], (long long)most[1]);
  return {};
}
