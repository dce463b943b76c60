//===- MemorySearch.h - how much memory overlap may take -----------------------===//
//
// Where costs decide what runs beside other work, each program of a step starts as much as it has
// room for. That is known when memory is planned, so the phases up to there are run several times,
// and this search says with what.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_COST_MEMORYSEARCH_H
#define TPLAN_COST_MEMORYSEARCH_H

#include "dialects/nn/Parts.h"
#include "mlir/IR/BuiltinOps.h"
#include <optional>

namespace tplan::cost {

/// What a program has room for: which exchanges of a layer leave its functions, how many layers a
/// task gathers ahead, two of which cost no more than none, and how many bytes more than without
/// overlap a function may hold whose exchanges stay in it.
struct Room {
  /// Each takes more memory than the one before.
  enum Cut : int64_t { Nothing, GathersOfForward, Gathers, All };
  int64_t cut = All, layers = 2, spare = 0;

  bool cutsGathers(nn::Part part) const {
    return cut >= Gathers || (cut == GathersOfForward && part == nn::Part::Forward);
  }
  bool cutsSums() const { return cut == All; }
  /// Whether a forward and a backward may have their temporaries at once, and a layer what one half
  /// of it leaves to the other.
  bool mergesPairs() const { return cut == All; }
  bool cutsLastLayer() const { return cut == All; }
  /// Whether what stays in a function may hold as much more at once as it likes.
  bool ordersFreely() const { return cut >= Gathers; }
  bool operator==(const Room &) const = default;
};

/// The room of each program of a module: an attribute, while memory decides it. Asked before the
/// passes of `overlap`, and what they found of it after them.
inline constexpr llvm::StringLiteral kRoom = "tplan.room";
bool hasRooms(mlir::ModuleOp module);
/// Where the attribute says nothing of a program, it has room for all.
Room roomOf(mlir::ModuleOp module, size_t program);
void setRooms(mlir::ModuleOp module, llvm::ArrayRef<Room> rooms);

/// Finds the most that fits in each program: which exchanges, of these the layers by bisection, and
/// then, where exchanges stay in functions, whether these may hold the rest.
class MemorySearch {
public:
  /// `least`: what leaves the functions at least, because the plan says so.
  MemorySearch(int64_t limit, Room::Cut least) : limit(limit), least(least) {}
  /// Writes on a module what is to be tried; where nothing fits, what takes the least memory.
  void ask(mlir::ModuleOp module) const;
  /// Reads what was tried, and which programs fit; those that have no arena do not.
  void judge(mlir::ModuleOp module);
  /// Whether anything else is to be tried.
  bool goesOn() const { return state == State::searching; }

private:
  enum class State { searching, found, stuck };
  struct Program {
    int64_t cut = Room::All, fits = -1, fails = INT64_MAX; // layers: the most and the least known
    int64_t rest = 0;               // bytes of the limit that are left with the most layers
    std::optional<int64_t> spare{}; // of these, once the layers are known
    Room next() const;
    void judge(Room tried, std::optional<int64_t> left);
  };
  int64_t limit;
  Room::Cut least;
  State state = State::searching;
  std::vector<Program> programs; // none before the first trial
};

} // namespace tplan::cost

#endif // TPLAN_COST_MEMORYSEARCH_H
