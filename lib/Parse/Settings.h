//===- Settings.h - recipes, clusters and plans ----------------------------===//
//
// Settings are merged by key first (a recipe over its base, --set over all), then
// each line is read by the one function that knows it and sets a field of the op's
// attribute. The op's location keeps that of each line.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_PARSE_SETTINGS_H
#define TPLAN_PARSE_SETTINGS_H

#include "lib/Parse/ModelBuilder.h"

namespace tplan::parse {

enum class Unit { Sequences, Tokens, Steps, Nodes, Bytes, Rate, Work, Time, Count };

/// A quantity in one of the units `allowed`, SI units removed; `what` names it in
/// errors. Without a unit it is an error if several are allowed.
struct Amount {
  int64_t value;
  Unit unit;
};
std::optional<Amount> amount(Report &report, const Quantity &quantity, llvm::ArrayRef<Unit> allowed,
                             llvm::StringRef what);

/// The lines of one recipe, cluster or plan, by key.
struct Settings {
  Name name;
  std::map<llvm::StringRef, const Setting *> lines;
  const Setting *find(llvm::StringRef key) const {
    auto it = lines.find(key);
    return it == lines.end() ? nullptr : it->second;
  }
};

/// What a line has said so far, by name.
class Once {
public:
  explicit Once(Report &report) : report(report) {}
  /// False after an error: it has been said before.
  bool operator()(llvm::StringRef what, llvm::SMLoc loc) {
    auto [it, fresh] = given.try_emplace(what, loc);
    if (!fresh)
      report.error(loc, "given twice: {0}", what).note(it->second, "the first is here");
    return fresh;
  }

private:
  Report &report;
  llvm::StringMap<llvm::SMLoc> given;
};

/// Collects where each line of a recipe, plan or cluster comes from.
class Places {
public:
  Places(Report &report, llvm::SMLoc loc) : report(report), loc(loc) {}
  void add(llvm::StringRef key, llvm::SMLoc at);
  /// The declaration's location, fused with a named one for each line.
  mlir::Location location() const;

private:
  Report &report;
  llvm::SMLoc loc;
  llvm::SmallVector<mlir::Location> places;
};

//===----------------------------------------------------------------------===//
// Selectors
//===----------------------------------------------------------------------===//

/// The layers of a weight's list that a selector matches, as [first, last]; a weight
/// outside of lists is layer 0.
using Ranges = std::vector<std::pair<int64_t, int64_t>>;

/// What `selector` matches, weight by weight; an error for each part that matches
/// nothing.
std::optional<std::vector<Ranges>> match(Report &report, const Selector &selector,
                                         const ModelInfo &info);
/// How many of the weight's instances lie in `ranges`.
int64_t instances(const WeightInfo &weight, const Ranges &ranges);
/// Prints the names of files, `{1..2}` for the layers of a list, and their bytes; `wide` where the
/// plan computes in f64.
void printMatches(const ModelInfo &info, llvm::ArrayRef<Ranges> matches, bool wide,
                  llvm::raw_ostream &os);

//===----------------------------------------------------------------------===//
// What a recipe says before and after its model is built
//===----------------------------------------------------------------------===//

struct Recipe {
  const Settings *settings;
  Name model;
  Sizes sizes; // of the model, by the recipe or --set
  Sizes data;  // sizes of the model, by the recipe or --set
  int64_t batch = 0, sequence = 0, steps = 0;
};

/// Reads model, data, batch and length.
std::optional<Recipe> readRecipe(Report &report, const Settings &settings,
                                 const Sizes &dataOverrides);
void emitRecipe(ModelBuilder &model, const Recipe &recipe, llvm::StringRef symbol);

/// The files of a training: its lines `data`, `eval` and `save`. The model is built, so the
/// vocabulary is known.
std::vector<lang::DataFiles> readFiles(ModelBuilder &model, const Setting &line);
lang::Evaluation readEval(ModelBuilder &model, const Setting &line,
                          llvm::ArrayRef<lang::DataFiles> data);
lang::Saving readSave(ModelBuilder &model, const Setting &line);

struct Cluster;
/// `cluster` is null where the plan names none.
void emitPlan(ModelBuilder &model, const Settings &settings, const Recipe &recipe,
              llvm::StringRef recipeSymbol, const Cluster *cluster, llvm::StringRef symbol);

} // namespace tplan::parse

#endif // TPLAN_PARSE_SETTINGS_H
