//===- json.cpp - strict reading of small JSON files ------------------------===//

#include "runtime/support/json.h"

#include "runtime/support/text.h"

#include <set>

using namespace tplan::runtime;
using nlohmann::json;

namespace {

constexpr size_t maxDepth = 8;

/// Forwards to the parser that builds the value, and stops at what it admits.
struct StrictSax : json::json_sax_t {
  StrictSax(json &value, int64_t most) : build(value, false), most(most), left(most) {}
  bool null() override { return count() && build.null(); }
  bool boolean(bool value) override { return count() && build.boolean(value); }
  bool number_integer(json::number_integer_t value) override {
    return count() && build.number_integer(value);
  }
  bool number_unsigned(json::number_unsigned_t value) override {
    return count() && build.number_unsigned(value);
  }
  bool number_float(json::number_float_t value, const std::string &text) override {
    return count() && build.number_float(value, text);
  }
  bool string(std::string &value) override { return count() && build.string(value); }
  bool binary(json::binary_t &value) override { return count() && build.binary(value); }
  bool start_object(size_t size) override {
    keys.emplace_back();
    return count() && checkDepth() && build.start_object(size);
  }
  bool end_object() override {
    keys.pop_back();
    return build.end_object();
  }
  bool start_array(size_t size) override {
    keys.emplace_back();
    return count() && checkDepth() && build.start_array(size);
  }
  bool end_array() override {
    keys.pop_back();
    return build.end_array();
  }
  bool key(std::string &name) override {
    if (!keys.back().insert(name).second) {
      problem = "the key '" + shown(name) + "' stands twice";
      return false;
    }
    return build.key(name);
  }
  bool parse_error(size_t at, const std::string &, const json::exception &) override {
    position = at;
    problem = "JSON is malformed";
    return false;
  }
  bool count() {
    if (--left < 0)
      problem = "JSON holds more than " + std::to_string(most) + " values";
    return left >= 0;
  }
  bool checkDepth() {
    if (keys.size() > maxDepth)
      problem = "JSON nests deeper than " + std::to_string(maxDepth);
    return keys.size() <= maxDepth;
  }

  nlohmann::detail::json_sax_dom_parser<json> build;
  std::vector<std::set<std::string>> keys;
  std::string problem;
  int64_t most, left;
  size_t position = 0; // 0: not known
};

Status missing(const char *key, const std::string &file, const char *type) {
  return errorf("'%s': '%s' is missing or is not %s", file.c_str(), key, type);
}

} // namespace

Status tplan::runtime::parseJson(std::string_view text, const std::string &file, int64_t base,
                                 json &value, int64_t most) {
  StrictSax sax(value, most);
  // To nlohmann's parser the text ends there.
  if (size_t zero = text.find('\0'); zero != text.npos)
    return errorf("'%s', byte %lld: JSON is malformed", file.c_str(),
                  (long long)(base + (int64_t)zero));
  if (json::sax_parse(text.begin(), text.end(), &sax) && sax.problem.empty())
    return {};
  if (sax.position)
    return errorf("'%s', byte %lld: %s", file.c_str(),
                  (long long)(base + (int64_t)sax.position - 1), sax.problem.c_str());
  return errorf("'%s': %s", file.c_str(), sax.problem.c_str());
}

Status tplan::runtime::getInteger(const json &object, const char *key, const std::string &file,
                                  int64_t &value) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_number_integer() ||
      (found->is_number_unsigned() && found->get<uint64_t>() > (uint64_t)INT64_MAX))
    return missing(key, file, "a whole number");
  value = found->get<int64_t>();
  return {};
}

Status tplan::runtime::getString(const json &object, const char *key, const std::string &file,
                                 std::string &value) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_string())
    return missing(key, file, "a string");
  value = found->get<std::string>();
  return {};
}

Status tplan::runtime::getObject(const json &object, const char *key, const std::string &file,
                                 const json *&value) {
  auto found = object.find(key);
  if (found == object.end() || !found->is_object())
    return missing(key, file, "an object");
  value = &*found;
  return {};
}

std::string tplan::runtime::quoteJson(std::string_view text) {
  return json(text).dump(-1, ' ', false, json::error_handler_t::replace);
}
