//===- Plans.h - what the readers of a plan's lines share -------------------===//
#ifndef TPLAN_PARSE_PLANS_H
#define TPLAN_PARSE_PLANS_H

#include "lib/Parse/Settings.h"
#include "llvm/ADT/MapVector.h"

namespace tplan::parse {

struct Axis {
  int64_t size;
  llvm::SMLoc loc;
  bool used = false; // something is sharded over it
};

/// Dimensions over axes, the first of which is major; `of` is empty or "residual".
struct Shard {
  Names dims, axes;
  Name of;
  llvm::SMLoc loc;
};

/// The mesh of a plan and what is sharded over it; one rank without a mesh.
struct Layout {
  llvm::MapVector<llvm::StringRef, Axis> axes;
  llvm::SMLoc mesh;
  std::vector<Shard> shards;
  std::map<std::pair<llvm::StringRef, llvm::StringRef>, size_t> sharded; // (dim, of) -> in shards
  const Shard *find(llvm::StringRef dim, llvm::StringRef of = {}) const;
  /// The product of the axes of `shard`; 1 for null.
  int64_t ranks(const Shard *shard) const;
};

struct PlanContext {
  Elaborator &e;
  const Settings &settings;
  const Recipe &recipe;
  const Cluster *cluster; // or null
  lang::Plan plan;
  Places places; // of its lines
  Layout layout;
};

/// A word of a closed set, or an error that lists it.
bool oneOf(PlanContext &c, const Name &word, llvm::ArrayRef<llvm::StringRef> known,
           llvm::StringRef what);

/// Likewise, of the words of an enum.
template <class Word>
std::optional<Word> wordOf(PlanContext &c, const Name &word, llvm::StringRef what) {
  llvm::SmallVector<llvm::StringRef> known = lang::wordsOf<Word>();
  if (!oneOf(c, word, known, what))
    return std::nullopt;
  return static_cast<Word>(llvm::find(known, word.text) - known.begin());
}

/// Whether all are axes of the mesh, each named once.
bool findAxes(PlanContext &c, llvm::ArrayRef<Name> names);

std::vector<std::string> strings(llvm::ArrayRef<Name> names);

/// Layouts.cpp: the lines mesh, shard, layout and zero.
void readLayout(PlanContext &c);
/// Over how many ranks the lines cut each dimension; unchecked, before the model is built.
std::map<llvm::StringRef, int64_t> ranksOf(const Settings &settings);
/// Zero.cpp, when the others are read.
void readZero(PlanContext &c, const Setting &line);

} // namespace tplan::parse

#endif // TPLAN_PARSE_PLANS_H
