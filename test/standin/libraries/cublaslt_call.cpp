//===- cublaslt_call.cpp - a call of cublasLtMatmul on its way through a stream ---===//
//
// Decision: memory is checked when the call is made and when its turn has come: a graph may
// run it after something was freed.
//
//===----------------------------------------------------------------------===//

#include "cublaslt_call.h"

#include "libraries.h"

#include <vector>

using namespace standin;
using namespace standin::lt;

namespace {

/// Memory that a call reads or writes.
struct Range : Access {
  const char *name;
  Operand alignedAs;
};

std::vector<Range> rangesOf(const Call &call) {
  const Problem &it = call.problem;
  std::vector<Range> all = {{{call.a, extentOf(it.a), false}, "A", operandA},
                            {{call.b, extentOf(it.b), false}, "B", operandB},
                            {{call.d, extentOf(it.d), true}, "D", operandD}};
  if (call.beta != 0)
    all.push_back({{call.c, extentOf(it.c), false}, "C", operandC});
  if (it.usesBias()) {
    size_t length = (it.batch - 1) * it.biasStride + it.biasLength();
    all.push_back(
        {{call.bias, length * bytesOf(it.biasType), it.gradientOfBias()}, "the bias", operandBias});
  }
  if (it.usesAux()) {
    size_t length = (it.batch - 1) * it.auxStride + (it.n - 1) * it.auxLd + it.m;
    all.push_back({{call.aux, length * bytesOf(it.auxType), it.writesAux()},
                   "the auxiliary matrix",
                   operandD});
  }
  bool isInBlocks = it.panel() < it.k;
  auto addScales = [&](const void *at, const char *name, int mode, int64_t rows) {
    if (it.isEight() && at)
      all.push_back({{at, size_t(4 * countOfScales(mode, rows, it.k)), false},
                     name,
                     isInBlocks ? alignedTo16 : alignedTo4});
  };
  addScales(call.aScale, "scales of A", it.aScaleMode, it.m);
  addScales(call.bScale, "scales of B", it.bScaleMode, it.n);
  if (call.workspaceBytes)
    all.push_back({{call.workspace, call.workspaceBytes, true}, "the workspace", alignedOperands});
  return all;
}

Verdict checkRange(const Range &range, const Algorithm &algorithm) {
  if (!hostOf(range.at, range.bytes))
    return {invalidValue, format("%s is not in device memory with all of its %zu bytes: %p",
                                 range.name, range.bytes, range.at)};
  int needed = range.alignedAs == alignedOperands ? 8
               : range.alignedAs == alignedTo16   ? 4
               : range.alignedAs == alignedTo4    ? 2
                                                  : algorithm.alignment[range.alignedAs];
  if (logOfAlignment((uint64_t)range.at) < needed)
    return {range.alignedAs >= alignedOperands ? invalidValue : notSupported,
            format("%s is not aligned to %d bytes, as the algorithm was asked for: %p", range.name,
                   1 << needed, range.at)};
  return {};
}

/// C may be D; nothing else may share memory with what is written.
bool mayOverlap(const Call &call, const Range &one, const Range &other) {
  const Problem &it = call.problem;
  auto layout = [&](const Range &range) -> const Layout * {
    char name = range.name[1] == 0 ? range.name[0] : 0;
    return name == 'A' ? &it.a : name == 'B' ? &it.b : name == 'C' ? &it.c : name ? &it.d : nullptr;
  };
  bool isCD = one.name[0] == 'D' && other.name[0] == 'C' && !other.name[1];
  if (isCD && one.at == other.at && it.c.ld == it.d.ld && it.c.stride == it.d.stride)
    return true;
  int64_t distance = (const char *)other.at - (const char *)one.at;
  if (layout(one) && layout(other))
    return !lt::overlap(*layout(one), *layout(other), distance);
  return !standin::overlap(one, other);
}

void run(void *data) {
  auto *call = (Call *)data;
  // Once more: by the time that a graph runs, memory may have been freed.
  if (Verdict verdict = checkMemory(*call); !verdict.ok())
    report("a matmul in its stream", verdict);
  else {
    auto host = [](const void *device) { return hostOf(device, 1); };
    Operands at = {host(call->a),
                   host(call->b),
                   call->beta != 0 ? host(call->c) : nullptr,
                   host(call->d),
                   host(call->bias),
                   host(call->aux),
                   host(call->workspace),
                   (const float *)host(call->aScale),
                   (const float *)host(call->bScale)};
    usleep(slowness(call->algorithm, call->problem));
    multiply(call->algorithm.method(), call->problem, call->alpha, call->beta, at);
  }
  if (!call->isKept)
    delete call;
}

} // namespace

int lt::report(const char *function, const Verdict &verdict) {
  if (!verdict.ok())
    complain(format("standin cublasLt: %s: %s", function, verdict.why.c_str()));
  return verdict.status;
}

Verdict lt::checkMemory(const Call &call) {
  std::vector<Range> all = rangesOf(call);
  for (const Range &range : all)
    if (Verdict verdict = checkRange(range, call.algorithm); !verdict.ok())
      return verdict;
  for (const Range &one : all)
    for (const Range &other : all)
      if (&one != &other && one.isWritten && !mayOverlap(call, one, other))
        return {invalidValue, format("%s shares memory with %s: %p and %p", one.name, other.name,
                                     one.at, other.at)};
  return {};
}

Verdict lt::enqueue(std::unique_ptr<Call> call, void *stream) {
  call->isKept = isCapturing(stream);
  std::vector<Range> all = rangesOf(*call);
  if (std::string why = issue(stream, run, call.get(), {all.begin(), all.end()}); !why.empty())
    return {executionFailed, why};
  (void)call.release(); // the host function's, or the graph's that has it
  return {};
}
