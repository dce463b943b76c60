//===- embed.cpp - tp_open and its kin ------------------------------------===//
//
// One decision: what a caller can do wrong is checked before any rank begins, so that it changes
// nothing; what fails later has failed on all ranks, and the training is over.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cpu.h"
#include "runtime/device/cuda.h"
#include "runtime/libraries/cublaslt_library.h"
#include "runtime/ranks/programs.h"
#include "runtime/ranks/tensors.h"
#include "runtime/support/environment.h"
#include "runtime/train/embed_ranks.h"
#include "runtime/transports/mpi.h"
#include "runtime/transports/threads.h"

#include "tplan/train.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <sys/stat.h>

using namespace tplan::runtime;

struct tp_training {
  const tp_program *program = nullptr;
  tp_options asked = TP_DEFAULTS;
  Options options;
  EmbeddedRanks ranks;
  int64_t length = 0, rows = 0; // of a step
  std::vector<tp_value> values;
  std::string message; // of the last call that was not TP_DONE
  std::string failure; // why it has ended

  Status readOptions();
  Status open();
  Status openRanks();
  Status checkTokens(const int32_t *tokens, size_t bytes) const;

  tp_result refuse(const Status &status) {
    message = status.message();
    return TP_REFUSED;
  }
  tp_result fail(const Status &status) {
    failure = message = status.message();
    return TP_FAILED;
  }
  /// Every call but the last begins with this.
  tp_result isOpen() {
    if (failure.empty())
      return TP_DONE;
    message = "the training has ended before this call: " + failure;
    return TP_FAILED;
  }
  tp_result step(const int32_t *tokens, size_t bytes);
  tp_result save(const char *folder, int64_t keep);
};

namespace {

/// The sink takes whole lines, as the host does.
Sink sinkOf(const tp_options &asked) {
  if (!asked.log)
    return {};
  return [log = asked.log, user = asked.user](Tone tone, const std::string &lines) {
    for (size_t begin = 0; begin < lines.size();) {
      size_t end = std::min(lines.find('\n', begin), lines.size());
      log(user, tone == Tone::warning ? TP_WARNING : TP_NEWS,
          lines.substr(begin, end - begin).c_str());
      begin = end + 1;
    }
  };
}

Status checkFile(const char *option, const char *path, bool folder) {
  struct stat facts;
  if (stat(path, &facts))
    return errorf("tp_options.%s cannot be read: %s: '%s'", option, strerror(errno), path);
  if ((bool)S_ISDIR(facts.st_mode) != folder)
    return errorf("tp_options.%s is to be a %s: '%s'", option, folder ? "folder" : "file", path);
  return {};
}

} // namespace

/// Checks a null pointer or a number against what it may mean at this place.
Status tp_training::readOptions() {
  if (asked.size != sizeof(tp_options))
    return errorf("tp_options is of another version of tplan/train.h: begin with TP_DEFAULTS and "
                  "build with the header of this library, %s; size is %zu, not %zu",
                  tp_version(), asked.size, sizeof(tp_options));
  if (asked.threads < 0 || asked.threads > 4096)
    return errorf("tp_options.threads is from 0 to 4096, found %lld", (long long)asked.threads);
  if (asked.gpu < 0)
    return errorf("tp_options.gpu counts from 0, found %lld", (long long)asked.gpu);
  if (!std::isfinite(asked.hang_seconds) || asked.hang_seconds < 0 || asked.hang_seconds > 1e6)
    return errorf("tp_options.hang_seconds is from 0 to 1000000, found %g", asked.hang_seconds);
  if (asked.load && asked.resume)
    return errorf("tp_options.load begins a training with weights, and resume goes on with one: "
                  "choose one of '%s' and '%s'",
                  asked.load, asked.resume);
  if (asked.gemm_algorithms && !program->device)
    return errorf(
        "tp_options.gemm_algorithms is about GPUs, and the plan '%s' runs on a CPU: leave "
        "it out",
        program->plan);
  if (program->device && isTf32Forced())
    return errorf(
        "%s=%s is in the environment, which tp_options.environment has tplan look at: it "
        "rounds f32 where the plan does not say so; unset it, and say `precision tf32` in "
        "a plan that wants it",
        tf32Override, readVariable(tf32Override));
  options.gemms = asked.gemm_algorithms ? asked.gemm_algorithms : "";
  options.seed = asked.seed;
  options.given.insert("--seed");
  options.threads = asked.threads;
  if (asked.load) {
    if (!isDirectory(asked.load))
      TP_TRY(checkFile("load", asked.load, false));
    options.load = asked.load;
  }
  if (asked.resume) {
    TP_TRY(checkFile("resume", asked.resume, true));
    options.resume = true;
    options.save = asked.resume;
    options.given.erase("--seed"); // that of the checkpoint
  }
  const char *gemm = asked.gemm;
  if (!gemm && asked.environment)
    gemm = readVariable("TPLAN_GEMM");
  if (asked.gemm && strcmp(asked.gemm, "library") && strcmp(asked.gemm, "widen"))
    return errorf("tp_options.gemm is 'library' or 'widen', found '%s'", asked.gemm);
  options.gemmWay = gemm ? gemm : "";
  return {};
}

Status tp_training::openRanks() {
  double limit = asked.hang_seconds > 0 ? asked.hang_seconds : defaultHangLimit;
  if (asked.hang_seconds == 0 && asked.environment)
    TP_TRY(readHangLimit(limit));
  int64_t count = ranksOf(*program), gpus = 0;
  if (program->device) {
    TP_TRY(countGpus(gpus));
    if (asked.gpu >= gpus)
      return errorf("tp_options.gpu is %lld, and this process sees %lld GPUs", (long long)asked.gpu,
                    (long long)gpus);
  }
  bool onCaller = asked.communicator != nullptr;
  std::vector<std::unique_ptr<Transport>> transports(1);
  if (onCaller)
    TP_TRY(joinMpi(*program, asked.communicator, transports[0], limit));
  else if (count > 1 || program->num_groups > 0)
    transports = threadTransports((int)count, limit);
  count = (int64_t)transports.size();
  int64_t threads =
      options.threads ? options.threads : std::max<int64_t>(1, availableCpus() / count);
  TP_TRY(ranks.start(std::move(transports), onCaller, asked.environment));
  bool together;
  return ranks.each(
      [&](EmbeddedRank &mine) {
        int number = mine.transport && !onCaller ? mine.transport->rank() : 0;
        mine.seat = {number, (int)count, (int)threads, gpus ? (asked.gpu + number) % gpus : 0,
                     asked.pin_threads != 0};
        mine.rank.sink = sinkOf(asked);
        mine.rows.length = length;
        int self = mine.transport ? mine.transport->rank() : 0;
        mine.session.emplace(mine.rank, programOf(*program, self), options, mine.seat);
        TP_TRY(mine.session->open());
        return mine.session->setTensors(program->num_inputs ? &mine.rows : nullptr);
      },
      together);
}

Status tp_training::open() {
  if (!program)
    return errorf("tp_open needs a program, the NAME_program of an object of tplanc -c --embed "
                  "NAME: found NULL");
  TP_TRY(checkProgram(*program));
  TP_TRY(readOptions());
  TP_TRY(checkCpu(program->cpu));
  TP_TRY(checkInputs(*program, length));
  rows = rowsPerStep(*program);
  return openRanks();
}

Status tp_training::checkTokens(const int32_t *tokens, size_t bytes) const {
  size_t wanted = (size_t)(rows * length) * sizeof(int32_t);
  if (bytes != wanted)
    return errorf("a step of the plan '%s' takes %lld rows of %lld tokens, int32_t, %zu bytes: "
                  "found %zu",
                  program->plan, (long long)rows, (long long)length, wanted, bytes);
  if (wanted && !tokens)
    return errorf("tp_step needs the tokens of a step, %zu bytes: found NULL", wanted);
  for (int64_t i = 0; i < program->num_inputs; ++i) {
    const tp_input &input = program->inputs[i];
    for (int64_t row = 0; row < rows; ++row)
      for (int64_t at = 0; at < input.length; ++at)
        if (int32_t id = tokens[row * length + at]; id >= input.vocabulary)
          return errorf("row %lld, place %lld: the token is outside the vocabulary of %lld, whose "
                        "ids end at %lld: %d",
                        (long long)row, (long long)at, (long long)input.vocabulary,
                        (long long)input.vocabulary - 1, id);
  }
  return {};
}

tp_result tp_training::step(const int32_t *tokens, size_t bytes) {
  Status checked = checkTokens(tokens, bytes);
  bool together;
  if (asked.communicator) // one that was given other rows ends the wait of all
    checked =
        ranks.each([&](EmbeddedRank &mine) { return mine.rank.peers.agree(checked); }, together);
  if (!checked.ok())
    return asked.communicator && !together ? fail(checked) : refuse(checked);
  Status status = ranks.each(
      [&](EmbeddedRank &mine) {
        mine.rows.from = tokens;
        TP_TRY(mine.session->step(/*another=*/false));
        return mine.rank.peers.alike(mine.session->checkMetrics());
      },
      together);
  if (!status.ok())
    return fail(status);
  const Metrics &metrics = ranks.leader().session->metrics();
  values.clear();
  for (int64_t i = 0; i < metrics.size(); ++i)
    values.push_back({metrics.name(i), metrics.value(i)});
  return TP_DONE;
}

tp_result tp_training::save(const char *folder, int64_t keep) {
  if (!folder || !*folder)
    return refuse(errorf("tp_save needs a folder: found %s", folder ? "''" : "NULL"));
  if (keep < 0)
    return refuse(errorf("tp_save keeps 0 (all) or more checkpoints: found %lld", (long long)keep));
  bool together;
  Status status =
      ranks.each([&](EmbeddedRank &mine) { return mine.session->save(folder, keep); }, together);
  if (status.ok())
    return TP_DONE;
  return together ? refuse(status) : fail(status);
}

tp_result tp_open(const tp_program *program, const tp_options *options, tp_training **training) {
  if (!training)
    return TP_REFUSED;
  *training = new tp_training;
  (*training)->program = program;
  if (options && options->size == sizeof *options)
    (*training)->asked = *options;
  else if (options)
    (*training)->asked.size = options->size;
  EnvironmentClosed closed(!(*training)->asked.environment);
  Status status = (*training)->open();
  return status.ok() ? TP_DONE : (*training)->fail(status);
}

tp_result tp_describe(tp_training *training, tp_facts *facts) {
  if (!training)
    return TP_REFUSED;
  if (tp_result result = training->isOpen())
    return result;
  if (!facts)
    return training->refuse(errorf("tp_describe needs a place for the facts: found NULL"));
  const tp_program &program = *training->program;
  int64_t vocabulary = program.num_inputs ? program.inputs[0].vocabulary : 0;
  for (int64_t i = 0; i < program.num_inputs; ++i)
    vocabulary = std::min(vocabulary, program.inputs[i].vocabulary);
  *facts = {program.plan,
            ranksOf(program),
            training->rows,
            training->length,
            training->rows * training->length * (int64_t)sizeof(int32_t),
            vocabulary,
            program.steps,
            training->ranks.leader().session->state().step,
            mostArenaBytes(program)};
  return TP_DONE;
}

tp_result tp_step(tp_training *training, const int32_t *tokens, size_t bytes) {
  if (!training)
    return TP_REFUSED;
  if (tp_result result = training->isOpen())
    return result;
  return training->step(tokens, bytes);
}

tp_result tp_metrics(tp_training *training, const tp_value **values, int64_t *count) {
  if (!training)
    return TP_REFUSED;
  if (tp_result result = training->isOpen())
    return result;
  if (!values || !count)
    return training->refuse(errorf("tp_metrics needs a place for %s: found NULL",
                                   values ? "their number" : "the values"));
  *values = training->values.data();
  *count = (int64_t)training->values.size();
  return TP_DONE;
}

tp_result tp_save(tp_training *training, const char *folder, int64_t keep) {
  if (!training)
    return TP_REFUSED;
  if (tp_result result = training->isOpen())
    return result;
  return training->save(folder, keep);
}

const char *tp_message(const tp_training *training) {
  return training ? training->message.c_str() : "there is no training: NULL";
}

void tp_close(tp_training *training) { delete training; }

const char *tp_version(void) { return TPLAN_VERSION; }
