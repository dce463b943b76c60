//===- Recipe.h - how a model is trained --------------------------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_RECIPE_H
#define TPLAN_DIALECTS_TPLAN_RECIPE_H

#include "dialects/tplan/Fields.h"
#include "dialects/tplan/TplanEnums.h"

namespace tplan::lang {

/// The model by name, and its numbers with the defaults filled in: i64 or f64 by name.
struct ModelSizes {
  std::string name;
  mlir::DictionaryAttr sizes;
  static constexpr auto fields() {
    return std::tuple(needed("name", &ModelSizes::name), needed("sizes", &ModelSizes::sizes));
  }
  bool operator==(const ModelSizes &) const = default;
};

/// All numbers are there, whatever the kind; those that the kind does not use are zero.
struct Optimizer {
  OptimizerKind kind = OptimizerKind::AdamW;
  double beta1 = 0, beta2 = 0, eps = 0;
  double momentum = 0;
  double decay = 0;                   // of all weights except no_decay
  double clip = 0;                    // the largest norm of all gradients; 0: any
  std::vector<std::string> noDecay{}; // paths of weights, without the numbers of layers
  static constexpr auto fields() {
    return std::tuple(needed("kind", &Optimizer::kind),
                      field("beta1", &Optimizer::beta1, InText::Always),
                      field("beta2", &Optimizer::beta2, InText::Always),
                      field("eps", &Optimizer::eps, InText::Always),
                      field("momentum", &Optimizer::momentum, InText::Always),
                      field("decay", &Optimizer::decay, InText::Always),
                      field("clip", &Optimizer::clip, InText::Always),
                      field("no_decay", &Optimizer::noDecay, InText::Always));
  }
  bool operator==(const Optimizer &) const = default;
};

/// A piece of the learning rate, over the steps begin < step <= end.
struct RatePiece {
  int64_t begin = 0, end = 0;
  double from = 0, to = 0; // at `begin` and at `end`
  RateShape shape = RateShape::Flat;
  static constexpr auto fields() {
    return std::tuple(needed("begin", &RatePiece::begin), needed("end", &RatePiece::end),
                      needed("from", &RatePiece::from), needed("to", &RatePiece::to),
                      needed("shape", &RatePiece::shape));
  }
  bool operator==(const RatePiece &) const = default;
};

/// Files of tokens. A format is a line of include/tplan/token_formats.def, empty where the source
/// states none.
struct DataFiles {
  std::string name;
  double weight = 1; // share in a mixture
  std::string format, path;
  static constexpr auto fields() {
    return std::tuple(needed("name", &DataFiles::name), needed("weight", &DataFiles::weight),
                      needed("format", &DataFiles::format), needed("path", &DataFiles::path));
  }
  bool operator==(const DataFiles &) const = default;
};

/// Where the path is empty, the command line names the file.
struct Evaluation {
  int64_t every = 0;  // steps
  int64_t tokens = 0; // most tokens; 0: all
  std::string format, path;
  static constexpr auto fields() {
    return std::tuple(needed("every", &Evaluation::every), needed("tokens", &Evaluation::tokens),
                      needed("format", &Evaluation::format), needed("path", &Evaluation::path));
  }
  bool operator==(const Evaluation &) const = default;
};

/// An empty path stands for the plan's name with `.checkpoint` after it.
struct Saving {
  int64_t every = 0; // steps
  int64_t keep = 0;  // number of newest checkpoints; 0: all
  std::string path;
  static constexpr auto fields() {
    return std::tuple(needed("every", &Saving::every), needed("keep", &Saving::keep),
                      needed("path", &Saving::path));
  }
  bool operator==(const Saving &) const = default;
};

struct Recipe {
  std::optional<ModelSizes> model{};
  int64_t batch = 1;    // sequences of a step
  int64_t sequence = 1; // S of the data; 0 without one
  int64_t steps = 1;
  std::optional<Optimizer> optimizer{};
  std::vector<RatePiece> lr{};
  std::vector<DataFiles> data{};
  std::optional<Evaluation> eval{};
  std::optional<Saving> save{};
  static constexpr auto fields() {
    return std::tuple(
        field("model", &Recipe::model), field("batch", &Recipe::batch, InText::Always),
        field("sequence", &Recipe::sequence, InText::Always),
        field("steps", &Recipe::steps, InText::Always), field("optimizer", &Recipe::optimizer),
        field("lr", &Recipe::lr), field("data", &Recipe::data), field("eval", &Recipe::eval),
        field("save", &Recipe::save));
  }
  bool operator==(const Recipe &) const = default;
};

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_RECIPE_H
