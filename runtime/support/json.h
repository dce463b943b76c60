//===- json.h - strict reading of small JSON files --------------------------===//
//
// nlohmann's parser, made strict: duplicate keys, deep nesting, more values than there can be and
// anything after a zero byte are refused, and errors name the byte.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_JSON_H
#define TPLAN_RUNTIME_SUPPORT_JSON_H

#include "runtime/support/status.h"

#include <nlohmann/json.hpp>
#include <string_view>

namespace tplan::runtime {

/// Values that a JSON file of ours holds at most; a parsed one takes some hundred bytes.
constexpr int64_t mostValues = 10'000;

/// Parses `text`; `file` and `base` (its offset in the file) are for errors.
Status parseJson(std::string_view text, const std::string &file, int64_t base,
                 nlohmann::json &value, int64_t most = mostValues);

/// A member of an object, by type; errors name file and key.
Status getInteger(const nlohmann::json &object, const char *key, const std::string &file,
                  int64_t &value);
Status getString(const nlohmann::json &object, const char *key, const std::string &file,
                 std::string &value);
Status getObject(const nlohmann::json &object, const char *key, const std::string &file,
                 const nlohmann::json *&value);

/// A string as JSON, quoted.
std::string quoteJson(std::string_view text);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_JSON_H
