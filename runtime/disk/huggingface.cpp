//===- huggingface.cpp - weights in the names and layouts of others -------===//

#include "runtime/disk/huggingface.h"

#include "runtime/disk/model_folder.h"

#include <algorithm>
#include <cstring>
#include <set>

using namespace tplan::runtime;

namespace {

/// Files of a tokenizer and of generation, which training does not read.
constexpr const char *companions[] = {"tokenizer.json",
                                      "tokenizer_config.json",
                                      "special_tokens_map.json",
                                      "added_tokens.json",
                                      "vocab.json",
                                      "vocab.txt",
                                      "merges.txt",
                                      "tokenizer.model",
                                      "spiece.model",
                                      "chat_template.json",
                                      "chat_template.jinja",
                                      "generation_config.json"};
constexpr int64_t maxCompanion = int64_t(1) << 28;

/// The weights of a rank, and the tensors of a file as the map has them.
class Mapping {
public:
  explicit Mapping(tp_rank &rank);

  const tp_disk &disk;
  std::vector<LogicalTensor> weights;
  std::vector<FileTensor> tensors; // with full names and the types of the weights
  std::vector<std::string> bare;   // the other name of each, or nothing

  /// Takes names and types from the folder. Each of its tensors must be in the map or be passed
  /// over.
  Status follow(const ModelFolder &folder);
  int32_t type() const { return weights.empty() ? TP_F32 : weights[0].type; }
};

Mapping::Mapping(tp_rank &rank)
    : disk(*rank.program->disk),
      weights(logicalTensors(*rank.program, rank.arena.data(), rank.peers.rank(), TP_WEIGHT,
                             rank.device.get())) {
  std::vector<MergedRow> rows = mergedRows(*rank.program, 0);
  std::vector<size_t> first(rows.size() + 1); // tensor of each row
  for (size_t i = 0; i < rows.size(); ++i)
    first[i + 1] = first[i] + (rows[i].first->role == TP_WEIGHT ? rows[i].tensors.size() : 0);
  std::map<std::string, size_t> known;
  for (int64_t i = 0; i < disk.num_tensors; ++i) {
    const tp_stored &stored = disk.tensors[i];
    const std::vector<MergedTensor> &row = rows[stored.tensor].tensors;
    for (size_t j = 0; j < row.size(); ++j) {
      const LogicalTensor &weight = weights[first[stored.tensor] + j];
      int64_t number = row[j].first.number;
      std::string name = withNumber(stored.name, number);
      auto [it, fresh] = known.try_emplace(name, tensors.size());
      if (fresh) {
        tensors.push_back({name, weight.type, {stored.shape, stored.shape + stored.rank}, {}});
        bare.push_back(stored.bare ? withNumber(stored.bare, number) : "");
      }
      tensors[it->second].parts.push_back({&weight, &stored});
    }
  }
}

/// Whether a name is the pattern's, in which {i} is any number.
bool isMatch(const char *pattern, const char *name) {
  while (*pattern)
    if (!strncmp(pattern, "{i}", 3)) {
      size_t digits = strspn(name, "0123456789");
      if (!digits)
        return false;
      pattern += 3, name += digits;
    } else if (*pattern++ != *name++) {
      return false;
    }
  return !*name;
}

Status Mapping::follow(const ModelFolder &folder) {
  const char *path = folder.path().c_str();
  const auto &there = folder.tensors();
  std::set<std::string> used;
  for (size_t i = 0; i < tensors.size(); ++i) {
    FileTensor &tensor = tensors[i];
    auto found = there.find(tensor.name),
         other = bare[i].empty() ? there.end() : there.find(bare[i]);
    if (found != there.end() && other != there.end())
      return errorf("'%s' holds a tensor twice, as '%s' and as '%s'", path, tensor.name.c_str(),
                    bare[i].c_str());
    if (found == there.end())
      found = other;
    if (found == there.end())
      return errorf("'%s' lacks the tensor '%s' of this program", path, tensor.name.c_str());
    const StoredTensor &stored = *found->second.stored;
    const char *file = folder.files()[found->second.file].path().c_str(),
               *name = found->first.c_str();
    if (stored.shape != tensor.shape)
      return errorf("'%s': tensor '%s' has shape %s, this program wants %s", file, name,
                    shapeText(stored.shape).c_str(), shapeText(tensor.shape).c_str());
    if (!isFloat(stored.type))
      return errorf("'%s': tensor '%s' has type %s, this program wants one of F32, BF16, F16, F64",
                    file, name, stored.dtype);
    tensor.name = found->first;
    tensor.type = stored.type;
    used.insert(tensor.name);
  }
  for (auto &[name, place] : there) {
    bool isIgnored =
        std::any_of(disk.ignored, disk.ignored + disk.num_ignored,
                    [&](const char *pattern) { return isMatch(pattern, name.c_str()); });
    if (!used.count(name) && !isIgnored)
      return errorf("'%s': the tensor '%s' is none of this program, and its map does not say "
                    "`ignore` of it",
                    folder.files()[place.file].path().c_str(), name.c_str());
  }
  return {};
}

Status hasMap(const tp_program &program, const char *what, const std::string &folder) {
  if (program.disk)
    return {};
  return errorf("%s: the model of the plan '%s' says nothing of names on disk: add `weights "
                "huggingface { .. }` to it, or name a file of its own names; found the folder '%s'",
                what, program.plan, folder.c_str());
}

/// The folder, as the map sees it.
Status openModel(const std::string &path, ModelFolder &folder, Mapping &mapping) {
  TP_TRY(folder.open(path));
  TP_TRY(checkConfig(mapping.disk, folder)); // its text explains why shapes differ
  return mapping.follow(folder);
}

Status readCompanions(const ModelFolder &folder, ExportForm &form) {
  std::vector<const char *> names = {configName};
  names.insert(names.end(), std::begin(companions), std::end(companions));
  for (const char *name : names)
    if (std::string path = folder.path() + "/" + name; pathExists(path)) {
      auto &[to, text] = form.files.emplace_back(name, "");
      TP_TRY(readText(path, text, maxCompanion));
    }
  return {};
}

} // namespace

Status tplan::runtime::loadModel(tp_rank &rank, const std::string &path) {
  TP_TRY(rank.peers.alike(hasMap(*rank.program, "--load", path)));
  ModelFolder folder;
  Mapping mapping(rank);
  TP_TRY(rank.peers.agree(openModel(path, folder, mapping)));
  std::vector<std::vector<FileTensor>> byFile(folder.files().size());
  for (FileTensor &tensor : mapping.tensors)
    byFile[folder.tensors().find(tensor.name)->second.file].push_back(std::move(tensor));
  Status status;
  for (size_t i = 0; i < byFile.size() && status.ok(); ++i)
    status = folder.files()[i].copyTo(byFile[i]);
  return rank.peers.agree(std::move(status));
}

Status tplan::runtime::readExportForm(tp_rank &rank, const std::string &like, ExportForm &form) {
  TP_TRY(rank.peers.alike(hasMap(*rank.program, "--export", like)));
  Mapping mapping(rank);
  auto read = [&]() -> Status {
    ModelFolder folder;
    TP_TRY(openModel(like, folder, mapping));
    return rank.peers.leads() ? readCompanions(folder, form) : Status();
  };
  if (!like.empty())
    TP_TRY(rank.peers.agree(read()));
  else if (rank.peers.leads())
    form.files.emplace_back(configName, writeConfig(mapping.disk, mapping.type()));
  for (const FileTensor &tensor : mapping.tensors)
    form.tensors.emplace_back(tensor.name, tensor.type);
  return {};
}

static Status checkEmpty(const std::string &folder) {
  TP_TRY(makeDirectory(folder)); // if it cannot be made, the error comes before the training
  std::vector<std::string> names;
  TP_TRY(listDirectory(folder, names));
  if (names.empty())
    return {};
  return errorf("--export writes a folder of its own, and '%s' holds '%s'%s: remove it, or choose "
                "another one",
                folder.c_str(), names[0].c_str(), names.size() > 1 ? " and more" : "");
}

Status tplan::runtime::checkExport(tp_rank &rank, const std::string &folder) {
  TP_TRY(rank.peers.alike(hasMap(*rank.program, "--export", folder)));
  return rank.peers.agree(rank.peers.leads() ? checkEmpty(folder) : Status());
}

namespace {

using Shard = std::vector<FileTensor>;

/// Tensors in their order, as many in a file as fit.
std::vector<Shard> cut(std::vector<FileTensor> tensors, int64_t most) {
  std::vector<Shard> shards(1);
  int64_t bytes = 0;
  for (FileTensor &tensor : tensors) {
    if (!shards.back().empty() && bytes + tensor.bytes() > most) {
      shards.emplace_back();
      bytes = 0;
    }
    bytes += tensor.bytes();
    shards.back().push_back(std::move(tensor));
  }
  return shards;
}

std::string shardName(size_t i, size_t count) {
  return count == 1 ? weightsName : format("model-%05zu-of-%05zu.safetensors", i + 1, count);
}

std::string indexText(const std::vector<Shard> &shards) {
  int64_t bytes = 0;
  std::map<std::string, std::string> files;
  for (size_t i = 0; i < shards.size(); ++i)
    for (const FileTensor &tensor : shards[i]) {
      bytes += tensor.bytes();
      files[tensor.name] = shardName(i, shards.size());
    }
  nlohmann::json index = {{"metadata", {{"total_size", bytes}}}, {"weight_map", files}};
  return index.dump(2, ' ', false, nlohmann::json::error_handler_t::replace) + "\n";
}

Status beginFolder(const std::string &temporary) {
  if (pathExists(temporary)) // of a run that died
    TP_TRY(removeDirectory(temporary));
  return makeDirectory(temporary);
}

Status finishFolder(const std::string &temporary, const std::string &folder, const ExportForm &form,
                    const std::vector<Shard> &shards) {
  for (auto &[name, text] : form.files)
    TP_TRY(writeText(temporary + "/" + name, text));
  if (shards.size() > 1)
    TP_TRY(writeText(temporary + "/" + indexName, indexText(shards)));
  return renamePath(temporary, folder);
}

} // namespace

Status tplan::runtime::exportModel(tp_rank &rank, const std::string &path, const ExportForm &form,
                                   int64_t bytesOfFile) {
  Peers &peers = rank.peers;
  Mapping mapping(rank);
  for (size_t i = 0; i < form.tensors.size(); ++i)
    std::tie(mapping.tensors[i].name, mapping.tensors[i].type) = form.tensors[i];
  std::vector<Shard> shards = cut(std::move(mapping.tensors), bytesOfFile);
  std::string folder = path;
  while (folder.size() > 1 && folder.back() == '/')
    folder.pop_back();
  std::string temporary = folder + ".unfinished";
  auto write = [&]() -> Status {
    TP_TRY(peers.agree(peers.leads() ? beginFolder(temporary) : Status()));
    for (size_t i = 0; i < shards.size(); ++i)
      TP_TRY(writeSafetensors(peers, rank.team, temporary + "/" + shardName(i, shards.size()),
                              shards[i]));
    return peers.agree(peers.leads() ? finishFolder(temporary, folder, form, shards) : Status());
  };
  Status status = write();
  if (!status.ok() && peers.leads() && pathExists(temporary))
    (void)removeDirectory(temporary); // the first error is the one that is reported
  return status;
}
