//===- cuda_matmul.cpp - GEMM on a GPU --------------------------------------===//
//
// cuBLASLt counts along columns and tp_gemm along rows, so the transposed product is computed:
// C^T = B^T A^T, whose operands are the memory of B and A as they stand.
//
// One decision: scales of squares, whose panels the library wants in rows that are multiples of 16
// bytes, are copied into the end of the workspace where they are not. They are few, and a plan
// whose tensor parallelism leaves an odd number of panels need not be refused.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/cuda_matmul.h"

#include "runtime/device/device.h"
#include "runtime/libraries/foreign_types.h"
#include "runtime/support/types.h"

#include <algorithm>
#include <cinttypes>

using namespace tplan::runtime;
using namespace tplan::runtime::cublaslt;

namespace {

/// Candidates that are measured.
constexpr int mostAlgorithms = 8;
/// An algorithm that the library takes to be slower is chosen only if it takes at most this part of
/// the time: smaller differences are noise of the clock, and change from run to run.
constexpr float clearlyFaster = 0.97f;

int computeOf(const tp_gemm &g) {
  return g.in == TP_F64 ? compute64F : g.tf32 ? compute32FFastTf32 : compute32F;
}
int scaleOf(const tp_gemm &g) { return g.in == TP_F64 ? r64F : r32F; }

/// What the library calls a tp_scale_mode; noCode where it has no such scales.
int foreignMode(int32_t mode) {
  static constexpr int modes[] = {noCode, scaleScalar, scaleOuterVector, scaleVector128,
                                  scaleBlock128};
  return mode >= 0 && size_t(mode) < std::size(modes) ? modes[mode] : noCode;
}

int64_t roundUp(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

/// Scales of one operand in f8, of `rows` rows or columns.
struct Scales {
  int32_t mode;
  int64_t rows, panels;
  int64_t count() const {
    return mode == TP_SCALE_TENSOR  ? 1
           : mode == TP_SCALE_ROW   ? rows
           : mode == TP_SCALE_BLOCK ? rows * panels
                                    : (rows + 127) / 128 * panels;
  }
  bool isPadded() const { return mode == TP_SCALE_SQUARE && panels % 4 != 0; }
  Rows padded() const {
    return {(rows + 127) / 128, 4 * panels, 4 * panels, roundUp(4 * panels, 16)};
  }
  /// Bytes that they take in the workspace.
  int64_t paddedBytes() const {
    return isPadded() ? roundUp(padded().rows * padded().toStride, 256) : 0;
  }
};
Scales ofA(const GemmUse &use) {
  return {use.scales.mode_a, use.gemm.m, use.gemm.k / use.scales.panel};
}
Scales ofB(const GemmUse &use) {
  return {use.scales.mode_b, use.gemm.n, use.gemm.k / use.scales.panel};
}
int64_t paddedBytes(const GemmUse &use) {
  return use.isScaled() ? ofA(use).paddedBytes() + ofB(use).paddedBytes() : 0;
}

} // namespace

/// A GEMM as the library describes it.
struct CudaMatmul::Problem {
  Operation *operation = nullptr;
  Layout *first = nullptr, *second = nullptr, *result = nullptr;
  Algorithm algorithm = {};
  bool has = false;           // an algorithm
  int64_t workspaceBytes = 0; // that it may use
  double real = 0;            // beta, in the type of the sums
  float narrow = 0;
};

struct CudaMatmul::State {
  const CudaDriver *driver = nullptr;
  const CublasLt *library = nullptr;
  Handle *handle = nullptr;
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  std::map<std::pair<GemmKey, int64_t>, Problem> problems; // and the rows, of a part or the whole
  std::map<GemmKey, GemmAlgorithm> chosen; // choices that were made before the first call

  Status describe(const GemmUse &use, Problem &problem) const;
  bool accepts(const Problem &problem) const;
  Status copyAlgorithm(const tp_gemm &gemm, const Algorithm &from, Algorithm &to) const;
  Status candidates(const Problem &problem, int64_t alignment, Heuristic *results,
                    int &count) const;
  Status pad(const Scales &scales, const float *&from, char *&to, cuda::StreamHandle *stream) const;
  Status issue(const GemmUse &use, const Problem &problem, GemmOperands at,
               const Algorithm &algorithm, cuda::StreamHandle *stream) const;
  Status time(const GemmUse &use, const Problem &problem, const GemmOperands &at,
              const Algorithm &algorithm, cuda::StreamHandle *stream, float &milliseconds,
              Status &refusal) const;
  Status describeScales(const GemmUse &use, Problem &problem) const;
};

CudaMatmul::CudaMatmul() : state(std::make_unique<State>()) {}

CudaMatmul::~CudaMatmul() { stop(); }

void CudaMatmul::stop() {
  if (!state->library)
    return;
  const CublasLt &lt = *state->library;
  for (auto &[key, problem] : state->problems) {
    if (problem.operation)
      lt.OperationDestroy(problem.operation);
    for (Layout *layout : {problem.first, problem.second, problem.result})
      if (layout)
        lt.LayoutDestroy(layout);
  }
  state->problems.clear();
  if (state->handle)
    lt.Destroy(state->handle);
  state->handle = nullptr;
}

Status CudaMatmul::start(const CudaDriver &driver, void *workspace, int64_t workspaceBytes) {
  TP_TRY(loadCublasLt(state->library));
  const CublasLt &lt = *state->library;
  state->driver = &driver;
  state->workspace = workspace;
  state->workspaceBytes = workspaceBytes;
  TP_CUBLASLT(Create(&state->handle));
  return {};
}

/// The library's first operand is B.
Status CudaMatmul::State::describeScales(const GemmUse &use, Problem &p) const {
  const CublasLt &lt = *library;
  int32_t first = foreignMode(use.scales.mode_b), second = foreignMode(use.scales.mode_a);
  if (first == noCode || second == noCode)
    return errorf("cuBLASLt multiplies no operands in f8 with scales for parts of %" PRId64
                  " of k as they lie here",
                  use.scales.panel);
  constexpr size_t oldest = 120900;
  if (size_t found = lt.GetVersion(); first != scaleScalar && found < oldest)
    return errorf(
        "GEMMs in f8 with several scales an operand need cuBLASLt 12.9: update the toolkit, "
        "or name fp8(current); found version %zu.%zu",
        found / 10000, found / 100 % 100);
  TP_CUBLASLT(OperationSet(p.operation, operationScaleModeA, &first, sizeof first));
  TP_CUBLASLT(OperationSet(p.operation, operationScaleModeB, &second, sizeof second));
  int8_t isFast = use.scales.fast_accumulation != 0;
  TP_CUBLASLT(OperationSet(p.operation, operationFastAccumulation, &isFast, sizeof isFast));
  // Which algorithms there are is decided by the alignment of the scales as well.
  auto place = (void *)(uintptr_t)use.alignment;
  TP_CUBLASLT(OperationSet(p.operation, operationScaleA, &place, sizeof place));
  TP_CUBLASLT(OperationSet(p.operation, operationScaleB, &place, sizeof place));
  return {};
}

Status CudaMatmul::State::describe(const GemmUse &use, Problem &p) const {
  const tp_gemm &g = use.gemm;
  const CublasLt &lt = *library;
  TP_CUBLASLT(OperationCreate(&p.operation, computeOf(g), scaleOf(g)));
  int32_t transFirst = g.trans_b ? transposed : plain, transSecond = g.trans_a ? transposed : plain;
  TP_CUBLASLT(OperationSet(p.operation, operationTransA, &transFirst, sizeof transFirst));
  TP_CUBLASLT(OperationSet(p.operation, operationTransB, &transSecond, sizeof transSecond));
  if (g.bias) { // algorithms are chosen by the alignment of the bias
    int32_t epilogue = epilogueBias;
    auto place = (void *)(uintptr_t)use.alignment;
    TP_CUBLASLT(OperationSet(p.operation, operationEpilogue, &epilogue, sizeof epilogue));
    TP_CUBLASLT(OperationSet(p.operation, operationBiasPointer, &place, sizeof place));
  }
  p.workspaceBytes = workspaceBytes - paddedBytes(use);
  if (p.workspaceBytes < 0)
    return errorf("a workspace of %" PRId64 " bytes is too small for the scales of a GEMM, which "
                  "need %" PRId64,
                  workspaceBytes, paddedBytes(use));
  if (use.isScaled())
    TP_TRY(describeScales(use, p));
  auto make = [&](Layout *&layout, int32_t type, int64_t rows, int64_t columns, int64_t leading,
                  int64_t stride) -> Status {
    int code = foreignType(type).cublaslt;
    if (code == noCode)
      return errorf("cuBLASLt multiplies no matrices of type %d (%s)", type, nameOf(type));
    TP_CUBLASLT(LayoutCreate(&layout, code, rows, columns, leading));
    if (g.batch == 1)
      return {};
    auto batch = (int32_t)g.batch;
    TP_CUBLASLT(LayoutSet(layout, layoutBatchCount, &batch, sizeof batch));
    TP_CUBLASLT(LayoutSet(layout, layoutBatchStride, &stride, sizeof stride));
    return {};
  };
  // A row-major matrix of r x c is a column-major one of c x r.
  int32_t typeB = use.isScaled() ? use.scales.type_b : g.in;
  TP_TRY(make(p.first, typeB, g.trans_b ? g.k : g.n, g.trans_b ? g.n : g.k, g.ldb, g.stride_b));
  TP_TRY(make(p.second, g.in, g.trans_a ? g.m : g.k, g.trans_a ? g.k : g.m, g.lda, g.stride_a));
  TP_TRY(make(p.result, g.out, g.n, g.m, g.ldc, g.stride_c));
  p.real = p.narrow = g.accumulate ? 1 : 0;
  return {};
}

/// Whether the library runs the algorithm of a problem, within the workspace.
bool CudaMatmul::State::accepts(const Problem &p) const {
  Heuristic checked = {};
  return library->AlgorithmCheck(handle, p.operation, p.first, p.second, p.result, p.result,
                                 &p.algorithm, &checked) == 0 &&
         checked.state == 0 && (int64_t)checked.workspaceBytes <= p.workspaceBytes;
}

Status CudaMatmul::State::candidates(const Problem &p, int64_t alignment, Heuristic *results,
                                     int &count) const {
  const CublasLt &lt = *library;
  Preference *preference = nullptr;
  TP_CUBLASLT(PreferenceCreate(&preference));
  auto ask = [&]() -> Status {
    uint64_t most = p.workspaceBytes;
    auto least = (uint32_t)alignment;
    // Otherwise parts of a sum would be rounded as the result is.
    uint32_t reductions = reduceInComputeType;
    TP_CUBLASLT(PreferenceSet(preference, preferenceWorkspace, &most, sizeof most));
    TP_CUBLASLT(PreferenceSet(preference, preferenceReductions, &reductions, sizeof reductions));
    for (int operand :
         {preferenceAlignmentA, preferenceAlignmentB, preferenceAlignmentC, preferenceAlignmentD})
      TP_CUBLASLT(PreferenceSet(preference, operand, &least, sizeof least));
    TP_CUBLASLT(GetHeuristic(handle, p.operation, p.first, p.second, p.result, p.result, preference,
                             mostAlgorithms, results, &count));
    return {};
  };
  Status status = ask();
  lt.PreferenceDestroy(preference);
  count = (int)(std::remove_if(results, results + count, [](auto &r) { return r.state != 0; }) -
                results);
  if (status.ok() && count == 0)
    return errorf("cuBLASLt has no algorithm within a workspace of %" PRId64 " bytes",
                  p.workspaceBytes);
  return status;
}

/// The description of a GEMM, and the library's first algorithm for it if none was chosen.
Status CudaMatmul::findProblem(const GemmUse &use, Problem *&problem) {
  problem = &state->problems[{keyOf(use), use.gemm.m}];
  if (!problem->operation)
    TP_TRY(state->describe(use, *problem));
  if (problem->has)
    return {};
  if (use.gemm.is_part)
    return takeOfWhole(use, *problem);
  Heuristic results[mostAlgorithms];
  int count = 0;
  TP_TRY(state->candidates(*problem, use.alignment, results, count));
  problem->algorithm = results[0].algorithm;
  problem->has = true;
  return {};
}

/// An algorithm that the heuristic has found is for that product; this is the same for another one
/// of the types.
Status CudaMatmul::State::copyAlgorithm(const tp_gemm &g, const Algorithm &from,
                                        Algorithm &to) const {
  const CublasLt &lt = *library;
  auto get = [&](AlgorithmAttribute attribute, void *value) -> Status {
    size_t written = 0;
    TP_CUBLASLT(AlgorithmGet(&from, attribute.number, value, attribute.bytes, &written));
    return {};
  };
  int32_t number = 0;
  TP_TRY(get(algorithmNumber, &number));
  int in = foreignType(g.in).cublaslt, out = foreignType(g.out).cublaslt;
  TP_CUBLASLT(AlgorithmInit(handle, computeOf(g), scaleOf(g), in, in, out, out, number, &to));
  for (AlgorithmAttribute attribute : algorithmAttributes) {
    uint32_t value = 0;
    TP_TRY(get(attribute, &value));
    TP_CUBLASLT(AlgorithmSet(&to, attribute.number, &value, attribute.bytes));
  }
  return {};
}

/// A part of a product has the algorithm of the whole, so that it computes the same bits.
Status CudaMatmul::takeOfWhole(const GemmUse &use, Problem &part) {
  Problem *whole = nullptr;
  TP_TRY(findProblem(wholeOf(use), whole));
  TP_TRY(state->copyAlgorithm(use.gemm, whole->algorithm, part.algorithm));
  if (!state->accepts(part))
    return errorf("cuBLASLt refuses for m = %" PRId64 " the algorithm of the GEMM that this is one "
                  "of %d parts of: compile with 'overlap' without tp",
                  use.gemm.m, use.gemm.chunks);
  part.has = true;
  return {};
}

/// Copies scales to where the workspace has their rows padded, which `from` is then, and `to` what
/// follows.
Status CudaMatmul::State::pad(const Scales &scales, const float *&from, char *&to,
                              cuda::StreamHandle *stream) const {
  if (!scales.isPadded())
    return {};
  const CudaDriver &cu = *driver;
  Rows rows = scales.padded();
  cuda::Copy2D piece = cuda::copyOfRows((uintptr_t)to, rows.toStride, (uintptr_t)from,
                                        rows.fromStride, rows.row, rows.rows);
  TP_CUDA(Memcpy2DAsync(&piece, stream));
  from = (const float *)to;
  to += scales.paddedBytes();
  return {};
}

Status CudaMatmul::State::issue(const GemmUse &use, const Problem &p, GemmOperands at,
                                const Algorithm &algorithm, cuda::StreamHandle *stream) const {
  const CublasLt &lt = *library;
  const tp_gemm &gemm = use.gemm;
  if (gemm.bias)
    TP_CUBLASLT(OperationSet(p.operation, operationBiasPointer, &at.bias, sizeof at.bias));
  if (use.isScaled()) {
    char *padded = (char *)workspace + p.workspaceBytes;
    TP_TRY(pad(ofA(use), at.aScale, padded, stream));
    TP_TRY(pad(ofB(use), at.bScale, padded, stream));
    TP_CUBLASLT(OperationSet(p.operation, operationScaleA, &at.bScale, sizeof at.bScale));
    TP_CUBLASLT(OperationSet(p.operation, operationScaleB, &at.aScale, sizeof at.aScale));
  }
  static constexpr double one = 1;
  static constexpr float narrowOne = 1;
  bool wide = gemm.in == TP_F64;
  const void *alpha = wide ? (const void *)&one : &narrowOne;
  const void *beta = wide ? (const void *)&p.real : &p.narrow;
  TP_CUBLASLT(Matmul(handle, p.operation, alpha, at.b, p.first, at.a, p.second, beta, at.c,
                     p.result, at.c, p.result, &algorithm, workspace, p.workspaceBytes, stream));
  return {};
}

Status CudaMatmul::run(const tp_gemm &gemm, const tp_scales *scales, const GemmOperands &at,
                       cuda::StreamHandle *stream) {
  uint64_t bits = 0;
  for (const void *place :
       {at.a, at.b, at.bias, (const void *)at.aScale, (const void *)at.bScale, (const void *)at.c})
    bits |= (uintptr_t)place;
  GemmUse use = {gemm, alignmentOf(bits), scales ? *scales : tp_scales{}};
  Problem *problem = nullptr;
  TP_TRY(findProblem(use, problem));
  return state->issue(use, *problem, at, problem->algorithm, stream);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// The shortest of a few runs, each after one that is not timed, so that the GPU does not wait for
/// the host in between. The library may offer what it then refuses to run: `refusal`. An error of
/// the driver's is the status.
Status CudaMatmul::State::time(const GemmUse &use, const Problem &p, const GemmOperands &at,
                               const Algorithm &algorithm, cuda::StreamHandle *stream,
                               float &milliseconds, Status &refusal) const {
  constexpr int runs = 5;
  const CudaDriver &cu = *driver;
  cuda::EventHandle *begin = nullptr, *end = nullptr;
  TP_CUDA(EventCreate(&begin, cuda::eventDefault));
  TP_CUDA(EventCreate(&end, cuda::eventDefault));
  auto call = [&] { return issue(use, p, at, algorithm, stream); };
  auto measure = [&]() -> Status {
    for (int run = 0; run < runs; ++run) {
      float elapsed = 0;
      if (refusal = call(); !refusal.ok()) {
        TP_CUDA(StreamSynchronize(stream));
        return {};
      }
      TP_CUDA(EventRecord(begin, stream));
      TP_TRY(call());
      TP_CUDA(EventRecord(end, stream));
      TP_CUDA(EventSynchronize(end));
      TP_CUDA(EventElapsedTime(&elapsed, begin, end));
      milliseconds = run ? std::min(milliseconds, elapsed) : elapsed;
    }
    return {};
  };
  Status status = measure();
  cu.EventDestroy(begin);
  cu.EventDestroy(end);
  return status;
}

/// Elements from the first to the last of an operand.
static int64_t extent(int64_t rows, int64_t columns, int64_t leading, int64_t batch,
                      int64_t stride) {
  return (batch - 1) * stride + (rows - 1) * leading + columns;
}

namespace {

/// Where operands lie one after the other from an address on, each at an alignment; the address
/// becomes that of the end.
GemmOperands layOut(const GemmUse &use, uintptr_t &next) {
  const tp_gemm &g = use.gemm;
  auto take = [&](int64_t bytes) {
    uintptr_t here = next;
    next += (bytes + usualAlignment - 1) / usualAlignment * usualAlignment;
    return (void *)here;
  };
  int64_t in = bytesOf(g.in), out = bytesOf(g.out);
  GemmOperands at;
  at.a =
      take(in * extent(g.trans_a ? g.k : g.m, g.trans_a ? g.m : g.k, g.lda, g.batch, g.stride_a));
  at.b =
      take(in * extent(g.trans_b ? g.n : g.k, g.trans_b ? g.k : g.n, g.ldb, g.batch, g.stride_b));
  at.bias = take(g.bias ? out * g.n : 0);
  at.aScale = (float *)take(use.isScaled() ? 4 * ofA(use).count() : 0);
  at.bScale = (float *)take(use.isScaled() ? 4 * ofB(use).count() : 0);
  at.c = take(out * extent(g.m, g.n, g.ldc, g.batch, g.stride_c));
  return at;
}

} // namespace

int64_t CudaMatmul::bytesToMeasure(const GemmUse &use) {
  uintptr_t end = 0;
  layOut(use, end);
  return (int64_t)end;
}

Status CudaMatmul::choose(const GemmUse &use, void *memory, int64_t bytes,
                          cuda::StreamHandle *stream, int64_t &measured) {
  GemmKey key = keyOf(use);
  if (state->chosen.count(key))
    return {};
  ++measured;
  Problem *problem = nullptr;
  TP_TRY(findProblem(use, problem));
  auto end = (uintptr_t)memory;
  GemmOperands at = layOut(use, end);
  Heuristic results[mostAlgorithms];
  int count = 0;
  if (int64_t(end - (uintptr_t)memory) <= bytes)
    TP_TRY(state->candidates(*problem, use.alignment, results, count));
  float best = 0;
  int refused = 0;
  Status refusal;
  for (int i = 0; i < count; ++i) {
    float milliseconds = 0;
    TP_TRY(state->time(use, *problem, at, results[i].algorithm, stream, milliseconds, refusal));
    if (!refusal.ok()) {
      ++refused;
    } else if (refused == i || milliseconds < clearlyFaster * best) {
      best = milliseconds;
      problem->algorithm = results[i].algorithm;
    }
  }
  if (count && refused == count)
    return errorf(
        "cuBLASLt refuses to run each of the %d algorithms that it offers, the last with: "
        "%s",
        count, refusal.message().c_str());
  std::copy_n(problem->algorithm.data, state->chosen[key].size(), state->chosen[key].begin());
  return {};
}

GemmChoices CudaMatmul::choices(const std::string &gpu) const {
  return {format("cuBLASLt %zu on %s", state->library->GetVersion(), gpu.c_str()), state->chosen};
}

void CudaMatmul::take(const GemmKey &key, const GemmAlgorithm &taken, int64_t &refused) {
  GemmUse use = useOf(key);
  Problem &problem = state->problems[{key, use.gemm.m}];
  Status described = problem.operation ? Status() : state->describe(use, problem);
  Algorithm before = problem.algorithm;
  std::copy(taken.begin(), taken.end(), problem.algorithm.data);
  if (!described.ok() || !state->accepts(problem)) {
    problem.algorithm = before;
    ++refused;
    return;
  }
  problem.has = true;
  state->chosen[key] = taken;
}
