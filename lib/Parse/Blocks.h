//===- Blocks.h - the plan, recipe and cluster that are compiled -----------===//
#ifndef TPLAN_PARSE_BLOCKS_H
#define TPLAN_PARSE_BLOCKS_H

#include "lib/Parse/Clusters.h"
#include "lib/Parse/SourceReader.h"

namespace tplan::parse {

class Blocks {
public:
  explicit Blocks(const SourceReader &source)
      : source(source), report(source.report), file(source.file) {}

  /// False after an error: what is declared twice.
  bool checkNames();
  /// Finds the plan of this name, or the only one, and the recipe; false after an error.
  bool choose(llvm::StringRef planName);
  /// The plan's cluster and its devices, if it names one; false after an error.
  bool chooseCluster();
  /// Null after an error.
  const ModelDecl *findModel(const Name &name);

  // Null: a plan where there is none, and the default serves; a cluster that no plan names.
  const BlockDecl *plan = nullptr, *recipe = nullptr, *cluster = nullptr;
  Settings planLines, recipeLines;
  Machines machines; // of the plan's cluster

private:
  const BlockDecl *find(BlockDecl::Kind kind, const Name &name, const char *unknown);
  bool chooseMachines();
  bool choosePlan(llvm::StringRef planName);
  const BlockDecl *onlyRecipe();
  bool basesOf(const BlockDecl &block, std::vector<const BlockDecl *> &chain);
  bool merge(const BlockDecl &block, Settings &into);
  bool mergeLine(const BlockDecl &block, const Setting &setting,
                 std::map<llvm::StringRef, llvm::SMLoc> &own, Settings &into);

  const SourceReader &source;
  Report &report;
  const File &file;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_BLOCKS_H
