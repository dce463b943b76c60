//===- FunctionCut.h - a function of a layer becomes several ----------------===//
//
// Ops of a function are of several kinds, in the order in which these can run, and each kind
// becomes a function: of a backward with ZeRO 3 the gathers of weights, the rest, and the sums.
// What one of them makes and a later one reads is in flight: memory of the program, which calls
// hand on. Arguments, and results that update none, are known by role and name, so no two have both
// alike.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_OVERLAP_FUNCTIONCUT_H
#define TPLAN_OVERLAP_FUNCTIONCUT_H

#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "llvm/ADT/MapVector.h"
#include <vector>

namespace tplan::overlap {

/// A function of those that another one becomes, and which values in flight its arguments and
/// results are; none where they are those of the whole.
struct Piece {
  rt::FuncOp func;
  llvm::SmallVector<std::optional<unsigned>> reads, makes;
};

class FunctionCut {
public:
  struct Kind {
    llvm::StringRef suffix; // of the function's name
    bool isRest = false;    // returns arguments as they are, and stays the part of its layer
    bool givesAll = false;  // of all that it makes somebody outside knows when it is there
  };
  /// How a value in flight is called.
  using NameOf = llvm::function_ref<std::string(mlir::Value)>;

  /// `kindOf`: of each op but the return, its number among `kinds`, one of which is the rest.
  FunctionCut(rt::FuncOp whole, llvm::ArrayRef<Kind> kinds,
              llvm::DenseMap<mlir::Operation *, unsigned> kindOf, NameOf nameOf);

  struct Flight {
    std::string name;
    mlir::Type type;
    std::string maker; // the function
  };
  std::vector<Flight> flights;
  llvm::SmallVector<Piece> pieces; // in the order in which they are called

  /// Makes the functions, of the ops of the whole, which is empty then.
  void cut();

private:
  rt::FuncOp whole;
  llvm::SmallVector<Kind> kinds;
  llvm::DenseMap<mlir::Operation *, unsigned> kindOf;
  llvm::MapVector<mlir::Value, unsigned> flightOf;

  void findFlights(NameOf nameOf);
  bool uses(unsigned kind, mlir::BlockArgument arg) const;
  Piece begin(const Kind &kind);
  void end(unsigned kind, Piece &piece, llvm::DenseMap<mlir::Value, mlir::Value> &inside);
  mlir::DictionaryAttr labelOf(unsigned flight);
};

/// Replaces the calls of a function. Made before the function is cut.
class CallCut {
public:
  CallCut(rt::FuncOp whole, llvm::ArrayRef<sched::CallOp> ofWhole);
  /// Each becomes calls of the pieces, of which the first is returned.
  llvm::SmallVector<sched::CallOp> replace(FunctionCut &cut) {
    return llvm::map_to_vector(calls, [&](Cut &each) { return replace(each, cut); });
  }

private:
  using Label = std::pair<mlir::Attribute, mlir::Attribute>; // role and name
  static Label labelOf(mlir::DictionaryAttr attributes);
  struct Cut {
    sched::CallOp call;
    llvm::DenseMap<Label, sched::Use> arguments, results; // results that update no argument
  };
  std::vector<Cut> calls;

  static sched::CallOp replace(Cut &each, FunctionCut &cut);
  static llvm::SmallVector<mlir::Value> declare(sched::CallOp call,
                                                llvm::ArrayRef<FunctionCut::Flight> flights);
};

} // namespace tplan::overlap

#endif // TPLAN_OVERLAP_FUNCTIONCUT_H
