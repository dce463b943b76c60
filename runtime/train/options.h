//===- options.h - the command line of a generated binary -----------------===//
//
// One decision: the options are one table, from which parsing, errors and --help
// are made.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_OPTIONS_H
#define TPLAN_RUNTIME_TRAIN_OPTIONS_H

#include "runtime/disk/tokens.h"
#include "runtime/support/status.h"
#include "runtime/train/logs.h"
#include "tplan/runtime.h"

#include <cstdio>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace tplan::runtime {

struct Options {
  std::vector<std::string> data, eval;
  std::vector<DataSource> sources; // files of `data`, or of the recipe's
  int64_t evalTokens = -1;         // tokens of `eval`, from the start; 0: all, -1: the plan's
  int64_t steps = -1;              // -1: the plan's
  double minutes = 0;              // minutes of training in this run; 0: no bound
  int64_t seed = 1;
  int64_t threads = 0; // threads of a rank; 0: its part of the CPUs of the affinity mask
  std::string save, load, dumpGradients;
  std::string exportTo, exportLike;
  int64_t exportFileBytes = 5'000'000'000; // as transformers cuts them
  std::string dumpLogits;
  std::vector<LogRequest> logs; // of --metrics and --log
  std::string gemms;            // file of --gemm-algorithms
  int64_t graphCalls = TP_GRAPH_CALLS;
  std::string device; // "cpu" or "cuda"; empty: the one that the binary is for
  int64_t saveEvery = -1, saveKeep = -1, evalEvery = -1; // -1: the plan's
  bool resume = false;
  int64_t resumeStep = -1; // -1: the latest
  bool resetErrors = false;
  std::string gemmWay; // of bf16, as TPLAN_GEMM has it: "library", "widen", or empty
  std::string sample;
  int64_t sampleBytes = 256;
  double temperature = 0.8;
  double saveWithin = 60;              // seconds from a signal that asks for the end
  bool noSave = false, noEval = false; // even if the recipe has these lines
  bool profile = false, auditMemory = false, auditCollectives = false, curve = false, help = false,
       synchronous = false, auditStreams = false, printEnv = false;
  std::string trace, traceStreams, auditScales, ncclLibrary;
  int64_t printEvery = 0;      // 0: about once a second
  std::set<std::string> given; // names of the options on the command line

  bool has(const char *name) const { return given.count(name); }
};

/// Names and values of the options that all ranks of a run must have alike, as the command line
/// gives them; for files only whether, or how many.
std::vector<std::pair<std::string, std::string>> sharedOptions(const Options &options);

Status parseOptions(int argc, char **argv, Options &options);
/// Fills in what the command line leaves to the recipe: data, evaluation, checkpoints. Then checks
/// that the options fit together.
Status completeOptions(const tp_program &program, Options &options);
void printHelp(FILE *to, const char *command, const tp_program &program);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_OPTIONS_H
