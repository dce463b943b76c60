//===- cudnn_call.cpp - an execution on its way through a stream --------------------===//
//
// Decision: memory is checked when the call is made and when its turn has come, because a graph may
// run it after something was freed. The workspace is filled with NaN before an engine works, so
// nothing lasts in it.
//
//===----------------------------------------------------------------------===//

#include "cudnn_call.h"

#include "libraries.h"

#include <algorithm>
#include <cstring>
#include <vector>

using namespace standin;
using namespace standin::dnn;

namespace {

struct Range : Access {
  std::string name;
  int64_t alignment;
};

constexpr int64_t workspaceAlignment = 256;

std::vector<Range> rangesOf(const Call &call) {
  std::vector<Range> all;
  for (auto &[id, place] : call.arrays) {
    const Tensor &it = call.engine.graph->tensors.at(id);
    bool isWritten = call.engine.graph->producerOf(id) != nullptr;
    all.push_back({{place, it.extent() * bytesOf(it.type), isWritten},
                   format("array %lld", (long long)id),
                   it.alignment});
  }
  if (call.engine.workspace)
    all.push_back({{call.workspace, (size_t)call.engine.workspace, true},
                   "the workspace",
                   workspaceAlignment});
  return all;
}

void run(void *data) {
  auto *call = (Call *)data;
  // Once more: by the time that a graph runs, memory may have been freed.
  if (Verdict verdict = checkMemory(*call); !verdict.ok()) {
    report("attention in its stream", verdict);
  } else {
    std::map<int64_t, char *> memory;
    for (auto &[id, place] : call->arrays)
      memory[id] = hostOf(place, 1);
    for (auto &[id, number] : call->numbers)
      memory[id] = (char *)&number;
    if (call->engine.workspace)
      memset(hostOf(call->workspace, 1), 0xFF, call->engine.workspace);
    evaluate(*call->engine.graph, memory);
  }
  if (!call->isKept)
    delete call;
}

} // namespace

int dnn::report(const char *function, const Verdict &verdict) {
  if (!verdict.ok())
    complain(format("standin cuDNN: %s: %s", function, verdict.why.c_str()));
  return verdict.status;
}

Verdict dnn::bind(const Descriptor &pack, Call &call) {
  auto ids = pack.all<int64_t>(packIds);
  auto pointers = pack.all<char *>(packPointers);
  std::vector<int64_t> wanted = call.engine.graph->givenIds(), sorted = ids;
  std::sort(sorted.begin(), sorted.end());
  if (sorted != wanted)
    return {badParam,
            format("a variant pack of %zu pointers for %zu arrays and numbers, or of others",
                   ids.size(), wanted.size())};
  for (size_t i = 0; i < ids.size(); ++i) {
    if (!pointers[i])
      return {nullPointer, format("no pointer to array %lld", (long long)ids[i])};
    if (call.engine.graph->tensors.at(ids[i]).isByValue)
      memcpy(&call.numbers[ids[i]], pointers[i], sizeof(float));
    else
      call.arrays[ids[i]] = pointers[i];
  }
  call.workspace = pack.value<char *>(packWorkspace);
  return {};
}

Verdict dnn::checkMemory(const Call &call) {
  std::vector<Range> all = rangesOf(call);
  for (const Range &it : all) {
    if (!hostOf(it.at, it.bytes))
      return {badParam, format("%s is not in device memory with all of its %zu bytes: %p",
                               it.name.c_str(), it.bytes, it.at)};
    if ((uintptr_t)it.at % it.alignment)
      return {misaligned, format("%s is not aligned to %lld bytes: %p", it.name.c_str(),
                                 (long long)it.alignment, it.at)};
  }
  // Heads of two arrays may lie between each other, but may not begin at one place, nor lie in the
  // workspace.
  for (const Range &one : all)
    for (const Range &other : all) {
      bool isWorkspace = one.name == "the workspace";
      bool meets = isWorkspace ? overlap(one, other) : one.at == other.at;
      if (&one != &other && one.isWritten && meets)
        return {badParam, format("%s is written, and shares memory with %s", one.name.c_str(),
                                 other.name.c_str())};
    }
  return {};
}

Verdict dnn::enqueue(std::unique_ptr<Call> call, void *stream) {
  if (Verdict verdict = checkMemory(*call); !verdict.ok())
    return verdict;
  call->isKept = isCapturing(stream);
  std::vector<Range> all = rangesOf(*call);
  if (std::string why = issue(stream, run, call.get(), {all.begin(), all.end()}); !why.empty())
    return {executionFailed, why};
  (void)call.release(); // the host function's, or the graph's that has it
  return {};
}
