//===- cudnn.cpp - the functions of the stand-in for cuDNN ---------------------------===//
//
// Decision: descriptors are looked up among those that live, so that one that was destroyed is an
// error here, and not what is in its memory by then.
//
//===----------------------------------------------------------------------===//

#include "cudnn_call.h"
#include "libraries.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>

using namespace standin;
using namespace standin::dnn;

namespace standin::dnn {
struct Context {
  int device;
  void *stream;
};
} // namespace standin::dnn

namespace {

thread_local std::string lastError;

int fail(const char *function, const Verdict &verdict) {
  if (verdict.ok())
    return success;
  lastError = verdict.why;
  return report(function, verdict);
}

/// What the caller holds.
struct Living {
  std::mutex lock;
  std::map<Raw, std::shared_ptr<Descriptor>> descriptors;
  std::map<Handle, std::unique_ptr<Context>> contexts;

  static Living &instance() {
    static auto *living = new Living; // other threads may be at work when statics end
    return *living;
  }
  std::shared_ptr<Descriptor> find(Raw raw) {
    std::lock_guard guard(lock);
    auto it = descriptors.find(raw);
    return it == descriptors.end() ? nullptr : it->second;
  }
  Context *find(Handle handle) {
    std::lock_guard guard(lock);
    auto it = contexts.find(handle);
    return it == contexts.end() ? nullptr : it->second.get();
  }
};

std::shared_ptr<Descriptor> find(Raw raw) { return Living::instance().find(raw); }
const Verdict noDescriptor = {badParam, "not a descriptor, or destroyed before"};

Verdict checkHandle(Handle handle) {
  Context *context = Living::instance().find(handle);
  if (!context)
    return {badParam, "not a handle, or destroyed before"};
  if (int device = currentDevice(); device != context->device)
    return {badParam,
            format("the handle is of device %d, the current one is %d", context->device, device)};
  return {};
}

/// Descriptors that become attributes of another are final.
Verdict setParts(Descriptor &to, int attribute, int64_t count, const void *values) {
  std::vector<std::shared_ptr<const Descriptor>> parts;
  for (int64_t i = 0; i < count; ++i) {
    std::shared_ptr<Descriptor> part = find(((const Raw *)values)[i]);
    if (!part)
      return noDescriptor;
    if (!part->isFinal)
      return {notFinalized, format("a descriptor of kind %d is not finalized", part->kind)};
    parts.push_back(std::move(part));
  }
  to.parts[attribute] = std::move(parts);
  return {};
}

Verdict set(Descriptor *to, int attribute, int type, int64_t count, const void *values) {
  if (!to)
    return noDescriptor;
  if (to->isFinal)
    return {badParam, "a descriptor that is finalized takes no more attributes"};
  if (Verdict verdict = checkAttribute(to->kind, attribute, type, count); !verdict.ok())
    return verdict;
  if (!values)
    return {nullPointer, "no values"};
  if (type == isDescriptor)
    return setParts(*to, attribute, count, values);
  if (type == isHandle)
    if (Verdict verdict = checkHandle(*(const Handle *)values); !verdict.ok())
      return verdict;
  auto *bytes = (const char *)values;
  to->attributes[attribute].assign(bytes, bytes + count * bytesOfAttribute(type));
  return {};
}

Verdict finalizePack(const Descriptor &it) {
  auto ids = it.all<int64_t>(packIds);
  if (ids.size() != it.all<void *>(packPointers).size())
    return {badParam, "as many pointers as ids"};
  std::sort(ids.begin(), ids.end());
  if (std::adjacent_find(ids.begin(), ids.end()) != ids.end())
    return {duplicated, "an id twice"};
  return {};
}

Verdict finalize(Descriptor *it) {
  if (!it)
    return noDescriptor;
  if (it->isFinal)
    return {badParam, "finalized twice"};
  if (it->kind == kindEngine || it->kind == kindEngineConfig)
    return {notSupported, "no model of engines but those that heuristics offer"};
  Verdict verdict = checkComplete(*it);
  if (!verdict.ok())
    return verdict;
  if (it->kind == kindGraph) {
    auto graph = std::make_shared<Graph>();
    verdict = makeGraph(it->parts.at(graphOperations), *graph);
    it->graph = graph;
  } else if (it->kind == kindHeuristic) {
    verdict =
        findEngines(it->part(heuristicGraph)->graph, it->value<int>(heuristicMode), it->engines);
    if (verdict.status == graphPattern || verdict.status == notSupported)
      verdict = {}; // no results, as the library answers
  } else if (it->kind == kindPlan) {
    it->engines = it->part(planConfig)->engines;
    if (!it->engines.front().compiles)
      verdict = {notSupported, "the engine does not compile"};
  } else if (it->kind == kindVariantPack) {
    verdict = finalizePack(*it);
  }
  it->isFinal = verdict.ok();
  return verdict;
}

/// What heuristics offer goes into descriptors that the caller has made for it.
Verdict getResults(const Descriptor &from, int64_t room, int64_t *count, void *values) {
  int64_t all = (int64_t)from.engines.size();
  *count = room ? std::min(room, all) : all;
  for (int64_t i = 0; room && i < *count; ++i) {
    std::shared_ptr<Descriptor> to = find(((Raw *)values)[i]);
    if (!to || to->kind != kindEngineConfig)
      return {badParam, "results go into configurations of engines"};
    to->engines = {from.engines[i]};
    to->isFinal = true;
  }
  return {};
}

Verdict get(const Descriptor *from, int attribute, int type, int64_t room, int64_t *count,
            void *values) {
  if (!from)
    return noDescriptor;
  if (!from->isFinal)
    return {notFinalized, "a descriptor that is not finalized"};
  if (!count || (room && !values) || room < 0)
    return {nullPointer, "no place for the values"};
  auto is = [&](int kind, int number, int numberType) {
    return from->kind == kind && attribute == number && type == numberType;
  };
  if (is(kindHeuristic, heuristicResults, isDescriptor))
    return getResults(*from, room, count, values);
  *count = 1;
  if (room < 1)
    return {badParam, "no room for the value"};
  if (is(kindEngineConfig, configEngine, isDescriptor)) {
    std::shared_ptr<Descriptor> to = find(*(Raw *)values);
    if (!to || to->kind != kindEngine)
      return {badParam, "an engine goes into a descriptor of one"};
    to->engines = from->engines;
    to->isFinal = true;
  } else if (is(kindEngine, engineNote, isNumericalNote)) {
    auto *notes = (int *)values;
    notes[0] = noteTensorCore;
    if (!from->engines.front().isDeterministic && room > 1)
      notes[(*count)++] = noteNondeterministic;
  } else if (is(kindPlan, planWorkspace, isInt64)) {
    *(int64_t *)values = from->engines.front().workspace;
  } else {
    return {badParam,
            format("descriptors of kind %d do not tell attribute %d", from->kind, attribute)};
  }
  return {};
}

Verdict execute(Handle handle, const Descriptor *plan, const Descriptor *pack) {
  if (Verdict verdict = checkHandle(handle); !verdict.ok())
    return verdict;
  if (!plan || !pack || plan->kind != kindPlan || pack->kind != kindVariantPack)
    return {badParam, "a plan and a variant pack are executed"};
  if (!plan->isFinal || !pack->isFinal)
    return {notFinalized, "a descriptor that is not finalized"};
  if (plan->value<Handle>(planHandle) != handle)
    return {badParam, "the plan was made with another handle"};
  auto call = std::make_unique<Call>();
  call->engine = plan->engines.front();
  if (Verdict verdict = bind(*pack, *call); !verdict.ok())
    return verdict;
  return enqueue(std::move(call), Living::instance().find(handle)->stream);
}

} // namespace

STANDIN_EXPORT size_t cudnnGetVersion() {
  return (size_t)setting("STANDIN_CUDNN_VERSION", version);
}
STANDIN_EXPORT const char *cudnnGetErrorString(int status) {
  switch (status / 1000) {
  case 0:
    return "CUDNN_STATUS_SUCCESS";
  case 1:
    return "CUDNN_STATUS_NOT_INITIALIZED";
  case 2:
    return "CUDNN_STATUS_BAD_PARAM";
  case 3:
    return "CUDNN_STATUS_NOT_SUPPORTED";
  default:
    return "CUDNN_STATUS_EXECUTION_FAILED";
  }
}
STANDIN_EXPORT void cudnnGetLastErrorString(char *message, size_t room) {
  if (message && room)
    snprintf(message, room, "%s", lastError.c_str());
}

STANDIN_EXPORT int cudnnCreate(Handle *handle) {
  if (!handle)
    return fail("cudnnCreate", {nullPointer, "no place for the handle"});
  std::string why;
  if (!findDriver(why))
    return fail("cudnnCreate", {notInitialized, why});
  int device = currentDevice();
  if (device < 0)
    return fail("cudnnCreate", {notInitialized, "no context is current"});
  auto context = std::make_unique<Context>(Context{device, nullptr});
  *handle = context.get();
  Living &living = Living::instance();
  std::lock_guard guard(living.lock);
  living.contexts[*handle] = std::move(context);
  return success;
}
STANDIN_EXPORT int cudnnDestroy(Handle handle) {
  Living &living = Living::instance();
  std::lock_guard guard(living.lock);
  if (!living.contexts.erase(handle))
    return fail("cudnnDestroy", {badParam, "not a handle, or destroyed before"});
  return success;
}
STANDIN_EXPORT int cudnnSetStream(Handle handle, void *stream) {
  Verdict verdict = checkHandle(handle);
  if (verdict.ok())
    Living::instance().find(handle)->stream = stream;
  return fail("cudnnSetStream", verdict);
}

STANDIN_EXPORT int cudnnBackendCreateDescriptor(int kind, Raw *raw) {
  if (!raw)
    return fail("cudnnBackendCreateDescriptor", {nullPointer, "no place for the descriptor"});
  if (!isKnown(kind))
    return fail("cudnnBackendCreateDescriptor",
                {notSupported, format("no model of descriptors of kind %d", kind)});
  auto made = std::make_shared<Descriptor>();
  made->kind = kind;
  *raw = made.get();
  Living &living = Living::instance();
  std::lock_guard guard(living.lock);
  living.descriptors[*raw] = std::move(made);
  return success;
}
STANDIN_EXPORT int cudnnBackendDestroyDescriptor(Raw raw) {
  Living &living = Living::instance();
  std::lock_guard guard(living.lock);
  if (!living.descriptors.erase(raw))
    return fail("cudnnBackendDestroyDescriptor", noDescriptor);
  return success;
}
STANDIN_EXPORT int cudnnBackendSetAttribute(Raw raw, int attribute, int type, int64_t count,
                                            const void *values) {
  return fail("cudnnBackendSetAttribute", ::set(find(raw).get(), attribute, type, count, values));
}
STANDIN_EXPORT int cudnnBackendGetAttribute(Raw raw, int attribute, int type, int64_t room,
                                            int64_t *count, void *values) {
  return fail("cudnnBackendGetAttribute",
              ::get(find(raw).get(), attribute, type, room, count, values));
}
STANDIN_EXPORT int cudnnBackendFinalize(Raw raw) {
  Verdict verdict = finalize(find(raw).get());
  // What an engine cannot do is an answer, and not a mistake of the caller.
  if (verdict.status == notSupported) {
    lastError = verdict.why;
    return verdict.status;
  }
  return fail("cudnnBackendFinalize", verdict);
}
STANDIN_EXPORT int cudnnBackendExecute(Handle handle, Raw plan, Raw pack) {
  return fail("cudnnBackendExecute", execute(handle, find(plan).get(), find(pack).get()));
}
