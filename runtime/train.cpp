//===- train.cpp - tp_main: a generated binary from start to end --------------===//
//
// One decision: all state of a run hangs off one Run, so that a rank can be a
// thread; tp_main only maps its status to an exit code.
//
//===----------------------------------------------------------------------===//

#include "runtime/checkpoint.h"
#include "runtime/cpu.h"
#include "runtime/data.h"
#include "runtime/evaluate.h"
#include "runtime/metrics.h"
#include "runtime/options.h"
#include "runtime/rank.h"
#include "runtime/safetensors.h"
#include "runtime/scalars.h"
#include "runtime/tensors.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>

using namespace tplan::runtime;

namespace {

enum ExitCode { exitSuccess = 0, exitFailure = 1, exitUsage = 2 };

class Run {
public:
  Run(const tp_program &program, const Options &options) : program(program), options(options) {}
  Status all();

private:
  Status start();
  Status setTensors();
  Status trainSteps();
  Status oneStep(int64_t step);
  Status checkMetrics(int64_t step);
  Status auditMemory();
  Status evaluate(int64_t step);
  Status save(int64_t step);
  Status finish();
  void printProgress(int64_t step, double seconds, bool last);
  /// What generated code returned, with the rank's error.
  Status result(int code, const char *what);

  int64_t every(int64_t option, int64_t plan) const { return option >= 0 ? option : plan; }

  const tp_program &program;
  const Options &options;
  tp_rank rank;
  TokenStream stream;
  MetricsLog log;
  TrainingState state;
  std::vector<float> losses; // of each step of this run, for the curve
  int64_t steps = 0, firstStep = 1, savedStep = -1;
  double lastPrint = 0, trainSeconds = 0;
  int64_t lastPrintStep = 0;
};

Status Run::result(int code, const char *what) {
  if (code == 0)
    return {};
  return rank.error.ok() ? errorf("%s failed without a message", what) : std::move(rank.error);
}

Status Run::start() {
  TP_TRY(checkCpu(program.cpu));
  TP_TRY(checkProgram(program));
  rank.program = &program;
  TP_TRY(rank.arena.map(program.arena_bytes));
  TP_TRY(rank.team.start(options.threads ? (int)options.threads : availableCpus()));
  TP_TRY(rank.matmul.start(rank.team, getenv("TPLAN_GEMM")));
  if (options.profile)
    rank.profile.enable();
  steps = options.steps >= 0 ? options.steps : program.steps;
  if (options.auditMemory)
    rank.arena.fillPattern();

  int64_t length;
  TP_TRY(checkInputs(program, length));
  if (steps > 0 && program.num_inputs) {
    if (options.data.empty())
      return errorf("the plan '%s' trains on data: add --data FILE, or --steps 0 to train nothing",
                    program.plan);
    TP_TRY(stream.open(options.data, length));
  }
  return {};
}

/// Initial values, then what --resume or --load puts over them.
Status Run::setTensors() {
  state.seed = options.seed;
  state.dataTokens = stream.tokens();
  std::string existing;
  if (!options.save.empty()) {
    TP_TRY(latestCheckpoint(options.save, existing));
    if (!options.resume && !existing.empty())
      return errorf("'%s' holds the checkpoint %s of an earlier training: add --resume to go on, "
                    "or choose another "
                    "directory",
                    options.save.c_str(), existing.c_str());
  }
  initializeTensors(program, rank.arena.data(), state.seed, rank.team);
  if (options.resume) {
    TP_TRY(loadCheckpoint(program, rank.arena.data(), options.save, state));
    if (state.seed != options.seed && options.seedGiven)
      return errorf("--resume goes on with the seed of the checkpoint, %lld; --seed is %lld",
                    (long long)state.seed, (long long)options.seed);
    if (stream.files() && state.dataTokens != stream.tokens())
      return errorf("the checkpoint was trained on %lld tokens of data, --data holds %lld: its "
                    "position means "
                    "nothing there",
                    (long long)state.dataTokens, (long long)stream.tokens());
    if (state.dataRows != state.step * rowsPerStep(program))
      return errorf(
          "the checkpoint has read %lld rows in %lld steps, this program reads %lld a step",
          (long long)state.dataRows, (long long)state.step, (long long)rowsPerStep(program));
    firstStep = state.step + 1;
    savedStep = state.step;
    printf("resumed at step %lld\n", (long long)state.step);
  }
  if (!options.load.empty())
    TP_TRY(loadWeights(program, rank.arena.data(), options.load));
  if (program.prepare)
    TP_TRY(result(program.prepare(&rank, rank.arena.data()), "preparation"));
  if (!options.dumpGradients.empty())
    rank.gradientsReady = [this] {
      return writeSafetensors(options.dumpGradients,
                              logicalTensors(program, rank.arena.data(), TP_GRADIENT), nullptr,
                              nullptr);
    };
  return {};
}

/// A number that is not finite ends the run before it is saved over a good one.
Status Run::checkMetrics(int64_t step) {
  for (int64_t i = 0; i < program.num_metrics; ++i) {
    double value = readMetric(program.metrics[i], rank.arena.data()).value();
    if (!std::isfinite(value))
      return errorf(
          "%s is %g in step %lld; lower the learning rate, or resume from an earlier checkpoint",
          program.metrics[i].name, value, (long long)step);
  }
  return {};
}

/// Before evaluation and prediction, which may write where a step keeps nothing alive.
Status Run::auditMemory() {
  TP_TRY(rank.arena.audit(program.slots, program.num_slots));
  printf("memory audit: %lld slots written, nothing outside them, arena of %lld bytes\n",
         (long long)program.num_slots, (long long)program.arena_bytes);
  return {};
}

Status Run::oneStep(int64_t step) {
  char *arena = rank.arena.data();
  if (stream.files())
    TP_TRY(fillStep(program, arena, stream, state.seed, step));
  setScalars(program, arena, state.seed, step);
  TP_TRY(result(program.step(&rank, arena), "a step"));
  state.step = step;
  state.dataRows = step * rowsPerStep(program);
  return {};
}

void Run::printProgress(int64_t step, double seconds, bool last) {
  double now = monotonicSeconds();
  bool due = options.printEvery ? step % options.printEvery == 0 : now - lastPrint >= 1;
  if (!due && !last && step != firstStep)
    return;
  int64_t since = step - lastPrintStep;
  double span = since > 1 || seconds <= 0 ? now - lastPrint : seconds;
  printf("step %lld/%lld", (long long)step, (long long)steps);
  for (int64_t i = 0; i < program.num_metrics; ++i)
    printf("  %s %.4f", program.metrics[i].name,
           readMetric(program.metrics[i], rank.arena.data()).value());
  if (program.num_lr)
    printf("  lr %.3g", learningRate(program, step));
  printf("  %.0f tokens/s\n", (double)(program.tokens_per_step * since) / std::max(span, 1e-9));
  fflush(stdout);
  lastPrint = now;
  lastPrintStep = step;
}

Status Run::trainSteps() {
  int64_t saveEvery = every(options.saveEvery, program.save_every);
  int64_t evalEvery = every(options.evalEvery, program.eval_every);
  if (steps < firstStep && options.resume)
    printf("the training is at step %lld of %lld already\n", (long long)(firstStep - 1),
           (long long)steps);
  losses.reserve(std::max<int64_t>(0, steps - firstStep + 1));
  lastPrint = monotonicSeconds();
  lastPrintStep = firstStep - 1;
  for (int64_t step = firstStep; step <= steps; ++step) {
    double begin = monotonicSeconds();
    TP_TRY(oneStep(step));
    double seconds = monotonicSeconds() - begin;
    trainSeconds += seconds;
    // The next step is taken to be as long as this one.
    if (options.minutes > 0 && trainSeconds + seconds > 60 * options.minutes && step < steps) {
      printf("stopping at step %lld of %lld: --minutes %g\n", (long long)step, (long long)steps,
             options.minutes);
      steps = step;
    }
    StepReport report{step, learningRate(program, step), step * program.tokens_per_step, seconds,
                      (double)program.tokens_per_step / std::max(seconds, 1e-9)};
    TP_TRY(log.step(program, rank.arena.data(), report));
    TP_TRY(checkMetrics(step));
    if (program.num_metrics)
      losses.push_back((float)readMetric(program.metrics[0], rank.arena.data()).value());
    printProgress(step, seconds, step == steps);
    if (rank.gradientsReady)
      return errorf("'%s' was not written: the plan '%s' was compiled without a call of "
                    "tp_gradients_ready",
                    options.dumpGradients.c_str(), program.plan);
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
  Evaluation evaluation;
  double begin = monotonicSeconds();
  rank.profile.pause(true);
  TP_TRY(evaluateFiles(rank, options.eval, evaluation));
  rank.profile.pause(false);
  TP_TRY(log.evaluation(step, evaluation.loss(), evaluation.tokens));
  printf("evaluation at step %lld: %.6f nats per token over %lld tokens of %zu file%s, %.1f s\n",
         (long long)step, evaluation.loss(), (long long)evaluation.tokens, options.eval.size(),
         options.eval.size() == 1 ? "" : "s", monotonicSeconds() - begin);
  fflush(stdout);
  // The time spent here is not the training's.
  lastPrint = monotonicSeconds();
  lastPrintStep = step;
  return {};
}

Status Run::save(int64_t step) {
  if (savedStep == step)
    return {};
  TP_TRY(saveCheckpoint(program, rank.arena.data(), options.save, state,
                        every(options.saveKeep, program.save_keep)));
  savedStep = step;
  printf("saved step %lld in '%s'\n", (long long)step, options.save.c_str());
  fflush(stdout);
  return {};
}

Status Run::finish() {
  if (!options.save.empty())
    TP_TRY(save(std::max(steps, firstStep - 1)));
  if (options.curve)
    drawCurve(stdout, losses, firstStep);
  int64_t done = (int64_t)losses.size();
  if (trainSeconds > 0)
    printf("%lld steps, %lld tokens in %.1f s: %.0f tokens/s\n", (long long)done,
           (long long)(done * program.tokens_per_step), trainSeconds,
           (double)(done * program.tokens_per_step) / trainSeconds);
  rank.profile.printTotals(stdout, done);
  printf("memory: arena of %lld bytes, scratch of GEMMs %lld bytes on %d threads\n",
         (long long)rank.arena.size(), (long long)rank.matmul.bytes(), rank.team.size());
  if (options.profile)
    rank.profile.print(stdout, trainSeconds);
  if (!options.eval.empty())
    TP_TRY(evaluate(std::max(steps, firstStep - 1)));
  if (options.hasSample) {
    std::string text = options.sample;
    TP_TRY(sampleText(rank, state.seed, options.temperature, options.sampleBytes, text));
    printf("sample:\n");
    fwrite(text.data(), 1, text.size(), stdout); // may hold zero bytes
    printf("\n");
  }
  return {};
}

Status Run::all() {
  TP_TRY(start());
  TP_TRY(setTensors());
  TP_TRY(log.open(options.metrics, options.resume, firstStep - 1));
  TP_TRY(trainSteps());
  return finish();
}

} // namespace

int tp_main(int argc, char **argv, const tp_program *program) {
  const char *command = argc > 0 ? argv[0] : "train";
  Options options;
  if (Status status = parseOptions(argc, argv, options); !status.ok()) {
    fprintf(stderr, "%s: error: %s\n", command, status.message().c_str());
    return exitUsage;
  }
  if (options.help) {
    printHelp(stdout, command, *program);
    return exitSuccess;
  }
  Run run(*program, options);
  if (Status status = run.all(); !status.ok()) {
    fflush(stdout);
    fprintf(stderr, "%s: error: %s\n", command, status.message().c_str());
    return exitFailure;
  }
  return exitSuccess;
}
