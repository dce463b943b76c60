//===- cuda_matmul.cpp - GEMM on a GPU --------------------------------------===//
//
// cuBLASLt counts along columns and tp_gemm along rows, so the transposed product is computed:
// C^T = B^T A^T, whose operands are the memory of B and A as they stand.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda_matmul.h"

#include "runtime/types.h"

#include <algorithm>
#include <array>
#include <cinttypes>
#include <cstring>
#include <sstream>
#include <tuple>

using namespace tplan::runtime;
using namespace tplan::runtime::cublaslt;

namespace {

/// Candidates that are measured.
constexpr int mostAlgorithms = 8;
/// What memory of the arena is aligned to, at least where a value begins.
constexpr int64_t usualAlignment = 64;

using Key = std::array<int64_t, 16>;

Key keyOf(const tp_gemm &g, int64_t alignment) {
  return {g.m,        g.n,        g.k,       g.lda,     g.ldb,        g.ldc, g.batch, g.stride_a,
          g.stride_b, g.stride_c, g.trans_a, g.trans_b, g.accumulate, g.in,  g.out,   alignment};
}

int typeOf(int32_t type) { return type == TP_F64 ? r64F : type == TP_BF16 ? r16BF : r32F; }

/// The largest power of two, up to the usual one, that all pointers are multiples of.
int64_t alignmentOf(const void *a, const void *b, const void *c) {
  auto bits = (uintptr_t)a | (uintptr_t)b | (uintptr_t)c | usualAlignment;
  return (int64_t)(bits & -bits);
}

} // namespace

/// A GEMM as the library describes it.
struct CudaMatmul::Problem {
  Operation *operation = nullptr;
  Layout *first = nullptr, *second = nullptr, *result = nullptr;
  Algorithm algorithm = {};
  bool has = false; // an algorithm
  double real = 0;  // beta, in the type of the sums
  float narrow = 0;
};

struct CudaMatmul::State {
  const CudaDriver *driver = nullptr;
  const CublasLt *library = nullptr;
  Handle *handle = nullptr;
  void *workspace = nullptr;
  int64_t workspaceBytes = 0;
  std::map<Key, Problem> problems;
  std::map<Key, Algorithm> chosen;

  Status describe(const tp_gemm &gemm, Problem &problem) const;
  Status candidates(const Problem &problem, int64_t alignment, Heuristic *results,
                    int &count) const;
  Status issue(const tp_gemm &gemm, const Problem &problem, const void *a, const void *b, void *c,
               const Algorithm &algorithm, cuda::StreamHandle *stream) const;
  Status time(const tp_gemm &gemm, const Problem &problem, char *const memory[3],
              const Algorithm &algorithm, cuda::StreamHandle *stream, float &milliseconds) const;
};

CudaMatmul::CudaMatmul() : state(std::make_unique<State>()) {}

CudaMatmul::~CudaMatmul() {
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
  if (state->handle)
    lt.Destroy(state->handle);
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

Status CudaMatmul::State::describe(const tp_gemm &g, Problem &p) const {
  const CublasLt &lt = *library;
  bool wide = g.in == TP_F64;
  TP_CUBLASLT(OperationCreate(&p.operation, wide ? compute64F : compute32F, wide ? r64F : r32F));
  int32_t transFirst = g.trans_b ? transposed : plain, transSecond = g.trans_a ? transposed : plain;
  TP_CUBLASLT(OperationSet(p.operation, operationTransA, &transFirst, sizeof transFirst));
  TP_CUBLASLT(OperationSet(p.operation, operationTransB, &transSecond, sizeof transSecond));
  auto make = [&](Layout *&layout, int32_t type, int64_t rows, int64_t columns, int64_t leading,
                  int64_t stride) -> Status {
    TP_CUBLASLT(LayoutCreate(&layout, typeOf(type), rows, columns, leading));
    if (g.batch == 1)
      return {};
    auto batch = (int32_t)g.batch;
    TP_CUBLASLT(LayoutSet(layout, layoutBatchCount, &batch, sizeof batch));
    TP_CUBLASLT(LayoutSet(layout, layoutBatchStride, &stride, sizeof stride));
    return {};
  };
  // A row-major matrix of r x c is a column-major one of c x r.
  TP_TRY(make(p.first, g.in, g.trans_b ? g.k : g.n, g.trans_b ? g.n : g.k, g.ldb, g.stride_b));
  TP_TRY(make(p.second, g.in, g.trans_a ? g.m : g.k, g.trans_a ? g.k : g.m, g.lda, g.stride_a));
  TP_TRY(make(p.result, g.out, g.n, g.m, g.ldc, g.stride_c));
  p.real = p.narrow = g.accumulate ? 1 : 0;
  return {};
}

Status CudaMatmul::State::candidates(const Problem &p, int64_t alignment, Heuristic *results,
                                     int &count) const {
  const CublasLt &lt = *library;
  Preference *preference = nullptr;
  TP_CUBLASLT(PreferenceCreate(&preference));
  auto ask = [&]() -> Status {
    uint64_t most = workspaceBytes;
    auto least = (uint32_t)alignment;
    TP_CUBLASLT(PreferenceSet(preference, preferenceWorkspace, &most, sizeof most));
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
                  workspaceBytes);
  return status;
}

Status CudaMatmul::findProblem(const tp_gemm &gemm, int64_t alignment, Problem *&problem) {
  Key key = keyOf(gemm, alignment);
  problem = &state->problems[key];
  if (problem->has)
    return {};
  if (!problem->operation)
    TP_TRY(state->describe(gemm, *problem));
  if (auto found = state->chosen.find(key); found != state->chosen.end()) {
    problem->algorithm = found->second;
  } else {
    Heuristic results[mostAlgorithms];
    int count = 0;
    TP_TRY(state->candidates(*problem, alignment, results, count));
    problem->algorithm = results[0].algorithm;
  }
  problem->has = true;
  return {};
}

Status CudaMatmul::State::issue(const tp_gemm &gemm, const Problem &p, const void *a, const void *b,
                                void *c, const Algorithm &algorithm,
                                cuda::StreamHandle *stream) const {
  const CublasLt &lt = *library;
  static constexpr double one = 1;
  static constexpr float narrowOne = 1;
  bool wide = gemm.in == TP_F64;
  const void *alpha = wide ? (const void *)&one : &narrowOne;
  const void *beta = wide ? (const void *)&p.real : &p.narrow;
  TP_CUBLASLT(Matmul(handle, p.operation, alpha, b, p.first, a, p.second, beta, c, p.result, c,
                     p.result, &algorithm, workspace, workspaceBytes, stream));
  return {};
}

Status CudaMatmul::run(const tp_gemm &gemm, const void *a, const void *b, void *c,
                       cuda::StreamHandle *stream) {
  Problem *problem = nullptr;
  TP_TRY(findProblem(gemm, alignmentOf(a, b, c), problem));
  return state->issue(gemm, *problem, a, b, c, problem->algorithm, stream);
}

//===----------------------------------------------------------------------===//
// Choosing
//===----------------------------------------------------------------------===//

/// The shortest of a few runs.
Status CudaMatmul::State::time(const tp_gemm &gemm, const Problem &p, char *const memory[3],
                               const Algorithm &algorithm, cuda::StreamHandle *stream,
                               float &milliseconds) const {
  constexpr int runs = 5;
  const CudaDriver &cu = *driver;
  cuda::EventHandle *begin = nullptr, *end = nullptr;
  TP_CUDA(EventCreate(&begin, cuda::eventDefault));
  TP_CUDA(EventCreate(&end, cuda::eventDefault));
  auto measure = [&]() -> Status {
    for (int run = 0; run < runs; ++run) {
      float elapsed = 0;
      TP_CUDA(EventRecord(begin, stream));
      TP_TRY(issue(gemm, p, memory[0], memory[1], memory[2], algorithm, stream));
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

Status CudaMatmul::choose(const tp_gemm &g, void *memory, int64_t bytes,
                          cuda::StreamHandle *stream) {
  Key key = keyOf(g, usualAlignment);
  if (state->chosen.count(key))
    return {};
  auto up = [](int64_t n) { return (n + usualAlignment - 1) / usualAlignment * usualAlignment; };
  int64_t in = bytesOf(g.in), out = bytesOf(g.out);
  int64_t sizeA =
      up(in * extent(g.trans_a ? g.k : g.m, g.trans_a ? g.m : g.k, g.lda, g.batch, g.stride_a));
  int64_t sizeB =
      up(in * extent(g.trans_b ? g.n : g.k, g.trans_b ? g.k : g.n, g.ldb, g.batch, g.stride_b));
  int64_t sizeC = up(out * extent(g.m, g.n, g.ldc, g.batch, g.stride_c));
  if (sizeA + sizeB + sizeC > bytes)
    return {}; // stays with what the library thinks
  char *places[] = {(char *)memory, (char *)memory + sizeA, (char *)memory + sizeA + sizeB};
  Problem *problem = nullptr;
  TP_TRY(findProblem(g, usualAlignment, problem));
  Heuristic results[mostAlgorithms];
  int count = 0;
  TP_TRY(state->candidates(*problem, usualAlignment, results, count));
  float best = 0;
  for (int i = 0; i < count; ++i) {
    float milliseconds = 0;
    TP_TRY(state->time(g, *problem, places, results[i].algorithm, stream, milliseconds));
    if (i == 0 || milliseconds < best) {
      best = milliseconds;
      problem->algorithm = results[i].algorithm;
    }
  }
  state->chosen[key] = problem->algorithm;
  return {};
}

std::string CudaMatmul::choices(const std::string &gpu) const {
  std::ostringstream text;
  text << "cublaslt " << state->library->GetVersion() << " " << gpu << "\n";
  for (auto &[key, algorithm] : state->chosen) {
    for (int64_t field : key)
      text << field << " ";
    for (uint64_t word : algorithm.data)
      text << " " << std::hex << word << std::dec;
    text << "\n";
  }
  return text.str();
}

bool CudaMatmul::setChoices(const std::string &text, const std::string &gpu) {
  std::istringstream lines(text);
  std::string line;
  std::getline(lines, line);
  std::ostringstream expected;
  expected << "cublaslt " << state->library->GetVersion() << " " << gpu;
  if (line != expected.str())
    return false;
  while (std::getline(lines, line)) {
    std::istringstream fields(line);
    Key key;
    Algorithm algorithm;
    for (int64_t &field : key)
      fields >> field;
    for (uint64_t &word : algorithm.data)
      fields >> std::hex >> word;
    if (!fields)
      return false;
    state->chosen[key] = algorithm;
  }
  state->problems.clear();
  return true;
}
