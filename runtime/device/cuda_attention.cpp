//===- cuda_attention.cpp - attention on a GPU --------------------------------===//
//
// The graphs are those that the library's flash engines know, op by op: they match patterns, and
// the same mathematics in another order finds no engine.
//
// One decision: in the backward, the gradients of queries are not added up in one array by blocks
// of keys, because blocks add in the order in which they come, and no two runs would be equal. The
// engine keeps the gradients of scores instead; they are what tp_attention's chunks are for.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_attention.h"

#include "runtime/libraries/foreign_types.h"
#include "runtime/support/types.h"

#include <cinttypes>
#include <limits>
#include <map>

using namespace tplan::runtime;
using namespace tplan::runtime::cudnn;

namespace {

using Graph = CudnnGraph;
using Value = Graph::Value;
using Sizes = Graph::Sizes;

/// 9.10.0 and .1 compute wrong gradients, as NVIDIA's notes say.
constexpr size_t oldestVersion = 91002;
/// Up to this version, the backward reads keys that fill no tile beyond their end.
constexpr size_t lastWithWholeTiles = 91500;
constexpr int64_t keysOfTile = 128;
/// What hidden scores become. A query sees one key at least.
constexpr float hidden = -std::numeric_limits<float>::infinity();
/// Arrays in the workspace begin at multiples of so many bytes.
constexpr int64_t workspaceAlignment = 256;

/// Sizes of one chunk, and the arrays of a graph by tp_attention's order.
struct Builder {
  const tp_attention &it;
  Graph &g;
  int64_t b = it.batch_chunk, hk = it.group_chunk, h = hk * (it.heads / it.groups);
  int64_t s = it.queries, t = it.keys, d = it.width;
  Sizes scores = {b, h, s, t}, rows = {b, h, s, 1};

  int elements = foreignType(it.type).cudnn;

  Sizes stridesOf(int pointer) const {
    const int64_t *each = it.strides + 3 * pointer;
    return {each[0], each[1], each[2], 1};
  }
  Value queries(int pointer) { return g.array({b, h, s, d}, stridesOf(pointer), elements); }
  Value keys(int pointer) { return g.array({b, hk, t, d}, stridesOf(pointer), elements); }
  /// Keys or values, the width in front of the rows.
  Value turned(int pointer) {
    Sizes strides = stridesOf(pointer);
    std::swap(strides[2], strides[3]);
    return g.array({b, hk, d, t}, strides, elements);
  }
  /// A chunk begins after the rows of others, of which there may be an odd number.
  Value statistics(int pointer) {
    Sizes strides = stridesOf(pointer);
    int64_t steps = (b < it.batch ? b * strides[0] : 0) | (hk < it.groups ? h * strides[1] : 0);
    bool isAligned = steps * (int64_t)sizeof(float) % Graph::arrayAlignment == 0;
    return g.array(rows, strides, float32, isAligned ? Graph::arrayAlignment : sizeof(float));
  }

  Value scale(Value x) {
    return g.pointwise(pointwiseMul, x, g.scalar((float)it.scale), g.between(scores));
  }
  Value mask(Value x);
  void forward();
  void backward();
  Value gradient(Value left, Value right, Value to);
};

/// Keys after a query, and those that the window has left, are hidden.
Value Builder::mask(Value x) {
  auto hide = [&](Value larger, Value smaller, int comparison) {
    Value seen = g.pointwise(comparison, larger, smaller, g.between(scores, boolean), boolean);
    x = g.select(x, g.scalar(hidden), seen, g.between(scores));
  };
  if (it.causal) {
    Value row = g.index(x, 2), column = g.index(x, 3);
    hide(row, column, pointwiseGreaterEqual);
  }
  if (it.window) {
    Value row = g.index(x, 2), column = g.index(x, 3);
    Value reach = g.pointwise(pointwiseAdd, column, g.scalar((float)it.window), g.between(scores));
    hide(reach, row, pointwiseGreater);
  }
  return x;
}

void Builder::forward() {
  Value q = queries(0), kt = turned(1), v = keys(2), out = queries(3), lse = statistics(4);
  Value x = mask(scale(g.matmul(q, kt, g.between(scores))));
  Value max = g.reduce(reduceMax, x, g.between(rows));
  Value e = g.pointwise(pointwiseSub, x, max, g.between(scores));
  e = g.pointwise(pointwiseExp, e, g.between(scores));
  Value sum = g.reduce(reduceAdd, e, g.between(rows));
  g.pointwise(pointwiseAdd, max, g.pointwise(pointwiseLog, sum, g.between(rows)), lse);
  Value p = g.pointwise(pointwiseDiv, e, sum, g.between(scores, elements));
  g.matmul(p, v, out);
}

/// to = left^T right, summed over the heads that share a key head.
Value Builder::gradient(Value left, Value right, Value to) {
  Value turnedLeft = g.transpose(left, g.between({b, h, t, s}, {h * s * t, s * t, 1, t}, elements));
  if (h == hk)
    return g.matmul(turnedLeft, right, to);
  return g.reduce(reduceAdd, g.matmul(turnedLeft, right, g.between({b, h, t, d}, elements)), to);
}

void Builder::backward() {
  Value q = queries(0), kt = turned(1), vt = turned(2), out = queries(3), dOut = queries(4),
        lse = statistics(5), dQ = queries(6), dK = keys(7), dV = keys(8);
  Value rowSums = g.array(rows, {h * s, s, 1, 1}, float32);

  Value x = g.pointwise(pointwiseMul, dOut, out,
                        g.between({b, h, s, d}, {h * s * d, s * d, h * d, 1}, float32));
  x = g.reduce(reduceAdd, x, g.between(rows));
  g.pointwise(pointwiseMul, x, g.scalar(1), rowSums);

  x = scale(g.matmul(q, kt, g.between(scores)));
  x = mask(g.pointwise(pointwiseSub, x, lse, g.between(scores)));
  Value p = g.pointwise(pointwiseExp, x, g.between(scores));
  gradient(p, dOut, dV);

  x = g.matmul(dOut, vt, g.between(scores));
  x = g.pointwise(pointwiseSub, x, rowSums, g.between(scores));
  x = scale(g.pointwise(pointwiseMul, x, p, g.between(scores)));
  gradient(x, q, dK);
  Value k = g.transpose(kt, g.between({b, hk, t, d}, stridesOf(1), elements));
  g.matmul(x, k, dQ);
}

using Key = std::vector<int64_t>;

Key keyOf(const tp_attention &it) {
  Key key = {it.pass,  it.type,   it.batch,  it.heads,       it.groups,      it.queries,  it.keys,
             it.width, it.causal, it.window, it.batch_chunk, it.group_chunk, it.workspace};
  int64_t scale;
  static_assert(sizeof scale == sizeof it.scale);
  __builtin_memcpy(&scale, &it.scale, sizeof scale);
  key.push_back(scale);
  key.insert(key.end(), it.strides, it.strides + 3 * tp_attention_pointers(it.pass));
  return key;
}

/// What versions of the library are known to get wrong.
Status checkVersion(const Cudnn &library, const tp_attention &it) {
  if (library.GetVersion() < oldestVersion)
    return errorf("cuDNN 9.10.2 is the oldest that is taken, found %s", library.version().c_str());
  if (it.pass == TP_ATTENTION_BACKWARD && it.keys % keysOfTile &&
      library.GetVersion() <= lastWithWholeTiles)
    return errorf("cuDNN %s computes no gradients for a number of keys that %" PRId64
                  " does not divide, found %" PRId64,
                  library.version().c_str(), keysOfTile, it.keys);
  return {};
}

} // namespace

void tplan::runtime::describeAttention(const tp_attention &attention, CudnnGraph &graph) {
  Builder builder{attention, graph};
  attention.pass == TP_ATTENTION_FORWARD ? builder.forward() : builder.backward();
}

int64_t tplan::runtime::bytesOfRowSums(const tp_attention &it) {
  if (it.pass == TP_ATTENTION_FORWARD)
    return 0;
  int64_t rows = it.batch_chunk * it.group_chunk * (it.heads / it.groups) * it.queries;
  return (rows * (int64_t)sizeof(float) + workspaceAlignment - 1) / workspaceAlignment *
         workspaceAlignment;
}

struct CudaAttention::State {
  const Cudnn *library = nullptr;
  Handle *handle = nullptr;
  char *workspace = nullptr;
  int64_t workspaceBytes = 0;
  std::map<Key, CudnnPlan> plans;

  Status open();
  Status findPlan(const tp_attention &attention, const CudnnPlan *&plan);
};

CudaAttention::CudaAttention() : state(std::make_unique<State>()) {}
CudaAttention::~CudaAttention() { stop(); }

void CudaAttention::start(void *workspace, int64_t workspaceBytes) {
  state->workspace = (char *)workspace;
  state->workspaceBytes = workspaceBytes;
}

void CudaAttention::stop() {
  state->plans.clear();
  if (state->handle)
    state->library->Destroy(state->handle);
  state->handle = nullptr;
}

Status CudaAttention::State::open() {
  if (handle)
    return {};
  TP_TRY(loadCudnn(library));
  const Cudnn &dnn = *library;
  TP_CUDNN(Create(&handle));
  return {};
}

Status CudaAttention::State::findPlan(const tp_attention &it, const CudnnPlan *&plan) {
  Key key = keyOf(it);
  auto found = plans.find(key);
  if (found == plans.end()) {
    TP_TRY(open());
    TP_TRY(checkVersion(*library, it));
    if (it.type != TP_BF16 && it.type != TP_F16)
      return errorf("attention by cuDNN is of bf16 or f16, found type %d (%s)", it.type,
                    nameOf(it.type));
    if (it.workspace > workspaceBytes)
      return errorf("attention needs a workspace of %" PRId64 " bytes, the plan has %" PRId64,
                    it.workspace, workspaceBytes);
    CudnnGraph graph(*library);
    describeAttention(it, graph);
    CudnnPlan made;
    TP_TRY(graph.plan({handle, nullptr}, it.workspace - bytesOfRowSums(it), made));
    found = plans.emplace(std::move(key), std::move(made)).first;
  }
  plan = &found->second;
  return {};
}

Status CudaAttention::run(const tp_attention &it, void *const *pointers,
                          cuda::StreamHandle *stream) {
  const CudnnPlan *plan = nullptr;
  if (Status status = state->findPlan(it, plan); !status.ok())
    return errorf("%s; a plan that is compiled with --attention=generated needs no cuDNN",
                  status.message().c_str());
  const Cudnn &dnn = *state->library;
  TP_CUDNN(SetStream(state->handle, stream));
  int32_t count = tp_attention_pointers(it.pass), lse = tp_attention_lse(it.pass);
  int64_t headsOfGroup = it.heads / it.groups;
  for (int64_t batch = 0; batch < it.batch; batch += it.batch_chunk)
    for (int64_t group = 0; group < it.groups; group += it.group_chunk) {
      void *arrays[TP_ATTENTION_TENSORS + 1] = {};
      for (int32_t i = 0; i < count; ++i) {
        int64_t head = tp_attention_of_keys(i) ? group : group * headsOfGroup;
        int64_t at = batch * it.strides[3 * i] + head * it.strides[3 * i + 1];
        arrays[i] = (char *)pointers[i] + at * bytesOf(i == lse ? TP_F32 : it.type);
      }
      int64_t rowSums = bytesOfRowSums(it);
      if (rowSums)
        arrays[count] = state->workspace;
      TP_TRY(execute(dnn, state->handle, *plan, arrays, count + (rowSums ? 1 : 0),
                     state->workspace + rowSums));
    }
  return {};
}
