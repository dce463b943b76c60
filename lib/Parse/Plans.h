//===- Plans.h - what the readers of a plan's lines share -------------------===//
#ifndef TPLAN_PARSE_PLANS_H
#define TPLAN_PARSE_PLANS_H

#include "lib/Parse/Clusters.h"
#include "lib/Parse/Features.h"
#include "lib/Parse/Layout.h"
#include "lib/Parse/Limits.h"
#include "lib/Parse/Settings.h"

namespace tplan::parse {

/// A plan, as far as its lines are read.
struct PlanContext {
  ModelBuilder &model;
  Report &report;
  const Settings &settings;
  const Recipe &recipe;
  const Cluster *cluster; // or null
  lang::Plan fields;
  Places places; // of its lines
  Layout layout;
};

/// A word of a closed set, or an error that lists it.
bool oneOf(PlanContext &plan, const Name &word, llvm::ArrayRef<llvm::StringRef> known,
           llvm::StringRef what);

/// The same for the words of an enum.
template <class Word>
std::optional<Word> wordOf(PlanContext &plan, const Name &word, llvm::StringRef what) {
  llvm::SmallVector<llvm::StringRef> known = lang::wordsOf<Word>();
  if (!oneOf(plan, word, known, what))
    return std::nullopt;
  return static_cast<Word>(llvm::find(known, word.text) - known.begin());
}

/// Whether all are axes of the mesh, each named once.
bool findAxes(PlanContext &plan, llvm::ArrayRef<Name> names);

std::vector<std::string> strings(llvm::ArrayRef<Name> names);

/// Layouts.cpp: the lines mesh, shard, layout and zero.
void readLayout(PlanContext &plan);
/// Over how many ranks the lines cut each dimension; unchecked, before the model is built.
std::map<llvm::StringRef, int64_t> ranksOf(const Settings &settings);
/// Pipelines.cpp: the lines `pipeline interleaved(chunks = 2)`, whose name is a row of the registry
/// of schedules, which a later phase knows with the numbers that it takes, and `stages 2, 3`,
/// numbers of layers; and the defaults where no line says anything of stages.
void readPipeline(PlanContext &plan, const Setting &line);
void readStages(PlanContext &plan, const Setting &line);
void completeStages(PlanContext &plan);
/// Precisions.cpp.
void readPrecision(PlanContext &plan, const Setting &line);
/// Zero.cpp; called when the other lines are read.
void readZero(PlanContext &plan, const Setting &line);
/// Compress.cpp.
void readCompress(PlanContext &plan, const Setting &line);

} // namespace tplan::parse

#endif // TPLAN_PARSE_PLANS_H
