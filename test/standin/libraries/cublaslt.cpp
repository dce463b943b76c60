//===- cublaslt.cpp - the functions of the stand-in for cuBLASLt ------------------===//
//
// Decision: descriptors are looked up among those that live, so that one that was destroyed
// is an error here, and not what is in its memory by then.
//
//===----------------------------------------------------------------------===//

#include "cublaslt_call.h"
#include "libraries.h"

#include <algorithm>
#include <cstring>
#include <memory>
#include <mutex>
#include <set>

using namespace standin;
using namespace standin::lt;

namespace standin::lt {
struct Context {
  int device;
};
} // namespace standin::lt

namespace {

int fail(const char *function, int status, const std::string &why) {
  return report(function, {status, why});
}
int fail(const char *function, const Verdict &verdict) { return report(function, verdict); }

/// Objects of one kind that the caller holds.
template <typename T> class Living {
public:
  template <typename... Arguments> T *make(Arguments &&...arguments) {
    T *object = new T{std::forward<Arguments>(arguments)...};
    std::lock_guard guard(lock);
    all.insert(object);
    return object;
  }
  bool has(const T *object) {
    std::lock_guard guard(lock);
    return all.count(const_cast<T *>(object));
  }
  bool remove(T *object) {
    std::lock_guard guard(lock);
    if (!all.erase(object))
      return false;
    delete object;
    return true;
  }
  static Living &instance() {
    static auto *living = new Living; // other threads may be at work when statics end
    return *living;
  }

private:
  std::mutex lock;
  std::set<T *> all;
};

template <typename T> bool isLiving(const T *object) { return Living<T>::instance().has(object); }

template <typename T> int destroy(const char *function, T *object) {
  // Null is allowed, as in the library.
  if (object && !Living<T>::instance().remove(object))
    return fail(function, invalidValue, "not a descriptor, or destroyed before");
  return success;
}

template <typename T> const Attribute *attribute(const T *object, int id) {
  auto all = attributesOf(object);
  auto it = std::find_if(all.begin(), all.end(), [&](const Attribute &a) { return a.id == id; });
  return it == all.end() ? nullptr : &*it;
}

template <typename T>
int set(const char *function, T *object, int id, const void *value, size_t size) {
  if (!isLiving(object))
    return fail(function, invalidValue, "not a descriptor, or destroyed before");
  const Attribute *it = attribute(object, id);
  if (!it)
    return fail(function, invalidValue, format("no such attribute: %d", id));
  if (!value || size != it->size)
    return fail(function, invalidValue,
                format("attribute %d has %zu bytes, not %zu", id, it->size, value ? size : 0));
  if (!it->modelled && memcmp((char *)object + it->offset, value, size) != 0)
    return fail(function, notSupported, format("an attribute without a model: %d", id));
  memcpy((char *)object + it->offset, value, size);
  return success;
}

template <typename T>
int get(const char *function, const T *object, int id, void *value, size_t size, size_t *written) {
  if (!isLiving(object))
    return fail(function, invalidValue, "not a descriptor, or destroyed before");
  const Attribute *it = attribute(object, id);
  if (!it)
    return fail(function, invalidValue, format("no such attribute: %d", id));
  if (size == 0 ? !written : !value || size != it->size)
    return fail(function, invalidValue,
                format("attribute %d has %zu bytes, not %zu", id, it->size, size));
  if (size)
    memcpy(value, (const char *)object + it->offset, size);
  if (written)
    *written = it->size;
  return success;
}

Verdict checkHandle(Handle handle) {
  if (!isLiving(handle))
    return {notInitialized, "not a handle, or destroyed before"};
  if (int device = currentDevice(); device != handle->device)
    return {notInitialized,
            format("the handle is of device %d, the current one is %d", handle->device, device)};
  return {};
}

Verdict problemOf(Handle handle, const Desc *desc, const Layout *a, const Layout *b,
                  const Layout *c, const Layout *d, Problem &problem) {
  if (Verdict verdict = checkHandle(handle); !verdict.ok())
    return verdict;
  c = c ? c : d;
  if (!isLiving(desc) || !isLiving(a) || !isLiving(b) || !isLiving(c) || !isLiving(d))
    return {invalidValue, "a descriptor is none, or was destroyed before"};
  return makeProblem(*desc, *a, *b, *c, *d, problem);
}

double scalar(const void *value, const Problem &problem) {
  return problem.isDouble() ? *(const double *)value : *(const float *)value;
}

/// Without an algorithm the library takes its first, without a preference.
Algo defaultAlgo(const Problem &problem, const void *bias) {
  HeuristicResult result = {};
  findAlgorithms(problem, Preference(), bias, {&result, 1});
  return result.algo;
}

/// Attributes of an algorithm, which lie in its bytes as numbers of these sizes.
size_t configOf(const Algorithm &it, int id, uint64_t &value) {
  switch (id) {
  case configId:
    return value = it.id, 4;
  case configSplitKNum:
    return value = it.splits, 4;
  case configReductionScheme:
    return value = it.scheme, 4;
  case configTileId:
  case configCtaSwizzling:
  case configCustomOption:
  case configStagesId:
    return value = 0, 4;
  case configInnerShapeId:
  case configClusterShapeId:
    return value = 0, 2;
  default:
    return 0;
  }
}

const char *const statusNames[][2] = {
    {"CUBLAS_STATUS_SUCCESS", "success"},
    {"CUBLAS_STATUS_NOT_INITIALIZED", "the library was not initialized"},
    {},
    {"CUBLAS_STATUS_ALLOC_FAILED", "the resource allocation failed"},
    {},
    {},
    {},
    {"CUBLAS_STATUS_INVALID_VALUE", "an unsupported value or parameter was passed to the function"},
    {"CUBLAS_STATUS_ARCH_MISMATCH",
     "the function requires an architectural feature absent from the device"},
    {},
    {},
    {"CUBLAS_STATUS_MAPPING_ERROR", "an access to GPU memory space failed"},
    {},
    {"CUBLAS_STATUS_EXECUTION_FAILED", "the function failed to launch on the GPU"},
    {"CUBLAS_STATUS_INTERNAL_ERROR", "an internal operation failed"},
    {"CUBLAS_STATUS_NOT_SUPPORTED", "the requested functionality is not supported"},
    {"CUBLAS_STATUS_LICENSE_ERROR", "the license check failed"},
};
const char *statusName(int status, int column) {
  bool isKnown = status >= 0 && status < (int)std::size(statusNames) && statusNames[status][0];
  return isKnown ? statusNames[status][column] : "unrecognized status";
}

} // namespace

STANDIN_EXPORT size_t cublasLtGetVersion() { return currentVersion(); }
STANDIN_EXPORT const char *cublasLtGetStatusName(int status) { return statusName(status, 0); }
STANDIN_EXPORT const char *cublasLtGetStatusString(int status) { return statusName(status, 1); }

STANDIN_EXPORT int cublasLtCreate(Handle *handle) {
  if (!handle)
    return fail("cublasLtCreate", invalidValue, "no place for the handle");
  std::string why;
  if (!findDriver(why))
    return fail("cublasLtCreate", notInitialized, why);
  int device = currentDevice();
  if (device < 0)
    return fail("cublasLtCreate", notInitialized, "no context is current");
  *handle = Living<Context>::instance().make(device);
  return success;
}
STANDIN_EXPORT int cublasLtDestroy(Handle handle) {
  if (!Living<Context>::instance().remove(handle))
    return fail("cublasLtDestroy", notInitialized, "not a handle, or destroyed before");
  return success;
}

STANDIN_EXPORT int cublasLtMatmulDescCreate(Desc **desc, int compute, int scale) {
  if (!desc)
    return fail("cublasLtMatmulDescCreate", invalidValue, "no place for the descriptor");
  *desc = Living<Desc>::instance().make(compute, scale);
  return success;
}
STANDIN_EXPORT int cublasLtMatmulDescDestroy(Desc *desc) {
  return destroy("cublasLtMatmulDescDestroy", desc);
}
STANDIN_EXPORT int cublasLtMatmulDescSetAttribute(Desc *desc, int id, const void *value,
                                                  size_t size) {
  return set("cublasLtMatmulDescSetAttribute", desc, id, value, size);
}
STANDIN_EXPORT int cublasLtMatmulDescGetAttribute(Desc *desc, int id, void *value, size_t size,
                                                  size_t *written) {
  return get("cublasLtMatmulDescGetAttribute", desc, id, value, size, written);
}

STANDIN_EXPORT int cublasLtMatrixLayoutCreate(Layout **layout, int type, uint64_t rows,
                                              uint64_t cols, int64_t ld) {
  if (!layout)
    return fail("cublasLtMatrixLayoutCreate", invalidValue, "no place for the descriptor");
  *layout = Living<Layout>::instance().make((uint32_t)type, (int32_t)orderCol, rows, cols, ld);
  return success;
}
STANDIN_EXPORT int cublasLtMatrixLayoutDestroy(Layout *layout) {
  return destroy("cublasLtMatrixLayoutDestroy", layout);
}
STANDIN_EXPORT int cublasLtMatrixLayoutSetAttribute(Layout *layout, int id, const void *value,
                                                    size_t size) {
  return set("cublasLtMatrixLayoutSetAttribute", layout, id, value, size);
}
STANDIN_EXPORT int cublasLtMatrixLayoutGetAttribute(Layout *layout, int id, void *value,
                                                    size_t size, size_t *written) {
  return get("cublasLtMatrixLayoutGetAttribute", layout, id, value, size, written);
}

STANDIN_EXPORT int cublasLtMatmulPreferenceCreate(Preference **preference) {
  if (!preference)
    return fail("cublasLtMatmulPreferenceCreate", invalidValue, "no place for the descriptor");
  *preference = Living<Preference>::instance().make();
  return success;
}
STANDIN_EXPORT int cublasLtMatmulPreferenceDestroy(Preference *preference) {
  return destroy("cublasLtMatmulPreferenceDestroy", preference);
}
STANDIN_EXPORT int cublasLtMatmulPreferenceSetAttribute(Preference *preference, int id,
                                                        const void *value, size_t size) {
  return set("cublasLtMatmulPreferenceSetAttribute", preference, id, value, size);
}
STANDIN_EXPORT int cublasLtMatmulPreferenceGetAttribute(Preference *preference, int id, void *value,
                                                        size_t size, size_t *written) {
  return get("cublasLtMatmulPreferenceGetAttribute", preference, id, value, size, written);
}

STANDIN_EXPORT int cublasLtMatmulAlgoGetHeuristic(Handle handle, Desc *desc, Layout *a, Layout *b,
                                                  Layout *c, Layout *d, Preference *preference,
                                                  int requested, HeuristicResult *results,
                                                  int *found) {
  const char *function = "cublasLtMatmulAlgoGetHeuristic";
  if (requested < 1 || !results || !found)
    return fail(function, invalidValue, format("no place for results: %d", requested));
  *found = 0;
  Problem problem;
  Verdict verdict = problemOf(handle, desc, a, b, c, d, problem);
  if (!verdict.ok())
    return fail(function, verdict);
  if (!isLiving(preference))
    return fail(function, invalidValue, "no preference, or one destroyed before");
  if (preference->search != searchBestFit || preference->maxWaves != 0)
    return fail(function, notSupported, "a way to search without a model");
  for (uint32_t bytes : preference->alignment)
    if (bytes < 1 || bytes & (bytes - 1))
      return fail(function, invalidValue, format("an alignment is no power of 2: %u", bytes));
  *found = findAlgorithms(problem, *preference, desc->bias, {results, (size_t)requested});
  return *found ? success : notSupported;
}

STANDIN_EXPORT int cublasLtMatmulAlgoInit(Handle handle, int compute, int scale, int a, int b,
                                          int c, int d, int id, Algo *algo) {
  const char *function = "cublasLtMatmulAlgoInit";
  if (Verdict verdict = checkHandle(handle); !verdict.ok())
    return fail(function, verdict);
  if (!algo || id < 0 || id >= methods)
    return fail(function, invalidValue, format("no such algorithm: %d", id));
  if (c != d || !typesFit(compute, scale, a, b, d))
    return fail(
        function, notSupported,
        format("types %d %d %d %d with compute type %d, scale %d", a, b, c, d, compute, scale));
  *algo = seal(makeAlgorithm((Method)id, hashOfTypes(compute, scale, a, b, c, d)));
  return success;
}

STANDIN_EXPORT int cublasLtMatmulAlgoCheck(Handle handle, Desc *desc, Layout *a, Layout *b,
                                           Layout *c, Layout *d, const Algo *algo,
                                           HeuristicResult *result) {
  const char *function = "cublasLtMatmulAlgoCheck";
  if (!algo || !result)
    return fail(function, invalidValue, "no algorithm, or no place for the result");
  Problem problem;
  Algorithm algorithm;
  Verdict verdict = problemOf(handle, desc, a, b, c, d, problem);
  if (verdict.ok())
    verdict = unsealFor(*algo, problem, algorithm);
  if (!verdict.ok())
    return fail(function, verdict);
  result->workspaceSize = workspaceOf(algorithm.method(), problem);
  result->state = success;
  result->wavesCount = 1;
  return success;
}

STANDIN_EXPORT int cublasLtMatmulAlgoConfigGetAttribute(const Algo *algo, int id, void *value,
                                                        size_t size, size_t *written) {
  const char *function = "cublasLtMatmulAlgoConfigGetAttribute";
  Algorithm algorithm;
  if (!algo)
    return fail(function, invalidValue, "no algorithm");
  if (Verdict verdict = unseal(*algo, algorithm); !verdict.ok())
    return fail(function, verdict);
  uint64_t number = 0;
  size_t bytes = configOf(algorithm, id, number);
  if (bytes == 0 || (size == 0 ? !written : !value || size != bytes))
    return fail(function, invalidValue,
                format("attribute %d has %zu bytes, not %zu", id, bytes, size));
  if (size)
    memcpy(value, &number, size);
  if (written)
    *written = bytes;
  return success;
}

STANDIN_EXPORT int cublasLtMatmulAlgoConfigSetAttribute(Algo *algo, int id, const void *value,
                                                        size_t size) {
  const char *function = "cublasLtMatmulAlgoConfigSetAttribute";
  Algorithm algorithm;
  if (!algo || !value)
    return fail(function, invalidValue, "no algorithm, or no value");
  if (Verdict verdict = unseal(*algo, algorithm); !verdict.ok())
    return fail(function, verdict);
  uint64_t number = 0;
  size_t bytes = configOf(algorithm, id, number);
  if (bytes == 0 || size != bytes || id == configId)
    return fail(function, invalidValue,
                format("cannot be set with %zu bytes: attribute %d", size, id));
  // The number of an algorithm alone says what it sums in which order.
  if (memcmp(&number, value, size) != 0)
    return fail(function, notSupported,
                format("algorithm %u has no other value of attribute %d", algorithm.id, id));
  return success;
}

STANDIN_EXPORT int cublasLtMatmul(Handle handle, Desc *desc, const void *alpha, const void *a,
                                  Layout *aLayout, const void *b, Layout *bLayout, const void *beta,
                                  const void *c, Layout *cLayout, void *d, Layout *dLayout,
                                  const Algo *algo, void *workspace, size_t workspaceBytes,
                                  void *stream) {
  const char *function = "cublasLtMatmul";
  auto call = std::make_unique<Call>();
  Problem &problem = call->problem;
  Verdict verdict = problemOf(handle, desc, aLayout, bLayout, cLayout, dLayout, problem);
  if (!verdict.ok())
    return fail(function, verdict);
  if (!alpha || !beta || hostOf(alpha, 1) || hostOf(beta, 1))
    return fail(function, invalidValue, "alpha and beta have to be in memory of the host");
  call->alpha = scalar(alpha, problem), call->beta = scalar(beta, problem);
  call->a = a, call->b = b, call->c = c, call->d = d;
  call->bias = problem.usesBias() ? desc->bias : nullptr;
  call->aux = problem.usesAux() ? desc->aux : nullptr;
  if (problem.isEight())
    call->aScale = desc->aScale, call->bScale = desc->bScale;
  call->workspace = workspace, call->workspaceBytes = workspaceBytes;
  verdict = unsealFor(algo ? *algo : defaultAlgo(problem, desc->bias), problem, call->algorithm);
  if (!verdict.ok())
    return fail(function, verdict);
  if ((int)setting("STANDIN_CUBLASLT_REFUSED", 0) >> call->algorithm.id & 1)
    return fail(function, notSupported,
                format("algorithm %u does not run here", call->algorithm.id));
  size_t needed = workspaceOf(call->algorithm.method(), problem);
  if (workspaceBytes < needed)
    return fail(function, invalidValue,
                format("algorithm %u needs a workspace of %zu bytes, has "
                       "%zu",
                       call->algorithm.id, needed, workspaceBytes));
  verdict = checkMemory(*call);
  if (verdict.ok())
    verdict = enqueue(std::move(call), stream);
  return fail(function, verdict);
}
