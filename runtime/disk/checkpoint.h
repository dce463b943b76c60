//===- checkpoint.h - the state of a training on disk ----------------------===//
//
// DIR/step-00000500/{model.safetensors, optimizer.safetensors, state.json,
// manifest.json}, on GPUs gemm-algorithms.txt too, with compressed gradients
// gradient-errors.safetensors, and DIR/latest, a text file with the name of the newest.
//
// One decision: a checkpoint is built in a temporary directory, its manifest
// (sizes and checksums) written last, and renamed whole; `latest` is replaced
// after that. At any moment a crash leaves a complete checkpoint or none. It holds logical
// tensors: the same bytes whatever the mesh, so that any plan of a recipe reads it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_CHECKPOINT_H
#define TPLAN_RUNTIME_DISK_CHECKPOINT_H

#include "runtime/ranks/rank.h"

#include <string>

namespace tplan::runtime {

/// What a checkpoint holds beside tensors.
struct TrainingState {
  int64_t step = 0; // the last step that is done
  int64_t seed = 0;
  int64_t dataRows = 0;       // rows read so far: the position in the data
  int64_t dataTokens = 0;     // number of tokens of all sources, to recognise the data
  std::string dataMixed;      // the proportions of a mixture of sources
  bool evaluationDue = false; // an evaluation after this step was interrupted, and comes first
};

// Each is called by all ranks, which succeed or fail together.

/// Writes DIR/step-N and points `latest` at it; then removes the oldest beyond
/// `keep` (0: none).
Status saveCheckpoint(tp_rank &rank, const std::string &directory, const TrainingState &state,
                      int64_t keep);

/// Reads the checkpoint of a step of DIR into the arena, or for -1 the latest. Nothing is changed
/// unless all of its files are sound and belong to this program; the error names the last sound
/// checkpoint where this one is not. With `resetErrors` what compression has lost of gradients is
/// not read.
Status loadCheckpoint(tp_rank &rank, const std::string &directory, int64_t step, bool resetErrors,
                      TrainingState &state);

/// Loads weights alone, by name; other floating-point types are converted. Weights of a checkpoint
/// must be as the manifest beside them says.
Status loadWeights(tp_rank &rank, const std::string &file);

/// Name of the directory that DIR/latest points at; empty where there is none.
Status latestCheckpoint(const std::string &directory, std::string &name);

/// The file with the GEMM algorithms of a step's checkpoint, for -1 that of the latest; empty where
/// there is none.
Status gemmsOf(const std::string &directory, int64_t step, std::string &file);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_CHECKPOINT_H
