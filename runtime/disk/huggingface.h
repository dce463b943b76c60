//===- huggingface.h - weights in the names and layouts of others ---------===//
//
// A program whose model has a map (tp_disk) reads its weights from a folder of transformers', and
// writes such folders.
//
// One decision: what is written has the names and element types of what was read, so that weights
// that were not trained are written as the same bytes.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_HUGGINGFACE_H
#define TPLAN_RUNTIME_DISK_HUGGINGFACE_H

#include "runtime/ranks/rank.h"

#include <string>
#include <utility>
#include <vector>

namespace tplan::runtime {

// Each is called by all ranks, which succeed or fail together.

/// Reads all weights from a folder. Nothing is changed unless the folder is sound, and the map
/// names each of its tensors and finds all of its own.
Status loadModel(tp_rank &rank, const std::string &folder);

/// How a model is to be written.
struct ExportForm {
  std::vector<std::pair<std::string, int32_t>> tensors; // names and types, in the order of the map
  std::vector<std::pair<std::string, std::string>> files; // beside them, on the leader
};

/// The form of the model in the folder `like`, with its config.json and tokenizer; where `like` is
/// empty, a form by the map alone.
Status readExportForm(tp_rank &rank, const std::string &like, ExportForm &form);

/// Makes the folder, unless there is something in it.
Status checkExport(tp_rank &rank, const std::string &folder);

/// Writes the folder, which appears whole or not at all. Files of weights have at most
/// `bytesOfFile`, except where a single tensor has more.
Status exportModel(tp_rank &rank, const std::string &folder, const ExportForm &form,
                   int64_t bytesOfFile);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_HUGGINGFACE_H
