//===- ChunkExchanges.cpp - chunk-exchanges: GEMMs run beside parts of what they exchange ---===//
//
// Gathers and sums of activations that GEMMs read or make are done in chunks (Chunks.h), and so are
// kernels that lie between two of them (CutKernels.cpp).
//
// One decision: GEMMs that could be done in chunks say so in each plan, with overlap or without:
// their tiles end where chunks do. So overlap changes no bit.
//
//===----------------------------------------------------------------------===//
#include "lib/Cost/OverlapChoice.h"
#include "lib/Overlap/Chunks.h"
#include "lib/Overlap/FunctionOrder.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Overlap/PartKernels.h"
#include "llvm/ADT/SmallBitVector.h"

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

/// What of a function is done in chunks.
struct Chosen {
  llvm::SmallBitVector sites;
  bool kernels; // those between the sites, too
};

struct ChunkExchangesPass : tplan::overlap::impl::ChunkExchangesPassBase<ChunkExchangesPass> {
  PartKernels kernels; // while the pass runs

  void cut(rt::FuncOp func, const Chosen &chosen) {
    SmallVector<ChunkSite> sites = chunkSitesOf(func);
    SmallVector<Cut> cuts;
    for (unsigned i : chosen.sites.set_bits()) {
      const Cut &cut = sites[i].cut;
      if (chosen.kernels && !cut.byRank && !llvm::is_contained(cuts, cut))
        cuts.push_back(cut);
      cutInChunks(sites[i], kernels);
    }
    for (const Cut &cut : cuts)
      cutKernels(func, cut, kernels);
  }

  /// What the function takes with some of its collectives in chunks.
  double secondsWith(rt::FuncOp func, const Chosen &chosen, const cost::Prices &prices) {
    OpBuilder b(func);
    auto trial = cast<rt::FuncOp>(b.clone(*func));
    trial.setSymName((func.getSymName() + ".trial").str());
    cut(trial, chosen);
    double seconds = FunctionOrder(trial, prices, [](rt::CollectiveOp) { return true; }).seconds();
    trial.erase();
    return seconds;
  }

  /// Collectives that are worth it, one after the other; or all of them with the kernels between
  /// them, because a chunk then goes from one to the next, which none is worth alone.
  Chosen choose(rt::FuncOp func, size_t sites, const cost::Prices &prices) {
    Chosen chosen = {llvm::SmallBitVector(sites), false}, all = allOf(sites);
    double best = secondsWith(func, chosen, prices);
    auto isBetter = [&](const Chosen &other) {
      double seconds = secondsWith(func, other, prices);
      if (seconds > best * (1 - kLeastGainOfChunks))
        return false;
      best = seconds;
      return true;
    };
    for (size_t i = 0; i < sites; ++i) {
      Chosen more = chosen;
      more.sites.set(i);
      if (isBetter(more))
        chosen = more;
    }
    return isBetter(all) ? all : chosen;
  }

  static Chosen allOf(size_t sites) { return {llvm::SmallBitVector(sites, true), true}; }

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
      cut(func, choice.isByCost() ? choose(func, sites.size(), prices) : allOf(sites.size()));
    }
    kernels.eraseUnused(module);
  }
};
} // namespace
