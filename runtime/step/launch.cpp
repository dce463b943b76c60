//===- launch.cpp - the calls that generated code makes -------------------===//
//
// The C boundary: each function counts and times its call and runs it on the
// team of the rank.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/collectives.h"
#include "runtime/ranks/device_blocks.h"
#include "runtime/ranks/rank.h"

#include <algorithm>
#include <array>
#include <climits>
#include <cstring>
#include <vector>

using namespace tplan::runtime;

namespace {

/// Pieces of a copy are large enough to pay for a thread and fixed by size alone.
constexpr int64_t pieceBytes = int64_t(1) << 18;

/// Collectives that are issued together, at most.
constexpr int64_t bucketSize = HostStreams::mostTogether;

/// The communicator of collective `what`.
Status findGroup(const tp_rank &rank, const tp_collective &what, Communicator *&group) {
  if (!rank.transport)
    return errorf("the plan '%s' exchanges data between ranks, and this rank has no transport",
                  rank.program->plan);
  if (what.group < 0 || what.group >= (int64_t)rank.groups.size())
    return errorf("a collective names group %d of a plan with %zu groups", what.group,
                  rank.groups.size());
  group = rank.groups[what.group].get();
  if (!group)
    return errorf("this rank takes part in a collective of a group that it is no member of: '%s'",
                  rank.program->groups[what.group].name);
  return {};
}

/// Issues a call to the device. The work is not done when this returns, so the device takes times
/// itself.
template <typename Issue>
int onDevice(tp_rank &rank, const tp_call &call, Issue issue, int64_t repeated = 1) {
  rank.profile.count(call, 0, repeated);
  Device &device = *rank.device;
  Status status = device.beforeCall(call);
  if (status.ok())
    status = issue(device);
  if (status.ok())
    status = device.afterCall(call);
  return fail(rank, &call, std::move(status));
}

} // namespace

int tplan::runtime::fail(tp_rank &rank, const tp_call *call, Status status) {
  if (status.ok())
    return 0;
  if (!rank.error.ok())
    return 1;
  // A collective that waits reports its place with it.
  bool isSaid = status.message().find(" (stage ") != std::string::npos;
  std::string task = isSaid ? "" : rank.task.text();
  rank.error = call ? std::move(status).at(call->file, call->line, task) : std::move(status);
  return 1;
}

int tp_launch(tp_rank *rank, const tp_call *call, tp_kernel kernel, void *const *args,
              int64_t tasks) {
  if (rank->streams)
    rank->streams->glance();
  CallTimer timer(rank->profile, call);
  if (tasks > INT_MAX)
    return fail(*rank, call,
                errorf("kernel '%s' has too many tasks: %lld", call->name, (long long)tasks));
  rank->team.forEach(tasks, [=](int64_t task, int) { kernel(args, task); });
  return 0;
}

int tp_launch_device(tp_rank *rank, const tp_call *call, const tp_device_kernel *kernel,
                     void *const *args, int64_t layers) {
  return onDevice(
      *rank, *call, [=](Device &device) { return device.launch(*call, *kernel, args, layers); },
      layers);
}

int tp_attend(tp_rank *rank, const tp_call *call, const tp_attention *attention,
              void *const *pointers) {
  return onDevice(*rank, *call,
                  [=](Device &device) { return device.attend(*call, *attention, pointers); });
}

int tp_record(tp_rank *rank, int64_t stream, int64_t event) {
  return fail(*rank, nullptr,
              rank->device ? rank->device->record(stream, event)
                           : rank->streams->record(stream, event));
}

int tp_wait(tp_rank *rank, int64_t stream, int64_t event) {
  return fail(*rank, nullptr,
              rank->device ? rank->device->wait(stream, event)
                           : rank->streams->wait(stream, event));
}

static int64_t eventAt(const tp_rank &rank, const void *event) {
  const tp_program &program = *rank.program;
  return program.first_placed +
         ((const char *)event - (rank.arena.data() + program.events_offset)) / 64;
}

int tp_signal(tp_rank *rank, int64_t stream, void *event) {
  return tp_record(rank, stream, eventAt(*rank, event));
}

int tp_await(tp_rank *rank, int64_t stream, void *event) {
  int64_t number = eventAt(*rank, event);
  size_t placed = size_t(number - rank->program->first_placed);
  Communicator *started =
      placed < rank->started.size() ? std::exchange(rank->started[placed], nullptr) : nullptr;
  if (!started)
    return tp_wait(rank, stream, number);
  return fail(*rank, nullptr, started->settle({rank->device.get(), stream}, number));
}

int tp_matmul(tp_rank *rank, const tp_call *call, const tp_gemm *gemm, const void *a, const void *b,
              const void *bias, void *c, int64_t rows) {
  if (rank->device)
    return onDevice(*rank, *call, [=](Device &device) {
      return device.matmul(*call, *gemm, nullptr, {.a = a, .b = b, .bias = bias, .c = c});
    });
  if (rank->streams)
    rank->streams->glance();
  CallTimer timer(rank->profile, call);
  Status status = rank->matmul.run(rank->team, *gemm, a, b, bias, c, rows);
  return status.ok() ? 0 : fail(*rank, call, std::move(status));
}

int tp_scaled_matmul(tp_rank *rank, const tp_call *call, const tp_gemm *gemm,
                     const tp_scales *scales, const void *a, const void *b, const float *a_scale,
                     const float *b_scale, void *c, int64_t rows) {
  if (rank->device)
    return onDevice(*rank, *call, [=](Device &device) {
      return device.matmul(*call, *gemm, scales,
                           {.a = a, .b = b, .aScale = a_scale, .bScale = b_scale, .c = c});
    });
  if (rank->streams)
    rank->streams->glance();
  CallTimer timer(rank->profile, call);
  Status status =
      rank->matmul.runScaled(rank->team, *gemm, *scales, a, b, a_scale, b_scale, c, rows);
  return status.ok() ? 0 : fail(*rank, call, std::move(status));
}

int tp_copy(tp_rank *rank, const tp_call *call, void *to, const void *from, int64_t bytes) {
  if (rank->device)
    return onDevice(*rank, *call, [=](Device &device) {
      return device.copy(call->stream, to, from, Rows{1, bytes, 0, 0});
    });
  CallTimer timer(rank->profile, call);
  rank->team.forEach((bytes + pieceBytes - 1) / pieceBytes, [=](int64_t piece, int) {
    int64_t at = piece * pieceBytes;
    memcpy((char *)to + at, (const char *)from + at, std::min(pieceBytes, bytes - at));
  });
  return 0;
}

int tp_audit(tp_rank *rank, const tp_call *call, const tp_audited *of, const void *from, void *to,
             void *const *numbers) {
  int64_t bytes = bytesOf(of->type);
  for (int32_t d = 0; d < of->rank; ++d)
    bytes *= of->shape[d];
  if (int failed = tp_copy(rank, call, to, from, bytes))
    return failed;
  if (!rank->scales)
    return 0;
  auto member = [&](int64_t group) { return tp_member(rank, group); };
  if (!rank->device) {
    rank->scales.write(*of, member, from, numbers);
    return 0;
  }
  return onDevice(*rank, *call, [=](Device &device) -> Status {
    std::vector<char> values(bytes);
    int32_t here[3] = {};
    void *places[3] = {};
    TP_TRY(device.read(values.data(), from, bytes));
    for (int i = 0; i < 3; ++i)
      if (numbers[i]) {
        TP_TRY(device.read(&here[i], numbers[i], sizeof here[i]));
        places[i] = &here[i];
      }
    rank->scales.write(*of, member, values.data(), places);
    return {};
  });
}

int tp_zero(tp_rank *rank, const tp_call *call, void *to, int64_t bytes) {
  if (rank->device)
    return onDevice(*rank, *call, [=](Device &device) {
      return device.zero(call->stream, to, Rows{1, bytes, 0, 0});
    });
  CallTimer timer(rank->profile, call);
  rank->team.forEach((bytes + pieceBytes - 1) / pieceBytes, [=](int64_t piece, int) {
    int64_t at = piece * pieceBytes;
    memset((char *)to + at, 0, std::min(pieceBytes, bytes - at));
  });
  return 0;
}

static Status clearRest(tp_rank &rank, const tp_call &call, const tp_collective &what,
                        const Communicator &group, void *out) {
  if (rank.device)
    return clearRest({rank.device.get(), call.stream}, what, group.size(), group.member(), out);
  clearRest(what, group.size(), group.member(), out);
  return {};
}

static Status issue(tp_rank &rank, const tp_call &call, const tp_collective *all, int64_t count,
                    void *const *pointers) {
  Stream stream{rank.device.get(), call.stream};
  std::array<Operation, bucketSize> bucket;
  for (int64_t begin = 0, end; begin < count; begin = end) {
    for (end = begin; end < std::min(count, begin + bucketSize); ++end) {
      if (all[end].group != all[begin].group)
        break;
      bucket[end - begin] = {&all[end], pointers[2 * end], pointers[2 * end + 1], &call, rank.task};
    }
    Communicator *group = nullptr;
    TP_TRY(findGroup(rank, all[begin], group));
    std::span<const Operation> together(bucket.data(), size_t(end - begin));
    if (rank.streams) {
      TP_TRY(rank.streams->issue(call.stream, *group, together));
      continue;
    }
    TP_TRY(group->issue(together, rank.team, rank.device ? &stream : nullptr));
    for (int64_t i = begin; i < end; ++i)
      if (all[i].kind == TP_REDUCE_SCATTER)
        TP_TRY(clearRest(rank, call, all[i], *group, pointers[2 * i + 1]));
  }
  return {};
}

int tp_collectives(tp_rank *rank, const tp_call *call, const tp_collective *all, int64_t count,
                   void *const *pointers) {
  if (rank->device)
    return onDevice(*rank, *call,
                    [=](Device &) { return issue(*rank, *call, all, count, pointers); });
  CallTimer timer(rank->profile, call);
  return fail(*rank, call, issue(*rank, *call, all, count, pointers));
}

static Status start(tp_rank &rank, const tp_call &call, const tp_collective *all, int64_t count,
                    void *const *pointers, int64_t event) {
  std::vector<Operation> message;
  for (int64_t i = 0; i < count; ++i)
    message.push_back({&all[i], pointers[2 * i], pointers[2 * i + 1], &call, rank.task});
  Communicator *group = nullptr;
  TP_TRY(findGroup(rank, all[0], group));
  size_t placed = size_t(event - rank.program->first_placed);
  if (rank.started.size() <= placed)
    rank.started.resize(placed + 1);
  rank.started[placed] = group;
  return group->start(message, rank.team, {rank.device.get(), call.stream}, event);
}

int tp_start(tp_rank *rank, const tp_call *call, const tp_collective *all, int64_t count,
             void *const *pointers, void *event) {
  int64_t number = eventAt(*rank, event);
  if (rank->device)
    return onDevice(*rank, *call,
                    [=](Device &) { return start(*rank, *call, all, count, pointers, number); });
  if (int code = tp_collectives(rank, call, all, count, pointers))
    return code;
  return tp_record(rank, call->stream, number);
}

static Status slice(tp_rank &rank, const tp_call &call, const tp_collective &what, const void *in,
                    void *out) {
  if (!isType(what.type))
    return errorf("a slice has an unknown type: %d", what.type);
  Communicator *group = nullptr;
  TP_TRY(findGroup(rank, what, group));
  tp_collective scatter = what; // without its sum
  scatter.kind = TP_REDUCE_SCATTER;
  int n = group->size(), self = group->member();
  Block from = inputBlock(scatter, n, self, self), to = outputBlock(scatter, n, self, self);
  int64_t bytes = bytesOf(what.type);
  if (rank.device)
    TP_TRY(copyBlock({rank.device.get(), call.stream}, bytes, in, from, out, to));
  else
    forRuns(from, to, 0, from.count(), [&](int64_t a, int64_t b, int64_t count) {
      memcpy((char *)out + b * bytes, (const char *)in + a * bytes, count * bytes);
    });
  return clearRest(rank, call, scatter, *group, out);
}

int tp_slice(tp_rank *rank, const tp_call *call, const tp_collective *what, const void *in,
             void *out) {
  if (rank->device)
    return onDevice(*rank, *call, [=](Device &) { return slice(*rank, *call, *what, in, out); });
  CallTimer timer(rank->profile, call);
  return fail(*rank, call, slice(*rank, *call, *what, in, out));
}

int64_t tp_member(const tp_rank *rank, int64_t group) {
  const Communicator *its = rank->groups[group].get();
  return its ? its->member() : -1;
}

int tp_begin_task(tp_rank *rank, int64_t stage, int64_t microbatch) {
  rank->task = {stage, microbatch};
  return 0;
}

int tp_gradients_ready(tp_rank *rank) {
  if (!rank->gradientsReady)
    return 0;
  if (rank->streams) // sums of gradients may be under way
    if (Status status = rank->streams->finish(); !status.ok())
      return fail(*rank, nullptr, std::move(status));
  auto hook = std::move(rank->gradientsReady);
  rank->gradientsReady = nullptr;
  return fail(*rank, nullptr, hook());
}
