//===- model_config.cpp - config.json against what a model is --------------===//
//
// The base of rotary positions shows in no shape, so it is compared here. One decision: null means
// the same as the key's absence, because files have both.
//
//===----------------------------------------------------------------------===//

#include "runtime/disk/model_folder.h"

#include "runtime/libraries/foreign_types.h"

#include <cmath>
#include <iterator>
#include <span>

using namespace tplan::runtime;
using nlohmann::json;

namespace {

std::span<const char *const> keysOf(const tp_config &config) {
  return {config.keys, (size_t)config.num_keys};
}

json valueOf(const tp_constant &constant) {
  switch (constant.kind) {
  case TP_BOOLEAN:
    return constant.integer != 0;
  case TP_INTEGER:
    return constant.integer;
  case TP_REAL:
    return constant.real;
  case TP_STRING:
    return constant.strings[0];
  case TP_STRINGS:
    return std::vector<std::string>(constant.strings, constant.strings + constant.num_strings);
  default:
    return nullptr;
  }
}

/// Numbers are compared with the precision of f32, because they may have been written by a program
/// that computes in it.
bool isSame(const json &found, const json &wanted) {
  if (!found.is_number() || !wanted.is_number())
    return found == wanted;
  if (found.is_number_integer() && wanted.is_number_integer())
    return found == wanted;
  return (float)found.get<double>() == (float)wanted.get<double>();
}

/// The name of one object in another, then what is left of the key.
std::string firstName(std::string_view &key) {
  size_t dot = std::min(key.find('.'), key.size());
  std::string name(key.substr(0, dot));
  key.remove_prefix(std::min(key.size(), dot + 1));
  return name;
}

/// Null where it is absent.
const json *find(const json &config, std::string_view key) {
  const json *at = &config;
  while (!key.empty()) {
    if (!at->is_object())
      return nullptr;
    auto found = at->find(firstName(key));
    if (found == at->end())
      return nullptr;
    at = &*found;
  }
  return at->is_null() ? nullptr : at;
}

std::string shown(const json &value) {
  constexpr size_t most = 80;
  std::string text = value.dump(-1, ' ', true, json::error_handler_t::replace);
  return text.size() > most ? text.substr(0, most) + " .." : text;
}

Status check(const tp_config &config, const json &settings, const std::string &file) {
  json wanted = valueOf(*config.value);
  bool isThere = false;
  for (const char *key : keysOf(config)) {
    const json *found = find(settings, key);
    if (!found)
      continue;
    isThere = true;
    if (!isSame(*found, wanted))
      return errorf("'%s': %s is %s, and this program was compiled for %s", file.c_str(), key,
                    shown(*found).c_str(), shown(wanted).c_str());
  }
  if (isThere)
    return {};
  if (!config.absent)
    return errorf("'%s' lacks %s, which is %s in this program", file.c_str(), config.keys[0],
                  shown(wanted).c_str());
  json meant = valueOf(*config.absent);
  if (isSame(meant, wanted))
    return {};
  return errorf("'%s' says nothing of %s, which means %s, and this program was compiled for %s",
                file.c_str(), config.keys[0], shown(meant).c_str(), shown(wanted).c_str());
}

/// Two types of one size could be taken for each other without an error.
Status checkTypes(const ModelFolder &folder) {
  for (const char *key : {"dtype", "torch_dtype"}) {
    const json *said = find(folder.config(), key);
    auto *name = said ? said->get_ptr<const json::string_t *>() : nullptr;
    if (!name)
      continue;
    for (auto &[tensor, place] : folder.tensors()) {
      const char *found = configTypeName(place.stored->type);
      if (found && *name != found && bytesOf(place.stored->type) == 2 &&
          (*name == "float16" || *name == "bfloat16"))
        return errorf("'%s': tensor '%s' is of %s, and %s says that they are of %s",
                      folder.files()[place.file].path().c_str(), tensor.c_str(),
                      place.stored->dtype, configName, name->c_str());
    }
  }
  return {};
}

} // namespace

const char *tplan::runtime::configTypeName(int32_t type) { return foreignType(type).config; }

Status tplan::runtime::checkConfig(const tp_disk &disk, const ModelFolder &folder) {
  for (int64_t i = 0; i < disk.num_config; ++i)
    if (!disk.config[i].only_written)
      TP_TRY(check(disk.config[i], folder.config(), folder.configPath()));
  return checkTypes(folder);
}

std::string tplan::runtime::writeConfig(const tp_disk &disk, int32_t type) {
  json all = json::object();
  for (int64_t i = 0; i < disk.num_config; ++i) {
    const tp_config &config = disk.config[i];
    json value = valueOf(*config.value);
    if (config.absent && isSame(valueOf(*config.absent), value))
      continue; // other readers take its absence to mean the same
    json *at = &all;
    for (std::string_view key = config.keys[0]; !key.empty();)
      at = &(*at)[firstName(key)];
    *at = std::move(value);
  }
  if (const char *name = configTypeName(type))
    all["torch_dtype"] = name;
  return all.dump(2, ' ', false, json::error_handler_t::replace) + "\n";
}
