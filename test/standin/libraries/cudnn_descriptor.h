//===- cudnn_descriptor.h - descriptors of the stand-in for cuDNN -------------------===//
#ifndef TPLAN_TEST_STANDIN_CUDNN_DESCRIPTOR_H
#define TPLAN_TEST_STANDIN_CUDNN_DESCRIPTOR_H

#include "cudnn_api.h"

#include <array>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace standin::dnn {

struct Verdict {
  int status = success;
  std::string why;
  bool ok() const { return status == success; }
};

struct Graph;

/// How an engine computes a graph.
struct Engine {
  std::shared_ptr<const Graph> graph;
  bool isDeterministic = true, compiles = true;
  int64_t workspace = 0;
};

/// A descriptor of any kind: attributes by number, as bytes, and what finalizing makes of them.
/// Descriptors that are attributes are kept: the caller may destroy them.
struct Descriptor {
  int kind = 0;
  bool isFinal = false;
  std::map<int, std::vector<char>> attributes;
  std::map<int, std::vector<std::shared_ptr<const Descriptor>>> parts;
  std::shared_ptr<const Graph> graph; // of a graph
  std::vector<Engine> engines;        // of heuristics: what they offer; else its own

  template <typename T> std::vector<T> all(int attribute) const {
    auto it = attributes.find(attribute);
    std::vector<T> values;
    if (it == attributes.end())
      return values;
    values.resize(it->second.size() / sizeof(T));
    __builtin_memcpy(values.data(), it->second.data(), it->second.size());
    return values;
  }
  template <typename T> T value(int attribute, T otherwise = {}) const {
    if (auto it = attributes.find(attribute); it != attributes.end())
      __builtin_memcpy(&otherwise, it->second.data(), sizeof otherwise);
    return otherwise;
  }
  const Descriptor *part(int attribute) const {
    auto it = parts.find(attribute);
    return it == parts.end() ? nullptr : it->second.front().get();
  }
};

/// Whether a kind is known, takes an attribute of a type and count, and has all that it needs.
bool isKnown(int kind);
Verdict checkAttribute(int kind, int attribute, int type, int64_t count);
Verdict checkComplete(const Descriptor &descriptor);
/// Bytes of one value of an attribute type; 0: unknown.
size_t bytesOfAttribute(int type);

} // namespace standin::dnn

#endif // TPLAN_TEST_STANDIN_CUDNN_DESCRIPTOR_H
