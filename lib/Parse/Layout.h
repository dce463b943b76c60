//===- Layout.h - the mesh of a plan and what is sharded over it -----------===//
#ifndef TPLAN_PARSE_LAYOUT_H
#define TPLAN_PARSE_LAYOUT_H

#include "lib/Parse/Ast.h"
#include "llvm/ADT/MapVector.h"
#include <map>

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

/// One rank without a mesh.
struct Layout {
  llvm::MapVector<llvm::StringRef, Axis> axes;
  llvm::SMLoc mesh;
  std::vector<Shard> shards;
  std::map<std::pair<llvm::StringRef, llvm::StringRef>, size_t> sharded; // (dim, of) -> in shards
  const Shard *find(llvm::StringRef dim, llvm::StringRef of = {}) const;
  /// The product of the axes of `shard`; 1 for null.
  int64_t ranks(const Shard *shard) const;
};

} // namespace tplan::parse

#endif // TPLAN_PARSE_LAYOUT_H
