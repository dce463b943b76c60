//===- WarnWaits.cpp - communication that another plan would not need -----===//
//
// Two kinds of collectives are reported at the plan's lines, with the bytes that a rank sends for
// them in a step and the seconds that the links of its cluster take: those that no line asks for
// (lib/Shard/Unasked.h), and those of activations that cross nodes. Both take the links, and wait
// wherever no other work hides them.
//
// One decision: what is cheap is not reported, so that a warning is worth reading. Nothing is
// reported that takes less than a millisecond of a step; what no line asks for is reported only if
// it takes a tenth of the time of all communication.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/Settings.h"
#include "lib/Cost/Prices.h"
#include "lib/Overlap/Overlap.h"
#include "lib/Schedule/Walk.h"
#include "mlir/IR/BuiltinOps.h"
#include "llvm/ADT/MapVector.h"
#include "llvm/ADT/SetVector.h"
#include "llvm/Support/FormatVariadic.h"

namespace tplan::overlap {
#define GEN_PASS_DEF_WARNWAITSPASS
#include "lib/Overlap/Passes.h.inc"
} // namespace tplan::overlap

using namespace mlir;
using namespace tplan;

namespace {

constexpr double kLeastSeconds = 1e-3, kLeastPart = 0.1;

/// What some collectives cost in a step, where they stand, and dimensions to cut instead.
struct Waits {
  int64_t bytes = 0;
  double seconds = 0;
  llvm::MapVector<std::pair<StringRef, unsigned>, FileLineColLoc> lines;
  llvm::SmallSetVector<StringAttr, 2> instead;
};

/// "12.3 MB", "4.5 GB".
std::string spellBytes(int64_t bytes) {
  double n = static_cast<double>(bytes);
  return llvm::formatv("{0:f1} {1}", n < 1e9 ? n / 1e6 : n / 1e9, n < 1e9 ? "MB" : "GB").str();
}
std::string spellTime(double s) {
  return llvm::formatv("{0:f1} {1}", s < 1 ? s * 1e3 : s, s < 1 ? "ms" : "s").str();
}

/// What the ranks of one program exchange in a step.
class StepWaits {
public:
  StepWaits(sched::ProgramOp program, cost::Prices &prices)
      : context(program.getContext()), mesh(dist::meshOf(program->getParentOfType<ModuleOp>())) {
    schedule::forEachStep(program, sched::EntryKind::Step, [&](sched::Step step, int64_t times) {
      if (auto call = dyn_cast<sched::CallOp>(step.getOperation()))
        for (auto op : call.getFunction().getOps<rt::CollectiveOp>())
          add(op, times, prices);
      else
        seconds += prices.of(step).seconds() * static_cast<double>(times);
    });
  }

  double getSeconds() const { return seconds; }

  void warn(const lang::Settings &settings) const {
    for (auto &[cut, waits] : unasked)
      if (waits.seconds >= kLeastSeconds && waits.seconds >= kLeastPart * seconds)
        warnUnasked(cut, waits, settings);
    for (auto &[axes, waits] : crossing)
      if (waits.seconds >= kLeastSeconds)
        warnCrossing(axes, waits, settings);
  }

private:
  /// How it is undone; the dimension, its line, the axes.
  using Cut = std::tuple<dist::Undone, StringAttr, StringAttr, ArrayAttr>;

  void add(rt::CollectiveOp op, int64_t times, const cost::Prices &prices) {
    dist::Axes axes = dist::axesOf(op.getAxes());
    int64_t bytes = op.getBytes();
    double each = prices.secondsOf(op);
    seconds += each * times;
    auto note = [&](Waits &waits) {
      waits.bytes += bytes * times;
      waits.seconds += each * times;
      if (auto place = op.getLoc()->findInstanceOf<FileLineColLoc>()) {
        FileLineColLoc &first = waits.lines[{place.getFilename(), place.getLine()}];
        if (!first || place.getColumn() < first.getColumn()) // whatever the order of calls
          first = place;
      }
    };
    ArrayAttr planAxes = planAxesOf(axes);
    if (auto what = op->getAttrOfType<dist::UnaskedAttr>(dist::kUnasked)) {
      Waits &waits = unasked[{what.getHow(), what.getDim(), what.getLine(), planAxes}];
      note(waits);
      auto instead = what.getInstead().getAsRange<StringAttr>();
      waits.instead.insert(instead.begin(), instead.end());
    }
    if (op->hasAttr(dist::kActivation) && prices.getLinks().crossesNodes(axes))
      note(crossing[planAxes]);
  }

  /// Axes as the plan names them: `tp` for its pieces.
  ArrayAttr planAxesOf(ArrayRef<StringAttr> axes) {
    llvm::SmallSetVector<StringAttr, 2> names;
    for (StringAttr axis : axes)
      names.insert(StringAttr::get(context, mesh.planAxisOf(axis)));
    return dist::arrayOf(context, names.getArrayRef());
  }

  static void warnUnasked(const Cut &cut, const Waits &waits, const lang::Settings &settings) {
    auto &[how, dim, line, axes] = cut;
    bool gathers = how == dist::Undone::Gathers;
    dist::Axes over = dist::axesOf(axes);
    auto diag = emitWarning(settings.planLine(line));
    if (gathers)
      diag << "this cut of " << dim.getValue() << " is undone for work that no line cuts over "
           << dist::spell(over);
    else
      diag << "sums over " << dim.getValue() << ", cut here, are larger than what layers hand on";
    diag << ": each rank sends " << spellBytes(waits.bytes) << " a step, predicted "
         << spellTime(waits.seconds);
    for (auto &[at, place] : waits.lines)
      diag.attachNote(place) << (gathers ? "gathered here" : "summed here");
    if (!waits.instead.empty())
      diag.attachNote() << "`shard " << dist::spell(waits.instead.getArrayRef()) << " over "
                        << dist::spell(over) << "` "
                        << (gathers ? "shares this work" : "in its place sums less");
    addLinks(diag, settings);
  }

  static void warnCrossing(ArrayAttr axes, const Waits &waits, const lang::Settings &settings) {
    std::string over = dist::spell(dist::axesOf(axes));
    auto diag = emitWarning(settings.planLine("mesh"))
                << "tensor parallelism over " << over << " crosses nodes: each rank sends "
                << spellBytes(waits.bytes) << " of activations a step, which takes "
                << spellTime(waits.seconds) << ", predicted";
    int64_t devices = settings.cluster.devices;
    auto names = llvm::map_to_vector(axes.getAsRange<StringAttr>(),
                                     [](StringAttr axis) { return axis.str(); });
    if (devices % settings.ranksAlong(names) == 0)
      diag.attachNote() << "put " << over << " last in the mesh, where ranks are neighbours";
    else
      diag.attachNote() << "let " << over << " have a number of ranks that divides " << devices;
    addLinks(diag, settings);
  }

  static void addLinks(InFlightDiagnostic &diag, const lang::Settings &settings) {
    if (int64_t devices = settings.cluster.devices)
      diag.attachNote(settings.clusterLine("devices"))
          << "predicted by the links of this cluster, with " << devices << " devices a node";
  }

  MLIRContext *context;
  dist::MeshAttr mesh;
  double seconds = 0; // of all collectives and messages of a step
  llvm::MapVector<Cut, Waits> unasked;
  llvm::MapVector<ArrayAttr, Waits> crossing;
};

struct WarnWaitsPass : tplan::overlap::impl::WarnWaitsPassBase<WarnWaitsPass> {
  /// Where there are several programs, only the one that exchanges longest is reported.
  void runOnOperation() final {
    markAllAnalysesPreserved();
    dist::MeshAttr mesh = dist::meshOf(getOperation());
    if (mesh.getNumRanks() == 1)
      return;
    lang::Settings settings(getOperation());
    cost::Prices prices(settings, mesh);
    std::optional<StepWaits> longest;
    for (auto program : getOperation().getOps<sched::ProgramOp>())
      if (StepWaits waits(program, prices); !longest || waits.getSeconds() > longest->getSeconds())
        longest.emplace(std::move(waits));
    if (longest)
      longest->warn(settings);
  }
};

} // namespace
