//===- cublaslt_algorithm.cpp - what stands in the 64 bytes of an algorithm ------===//

#include "cublaslt_algorithm.h"

#include "libraries.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstring>

using namespace standin;
using namespace standin::lt;

namespace {

constexpr uint64_t magic = 0x4d4c476e69647473; // "stdinGLM"
constexpr int leastAlignment = 4;              // 16 bytes, of cublasLtMatmulAlgoInit

uint64_t checksumOf(const Algorithm &it) {
  uint64_t words[8], sum = 0;
  memcpy(words, &it, sizeof words);
  for (int i = 0; i < 7; ++i)
    sum = mix(sum * 31 + words[i]);
  return sum;
}
static_assert(offsetof(Algorithm, checksum) == 56);

/// Splitting pays where D is too small to be computed in many tiles side by side.
std::array<Method, methods> inOrder(const Problem &it) {
  std::array<Method, methods> order = {ascending, halves, blocks, rounded};
  if (it.k >= 4 * std::max(it.m, it.n))
    std::swap(order[0], order[1]);
  int first = (int)setting("STANDIN_CUBLASLT_FIRST", -1);
  auto place = std::find(order.begin(), order.end(), (Method)first);
  if (place != order.end())
    std::rotate(order.begin(), place, place + 1);
  return order;
}

} // namespace

size_t lt::currentVersion() { return (size_t)setting("STANDIN_CUBLASLT_VERSION", version); }

int lt::logOfAlignment(uint64_t address) {
  return std::min(8, address ? std::countr_zero(address) : 8);
}

Algorithm lt::makeAlgorithm(Method method, uint64_t types) {
  Algorithm it = {};
  it.magic = magic, it.version = currentVersion();
  it.types = types;
  it.id = method;
  it.splits = isInHalves(method) ? 2 : 1;
  it.scheme = method == ascending ? schemeNone
              : method == rounded ? schemeOutputType
                                  : schemeComputeType;
  std::fill_n(it.alignment, alignedOperands, leastAlignment);
  return it;
}

Algo lt::seal(Algorithm algorithm) {
  algorithm.checksum = checksumOf(algorithm);
  Algo algo = {};
  memcpy(&algo, &algorithm, sizeof algorithm);
  return algo;
}

Verdict lt::unseal(const Algo &algo, Algorithm &it) {
  memcpy(&it, &algo, sizeof it);
  if (it.magic != magic || it.checksum != checksumOf(it) || it.id >= methods)
    return {invalidValue, "the algorithm is none that this library made, or was changed"};
  if (it.version != currentVersion())
    return {invalidValue, format("the algorithm was made by version %llu, this is %zu",
                                 (unsigned long long)it.version, currentVersion())};
  return {};
}

Verdict lt::unsealFor(const Algo &algo, const Problem &problem, Algorithm &it) {
  Verdict verdict = unseal(algo, it);
  if (!verdict.ok())
    return verdict;
  uint64_t types = hashOfTypes(problem.compute, problem.scale, problem.a.type, problem.b.type,
                               problem.c.type, problem.d.type);
  if (it.types != types || (it.problem && it.problem != hashOf(problem)))
    return {invalidValue, format("algorithm %u was made for another problem than %lld x %lld x "
                                 "%lld, batch %d, epilogue %u",
                                 it.id, (long long)problem.m, (long long)problem.n,
                                 (long long)problem.k, problem.batch, problem.epilogue)};
  return {};
}

int lt::slowness(const Algorithm &algorithm, const Problem &problem) {
  int chosen = (int)setting("STANDIN_CUBLASLT_FAST", -1);
  bool isFast = mix(hashOf(problem) + chosen) % exactMethods == algorithm.id;
  return chosen < 0 || isFast ? 0 : 1000;
}

int lt::findAlgorithms(const Problem &problem, const Preference &preference, const void *bias,
                       std::span<HeuristicResult> results) {
  uint64_t types = hashOfTypes(problem.compute, problem.scale, problem.a.type, problem.b.type,
                               problem.c.type, problem.d.type);
  size_t count = 0;
  for (Method method : inOrder(problem)) {
    if (method == rounded && bytesOf(problem.d.type) > 2)
      continue;
    Algorithm it = makeAlgorithm(method, types);
    it.problem = hashOf(problem);
    size_t workspace = workspaceOf(method, problem);
    bool mayReduce = it.scheme == schemeNone || preference.schemes & it.scheme;
    if (workspace > preference.maxWorkspace || !mayReduce || count == results.size())
      continue;
    for (int i = 0; i < 4; ++i)
      it.alignment[i] = logOfAlignment(preference.alignment[i]);
    it.alignment[operandBias] = logOfAlignment((uint64_t)bias);
    HeuristicResult &result = results[count++];
    result = {seal(it), workspace, success, 0.25f * (float)count, {}};
  }
  return (int)count;
}
