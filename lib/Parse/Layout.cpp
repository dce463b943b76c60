//===- Layout.cpp - the mesh of a plan and what is sharded over it ---------===//
#include "lib/Parse/Layout.h"

using namespace tplan::parse;
using llvm::StringRef;

const Shard *Layout::find(StringRef dim, StringRef of) const {
  auto it = sharded.find({dim, of});
  return it == sharded.end() ? nullptr : &shards[it->second];
}

int64_t Layout::ranks(const Shard *shard) const {
  int64_t ranks = 1;
  if (shard)
    for (const Name &axis : shard->axes)
      ranks *= axes.find(axis.text)->second.size;
  return ranks;
}
