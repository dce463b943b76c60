//===- Plan.h - how a training step is laid out and ordered -------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_PLAN_H
#define TPLAN_DIALECTS_TPLAN_PLAN_H

#include "dialects/tplan/Cluster.h"
#include "dialects/tplan/TplanEnums.h"

namespace tplan::lang {

struct Axis {
  std::string name;
  int64_t size = 1; // ranks
  static constexpr auto fields() {
    return std::tuple(needed("name", &Axis::name), needed("size", &Axis::size));
  }
  bool operator==(const Axis &) const = default;
};

/// Dimensions that are cut over axes, the first of which is major.
struct Shard {
  std::vector<std::string> dims, axes;
  std::string of{}; // "residual": only of what the layers of a list hand on
  static constexpr auto fields() {
    return std::tuple(needed("dims", &Shard::dims), needed("axes", &Shard::axes),
                      field("of", &Shard::of));
  }
  bool operator==(const Shard &) const = default;
};

/// What is kept in blocks over the axes: optimizer states and reduced gradients (1), also
/// accumulators of gradients (2), also weights (3).
struct Zero {
  int64_t stage = 1;
  std::vector<std::string> axes;               // over which B is cut
  Accumulate accumulate = Accumulate::Sharded; // for stage 2
  bool withinNode = false;                     // over the pieces of the axes in a node
  bool copiesInNode = false;                   // of stage 3: a copy of the weights is in each node
  static constexpr auto fields() {
    return std::tuple(needed("stage", &Zero::stage), needed("axes", &Zero::axes),
                      field("accumulate", &Zero::accumulate, InText::Always),
                      field("within_node", &Zero::withinNode),
                      field("copies_in_node", &Zero::copiesInNode));
  }
  bool operator==(const Zero &) const = default;
};

/// The form in which ranks along the axes exchange gradients, or gather weights. What is lost of a
/// gradient is added to the next step's.
struct Compress {
  Compression format = Compression::Int8;
  int64_t block = 256;           // elements that share a scale, of int8 and int4
  int64_t rank = 4;              // columns of a factor, of powersgd
  int64_t start = 0;             // steps before the first one that is compressed
  std::vector<std::string> axes; // over which B is cut; of `zero`, for weights
  static constexpr auto fields() {
    return std::tuple(needed("format", &Compress::format), field("block", &Compress::block),
                      field("rank", &Compress::rank), field("start", &Compress::start),
                      needed("axes", &Compress::axes));
  }
  bool operator==(const Compress &) const = default;
};

/// What the cotangents of the losses are multiplied by, in f16 (LossScale.h). The scale doubles
/// after `interval` steps in a row whose gradients are finite, and halves where they are not.
struct LossScale {
  double start = 65536;
  int64_t interval = 2000; // steps; 0: the scale stays what it is
  /// Bounds of what users may write, and the lowest scale that steps come to by themselves:
  /// cotangents are f32, and divided by the tokens of a step before they are f16.
  static constexpr double kLeast = 1, kMost = 0x1p48, kFloor = 0x1p-24;
  static constexpr auto fields() {
    return std::tuple(needed("start", &LossScale::start), needed("interval", &LossScale::interval));
  }
  bool operator==(const LossScale &) const = default;
};

/// Layers of a weight of the model, by its path with `{i}`: those of its list, or layer 0.
struct WeightLayers {
  std::string path;
  int64_t first = 0, last = 0;
  static constexpr auto fields() {
    return std::tuple(needed("path", &WeightLayers::path), needed("first", &WeightLayers::first),
                      needed("last", &WeightLayers::last));
  }
  bool operator==(const WeightLayers &) const = default;
};

/// Weights whose GEMMs compute in another precision than the rest, forward and backward.
struct PartPrecision {
  Precision precision = Precision::F32; // of results, where operands are in f8
  std::optional<Fp8Recipe> fp8{};
  /// With delayed scales: how many steps' maxima count, and the powers of two left above them.
  int64_t history = 0, margin = 0;
  std::string selector; // as the plan has it
  std::vector<WeightLayers> weights;
  static constexpr auto fields() {
    return std::tuple(
        needed("precision", &PartPrecision::precision), field("fp8", &PartPrecision::fp8),
        field("history", &PartPrecision::history), field("margin", &PartPrecision::margin),
        needed("selector", &PartPrecision::selector), needed("weights", &PartPrecision::weights));
  }
  bool operator==(const PartPrecision &) const = default;
};

/// Layers are counted over all lists.
struct RecomputeRule {
  RecomputePolicy policy = RecomputePolicy::None;
  int64_t first = 0, last = 0;
  static constexpr auto fields() {
    return std::tuple(needed("policy", &RecomputeRule::policy),
                      needed("first", &RecomputeRule::first), needed("last", &RecomputeRule::last));
  }
  bool operator==(const RecomputeRule &) const = default;
};

/// A later rule has priority over an earlier one.
struct Recompute {
  RecomputePolicy standard = RecomputePolicy::None; // where no rule says otherwise
  std::vector<RecomputeRule> rules{};
  static constexpr auto fields() {
    return std::tuple(field("default", &Recompute::standard, InText::Always),
                      field("rules", &Recompute::rules, InText::Always));
  }
  bool operator==(const Recompute &) const = default;
};

/// Channels of a group in NCCL (MAXCHANNELS).
inline constexpr int64_t kMostChannels = 64;

/// A plan that says nothing is the serial meaning, in f32 on one rank.
struct Plan {
  std::string recipe, cluster; // by symbol; the cluster may be none
  std::vector<Axis> mesh{};    // the first axis varies slowest over the ranks
  std::vector<Shard> shard{};  // a dimension stands in one item
  std::optional<Zero> zero{};
  Reduce reduce = Reduce::Ordered;
  Read read = Read::Every;
  std::optional<int64_t> microbatch{}; // sequences of one rank; without it, its part of the batch
  Precision precision = Precision::F32;
  std::vector<PartPrecision> partPrecisions{}; // a weight is in one of them at most
  std::optional<Precision> moments{};          // of the optimizer, where they are not f32
  std::optional<Precision> master{};           // weights, where they are not kept in f32
  /// F64 in the oracle of a bf16 or f16 plan, which rounds where that plan does.
  std::optional<Precision> computedIn{};
  std::optional<LossScale> lossScale{};
  std::string pipeline = "accumulate"; // a row of lib/Pipeline/Policies.def
  /// Stages of a rank, and microbatches that go through one of them before the next; without them
  /// as the schedule has it.
  std::optional<int64_t> chunks{}, group{};
  std::optional<int64_t> kept{}; // activations that a rank may keep, where a search makes the order
  std::optional<int64_t> ahead{}; // more forwards than the schedule needs, for each rank after it
  std::string orders{};           // instead of a schedule's, as lib/Pipeline/Text.h has them
  std::string stageAxis{};        // axis whose ranks hold stages; empty: none
  /// Numbers of layers of lists in each stage; without them one stage has all, or stages cost about
  /// the same.
  std::vector<int64_t> stages{};
  Recompute recompute{};
  bool fuse = true;
  /// What runs beside other work; without a list, what costs say.
  std::optional<std::vector<Overlap>> overlap{};
  std::optional<int64_t> memory{}; // bytes of a rank
  /// In how many hops a group exchanges that has several ranks in each of several nodes, 1 or 2;
  /// without it what costs say.
  std::optional<int64_t> hops{};
  /// Channels of NCCL that a group may have, each of which takes a multiprocessor; without it as
  /// many as NCCL likes. Nothing elsewhere.
  std::optional<int64_t> channels{};
  std::optional<Compress> compress{}, compressWeights{};
  static constexpr auto fields() {
    return std::tuple(
        field("recipe", &Plan::recipe), field("cluster", &Plan::cluster),
        field("mesh", &Plan::mesh), field("shard", &Plan::shard), field("zero", &Plan::zero),
        field("reduce", &Plan::reduce, InText::Always), field("read", &Plan::read, InText::Always),
        field("microbatch", &Plan::microbatch),
        field("precision", &Plan::precision, InText::Always),
        field("precision_of", &Plan::partPrecisions), field("moments", &Plan::moments),
        field("master", &Plan::master), field("computed_in", &Plan::computedIn),
        field("loss_scale", &Plan::lossScale), field("pipeline", &Plan::pipeline, InText::Always),
        field("chunks", &Plan::chunks), field("group", &Plan::group), field("kept", &Plan::kept),
        field("ahead", &Plan::ahead), field("orders", &Plan::orders),
        field("stage_axis", &Plan::stageAxis), field("stages", &Plan::stages),
        field("recompute", &Plan::recompute, InText::Always),
        field("fuse", &Plan::fuse, InText::Always), field("overlap", &Plan::overlap),
        field("memory", &Plan::memory), field("hops", &Plan::hops),
        field("channels", &Plan::channels), field("compress", &Plan::compress),
        field("compress_weights", &Plan::compressWeights));
  }
  bool operator==(const Plan &) const = default;
};

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_PLAN_H
