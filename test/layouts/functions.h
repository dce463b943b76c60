//===- functions.h - layer functions with layouts, compiled and called ----===//
//
// A module of layers goes from `localize` to machine code, without a chain or a program around it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_LAYOUTS_FUNCTIONS_H
#define TPLAN_TEST_LAYOUTS_FUNCTIONS_H

#include "mlir/IR/BuiltinOps.h"
#include "runtime/ranks/rank.h"
#include "test/layouts/blocks.h"
#include "llvm/ADT/StringMap.h"
#include <memory>

namespace layouts {

/// What a function takes of one rank, by the names of its arguments.
using Arguments = llvm::StringMap<Numbers>;

class Functions {
public:
  /// `error` says what went wrong.
  Functions(mlir::ModuleOp module, std::string &error);
  ~Functions();

  /// Calls a function for one rank. Member numbers of the rank are filled in.
  std::vector<Numbers> call(llvm::StringRef name, int64_t rank, const Arguments &arguments);

private:
  struct Value {
    std::string name;
    std::string element; // "f64"
    int64_t count;
  };
  struct Signature {
    std::vector<Value> arguments, results;
    int64_t frame = 0;
    int (*code)(tp_rank *, void *const *) = nullptr;
  };
  struct Impl;
  std::unique_ptr<Impl> impl;
  llvm::StringMap<Signature> signatures;
  tplan::dist::MeshAttr mesh;
  tp_rank rank;

  void readSignatures(mlir::ModuleOp module);
  bool load(mlir::ModuleOp module, std::string &error);
  double memberNumber(int64_t rank, llvm::StringRef axes) const;
};

} // namespace layouts

#endif // TPLAN_TEST_LAYOUTS_FUNCTIONS_H
