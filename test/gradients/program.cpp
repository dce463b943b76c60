//===- program.cpp - a program that is loaded, run in a test --------------===//
#include "test/gradients/program.h"
#include "runtime/device/cuda.h"
#include "runtime/step/scalars.h"
#include "runtime/support/random.h"

using namespace tplan;
using namespace tplan::runtime;
using namespace gradients;

/// The streams of random numbers beside those of initial values.
static constexpr int64_t kWeightStream = 1 << 20, kIdStream = 1 << 21;

/// Ends the process, because no test can go on.
static void check(const Status &status, const char *what) {
  if (status.ok())
    return;
  fprintf(stderr, "%s failed: %s\n", what, status.message().c_str());
  exit(1);
}

/// FNV-1a of the text.
std::string gradients::recordName(const std::string &text) {
  uint64_t hash = 0xcbf29ce484222325ull;
  for (unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3ull;
  return format("%016llx", (unsigned long long)hash);
}

static Status startDevice(tp_rank &rank) {
  char *arena = nullptr;
  TP_TRY(openCuda({}, rank.device));
  TP_TRY(rank.device->start(*rank.program, arena));
  rank.arena.adopt(*rank.device, arena, rank.program->arena_bytes);
  return {};
}

Program::Program(const std::string &text, std::string &error) : loaded(load(text, error)) {
  if (!loaded.program)
    return;
  rank.program = loaded.program;
  for (const std::string &name : loaded.states)
    states[name] = {};
  mainLoss = loaded.lossWeights.count("main") ? "main" : loaded.lossWeights.begin()->first;
  auto start = [&]() -> Status {
    TP_TRY(rank.team.start(2));
    if (rank.program->device)
      return startDevice(rank);
    TP_TRY(rank.arena.map(rank.program->arena_bytes));
    return rank.matmul.start(rank.team, nullptr);
  };
  if (Status status = start(); !status.ok())
    error = status.message();
}

std::vector<LogicalTensor> Program::weights() {
  return logicalTensors(*rank.program, rank.arena.data(), 0, TP_WEIGHT, rank.device.get());
}

std::vector<double> Program::read(const LogicalTensor &weight) {
  return readArena(weight.data - rank.arena.data(), weight.type, weight.share.elements());
}

std::vector<double> Program::readArena(int64_t offset, int32_t type, int64_t count) {
  std::vector<char> bytes(count * bytesOf(type));
  check(runtime::readArena(rank, offset, bytes.data(), bytes.size()), "reading");
  std::vector<double> values(count);
  for (int64_t i = 0; i < count; ++i)
    values[i] = getElement(bytes.data(), type, i);
  return values;
}

/// The sum of the parts of a number that stages have.
double Program::readParts(int64_t offset, int32_t type, int32_t parts) {
  double sum = 0;
  for (int32_t part = 0; part < parts; ++part)
    sum += readArena(offset + part * scalarStride, type, 1)[0];
  return sum;
}

void Program::write(const LogicalTensor &weight, const std::vector<double> &values) {
  check(writeArena(rank, weight.data - rank.arena.data(), values.data(), weight.bytes()),
        "writing");
}

void Program::fill(uint64_t seed, bool padding) {
  const tp_program &program = *rank.program;
  char *arena = rank.arena.data();
  check(initializeTensors(program, arena, 0, seed, rank.team, rank.device.get()), "a start");
  check(setConstants(program, arena, 0, rank.device.get()), "a start");
  int64_t stream = kWeightStream;
  for (LogicalTensor &weight : weights()) {
    std::vector<double> values = read(weight);
    for (size_t i = 0; i < values.size(); ++i)
      values[i] += 0.3 * normalAt(seed, stream, i);
    write(weight, values);
    ++stream;
  }
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &input = program.inputs[i];
    auto *ids = reinterpret_cast<int32_t *>(givenBase(rank) + input.offset);
    for (int64_t at = 0; at < program.microbatches * input.rows * input.length; ++at) {
      auto random = philox(seed, kIdStream, at);
      // Any id below zero, as far as -2^31.
      ids[at] = padding && random[1] % 7 == 0 ? int32_t(random[0] | 1u << 31)
                                              : int32_t(random[0] % input.vocabulary);
    }
  }
}

double Program::loss() {
  const tp_program &program = *rank.program;
  rank.gradientsReady = [&]() -> Status {
    gradients.clear();
    for (LogicalTensor &gradient :
         logicalTensors(program, rank.arena.data(), 0, TP_GRADIENT, rank.device.get()))
      gradients[gradient.name.substr(0, gradient.name.rfind('.'))] = read(gradient);
    return {};
  };
  for (LogicalTensor &weight : weights())
    if (auto state = states.find(weight.name); state != states.end())
      state->second.before = read(weight);
  setScalars(program, givenBase(rank), /*seed=*/1, /*step=*/1);
  check(give(rank), "giving");
  check(runEntry(rank, program.step, "a step"), "a step");
  for (LogicalTensor &weight : weights())
    if (auto state = states.find(weight.name); state != states.end()) {
      state->second.after = read(weight);
      write(weight, state->second.before);
    }
  double sum = 0;
  for (auto &[name, weight] : loaded.lossWeights)
    sum += weight * metric(name);
  return sum;
}

void Program::evaluate() {
  check(give(rank), "giving");
  check(runEntry(rank, rank.program->evaluate, "an evaluation"), "an evaluation");
}

double Program::metric(const std::string &name) {
  const tp_program &program = *rank.program;
  for (int64_t i = 0; i < program.num_metrics; ++i) {
    const tp_metric &row = program.metrics[i];
    // A single loss has this name.
    if (row.name != (loaded.lossWeights.size() == 1 && name == mainLoss ? "loss" : name))
      continue;
    double sum = readParts(row.offset, row.type, row.parts);
    return row.count_offset < 0 ? sum
                                : sum / readParts(row.count_offset, row.type, row.count_parts);
  }
  fprintf(stderr, "the program has no metric %s\n", name.c_str());
  exit(1);
}
