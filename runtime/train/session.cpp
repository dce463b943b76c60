//===- session.cpp - a training that is opened, stepped and saved ---------===//
//
// An error that ends a run of many ranks is agreed on, or found by all alike; any other error is
// reported to the other ranks by the code that drives the session.
//
//===----------------------------------------------------------------------===//

#include "runtime/train/session.h"

#include "runtime/device/cuda.h"
#include "runtime/disk/safetensors.h"
#include "runtime/ranks/programs.h"
#include "runtime/ranks/tensors.h"
#include "runtime/step/evaluate.h"
#include "runtime/step/scalars.h"
#include "runtime/step/settle_gemms.h"
#include "runtime/train/progress.h"
#include "runtime/train/same_run.h"

#include <algorithm>
#include <cmath>

using namespace tplan::runtime;

Session::Session(tp_rank &rank, const tp_program &program, const Options &options, const Seat &seat)
    : rank(rank), program(program), options(options), seat(seat), numbers(program) {}

void Session::say(const std::string &lines) const {
  if (rank.peers.leads() && rank.sink)
    rank.sink(Tone::news, lines);
}

Status Session::startDevice() {
  CudaOptions use;
  use.ordinal = seat.gpu;
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

/// Called while nothing lies in the arena, because GEMMs are measured there.
Status Session::settleGemms() {
  std::string saved;
  bool reads = options.resume && rank.peers.leads();
  TP_TRY(rank.peers.agree(reads ? gemmsOf(options.save, options.resumeStep, saved) : Status()));
  return tplan::runtime::settleGemms(rank, options.gemms, saved);
}

Status Session::open() {
  rank.program = &program;
  auto alone = [&]() -> Status {
    TP_TRY(rank.team.start(seat.threads, seat.number, seat.ranks, seat.pins));
    if (program.device)
      return startDevice();
    TP_TRY(rank.arena.map(program.arena_bytes));
    return rank.matmul.start(rank.team, options.gemmWay.c_str());
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
  if (rank.transport && !rank.device && program.num_streams > 1) {
    rank.streams = std::make_unique<HostStreams>();
    TP_TRY(
        rank.streams->start(*rank.transport, rank.team, program.num_streams, program.num_events));
  }
  if (options.profile)
    rank.profile.enable();
  if (!options.auditScales.empty())
    TP_TRY(rank.peers.agree(beginAudit()));
  return options.auditMemory ? rank.arena.fillPattern() : Status();
}

Status Session::beginAudit() {
  if (!program.audits_scales)
    return errorf("--audit-scales writes what a program records that was compiled with tplanc "
                  "--audit-scales: this one was not");
  return rank.scales.open(options.auditScales, rank.peers.rank());
}

/// Makes the directory, unless there is a checkpoint of another training.
Status Session::checkFree(const std::string &directory) const {
  std::string existing;
  TP_TRY(latestCheckpoint(directory, existing));
  if (existing.empty()) // if it cannot be made, the error comes before the training
    return rank.peers.leads() ? makeDirectory(directory) : Status();
  return errorf("'%s' holds the checkpoint %s of an earlier training: add --resume to go on, or "
                "choose another directory",
                directory.c_str(), existing.c_str());
}

void Session::takeData() {
  now.dataTokens = rows ? rows->tokens() : 0;
  now.dataMixed = rows ? rows->mixed() : "";
}

/// A file has this program's own names, a folder those of its map; an export is written like the
/// folder, if nothing else is said.
Status Session::loadWeights() {
  bool folder = false;
  if (!options.load.empty()) {
    folder = isDirectory(options.load);
    TP_TRY(rank.peers.broadcast(&folder, sizeof folder));
  }
  if (!options.exportTo.empty()) {
    TP_TRY(checkExport(rank, options.exportTo));
    std::string like = options.exportLike.empty() && folder ? options.load : options.exportLike;
    TP_TRY(readExportForm(rank, like, form));
  }
  if (options.load.empty())
    return {};
  return folder ? loadModel(rank, options.load) : tplan::runtime::loadWeights(rank, options.load);
}

Status Session::setTensors(RowSource *source) {
  rows = source;
  now.seed = options.seed;
  takeData();
  if (!options.save.empty() && !options.resume)
    TP_TRY(rank.peers.agree(checkFree(options.save)));
  char *arena = rank.arena.data();
  Device *device = rank.device.get();
  TP_TRY(initializeTensors(program, arena, rank.peers.rank(), now.seed, rank.team, device));
  TP_TRY(setConstants(program, arena, rank.peers.rank(), device));
  Activity loading(rank.transport, "checkpoint");
  if (options.resume) {
    TP_TRY(loadCheckpoint(rank, options.save, options.resumeStep, options.resetErrors, now));
    if (now.step == 0) // no data was read, so it may be any
      takeData();
    TP_TRY(rank.peers.alike(checkResumed()));
    first = now.step + 1;
    savedIn = options.save, savedStep = now.step;
    say(format("resumed at step %lld\n", (long long)now.step));
  }
  TP_TRY(loadWeights());
  if (program.prepare) {
    Activity preparing(rank.transport, "preparation");
    TP_TRY(runEntry(rank, program.prepare, "preparation"));
  }
  if (!options.dumpGradients.empty())
    writeGradientsOnce();
  return {};
}

void Session::writeGradientsOnce() {
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
}

/// After loading, the state is one of this training.
Status Session::checkResumed() const {
  if (now.seed != options.seed && options.has("--seed"))
    return errorf("--resume goes on with the seed of the checkpoint, %lld; --seed is %lld",
                  (long long)now.seed, (long long)options.seed);
  if (rows && now.dataTokens && rows->tokens() && now.dataTokens != rows->tokens())
    return errorf("the checkpoint was trained on %lld tokens of data, now there are %lld: its "
                  "position means nothing there",
                  (long long)now.dataTokens, (long long)rows->tokens());
  if (rows && now.dataTokens && rows->tokens() && now.dataMixed != rows->mixed()) {
    auto shown = [](const std::string &mixed) { return mixed.empty() ? "one source" : mixed; };
    return errorf(
        "the checkpoint was trained on data of another mixture, %s, and its position means "
        "nothing in this one: %s",
        shown(now.dataMixed).c_str(), shown(rows->mixed()).c_str());
  }
  if (now.dataRows != now.step * rowsPerStep(program))
    return errorf("the checkpoint has read %lld rows in %lld steps, this program reads %lld a step",
                  (long long)now.dataRows, (long long)now.step, (long long)rowsPerStep(program));
  return {};
}

Status Session::checkMetrics() const {
  for (int64_t i = 0; i < numbers.size(); ++i) {
    double value = numbers.value(i);
    if (!std::isfinite(value) && !numbers.isUnbounded(i))
      return errorf("%s is %g in step %lld; %slower the learning rate, or resume from an earlier "
                    "checkpoint",
                    numbers.name(i), shown(value), (long long)now.step,
                    isScaled() ? "f16 ends at 65504: train in bf16, " : "");
  }
  return {};
}

bool Session::isSkipped() const {
  return program.skipped_metric && numbers.term(program.skipped_metric - 1).value() != 0;
}

Status Session::auditMemory() {
  Activity auditing(rank.transport, "memory audit");
  std::vector<Slot> slots = slotsOf(program);
  TP_TRY(rank.peers.agree(rank.arena.audit(slots.data(), (int64_t)slots.size())));
  std::string ranks =
      rank.peers.size() > 1 ? format(" on each of %d ranks", rank.peers.size()) : "";
  int64_t written = mostOf(program, [](const tp_program &each) {
    std::vector<Slot> all = slotsOf(each);
    return std::count_if(all.begin(), all.end(),
                         [](const Slot &slot) { return slot.use == TP_WRITTEN; });
  });
  const char *most = program.num_programs ? "at most " : "";
  say(format("memory audit: %s%lld slots written, nothing outside them, arena of %s%lld bytes%s\n",
             most, (long long)written, most, (long long)mostArenaBytes(program), ranks.c_str()));
  return {};
}

/// Writes the rows and scalars of a step where the host gives them.
Status Session::prepareStep(int64_t step) {
  if (rows) {
    Activity reading(rank.transport, "data");
    TP_TRY(rows->fill(rank, now.seed, step));
  }
  setScalars(program, givenBase(rank), now.seed, step);
  given = step;
  return rank.device ? rank.device->send() : Status();
}

/// A device computes a step while the host reads the data of the next.
Status Session::step(bool another) {
  int64_t step = now.step + 1;
  if (given != step)
    TP_TRY(prepareStep(step));
  {
    Activity computing(rank.transport, "step");
    if (rank.device)
      TP_TRY(rank.device->take());
    Entry entry = step <= program.early_steps ? program.early_step : program.step;
    if (rank.device && entry == issued && entry != captured)
      TP_TRY(captureStep(entry));
    issued = entry;
    rank.trace.beginStep(step, /*isNoted=*/step != first);
    TP_TRY(runEntry(rank, entry, "a step", /*repeated=*/step != first));
    rank.copiesAreStale = true;
    rank.trace.beginStep(step, /*isNoted=*/false);
  }
  if (rank.device && another)
    TP_TRY(prepareStep(step + 1));
  if (rank.device && options.profile)
    TP_TRY(rank.device->collectTimes(
        [&](const tp_call &call, double seconds) { rank.profile.addTime(call, seconds); }));
  now.step = step;
  now.dataRows = step * rowsPerStep(program);
  Activity adding(rank.transport, "metrics");
  return numbers.read(rank);
}

/// From the second step on sections are graphs, on all ranks or on none, because NCCL demands that
/// for each collective. The ranks meet for it once; where the first steps are of their own, once
/// more at the second of the others.
Status Session::captureStep(Entry entry) {
  bool isSecondEntry = std::exchange(captured, entry);
  if (isSecondEntry && rank.graphs.made.empty()) // none were made of the first
    return {};
  bool meetsOnHost = rank.transport && !rank.transport->capturable();
  if (meetsOnHost || options.synchronous || options.profile || !options.trace.empty() ||
      !options.auditScales.empty())
    return {};
  auto most = [&](int64_t tp_device::*fact) {
    return (long long)mostOf(program, [&](const tp_program &each) { return each.device->*fact; });
  };
  long long calls = most(&tp_device::graph_calls), graphs = most(&tp_device::num_graphs);
  const char *atMost = program.num_programs ? "at most " : "";
  if (calls > options.graphCalls) {
    say(format("no graphs: they would have %s%lld calls, --graph-calls is %lld; each is issued by "
               "itself\n",
               atMost, calls, (long long)options.graphCalls));
    return {};
  }
  Capture made{.loads = !rank.transport || rank.transport->loadsGraphs()};
  TP_TRY(captureEntry(rank, entry, made));
  Status refused = rank.peers.agree(std::move(made.refused));
  if (refused.ok()) {
    std::string bytes =
        made.bytes < 0 ? "" : format(", with %lld bytes of the GPU", (long long)made.bytes);
    if (!isSecondEntry)
      say(format("graphs: %s%lld, of %s%lld calls%s\n", atMost, graphs, atMost, calls,
                 bytes.c_str()));
    return {};
  }
  if (!rank.peers.failedTogether())
    return refused;
  rank.peers.goOn();
  forgetGraphs(rank);
  say(format("no graphs: %s; %seach call of a step is issued by itself\n",
             refused.message().c_str(), rank.peers.size() > 1 ? "on all ranks " : ""));
  return {};
}

Status Session::evaluate(const std::vector<std::string> &names, int64_t most, Evaluation &result) {
  given = 0; // the rows of an evaluation are given at the same place
  Activity evaluating(rank.transport, "evaluation");
  rank.profile.pause(true);
  TP_TRY(evaluateFiles(rank, names, most, result));
  now.evaluationDue = result.ended;
  rank.profile.pause(false);
  return {};
}

Status Session::exportWeights() {
  Activity exporting(rank.transport, "export");
  TP_TRY(exportModel(rank, options.exportTo, form, options.exportFileBytes));
  say(format("exported %zu tensors to '%s'\n", form.tensors.size(), options.exportTo.c_str()));
  return {};
}

Status Session::save(const std::string &directory, int64_t keep) {
  if (savedStep == now.step && savedIn == directory)
    return {};
  Activity saving(rank.transport, "checkpoint");
  if (directory != savedIn && directory != options.save)
    TP_TRY(rank.peers.agree(checkFree(directory)));
  TP_TRY(saveCheckpoint(rank, directory, now, keep));
  savedIn = directory, savedStep = now.step;
  say(format("saved step %lld in '%s'\n", (long long)now.step, directory.c_str()));
  return {};
}
