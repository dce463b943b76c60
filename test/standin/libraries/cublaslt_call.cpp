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
struct Range {
  const char *name;
  const void *at;
  size_t bytes;
  Operand alignedAs;
  bool isWritten;
};

std::vector<Range> rangesOf(const Call &call) {
  const Problem &it = call.problem;
  std::vector<Range> all = {{"A", call.a, extentOf(it.a), operandA, false},
                            {"B", call.b, extentOf(it.b), operandB, false},
                            {"D", call.d, extentOf(it.d), operandD, true}};
  if (call.beta != 0)
    all.push_back({"C", call.c, extentOf(it.c), operandC, false});
  if (it.usesBias())
    all.push_back({"the bias", call.bias,
                   ((it.batch - 1) * it.biasStride + it.biasLength()) * bytesOf(it.biasType),
                   operandBias, it.gradientOfBias()});
  if (it.usesAux())
    all.push_back(
        {"the auxiliary matrix", call.aux,
         ((it.batch - 1) * it.auxStride + (it.n - 1) * it.auxLd + it.m) * bytesOf(it.auxType),
         operandD, it.writesAux()});
  if (call.workspaceBytes)
    all.push_back({"the workspace", call.workspace, call.workspaceBytes, alignedOperands, true});
  return all;
}

Verdict checkRange(const Range &range, const Algorithm &algorithm) {
  if (!hostOf(range.at, range.bytes))
    return {invalidValue, format("%s is not in device memory with all of its %zu bytes: %p",
                                 range.name, range.bytes, range.at)};
  int needed = range.alignedAs == alignedOperands ? 8 : algorithm.alignment[range.alignedAs];
  if (logOfAlignment((uint64_t)range.at) < needed)
    return {range.alignedAs == alignedOperands ? invalidValue : notSupported,
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
    return !overlap(*layout(one), *layout(other), distance);
  return distance < 0 ? -distance >= (int64_t)other.bytes : distance >= (int64_t)one.bytes;
}

void run(void *data) {
  auto *call = (Call *)data;
  // Once more: by the time that a graph runs, memory may have been freed.
  if (Verdict verdict = checkMemory(*call); !verdict.ok())
    report("a matmul in its stream", verdict);
  else {
    auto host = [](const void *device) { return hostOf(device, 1); };
    Operands at = {
        host(call->a),        host(call->b),    call->beta != 0 ? host(call->c) : nullptr,
        host(call->d),        host(call->bias), host(call->aux),
        host(call->workspace)};
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
  std::string why;
  const Driver *driver = findDriver(why);
  if (!driver)
    return {notInitialized, why};
  call->isKept = isCapturing(stream);
  std::vector<Access> accesses;
  for (const Range &range : rangesOf(*call))
    accesses.push_back({range.at, range.bytes, range.isWritten});
  announce(call.get(), accesses);
  // From here it belongs to the host function, or to the graph with it.
  if (int status = driver->launchHostFunction(stream, run, call.release()))
    return {executionFailed, format("cuLaunchHostFunc failed: %d", status)};
  return {};
}
