//===- Functions.h - what passes share that cut functions of layers ---------===//
#ifndef TPLAN_OVERLAP_FUNCTIONS_H
#define TPLAN_OVERLAP_FUNCTIONS_H

#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/SetVector.h"

namespace tplan::overlap {

/// The axes of a collective as the plan names them: those of the two hops of an exchange are alike.
mlir::ArrayAttr planAxesOf(rt::CollectiveOp op, dist::MeshAttr mesh);

/// A copy of a function, of no layer and no part, after it.
rt::FuncOp cloneApart(rt::FuncOp func, llvm::StringRef suffix);
/// Erases results, and the ops that then nobody needs.
void eraseResults(rt::FuncOp func, const llvm::BitVector &results);

/// What a result of a function is made of.
struct Sum {
  llvm::SmallSetVector<unsigned, 2> args;
  llvm::SmallSetVector<mlir::Attribute, 2> axes; // of the plan, over which its collectives are
  llvm::SmallVector<rt::CollectiveOp, 2> collectives;
  int64_t bytes = 0; // that these read
};
Sum sumOf(rt::FuncOp func, unsigned result, dist::MeshAttr mesh);

/// Some arguments and results of a function.
struct Subset {
  llvm::BitVector args, results;
  Subset others() const {
    Subset rest = *this;
    rest.args.flip(), rest.results.flip();
    return rest;
  }
};
/// Erases these, and the ops that then nobody needs.
void erase(rt::FuncOp func, const Subset &subset);

/// The results of a call that update no argument: their numbers, and where they go.
llvm::SmallVector<std::pair<unsigned, sched::Use>> resultsOf(sched::CallOp call);

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_FUNCTIONS_H
