//===- Chunks.cpp - what can be done in chunks ------------------------------===//
#include "lib/Overlap/Chunks.h"
#include "dialects/dist/Kinds.h"
#include "lib/Overlap/PartKernels.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using nn::DimAttr;
using nn::Tensor;
using nn::typeOf;

/// A GEMM is cut in so many parts at most where ranks exchange a part together, and a collective in
/// no more than ranks' blocks.
static constexpr int64_t kMostParts = 4, kMostBlocks = 16;

/// How a collective of activations may be cut.
static std::optional<Cut> cutOf(rt::CollectiveOp op) {
  const dist::KindFacts &facts = dist::factsOf(op.getKind());
  Tensor x = typeOf(op.getX()), result = typeOf(op.getResult());
  Tensor whole = facts.completes() ? result : x;
  bool isKnown = facts.completes() || facts.scatters() || facts.sumsInPlace();
  DimAttr first = outermost(whole);
  if (!isKnown || !op->hasAttr(dist::kActivation) || op.getReduction() != nn::ReduceKind::sum ||
      !first || (!facts.sumsInPlace() && !op.getDim()))
    return std::nullopt;
  if (op.getDim() == first.getName()) {
    auto mesh = dist::meshOf(op->getParentOfType<ModuleOp>());
    Cut cut = {first.getName(), mesh.sizeOf(dist::axesOf(op.getAxes())), true};
    Tensor block = facts.completes() ? x : result;
    bool isEven = cut.parts > 1 && cut.parts <= kMostBlocks && cut.partOf(whole) == block;
    return isEven ? std::optional(cut) : std::nullopt;
  }
  for (int64_t parts = kMostParts; parts > 1; --parts)
    if (Cut cut = {first.getName(), parts, false}; cut.partOf(x) && cut.partOf(result))
      return cut;
  return std::nullopt;
}

std::optional<unsigned> overlap::rowsOperand(rt::MatmulOp matmul, const Cut &cut) {
  Tensor lhs = typeOf(matmul.getLhs()), rhs = typeOf(matmul.getRhs()),
         result = typeOf(matmul.getResult()), part = cut.partOf(result);
  bool isLhs = lhs.has(cut.dim);
  if (!part || isLhs == rhs.has(cut.dim) || matmul.getAcc() || matmul.getCount() ||
      matmul.getLhsScale()) // scales of a part would have to be sent with it
    return std::nullopt;
  Tensor rows = cut.partOf(isLhs ? lhs : rhs);
  if (!rows)
    return std::nullopt;
  FailureOr<rt::Gemm> whole = rt::matchGemm(lhs, rhs, result),
                      one = rt::matchGemm(isLhs ? rows : lhs, isLhs ? rhs : rows, part);
  if (failed(whole) || failed(one) || whole->batch != 1 || one->m * cut.parts != whole->m)
    return std::nullopt;
  bool areAlike =
      std::tie(one->n, one->k, one->batch, one->lda, one->ldb, one->ldc, one->transA, one->transB,
               one->swapped) == std::tie(whole->n, whole->k, whole->batch, whole->lda, whole->ldb,
                                         whole->ldc, whole->transA, whole->transB, whole->swapped);
  return areAlike ? std::optional(isLhs ? 0u : 1u) : std::nullopt;
}

/// Whether a value, which nothing else reads, can be made in parts; by which calls is added to
/// `calls`.
static bool canMake(Value value, const Cut &cut, llvm::SetVector<Operation *> &calls) {
  if (!value.hasOneUse())
    return false;
  if (auto matmul = value.getDefiningOp<rt::MatmulOp>())
    return rowsOperand(matmul, cut) && !matmul.getPart() && calls.insert(matmul);
  auto launch = value.getDefiningOp<rt::LaunchOp>();
  if (!launch || launch->getNumResults() != 1 || !kernelOf(launch) ||
      !canLaunchInParts(launch, cut))
    return false;
  llvm::SetVector<Operation *> before;
  for (Value arg : launch.getArgs())
    if (typeOf(arg).has(cut.dim))
      canMake(arg, cut, before); // else parts of it are read
  if (before.empty())
    return false;
  calls.insert(before.begin(), before.end());
  return calls.insert(launch);
}

/// The GEMMs that read a value and can be cut with it, in their order.
static llvm::SetVector<Operation *> readersOf(Value value, const Cut &cut) {
  SmallVector<Operation *> readers;
  for (Operation *user : value.getUsers())
    if (auto matmul = dyn_cast<rt::MatmulOp>(user);
        matmul && !matmul.getPart() && rowsOperand(matmul, cut))
      readers.push_back(user);
  llvm::sort(readers, [](auto a, auto b) { return a->isBeforeInBlock(b); });
  return {readers.begin(), readers.end()};
}

SmallVector<ChunkSite> overlap::chunkSitesOf(rt::FuncOp func) {
  SmallVector<ChunkSite> sites;
  llvm::SmallDenseSet<Operation *> taken;
  for (auto op : func.getBlock().getOps<rt::CollectiveOp>()) {
    std::optional<Cut> cut = cutOf(op);
    if (!cut)
      continue;
    ChunkSite site = {op, *cut, {}};
    if (dist::factsOf(op.getKind()).completes())
      site.calls = readersOf(op.getResult(), *cut);
    else
      canMake(op.getX(), *cut, site.calls);
    if (site.calls.empty() ||
        llvm::any_of(site.calls, [&](Operation *each) { return taken.contains(each); }))
      continue;
    taken.insert(site.calls.begin(), site.calls.end());
    sites.push_back(site);
  }
  return sites;
}
