//===- announce.h - what a run reads, scores and saves -------------------===//
//
//   reads  /data/web/*.bin as u16, 0.8 of the rows: 12 files, 84000000 tokens
//   scores /data/val.bin as u16 every 1000 steps and at the end: 8000000 of 9000000 tokens
//   saves  in /runs/llama_8b.checkpoint every 500 steps and at the end, and keeps the newest 3
//
// One decision: paths are absolute, because those of a recipe are relative to wherever the binary
// was started.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_ANNOUNCE_H
#define TPLAN_RUNTIME_TRAIN_ANNOUNCE_H

#include "runtime/train/options.h"

namespace tplan::runtime {

/// A line for each source of training data, if `trains`, and for what is scored. Opens the files.
Status announceFiles(const Options &options, bool trains, int64_t evalEvery, std::string &lines);
/// The line about saving; empty where nothing is saved.
std::string announceCheckpoints(const Options &options, int64_t saveEvery, int64_t keep);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_ANNOUNCE_H
