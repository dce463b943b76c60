//===- strike-task.cpp - strikes a rank at a task of its step ------------------------===//
//
// Linked with the object of a plan over stages, whose calls of the runtime go by here (--wrap).
// STRIKE="HOW RANK STEP TASK FILE", from 0 on; TASK -1: in the norm. The rank gets SIGKILL or
// SIGSTOP there, or sleeps for five seconds, or its next call fails, and FILE holds when, in
// seconds of the monotonic clock. HOW slow: each task of stage RANK that computes takes a fifth of
// a second more, and FILE gets how many did and how long they took, a line for each step of a rank.
// HOW list: RANK says what its tasks are.
//
//===----------------------------------------------------------------------===//

#include "runtime/ranks/rank.h"
#include "runtime/support/profile.h"

#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <string>

#include <unistd.h>

using namespace tplan::runtime;

namespace {

constexpr int mostRanks = 64;
constexpr useconds_t later = 200000;

struct Strike {
  char how[16] = "", file[512] = "";
  int rank = -1, step = 0, task = 0;
  Strike() {
    if (const char *text = getenv("STRIKE"))
      sscanf(text, "%15s %d %d %d %511s", how, &rank, &step, &task, file);
  }
  /// A process may play the programs of other ranks when it starts.
  static bool isPlayed(int rank) {
    const char *own = getenv("RANK");
    return own && atoi(own) != rank;
  }
  bool is(const char *what) const { return std::string(what) == how; }
};
const Strike strike;

struct Place { // of a rank; ranks may be threads
  int step = 0, task = 0;
  bool fails = false;
  // For a slow stage: when the task has begun that computes, or 0; how many of the step did so, and
  // their seconds.
  double begin = 0, lasted = 0;
  int computed = 0;
} places[mostRanks];

Place &placeOf(tp_rank *rank) { return places[rank->transport->rank()]; }

void happen(Place &place) {
  FILE *to = fopen(strike.file, "w");
  fprintf(to, "%.3f\n", monotonicSeconds());
  fclose(to);
  if (strike.is("fail"))
    place.fails = true;
  else if (strike.is("sleep"))
    sleep(5);
  else
    kill(getpid(), strike.is("kill") ? SIGKILL : SIGSTOP);
}

/// Ends a task of a slow stage.
void slowDown(tp_rank *rank, Place &place, bool endsStep) {
  if (place.begin > 0) {
    if (rank->device && !rank->device->finish().ok())
      return;
    usleep(later);
    place.lasted += monotonicSeconds() - place.begin;
    ++place.computed;
  }
  place.begin = endsStep ? 0 : monotonicSeconds();
  if (!endsStep)
    return;
  FILE *to = fopen(strike.file, "a");
  fprintf(to, "%d %.9f\n", place.computed, place.lasted);
  fclose(to);
  place.computed = place.lasted = 0;
}

} // namespace

extern "C" {

int __real_tp_begin_task(tp_rank *, int64_t, int64_t);
int __wrap_tp_begin_task(tp_rank *rank, int64_t stage, int64_t microbatch) {
  if (rank->graphs.use == Graphs::captured) // nothing is executed
    return __real_tp_begin_task(rank, stage, microbatch);
  Place &place = placeOf(rank);
  int number = rank->transport->rank();
  bool isSlow = strike.is("slow") && !Strike::isPlayed(number);
  if (isSlow && (stage == strike.rank || (stage < 0 && place.lasted > 0)))
    slowDown(rank, place, /*endsStep=*/stage < 0);
  else if (strike.is("list") && number == strike.rank)
    fprintf(stderr, "step %d task %d: stage %d microbatch %d\n", place.step, place.task, (int)stage,
            (int)microbatch);
  int code = __real_tp_begin_task(rank, stage, microbatch);
  bool isHere = !strike.is("slow") && place.step == strike.step &&
                strike.task == (stage < 0 ? -1 : place.task);
  if (*strike.file && number == strike.rank && isHere && !Strike::isPlayed(number))
    happen(place);
  ++place.task;
  if (stage < 0)
    ++place.step, place.task = 0;
  return code;
}

#define CALL(NAME, PARAMETERS, ...)                                                                \
  int __real_##NAME PARAMETERS;                                                                    \
  int __wrap_##NAME PARAMETERS {                                                                   \
    if (std::string(#NAME) == "tp_collectives")                                                    \
      placeOf(rank).begin = 0; /* what waits for others computes nothing */                        \
    if (placeOf(rank).fails)                                                                       \
      return fail(*rank, call, errorf("the test strikes"));                                        \
    return __real_##NAME(__VA_ARGS__);                                                             \
  }

CALL(tp_launch,
     (tp_rank * rank, const tp_call *call, tp_kernel kernel, void *const *args, int64_t tasks),
     rank, call, kernel, args, tasks)
CALL(tp_launch_device,
     (tp_rank * rank, const tp_call *call, const tp_device_kernel *kernel, void *const *args,
      int64_t layers),
     rank, call, kernel, args, layers)
CALL(tp_collectives,
     (tp_rank * rank, const tp_call *call, const tp_collective *all, int64_t count,
      void *const *pointers),
     rank, call, all, count, pointers)
}
