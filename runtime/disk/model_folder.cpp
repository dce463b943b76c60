//===- model_folder.cpp - a folder as transformers keeps a model ----------===//

#include "runtime/disk/model_folder.h"

#include <algorithm>

using namespace tplan::runtime;
using nlohmann::json;

static Status readObject(const std::string &path, json &value) {
  std::string text;
  TP_TRY(readText(path, text, maxModelJson));
  TP_TRY(parseJson(text, path, 0, value));
  return value.is_object() ? Status() : errorf("'%s' does not hold a JSON object", path.c_str());
}

/// Names the files that are there, or says what to do where somebody seems to have meant something
/// else.
Status ModelFolder::findFiles(std::vector<std::string> &found) {
  const char *path = folder.c_str();
  bool whole = pathExists(folder + "/" + weightsName), parts = pathExists(folder + "/" + indexName);
  if (whole && parts)
    return errorf("'%s' holds both %s and %s: remove the one that is not meant", path, weightsName,
                  indexName);
  if (!whole && !parts)
    return errorf("'%s' holds neither %s nor %s%s", path, weightsName, indexName,
                  pathExists(folder + "/pytorch_model.bin") ||
                          pathExists(folder + "/pytorch_model.bin.index.json")
                      ? ", but weights as PyTorch pickles them: load them with transformers and "
                        "save them by save_pretrained"
                      : "");
  if (!pathExists(folder + "/" + configName))
    return errorf("'%s' holds no %s, without which nobody can tell whether its model is that of "
                  "this plan%s",
                  path, configName,
                  whole && pathExists(folder + "/manifest.json")
                      ? format("; it is a checkpoint: --load %s/%s", path, weightsName).c_str()
                      : "");
  if (parts)
    return readIndex(found);
  found.push_back(weightsName);
  return {};
}

Status ModelFolder::readIndex(std::vector<std::string> &found) {
  std::string path = folder + "/" + indexName;
  json value;
  TP_TRY(readObject(path, value));
  const json *map;
  TP_TRY(getObject(value, "weight_map", path, map));
  for (auto &[tensor, file] : map->items()) {
    auto *name = file.get_ptr<const json::string_t *>();
    if (!name || name->empty() || *name == "." || *name == ".." ||
        name->find('/') != std::string::npos || name->find('\0') != std::string::npos)
      return errorf("'%s': the tensor '%s' is to be in a file beside it, found %s", path.c_str(),
                    tensor.c_str(),
                    file.dump(-1, ' ', true, json::error_handler_t::replace).c_str());
    if (!pathExists(folder + "/" + *name))
      return errorf("'%s': the tensor '%s' is to be in '%s', which is not there", path.c_str(),
                    tensor.c_str(), name->c_str());
    found.push_back(*name);
  }
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  index = *map;
  return {};
}

/// Each tensor of the index is in the file that it names, and the index names all tensors there
/// are.
Status ModelFolder::checkIndex() const {
  std::string path = folder + "/" + indexName;
  for (auto &[tensor, file] : index.items()) {
    auto found = places.find(tensor);
    const std::string &name = *file.get_ptr<const json::string_t *>();
    if (found == places.end())
      return errorf("'%s': the tensor '%s' is to be in '%s', which lacks it", path.c_str(),
                    tensor.c_str(), name.c_str());
    if (names[found->second.file] != name)
      return errorf("'%s': the tensor '%s' is to be in '%s', found in '%s'", path.c_str(),
                    tensor.c_str(), name.c_str(), names[found->second.file].c_str());
  }
  for (auto &[tensor, place] : places)
    if (!index.contains(tensor))
      return errorf("'%s' says nothing of the tensor '%s' in '%s'", path.c_str(), tensor.c_str(),
                    names[place.file].c_str());
  return {};
}

Status ModelFolder::open(const std::string &path) {
  folder = path;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  TP_TRY(findFiles(names));
  TP_TRY(readObject(configPath(), settings));
  opened.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    TP_TRY(opened[i].open(folder + "/" + names[i]));
    for (auto &[name, stored] : opened[i].tensors())
      if (auto [it, fresh] = places.try_emplace(name, Place{i, &stored}); !fresh)
        return errorf("'%s': the tensor '%s' is in two files, '%s' and '%s'", folder.c_str(),
                      name.c_str(), names[it->second.file].c_str(), names[i].c_str());
  }
  return index.is_null() ? Status() : checkIndex();
}
