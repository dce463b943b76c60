//===- ChunkExchanges.cpp - chunk-exchanges: GEMMs run beside parts of what they exchange ---===//
//
// Gathers and sums of activations that GEMMs read or make are done in chunks (Chunks.h).
//
// One decision: GEMMs that could be done in chunks say so in each plan, with overlap or without:
// their tiles end where chunks do. So overlap changes no bit.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/Chunks.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Overlap.h"
#include "llvm/ADT/SmallBitVector.h"
#include "llvm/ADT/StringSet.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_CHUNKEXCHANGESPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;

namespace {

/// The share of a function's time that chunks of one collective must gain: more calls take time
/// that no price has.
constexpr double kLeastGainOfChunks = 0.005;

struct ChunkExchangesPass : tplan::overlap::impl::ChunkExchangesPassBase<ChunkExchangesPass> {
  PartKernels kernels; // while the pass runs

  void cut(rt::FuncOp func, const llvm::SmallBitVector &which) {
    SmallVector<ChunkSite> sites = chunkSitesOf(func);
    for (unsigned i : which.set_bits())
      cutInChunks(sites[i], kernels);
  }

  /// What the function takes with some of its collectives in chunks.
  double secondsWith(rt::FuncOp func, const llvm::SmallBitVector &which,
                     const cost::Prices &prices) {
    OpBuilder b(func);
    auto trial = cast<rt::FuncOp>(b.clone(*func));
    trial.setSymName((func.getSymName() + ".trial").str());
    cut(trial, which);
    double seconds = FunctionOrder(trial, prices, [](rt::CollectiveOp) { return true; }).seconds();
    trial.erase();
    return seconds;
  }

  /// Collectives that are worth it, one after the other.
  llvm::SmallBitVector choose(rt::FuncOp func, size_t sites, const cost::Prices &prices) {
    llvm::SmallBitVector chosen(sites);
    double best = secondsWith(func, chosen, prices);
    for (size_t i = 0; i < sites; ++i) {
      llvm::SmallBitVector more = chosen;
      more.set(i);
      double seconds = secondsWith(func, more, prices);
      if (seconds > best * (1 - kLeastGainOfChunks))
        continue;
      best = seconds;
      chosen = more;
    }
    return chosen;
  }

  /// Kernels of parts that were tried in vain.
  void eraseUnused(ModuleOp module) {
    llvm::StringSet<> used;
    module.walk([&](rt::LaunchOp launch) { used.insert(launch.getKernel()); });
    for (auto &entry : kernels)
      if (rt::KernelOp kernel = entry.second; !used.contains(kernel.getSymName()))
        kernel.erase();
    kernels.clear();
  }

  void runOnOperation() final {
    ModuleOp module = getOperation();
    dist::MeshAttr mesh = dist::meshOf(module);
    if (mesh.getNumRanks() == 1)
      return markAllAnalysesPreserved();
    lang::Settings settings(module);
    cost::Prices prices(settings, mesh);
    cost::OverlapChoice choice(module, settings, prices);
    for (auto func : llvm::to_vector(module.getOps<rt::FuncOp>())) {
      SmallVector<ChunkSite> sites = chunkSitesOf(func);
      for (const ChunkSite &site : sites)
        for (Operation *call : site.calls)
          if (auto matmul = dyn_cast<rt::MatmulOp>(call))
            matmul.setChunks(site.cut.parts);
      if (sites.empty() || !choice.starts(lang::Overlap::Tp) || choice.keepsMemory())
        continue;
      cut(func, choice.isByCost() ? choose(func, sites.size(), prices)
                                  : llvm::SmallBitVector(sites.size(), true));
    }
    eraseUnused(module);
  }
};
} // namespace
