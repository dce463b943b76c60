//===- checkpoint.cpp - the state of a training on disk ----------------------===//

#include "runtime/disk/checkpoint.h"

#include "runtime/disk/checksum.h"
#include "runtime/disk/gradient_errors.h"
#include "runtime/disk/safetensors.h"
#include "runtime/support/files.h"
#include "runtime/support/json.h"
#include "runtime/support/text.h"

#include <algorithm>
#include <cctype>
#include <cinttypes>
#include <cstring>
#include <iterator>

#include <unistd.h>

using namespace tplan::runtime;
using nlohmann::json;

namespace {

constexpr int64_t formatVersion = 3;
constexpr int64_t maxJson = int64_t(1) << 24;
constexpr const char *modelFile = "model.safetensors";
constexpr const char *optimizerFile = "optimizer.safetensors";
constexpr const char *errorsFile = "gradient-errors.safetensors"; // of compressed gradients
constexpr const char *stateFile = "state.json";
constexpr const char *manifestFile = "manifest.json";
constexpr const char *gemmsFile = "gemm-algorithms.txt"; // of a run on GPUs
constexpr const char *latestFile = "latest";

std::string stepName(int64_t step) { return format("step-%08" PRId64, step); }

bool isStepName(const std::string &name) {
  return name.size() >= 13 && name.size() <= 23 && name.compare(0, 5, "step-") == 0 &&
         std::all_of(name.begin() + 5, name.end(), [](unsigned char c) { return isdigit(c) != 0; });
}

/// What was left by a run that died while it wrote or removed a checkpoint.
bool isLeftover(const std::string &name) {
  return name.compare(0, 10, ".tmp-step-") == 0 || name.compare(0, 10, ".old-step-") == 0;
}

std::string stateText(const tp_program &program, const TrainingState &state) {
  return format(
      "{\n  \"format\": %" PRId64 ",\n  \"plan\": %s,\n  \"fingerprint\": %s,\n  \"step\": %" PRId64
      ",\n  \"seed\": %" PRId64 ",\n  \"data\": {\"rows\": %" PRId64 ", \"tokens\": %" PRId64
      "%s}%s\n}\n",
      formatVersion, quoteJson(program.plan).c_str(), quoteJson(program.fingerprint).c_str(),
      state.step, state.seed, state.dataRows, state.dataTokens,
      state.dataMixed.empty() ? "" : (", \"mixed\": " + quoteJson(state.dataMixed)).c_str(),
      state.evaluationDue ? ",\n  \"evaluation\": \"due\"" : "");
}

/// Name, size and checksum of each file that belongs to a checkpoint.
struct ManifestEntry {
  std::string name, checksum;
  int64_t bytes;
};

std::string manifestText(const std::vector<ManifestEntry> &files) {
  std::string text = format("{\n  \"format\": %" PRId64 ",\n  \"files\": {", formatVersion);
  for (const ManifestEntry &file : files)
    text += format("%s\n    %s: {\"bytes\": %" PRId64 ", \"xxh3_128\": \"%s\"}",
                   &file == &files[0] ? "" : ",", quoteJson(file.name).c_str(), file.bytes,
                   file.checksum.c_str());
  return text + "\n  }\n}\n";
}

Status readJson(const std::string &path, json &value) {
  std::string text;
  TP_TRY(readText(path, text, maxJson));
  TP_TRY(parseJson(text, path, 0, value));
  if (!value.is_object())
    return errorf("'%s' does not hold a JSON object", path.c_str());
  int64_t version;
  TP_TRY(getInteger(value, "format", path, version));
  if (version != formatVersion)
    return errorf("'%s' has format %" PRId64 ", this program reads %" PRId64, path.c_str(), version,
                  formatVersion);
  return {};
}

Status readManifest(const std::string &path, std::vector<ManifestEntry> &entries) {
  json manifest;
  TP_TRY(readJson(path, manifest));
  const json *files;
  TP_TRY(getObject(manifest, "files", path, files));
  for (const char *name : {modelFile, optimizerFile, errorsFile, stateFile, gemmsFile}) {
    bool mayLack = name == gemmsFile || name == errorsFile;
    if (mayLack && !files->contains(name))
      continue;
    ManifestEntry &entry = entries.emplace_back();
    entry.name = name;
    const json *value;
    TP_TRY(getObject(*files, name, path, value));
    TP_TRY(getInteger(*value, "bytes", path, entry.bytes));
    TP_TRY(getString(*value, "xxh3_128", path, entry.checksum));
  }
  // A name with a damaged letter would leave its file unchecked.
  for (auto &[name, value] : files->items())
    if (std::none_of(entries.begin(), entries.end(), [&](auto &e) { return e.name == name; }))
      return errorf("'%s' names a file that is none of a checkpoint: '%s'", path.c_str(),
                    shown(name).c_str());
  return {};
}

/// Checks the file of this name in a manifest, or all files: each is there, whole and unchanged.
Status checkManifest(tp_rank &rank, const std::string &directory, const std::string &only = "") {
  std::vector<ManifestEntry> entries;
  TP_TRY(rank.peers.agree(readManifest(directory + "/" + manifestFile, entries)));
  for (const ManifestEntry &entry : entries) {
    if (!only.empty() && entry.name != only)
      continue;
    std::string path = directory + "/" + entry.name, found;
    int64_t bytes;
    TP_TRY(checksumOfFile(rank.peers, rank.team, path, found, bytes));
    if (bytes != entry.bytes)
      return rank.peers.alike(errorf("'%s' has %lld bytes, its manifest says %" PRId64,
                                     path.c_str(), (long long)bytes, entry.bytes));
    if (found != entry.checksum)
      return rank.peers.alike(errorf("'%s' is damaged: its checksum is %s, its manifest says %s",
                                     path.c_str(), found.c_str(), shown(entry.checksum).c_str()));
  }
  return {};
}

int64_t stepOf(const std::string &name) { return atoll(name.c_str() + 5); }

/// Names of the checkpoints of a directory, the newest first.
Status listCheckpoints(const std::string &directory, std::vector<std::string> &steps) {
  std::vector<std::string> names;
  TP_TRY(listDirectory(directory, names));
  std::copy_if(names.begin(), names.end(), std::back_inserter(steps), isStepName);
  std::sort(steps.begin(), steps.end(),
            [](const std::string &a, const std::string &b) { return stepOf(a) > stepOf(b); });
  return {};
}

/// What is wrong with a checkpoint, and which one may take its place.
Status withWayOut(tp_rank &rank, const std::string &directory, const std::string &damaged,
                  const Status &status) {
  std::vector<std::string> steps;
  std::string names;
  if (rank.peers.leads() && listCheckpoints(directory, steps).ok())
    for (const std::string &name : steps)
      names += name == damaged ? "" : name + "\n";
  TP_TRY(rank.peers.broadcast(names));
  for (size_t at = 0; at < names.size(); at = names.find('\n', at) + 1) {
    std::string name = names.substr(at, names.find('\n', at) - at);
    if (checkManifest(rank, directory + "/" + name).ok())
      return rank.peers.alike(
          errorf("%s; the last whole checkpoint is %s: go on from it with --resume %lld",
                 status.message().c_str(), name.c_str(), (long long)stepOf(name)));
  }
  return rank.peers.alike(errorf("%s; '%s' holds no other whole checkpoint",
                                 status.message().c_str(), directory.c_str()));
}

/// What a checkpoint says of the program that saved it.
struct SavedBy {
  std::string plan, fingerprint;
};

Status readState(const std::string &path, TrainingState &state, SavedBy &by) {
  json value;
  TP_TRY(readJson(path, value));
  const json *data;
  TP_TRY(getString(value, "plan", path, by.plan));
  TP_TRY(getString(value, "fingerprint", path, by.fingerprint));
  TP_TRY(getInteger(value, "step", path, state.step));
  TP_TRY(getInteger(value, "seed", path, state.seed));
  TP_TRY(getObject(value, "data", path, data));
  TP_TRY(getInteger(*data, "rows", path, state.dataRows));
  TP_TRY(getInteger(*data, "tokens", path, state.dataTokens));
  if (data->contains("mixed"))
    TP_TRY(getString(*data, "mixed", path, state.dataMixed));
  state.evaluationDue = value.contains("evaluation");
  if (state.step < 0 || state.seed < 0 || state.dataRows < 0)
    return errorf("'%s' holds a negative step, seed or position", path.c_str());
  return {};
}

/// Removes checkpoints beyond `keep` and what crashed runs left. Each is renamed
/// first, so that none is ever half there under its name.
Status prune(const std::string &directory, int64_t current, int64_t keep) {
  std::vector<std::string> names, steps;
  TP_TRY(listDirectory(directory, names));
  for (const std::string &name : names) {
    if (isLeftover(name))
      TP_TRY(removeDirectory(directory + "/" + name));
    else if (isStepName(name) && stepOf(name) <= current)
      steps.push_back(name);
  }
  std::sort(steps.begin(), steps.end(),
            [](const std::string &a, const std::string &b) { return stepOf(a) < stepOf(b); });
  for (size_t i = 0; keep > 0 && i + keep < steps.size(); ++i) {
    std::string old = directory + "/.old-" + steps[i];
    TP_TRY(renamePath(directory + "/" + steps[i], old));
    TP_TRY(removeDirectory(old));
  }
  return {};
}

std::vector<LogicalTensor> tensorsOf(tp_rank &rank, tp_tensor_role role) {
  return logicalTensors(*rank.program, rank.arena.data(), rank.peers.rank(), role,
                        rank.device.get());
}

/// An empty directory for what is not yet a checkpoint.
Status beginDirectory(const std::string &directory, const std::string &temporary) {
  TP_TRY(makeDirectory(directory));
  if (pathExists(temporary))
    TP_TRY(removeDirectory(temporary));
  return makeDirectory(temporary);
}

/// Writes the files of text, gives the directory its name, and removes old checkpoints.
Status finishDirectory(tp_rank &rank, const std::string &directory, const std::string &temporary,
                       const TrainingState &state, std::vector<ManifestEntry> manifest,
                       int64_t keep) {
  std::string name = stepName(state.step), final = directory + "/" + name;
  auto add = [&](const char *file, const std::string &text) -> Status {
    manifest.push_back({file, checksumOf(text.data(), text.size()), (int64_t)text.size()});
    return writeText(temporary + "/" + file, text);
  };
  TP_TRY(add(stateFile, stateText(*rank.program, state)));
  GemmChoices gemms = rank.device ? rank.device->gemmChoices() : GemmChoices();
  if (!gemms.chosen.empty())
    TP_TRY(add(gemmsFile, gemms.text()));
  TP_TRY(writeText(temporary + "/" + manifestFile, manifestText(manifest)));

  // A checkpoint of this step that `latest` does not name was left by a crashed run.
  if (pathExists(final)) {
    std::string old = directory + "/.old-" + name;
    TP_TRY(renamePath(final, old));
    TP_TRY(removeDirectory(old));
  }
  TP_TRY(renamePath(temporary, final));
  TP_TRY(writeText(directory + "/" + latestFile, name + "\n"));
  return prune(directory, state.step, keep);
}

/// The checkpoint of a step; for -1 the newest.
Status findCheckpoint(const std::string &directory, int64_t step, std::string &name) {
  if (step >= 0) {
    name = stepName(step);
    if (pathExists(directory + "/" + name))
      return {};
    std::vector<std::string> steps;
    TP_TRY(listCheckpoints(directory, steps));
    std::string there;
    for (const std::string &one : steps)
      there += format("%s%lld", there.empty() ? "" : ", ", (long long)stepOf(one));
    return errorf("'%s' has checkpoints of the steps %s; --resume is %lld", directory.c_str(),
                  there.empty() ? "(none)" : there.c_str(), (long long)step);
  }
  TP_TRY(latestCheckpoint(directory, name));
  if (!name.empty())
    return {};
  return errorf("nothing to resume: '%s/%s' does not exist; start without --resume",
                directory.c_str(), latestFile);
}

/// A checkpoint opened, with where its tensors go.
struct Opened {
  SafetensorsFile model, optimizer, lost;
  std::vector<LogicalTensor> weights, states, errors;
  TrainingState state;
};

Status openCheckpoint(const tp_program &program, const std::string &path, const std::string &name,
                      bool resetErrors, Opened &opened) {
  SavedBy by;
  TP_TRY(readState(path + "/" + stateFile, opened.state, by));
  if (stepName(opened.state.step) != name)
    return errorf("'%s/%s' holds step %" PRId64 ", its directory says otherwise", path.c_str(),
                  stateFile, opened.state.step);
  TP_TRY(opened.model.open(path + "/" + modelFile));
  TP_TRY(opened.optimizer.open(path + "/" + optimizerFile));
  // A tensor that differs is named; if none does, the fingerprints differ in how the weights are
  // trained.
  const char *wayOut = " (--load takes the weights of a model.safetensors alone)";
  TP_TRY(opened.model.match(opened.weights, /*convert=*/false, wayOut));
  TP_TRY(opened.optimizer.match(opened.states, /*convert=*/false, wayOut));
  if (std::string errors = path + "/" + errorsFile; !resetErrors && pathExists(errors)) {
    TP_TRY(opened.lost.open(errors));
    TP_TRY(matchErrors(opened.lost, opened.errors));
  }
  if (by.fingerprint == program.fingerprint)
    return {};
  return errorf(
      "'%s' was saved by the plan '%s' with the same tensors, but another batch, sequence "
      "or optimizer than those of '%s'; train on from its weights with --load %s/%s, found "
      "the fingerprints %s and %s",
      path.c_str(), by.plan.c_str(), program.plan, path.c_str(), modelFile, by.fingerprint.c_str(),
      program.fingerprint);
}

} // namespace

Status tplan::runtime::saveCheckpoint(tp_rank &rank, const std::string &directory,
                                      const TrainingState &state, int64_t keep) {
  Peers &peers = rank.peers;
  std::string temporary = directory + "/.tmp-" + stepName(state.step);
  TP_TRY(peers.agree(peers.leads() ? beginDirectory(directory, temporary) : Status()));
  std::vector<ManifestEntry> manifest;
  for (auto [file, role] :
       {std::pair(modelFile, TP_WEIGHT), std::pair(optimizerFile, TP_OPTIMIZER_STATE),
        std::pair(errorsFile, TP_GRADIENT_ERROR)}) {
    std::vector<LogicalTensor> tensors = tensorsOf(rank, role);
    if (role == TP_GRADIENT_ERROR && tensors.empty())
      continue;
    ManifestEntry &entry = manifest.emplace_back();
    entry.name = file;
    TP_TRY(writeSafetensors(peers, rank.team, temporary + "/" + file, tensors, &entry.checksum,
                            &entry.bytes));
  }
  return peers.agree(
      peers.leads() ? finishDirectory(rank, directory, temporary, state, std::move(manifest), keep)
                    : Status());
}

Status tplan::runtime::latestCheckpoint(const std::string &directory, std::string &name) {
  name.clear();
  std::string path = directory + "/" + latestFile;
  if (!pathExists(path))
    return {};
  TP_TRY(readText(path, name, 4096));
  while (!name.empty() && isspace((unsigned char)name.back()))
    name.pop_back();
  if (!isStepName(name))
    return errorf("'%s' does not name a checkpoint: '%s'", path.c_str(), shown(name).c_str());
  return {};
}

Status tplan::runtime::gemmsOf(const std::string &directory, int64_t step, std::string &file) {
  std::string name;
  if (step >= 0)
    name = stepName(step);
  else
    TP_TRY(latestCheckpoint(directory, name));
  file = directory + "/" + name + "/" + gemmsFile;
  if (name.empty() || !pathExists(file))
    file.clear();
  return {};
}

Status tplan::runtime::loadCheckpoint(tp_rank &rank, const std::string &directory, int64_t step,
                                      bool resetErrors, TrainingState &state) {
  Peers &peers = rank.peers;
  std::string name;
  Status sound = peers.agree(findCheckpoint(directory, step, name));
  // Else there is nothing that another could replace.
  bool isNamed = step < 0 && pathExists(directory + "/" + latestFile);
  TP_TRY(peers.broadcast(&isNamed, sizeof isNamed));
  if (!sound.ok() && !isNamed)
    return sound;
  std::string path = directory + "/" + name;
  if (sound.ok())
    sound = checkManifest(rank, path);
  if (!sound.ok())
    return withWayOut(rank, directory, name, sound);
  Opened opened;
  opened.weights = tensorsOf(rank, TP_WEIGHT);
  opened.states = tensorsOf(rank, TP_OPTIMIZER_STATE);
  opened.errors = tensorsOf(rank, TP_GRADIENT_ERROR);
  TP_TRY(peers.agree(openCheckpoint(*rank.program, path, name, resetErrors, opened)));
  TP_TRY(peers.agree(opened.model.copyTo(opened.weights)));
  TP_TRY(peers.agree(opened.optimizer.copyTo(opened.states)));
  TP_TRY(peers.agree(copyErrors(opened.lost, opened.errors)));
  state = opened.state;
  return {};
}

/// Weights from a checkpoint must be as its manifest says.
static Status checkBeside(tp_rank &rank, const std::string &path) {
  size_t slash = path.rfind('/');
  std::string name = path.substr(slash + 1),
              directory =
                  slash == std::string::npos ? "." : path.substr(0, std::max<size_t>(slash, 1));
  bool beside = name == modelFile && pathExists(directory + "/" + manifestFile);
  TP_TRY(rank.peers.broadcast(&beside, sizeof beside));
  return beside ? checkManifest(rank, directory, name) : Status();
}

Status tplan::runtime::loadWeights(tp_rank &rank, const std::string &path) {
  SafetensorsFile file;
  auto weights = tensorsOf(rank, TP_WEIGHT);
  Status status = file.open(path);
  if (status.ok())
    status = file.match(weights, /*convert=*/true);
  TP_TRY(rank.peers.agree(std::move(status)));
  TP_TRY(checkBeside(rank, path));
  return rank.peers.agree(file.copyTo(weights));
}
