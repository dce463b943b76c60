//===- model_folder.h - a folder as transformers keeps a model ------------===//
//
// config.json beside model.safetensors, or beside model.safetensors.index.json and the files that
// it names.
//
// One decision: a folder is looked at as a whole before a byte of a weight is read: the headers of
// all files, and that the index says what they say.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_MODEL_FOLDER_H
#define TPLAN_RUNTIME_DISK_MODEL_FOLDER_H

#include "runtime/disk/safetensors.h"
#include "runtime/support/json.h"

namespace tplan::runtime {

inline constexpr const char *configName = "config.json", *weightsName = "model.safetensors",
                            *indexName = "model.safetensors.index.json";
/// The text of a JSON file in it.
inline constexpr int64_t maxModelJson = int64_t(1) << 27;

class ModelFolder {
public:
  struct Place {
    size_t file; // in files()
    const StoredTensor *stored;
  };

  Status open(const std::string &path);
  const std::string &path() const { return folder; }
  const std::vector<SafetensorsFile> &files() const { return opened; }
  const std::map<std::string, Place> &tensors() const { return places; }
  const nlohmann::json &config() const { return settings; }
  std::string configPath() const { return folder + "/" + configName; }

private:
  Status findFiles(std::vector<std::string> &names);
  Status readIndex(std::vector<std::string> &names);
  Status checkIndex() const;

  std::string folder;
  nlohmann::json settings, index; // index: names of tensors to those of files; null without one
  std::vector<SafetensorsFile> opened;
  std::vector<std::string> names; // of these
  std::map<std::string, Place> places;
};

/// Checks that config.json describes the model that this program was compiled for.
Status checkConfig(const tp_disk &disk, const ModelFolder &folder);
/// config.json of a model without one; `type` is that of its tensors.
std::string writeConfig(const tp_disk &disk, int32_t type);
/// A type as config.json calls it: "bfloat16"; null where it has no name for it.
const char *configTypeName(int32_t type);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_MODEL_FOLDER_H
