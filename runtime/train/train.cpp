//===- train.cpp - the training of one rank from start to end -------------===//
//
// The loop over the steps of a session, as the command line asks for it: progress, logs,
// evaluation, checkpoints.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/train.h"

#include "runtime/disk/data_check.h"
#include "runtime/ranks/programs.h"
#include "runtime/step/evaluate.h"
#include "runtime/step/scalars.h"
#include "runtime/support/files.h"
#include "runtime/support/text.h"
#include "runtime/train/announce.h"
#include "runtime/train/logs.h"
#include "runtime/train/progress.h"
#include "runtime/train/sample_text.h"
#include "runtime/train/signals.h"

#include <algorithm>
#include <cstdarg>

using namespace tplan::runtime;

namespace {

class Run {
public:
  Run(tp_rank &rank, const tp_program &program, const Options &options, const Seat &seat)
      : program(program), options(options), rank(rank), session(rank, program, options, seat),
        metrics(session.metrics()) {}
  Status all();

private:
  Status openData();
  Status explained(Status status, const char *option, const char *does) const;
  Status checkFiles();
  Status trainSteps();
  Status evaluate(int64_t step);
  Status save();
  Status beginTrace();
  Status writeTrace();
  Status finish();
  void endEarly();
  Status sample();
  void printSummary();
  /// Prints, on one of the ranks.
  __attribute__((format(printf, 2, 3))) void say(const char *format, ...);

  static int64_t orElse(int64_t option, int64_t plan) { return option >= 0 ? option : plan; }
  bool trains() const { return steps > 0; }

  const tp_program &program;
  const Options &options;
  tp_rank &rank;
  Session session;
  const Metrics &metrics;
  Loader loader;
  Logs logs;
  AtomicFile traceFile; // on one rank
  Progress progress;
  std::vector<float> losses; // of each step of this run, for the curve
  const int64_t saveEvery = orElse(options.saveEvery, program.save_every);
  const int64_t saveKeep = orElse(options.saveKeep, program.save_keep);
  const int64_t evalEvery = orElse(options.evalEvery, program.eval_every);
  int64_t steps = 0, firstStep = 1;
  int64_t skipped = 0; // of these steps
  bool ended = false;  // all ranks stopped before all was done, because a signal asked
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

/// Opens the files to train on and to score. A missing file that is read only at the end is found
/// at the start.
Status Run::openData() {
  steps = options.steps >= 0 ? options.steps : program.steps;
  int64_t length;
  TP_TRY(rank.peers.alike(checkInputs(program, length)));
  if (!program.num_inputs)
    return {};
  if (trains() && options.sources.empty())
    return rank.peers.alike(
        errorf("the plan '%s' trains on data: add --data FILE, or --steps 0 to train nothing",
               program.plan));
  if (trains())
    TP_TRY(explained(loader.open(rank, options.sources, length), "--data",
                     "names others than the recipe's"));
  bool reads = !program.read_first || rank.peers.leads();
  std::vector<TokenFile> files;
  TP_TRY(explained(rank.peers.agree(reads ? openTokenFiles(options.eval, files) : Status()),
                   "--eval", "names others than the recipe's, --no-eval scores none"));
  return rank.peers.agree(rank.peers.leads() ? checkFiles() : Status());
}

/// If the command line does not name the files, the error says how to.
Status Run::explained(Status status, const char *option, const char *does) const {
  if (status.ok() || options.has(option))
    return status;
  return errorf("%s; %s %s", status.message().c_str(), option, does);
}

/// Reports what a look at the files shows before the first step.
Status Run::checkFiles() {
  std::string warnings, lines;
  int64_t vocabulary = program.inputs[0].vocabulary;
  for (const DataSource &source : options.sources)
    if (trains())
      TP_TRY(checkTrainingFiles(source, vocabulary, warnings));
  Status scored = checkEvaluationFiles(options.eval, vocabulary, warnings);
  if (!warnings.empty())
    rank.sink(Tone::warning, warnings);
  TP_TRY(std::move(scored));
  TP_TRY(announceFiles(options, trains(), evalEvery, lines));
  rank.sink(Tone::news, lines + announceCheckpoints(options, saveEvery, saveKeep));
  return {};
}

Status Run::trainSteps() {
  if (steps < firstStep && options.resume)
    say("the training is at step %lld of %lld already\n", (long long)(firstStep - 1),
        (long long)steps);
  losses.reserve(std::max<int64_t>(0, steps - firstStep + 1));
  progress.begin(firstStep, options.printEvery, 60 * options.minutes);
  for (int64_t step = firstStep; step <= steps; ++step) {
    TP_TRY(rank.points.next(ended));
    if (ended)
      return {};
    double begin = monotonicSeconds();
    TP_TRY(session.step(/*another=*/step < steps));
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
    TP_TRY(rank.peers.alike(session.checkMetrics()));
    skipped += session.isSkipped();
    if (metrics.size())
      losses.push_back((float)metrics.value(0));
    if (rank.peers.leads())
      progress.step(program, metrics, report);
    if (rank.gradientsReady)
      return rank.peers.alike(
          errorf("'%s' was not written: the plan '%s' was compiled without a call of "
                 "tp_gradients_ready",
                 options.dumpGradients.c_str(), program.plan));
    if (options.auditMemory && step == firstStep)
      TP_TRY(session.auditMemory());
    if (!options.eval.empty() && evalEvery > 0 && step % evalEvery == 0 && step != steps)
      TP_TRY(evaluate(step));
    if (ended)
      return {};
    if (!options.save.empty() && saveEvery > 0 && step % saveEvery == 0)
      TP_TRY(save());
  }
  return {};
}

Status Run::evaluate(int64_t step) {
  Evaluation evaluation;
  double begin = monotonicSeconds();
  TP_TRY(session.evaluate(options.eval, options.evalTokens, evaluation));
  ended = evaluation.ended;
  if (ended)
    return {};
  TP_TRY(logs.evaluation(step, evaluation.loss(), evaluation.tokens));
  say("evaluation at step %lld: %.6f nats per token over %lld tokens of %zu file%s, %.1f s\n",
      (long long)step, evaluation.loss(), (long long)evaluation.tokens, options.eval.size(),
      options.eval.size() == 1 ? "" : "s", monotonicSeconds() - begin);
  progress.pause(step);
  return {};
}

Status Run::save() { return session.save(options.save, saveKeep); }

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
  if (rank.streams && trainSeconds > 0)
    printf("communication thread: %.1f %% of a core\n",
           100 * rank.streams->threadSeconds() / trainSeconds);
  std::string ranks, buffers;
  if (rank.transport) {
    ranks = format("on each of %d ranks, ", rank.peers.size());
    buffers = ", buffers of collectives " + bytesText(rank.transport->bytes());
  }
  // With several programs, bytes are those of the largest arena; all other numbers are rank 0's.
  printf("memory: %s%sarena %s, scratch of GEMMs on %d threads %s%s\n", ranks.c_str(),
         program.num_programs ? "at most " : "", bytesText(mostArenaBytes(program)).c_str(),
         rank.team.size(), bytesText(rank.matmul.bytes()).c_str(), buffers.c_str());
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
  const SampleText text(options, program);
  std::vector<int32_t> tokens;
  TP_TRY(rank.peers.alike(text.read(options.sample, tokens)));
  Sampling how{(uint64_t)session.state().seed, options.temperature, options.sampleBytes,
               text.vocabulary()};
  TP_TRY(sampleTokens(rank, how, tokens, ended));
  if (!rank.peers.leads() || ended)
    return {};
  std::string drawn = text.write(tokens);
  printf("sample:\n");
  fwrite(drawn.data(), 1, drawn.size(), stdout); // may hold zero bytes
  printf("\n");
  return {};
}

/// All ranks take the same moment for zero: that at which they have met. A file that cannot be
/// written is reported now.
Status Run::beginTrace() {
  if (options.trace.empty())
    return {};
  TP_TRY(rank.peers.agree(rank.peers.leads() ? traceFile.open(options.trace) : Status()));
  rank.trace.enable(monotonicSeconds());
  return {};
}

/// One rank writes what each of them has noted.
Status Run::writeTrace() {
  if (options.trace.empty())
    return {};
  Status written;
  int64_t at = 0;
  auto write = [&](const std::string &text) {
    if (rank.peers.leads() && written.ok())
      written = traceFile.write(at, text.data(), (int64_t)text.size());
    at += (int64_t)text.size();
  };
  write("{\"displayTimeUnit\":\"ms\",\"traceEvents\":[\n" +
        format(R"({"ph":"M","pid":0,"tid":0,"name":"process_name",)"
               R"("args":{"name":"%s, measured"}})",
               program.plan));
  for (int from = 0; from < std::max(1, rank.peers.size()); ++from) {
    bool isOther = rank.transport && rank.transport->rank() != from;
    std::string text = isOther ? "" : rank.trace.text(from);
    if (rank.transport)
      TP_TRY(rank.peers.broadcast(text, from));
    write(",\n" + text);
  }
  write("\n]}\n");
  if (rank.peers.leads() && written.ok())
    written = traceFile.commit();
  if (int64_t step = rank.trace.leftOutFrom())
    say("the trace ends with step %lld\n", (long long)step);
  return rank.peers.agree(std::move(written));
}

Status Run::finish() {
  TP_TRY(writeTrace());
  TP_TRY(rank.peers.agree(rank.scales.close()));
  if (!options.save.empty()) {
    TP_TRY(save());
    rank.points.settle();
  }
  if (!options.exportTo.empty() && !ended)
    TP_TRY(session.exportWeights());
  TP_TRY(logs.finish());
  printSummary();
  if (!options.eval.empty() && !ended)
    TP_TRY(evaluate(session.state().step));
  if (!options.dumpLogits.empty() && !ended)
    TP_TRY(dumpLogits(rank, options.eval[0], options.dumpLogits));
  if (options.has("--sample") && !ended)
    TP_TRY(sample());
  if (ended)
    endEarly();
  return rank.points.finish();
}

void Run::endEarly() {
  rank.points.settle();
  std::string saved = options.save.empty()
                          ? "; nothing is saved, for there is no --save"
                          : format(", saved in '%s': --resume goes on", options.save.c_str());
  say("ended by %s after step %lld of %lld%s%s\n", nameOfSignal(rank.points.asked()),
      (long long)session.state().step, (long long)steps, saved.c_str(),
      options.exportTo.empty() ? "" : "; nothing is exported before the last step");
}

Status Run::all() {
  TP_TRY(session.open());
  TP_TRY(openData());
  TP_TRY(session.setTensors(loader.isOpen() ? &loader : nullptr));
  firstStep = session.firstStep();
  TP_TRY(rank.peers.agree(rank.peers.leads()
                              ? logs.open(options.logs, program, options.resume, firstStep - 1)
                              : Status()));
  TP_TRY(beginTrace());
  if (session.state().evaluationDue && !options.eval.empty() && firstStep <= steps)
    TP_TRY(evaluate(firstStep - 1));
  TP_TRY(trainSteps());
  return finish();
}

} // namespace

Status tplan::runtime::train(tp_rank &rank, const tp_program &program, const Options &options,
                             const Seat &seat) {
  rank.sink = standardSink();
  int number = rank.transport ? rank.transport->rank() : 0;
  return Run(rank, programOf(program, number), options, seat).all();
}
