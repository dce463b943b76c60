//===- train.cpp - the training of one rank from start to end -------------===//
//
// One decision: all state of a run hangs off one Run, so that a rank can be a thread. What
// ends a run of many ranks is agreed on, or found alike by all; any other error is told to
// the others by whoever called train().
//
//===----------------------------------------------------------------------===//

#include "runtime/train.h"

#include "runtime/checkpoint.h"
#include "runtime/cuda.h"
#include "runtime/data.h"
#include "runtime/evaluate.h"
#include "runtime/metrics.h"
#include "runtime/progress.h"
#include "runtime/safetensors.h"
#include "runtime/same_run.h"
#include "runtime/scalars.h"
#include "runtime/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdarg>
#include <cstdlib>
#include <cstring>

using namespace tplan::runtime;

namespace {

class Run {
public:
  Run(tp_rank &rank, const tp_program &program, const Options &options, const Seat &seat)
      : program(program), options(options), seat(seat), rank(rank), metrics(program) {}
  Status all();

private:
  Status start();
  Status startDevice();
  Status settleGemms();
  Status setTensors();
  Status checkResumed();
  Status trainSteps();
  Status prepareStep(int64_t step);
  Status oneStep(int64_t step);
  Status checkMetrics(int64_t step);
  bool isSkipped() const;
  Status auditMemory();
  Status evaluate(int64_t step);
  Status save(int64_t step);
  Status finish();
  Status sample();
  void printSummary();
  /// Prints, on one of the ranks.
  __attribute__((format(printf, 2, 3))) void say(const char *format, ...);

  /// Whether gradients are those of a scaled loss, as f16 needs it.
  bool isScaled() const { return program.scale != 0; }
  int64_t every(int64_t option, int64_t plan) const { return option >= 0 ? option : plan; }

  const tp_program &program;
  const Options &options;
  const Seat &seat;
  tp_rank &rank;
  Loader loader;
  Metrics metrics;
  Logs logs;
  Progress progress;
  TrainingState state;
  std::vector<float> losses; // of each step of this run, for the curve
  int64_t steps = 0, firstStep = 1, savedStep = -1;
  int64_t skipped = 0;                        // of these steps
  int64_t given = 0;                          // the step whose rows and scalars were written last
  Profile::Totals countsBefore, countsBehind; // around a step that was issued call by call
  double trainSeconds = 0, profileSeconds = 0;
  int64_t profileSteps = 0;
};

void Run::say(const char *format, ...) {
  if (!rank.peers.leads())
    return;
  va_list list;
  va_start(list, format);
  vprintf(format, list);
  va_end(list);
  fflush(stdout);
}

Status Run::startDevice() {
  CudaOptions use;
  use.ordinal = seat.gpu;
  use.captures = !rank.transport || rank.transport->capturable();
  use.synchronous = options.synchronous;
  use.times = options.profile;
  TP_TRY(openCuda(use, rank.device));
  char *arena = nullptr;
  TP_TRY(rank.device->start(program, arena));
  rank.arena.adopt(*rank.device, arena, program.arena_bytes);
  if (rank.transport)
    rank.transport->attach(*rank.device, arena, program.arena_bytes);
  return {};
}

/// While nothing lies in the arena: what computes GEMMs is measured there.
Status Run::settleGemms() {
  std::string saved;
  bool reads = options.resume && rank.peers.leads();
  TP_TRY(rank.peers.agree(reads ? latestGemms(options.save, saved) : Status()));
  return tplan::runtime::settleGemms(rank, options.gemms, saved);
}

Status Run::start() {
  rank.program = &program;
  auto alone = [&]() -> Status {
    TP_TRY(rank.team.start(seat.threads, seat.number, seat.ranks));
    if (program.device)
      return startDevice();
    TP_TRY(rank.arena.map(program.arena_bytes));
    return rank.matmul.start(rank.team, getenv("TPLAN_GEMM"));
  };
  if (rank.transport)
    rank.peers = Peers(*rank.transport, rank.team);
  TP_TRY(rank.peers.agree(alone()));
  if (rank.peers.size() > seat.ranks)
    TP_TRY(checkSameRun(rank.peers, options));
  if (rank.device)
    TP_TRY(settleGemms());
  if (rank.transport)
    TP_TRY(rank.transport->connect(program, rank.groups));
  if (options.profile)
    rank.profile.enable();
  steps = options.steps >= 0 ? options.steps : program.steps;
  if (options.auditMemory)
    TP_TRY(rank.arena.fillPattern());

  int64_t length;
  TP_TRY(rank.peers.alike(checkInputs(program, length)));
  if (steps == 0 || !program.num_inputs)
    return {};
  if (options.data.empty())
    return rank.peers.alike(
        errorf("the plan '%s' trains on data: add --data FILE, or --steps 0 to train nothing",
               program.plan));
  TP_TRY(loader.open(rank, options.data, length));
  // Files that are read at the end are missed at the start.
  auto openEval = [&]() -> Status {
    for (const std::string &name : options.eval)
      TP_TRY(TokenFile().open(name));
    return {};
  };
  bool reads = !program.read_first || rank.peers.leads();
  return rank.peers.agree(reads ? openEval() : Status());
}

/// Initial values, then what --resume or --load puts over them.
Status Run::setTensors() {
  state.seed = options.seed;
  state.dataTokens = loader.tokens();
  auto checkFree = [&]() -> Status {
    std::string existing;
    if (options.save.empty() || options.resume)
      return {};
    TP_TRY(latestCheckpoint(options.save, existing));
    if (existing.empty()) // what cannot be written is told before the training, not behind it
      return rank.peers.leads() ? makeDirectory(options.save) : Status();
    return errorf("'%s' holds the checkpoint %s of an earlier training: add --resume to go on, or "
                  "choose another directory",
                  options.save.c_str(), existing.c_str());
  };
  TP_TRY(rank.peers.agree(checkFree()));
  char *arena = rank.arena.data();
  Device *device = rank.device.get();
  TP_TRY(initializeTensors(program, arena, rank.peers.rank(), state.seed, rank.team, device));
  TP_TRY(setConstants(program, arena, rank.peers.rank(), device));
  Activity loading(rank.transport, "checkpoint");
  if (options.resume) {
    TP_TRY(loadCheckpoint(rank, options.save, state));
    if (state.step == 0) // no data was read, so any will do
      state.dataTokens = loader.tokens();
    TP_TRY(rank.peers.alike(checkResumed()));
    firstStep = state.step + 1;
    savedStep = state.step;
    say("resumed at step %lld\n", (long long)state.step);
  }
  if (!options.load.empty())
    TP_TRY(loadWeights(rank, options.load));
  if (program.prepare) {
    Activity preparing(rank.transport, "preparation");
    TP_TRY(runEntry(rank, program.prepare, "preparation"));
  }
  if (!options.dumpGradients.empty())
    rank.gradientsReady = [this] {
      Activity writing(rank.transport, "gradients");
      auto gradients = logicalTensors(program, rank.arena.data(), rank.peers.rank(), TP_GRADIENT,
                                      rank.device.get());
      double scale = program.scale;
      if (scale && program.scale_offset >= 0)
        TP_TRY(readArena(rank, program.scale_offset, &scale, sizeof scale));
      for (LogicalTensor &gradient : gradients)
        gradient.divisor = scale ? scale : 1;
      return writeSafetensors(rank.peers, rank.team, options.dumpGradients, gradients);
    };
  return {};
}

/// What was loaded is a state of this training.
Status Run::checkResumed() {
  if (state.seed != options.seed && options.has("--seed"))
    return errorf("--resume goes on with the seed of the checkpoint, %lld; --seed is %lld",
                  (long long)state.seed, (long long)options.seed);
  if (loader.isOpen() && state.dataTokens != loader.tokens())
    return errorf("the checkpoint was trained on %lld tokens of data, --data holds %lld: its "
                  "position means nothing there",
                  (long long)state.dataTokens, (long long)loader.tokens());
  if (state.dataRows != state.step * rowsPerStep(program))
    return errorf("the checkpoint has read %lld rows in %lld steps, this program reads %lld a step",
                  (long long)state.dataRows, (long long)state.step,
                  (long long)rowsPerStep(program));
  return {};
}

/// A number that is not finite ends the run before it is saved over a good one.
Status Run::checkMetrics(int64_t step) {
  for (int64_t i = 0; i < metrics.size(); ++i) {
    double value = metrics[i].value();
    if (!std::isfinite(value) && !program.metrics[i].unbounded)
      return errorf("%s is %g in step %lld; %slower the learning rate, or resume from an earlier "
                    "checkpoint",
                    program.metrics[i].name, shown(value), (long long)step,
                    isScaled() ? "f16 ends at 65504: train in bf16, " : "");
  }
  return {};
}

/// Whether the step that was read last has changed nothing, for a gradient overflowed.
bool Run::isSkipped() const {
  for (int64_t i = 0; isScaled() && i < metrics.size(); ++i)
    if (!strcmp(program.metrics[i].name, "skipped"))
      return metrics[i].value() != 0;
  return false;
}

/// Before evaluation and prediction, which may write where a step keeps nothing alive.
Status Run::auditMemory() {
  Activity auditing(rank.transport, "memory audit");
  TP_TRY(rank.peers.agree(rank.arena.audit(program.slots, program.num_slots)));
  std::string ranks =
      rank.peers.size() > 1 ? format(" on each of %d ranks", rank.peers.size()) : "";
  auto written = std::count_if(program.slots, program.slots + program.num_slots,
                               [](const tp_slot &slot) { return slot.use == TP_WRITTEN; });
  say("memory audit: %lld slots written, nothing outside them, arena of %lld bytes%s\n",
      (long long)written, (long long)program.arena_bytes, ranks.c_str());
  return {};
}

/// Rows and scalars of a step, where the host writes them.
Status Run::prepareStep(int64_t step) {
  if (loader.isOpen()) {
    Activity reading(rank.transport, "data");
    TP_TRY(loader.fill(rank, state.seed, step));
  }
  setScalars(program, givenImage(rank), state.seed, step);
  given = step;
  return rank.device ? rank.device->send() : Status();
}

/// A device computes a step while the host reads the data of the next.
Status Run::oneStep(int64_t step) {
  if (given != step)
    TP_TRY(prepareStep(step));
  {
    Activity computing(rank.transport, "step");
    Profile::Totals before = rank.profile.totalsNow();
    if (rank.device)
      TP_TRY(rank.device->take());
    TP_TRY(runEntry(rank, program.step, "a step", /*repeated=*/step != firstStep));
    Profile::Totals behind = rank.profile.totalsNow();
    if (behind.of[TP_KERNEL].count != before.of[TP_KERNEL].count)
      countsBefore = before, countsBehind = behind;
    else // replayed
      rank.profile.repeat(countsBefore, countsBehind);
  }
  if (rank.device && step < steps)
    TP_TRY(prepareStep(step + 1));
  if (rank.device && options.profile)
    TP_TRY(rank.device->collectTimes(
        [&](const tp_call &call, double seconds) { rank.profile.addTime(call, seconds); }));
  state.step = step;
  state.dataRows = step * rowsPerStep(program);
  Activity adding(rank.transport, "metrics");
  return metrics.read(rank);
}

Status Run::trainSteps() {
  int64_t saveEvery = every(options.saveEvery, program.save_every);
  int64_t evalEvery = every(options.evalEvery, program.eval_every);
  if (steps < firstStep && options.resume)
    say("the training is at step %lld of %lld already\n", (long long)(firstStep - 1),
        (long long)steps);
  losses.reserve(std::max<int64_t>(0, steps - firstStep + 1));
  progress.begin(firstStep, options.printEvery, 60 * options.minutes);
  for (int64_t step = firstStep; step <= steps; ++step) {
    double begin = monotonicSeconds();
    TP_TRY(oneStep(step));
    double seconds = monotonicSeconds() - begin;
    // One clock decides, so that all ranks stop at one step.
    if (options.minutes > 0) {
      Activity timing(rank.transport, "clock");
      TP_TRY(rank.peers.broadcast(&seconds, sizeof seconds));
    }
    trainSeconds += seconds;
    profileSeconds += seconds, ++profileSteps;
    // The next step is taken to be as long as this one.
    if (options.minutes > 0 && trainSeconds + seconds > 60 * options.minutes && step < steps) {
      say("stopping at step %lld of %lld: --minutes %g\n", (long long)step, (long long)steps,
          options.minutes);
      steps = step;
    }
    if (options.profile && step == firstStep && step < steps) {
      rank.profile.restart();
      profileSeconds = 0, profileSteps = 0;
    }
    StepReport report{step,
                      steps,
                      learningRate(program, step),
                      step * program.tokens_per_step,
                      seconds,
                      (double)program.tokens_per_step / std::max(seconds, 1e-9)};
    TP_TRY(logs.step(metrics, report));
    TP_TRY(rank.peers.alike(checkMetrics(step)));
    skipped += isSkipped();
    if (metrics.size())
      losses.push_back((float)metrics[0].value());
    if (rank.peers.leads())
      progress.step(program, metrics, report);
    if (rank.gradientsReady)
      return rank.peers.alike(
          errorf("'%s' was not written: the plan '%s' was compiled without a call of "
                 "tp_gradients_ready",
                 options.dumpGradients.c_str(), program.plan));
    if (options.auditMemory && step == firstStep)
      TP_TRY(auditMemory());
    if (!options.eval.empty() && evalEvery > 0 && step % evalEvery == 0 && step != steps)
      TP_TRY(evaluate(step));
    if (!options.save.empty() && saveEvery > 0 && step % saveEvery == 0)
      TP_TRY(save(step));
  }
  return {};
}

Status Run::evaluate(int64_t step) {
  given = 0; // evaluation is given its rows in the same place
  Activity evaluating(rank.transport, "evaluation");
  Evaluation evaluation;
  double begin = monotonicSeconds();
  rank.profile.pause(true);
  TP_TRY(evaluateFiles(rank, options.eval, evaluation));
  rank.profile.pause(false);
  TP_TRY(logs.evaluation(step, evaluation.loss(), evaluation.tokens));
  say("evaluation at step %lld: %.6f nats per token over %lld tokens of %zu file%s, %.1f s\n",
      (long long)step, evaluation.loss(), (long long)evaluation.tokens, options.eval.size(),
      options.eval.size() == 1 ? "" : "s", monotonicSeconds() - begin);
  progress.pause(step);
  return {};
}

Status Run::save(int64_t step) {
  if (savedStep == step)
    return {};
  Activity saving(rank.transport, "checkpoint");
  TP_TRY(saveCheckpoint(rank, options.save, state, every(options.saveKeep, program.save_keep)));
  savedStep = step;
  say("saved step %lld in '%s'\n", (long long)step, options.save.c_str());
  return {};
}

void Run::printSummary() {
  if (!rank.peers.leads())
    return;
  if (options.curve)
    drawCurve(stdout, losses, firstStep);
  int64_t done = (int64_t)losses.size();
  if (trainSeconds > 0)
    printf("%lld steps, %lld tokens in %.1f s: %.0f tokens/s\n", (long long)done,
           (long long)(done * program.tokens_per_step), trainSeconds,
           (double)(done * program.tokens_per_step) / trainSeconds);
  if (skipped)
    printf("%lld of %lld steps were skipped, for their gradients were not finite%s\n",
           (long long)skipped, (long long)done,
           skipped < done             ? ""
           : program.scale_offset < 0 ? ": nothing was trained; give a smaller scale"
                                      : ": the scale is still on its way down");
  rank.profile.printTotals(stdout, done);
  std::string ranks, buffers;
  if (rank.transport) {
    ranks = format("on each of %d ranks, ", rank.peers.size());
    buffers = format(", buffers of collectives %lld bytes", (long long)rank.transport->bytes());
  }
  printf("memory: %sarena of %lld bytes, scratch of GEMMs %lld bytes on %d threads%s\n",
         ranks.c_str(), (long long)rank.arena.size(), (long long)rank.matmul.bytes(),
         rank.team.size(), buffers.c_str());
  if (options.profile) {
    printf("profile: %lld step%s%s\n", (long long)profileSteps, profileSteps == 1 ? "" : "s",
           profileSteps < done ? ", all but the first, which loads code and has libraries plan"
                               : "");
    rank.profile.print(stdout, profileSeconds);
  }
  fflush(stdout);
}

/// All ranks predict, and draw the same.
Status Run::sample() {
  Activity drawing(rank.transport, "sample");
  std::string text = options.sample;
  TP_TRY(sampleText(rank, state.seed, options.temperature, options.sampleBytes, text));
  if (!rank.peers.leads())
    return {};
  printf("sample:\n");
  fwrite(text.data(), 1, text.size(), stdout); // may hold zero bytes
  printf("\n");
  return {};
}

Status Run::finish() {
  if (!options.save.empty())
    TP_TRY(save(std::max(steps, firstStep - 1)));
  TP_TRY(logs.finish());
  printSummary();
  if (!options.eval.empty())
    TP_TRY(evaluate(std::max(steps, firstStep - 1)));
  return options.has("--sample") ? sample() : Status();
}

Status Run::all() {
  TP_TRY(start());
  TP_TRY(setTensors());
  TP_TRY(rank.peers.agree(rank.peers.leads()
                              ? logs.open(options.logs, program, options.resume, firstStep - 1)
                              : Status()));
  TP_TRY(trainSteps());
  return finish();
}

} // namespace

Status tplan::runtime::train(tp_rank &rank, const tp_program &program, const Options &options,
                             const Seat &seat) {
  return Run(rank, program, options, seat).all();
}
