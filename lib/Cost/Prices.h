//===- Prices.h - what work costs on the devices of a cluster ---------------===//
//
// Seconds of the calls of a function, of the steps of a section, of what stands between them. One
// place for the predicted step time, the search for a schedule, the stage cut and warnings.
//
// One decision: a price is what a call would take alone, by its FLOPs and bytes and what the device
// reaches of its peaks. Nothing is fitted to a measurement of the whole; so a prediction says
// "uncalibrated", and its figures can be checked by hand (docs/step-time.md).
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_COST_PRICES_H
#define TPLAN_COST_PRICES_H

#include "dialects/sched/Sched.h"
#include "lib/Cost/Links.h"
#include "lib/Cost/Spent.h"

namespace tplan::cost {

class Play;
struct Load;

class Prices {
public:
  Prices(const lang::Settings &settings, dist::MeshAttr mesh);
  /// Whether the cluster says what its devices do. Where it does not, prices are those of a device
  /// that does 300 FLOPs while it moves a byte, good for comparing alone.
  bool areKnown() const { return known; }

  /// Seconds of a call, launched from a graph.
  double secondsOf(rt::Call call) const;
  /// Seconds of a collective that moves so many bytes; of none: its latency.
  double secondsOf(rt::CollectiveOp op, int64_t bytes) const;
  /// The same with what it asks of its link and of the device's memory.
  Load loadOf(rt::CollectiveOp op) const;
  /// The share of the device's memory bandwidth that a call takes.
  double memoryOf(rt::Call call) const;
  /// All calls of a function, once each.
  const Spent &of(rt::FuncOp func);
  /// The same beside what runs already.
  void play(rt::FuncOp func, Play &time) const;
  /// One execution of a step of a section. Both ends of a message have its price.
  Spent of(sched::Step step);
  const Links &getLinks() const { return links; }
  /// FLOPs a second at peak for GEMMs of the plan's precision.
  double peak() const;

private:
  bool known;
  const lang::Device &device;
  Links links;
  lang::Precision precision;
  llvm::DenseMap<mlir::Operation *, Spent> ofFunctions;
  const lang::Rate &rateOf(llvm::StringRef of) const;
  const lang::Rate &rateOf(mlir::Type element) const;
  double secondsOfGemm(rt::MatmulOp matmul) const;
  double secondsInMemory(int64_t bytes) const;
};

} // namespace tplan::cost

#endif // TPLAN_COST_PRICES_H
