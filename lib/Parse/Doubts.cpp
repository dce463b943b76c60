//===- Doubts.cpp - what compiles, and is hardly meant -----------------------===//
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Spelling.h"
#include <set>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

void tplan::parse::doubtRate(Report &report, ArrayRef<RatePart> parts, int64_t steps,
                             SMLoc length) {
  for (const RatePart &part : parts) {
    if (part.shape == "warmup" && part.end >= steps) {
      report
          .warning(part.loc,
                   "warmup never ends: shorten it, or lengthen the training; it takes {0} steps "
                   "of {1}",
                   part.end - part.begin, steps)
          .note(length, "the length is given here");
      return;
    }
    if (part.begin >= steps) {
      report
          .warning(part.loc,
                   "this part of the learning rate never comes: shorten those before it, which "
                   "take {0} steps of {1}",
                   part.begin, steps)
          .note(length, "the length is given here");
      return;
    }
    if (part.end > steps) {
      report
          .warning(part.loc,
                   "the training ends before this part of the learning rate does: leave out its "
                   "length, or end it with step {1}; it ends with step {0}",
                   part.end, steps)
          .note(length, "the length is given here");
      return;
    }
  }
  if (!parts.empty() && parts.back().end < steps)
    report
        .warning(parts.back().loc,
                 "the learning rate ends with step {0}, and stays as it is then: leave out the "
                 "length of a part, or add `flat {2}`; the training has {1} steps",
                 parts.back().end, steps, spell(Number::of(parts.back().last)))
        .note(length, "the length is given here");
}

void tplan::parse::doubtSelector(Report &report, const Selector &selector,
                                 ArrayRef<StringRef> kinds) {
  auto names = [&](StringRef word) {
    return llvm::any_of(selector.include, [&](const SelectorItem &item) {
      return item.path.size() == 1 && item.path[0].name.text == word;
    });
  };
  for (const auto *items : {&selector.include, &selector.except})
    for (const SelectorItem &item : *items) {
      const Name &word = item.path[0].name;
      if (item.path.size() != 1 || item.path[0].ranged || llvm::is_contained(kinds, word.text))
        continue;
      // A selector that also names the kind knows the difference.
      for (StringRef kind : kinds)
        if (!names(kind) && word.text.edit_distance(kind, true, 1) == 1)
          report.warning(
              item.loc,
              "`{0}` is one member of the model, and the kind of weights is `{1}`: write "
              "`{1}` for all of them, or `{0}.*` for the member",
              word.text, kind);
    }
}

//===----------------------------------------------------------------------===//
// Models
//===----------------------------------------------------------------------===//

namespace {
/// What becomes of the ids of an input, in whatever layer.
class Uses {
public:
  explicit Uses(ModuleOp module) : symbols(module) {}
  bool read = false;           // by something that is no loss
  Operation *target = nullptr; // the loss that they are targets of

  void follow(Value value) {
    if (!seen.insert(value).second)
      return;
    for (OpOperand &use : value.getUses()) {
      Operation *op = use.getOwner();
      unsigned i = use.getOperandNumber();
      if (auto call = dyn_cast<lang::CallOp>(op)) {
        follow(symbols.lookup<lang::LayerOp>(call.getCallee()).getBody().getArgument(i));
      } else if (auto loop = dyn_cast<lang::ForOp>(op)) {
        for (Region &region : loop.getKinds())
          follow(region.getArgument(i));
      } else if (auto apply = dyn_cast<lang::ApplyOp>(op);
                 apply && apply.getFunction() == "cross_entropy" && i == 1) {
        target = target ? target : op;
      } else {
        read = true;
      }
    }
  }

private:
  SymbolTable symbols;
  DenseSet<Value> seen;
};
} // namespace

void tplan::parse::doubtTargets(ModuleOp module) {
  struct Source {
    int64_t read = -1; // the largest shift of what the model reads
    std::map<int64_t, Operation *> targets;
  };
  std::map<std::string, Source> sources;
  module.walk([&](lang::InputOp input) {
    Uses uses(module);
    uses.follow(input.getValue());
    Source &source = sources[input.getSource().str()];
    int64_t shift = input.getShift();
    if (uses.read)
      source.read = std::max(source.read, shift);
    if (uses.target)
      source.targets.emplace(shift, uses.target);
  });
  for (auto &[name, source] : sources)
    for (auto &[shift, loss] : source.targets)
      if (shift <= source.read)
        mlir::emitWarning(loss->getLoc())
            << "the model reads the targets that it is to predict: take those that come after, as "
               "in shift("
            << name << ", " << source.read + 1 << "), found a shift of " << shift;
}

//===----------------------------------------------------------------------===//
// Clusters and plans
//===----------------------------------------------------------------------===//

void tplan::parse::doubtHeads(Report &report, ModuleOp module, const Layout &layout) {
  std::set<std::pair<StringRef, int64_t>> heads;
  module.walk([&](lang::ApplyOp op) {
    if (op.getFunction() != "attention")
      return;
    auto spec = op->getAttrOfType<nn::AttentionAttr>("spec");
    for (auto [name, operand] : {std::pair(spec.getHeads(), 0), std::pair(spec.getGroups(), 1)}) {
      auto type = cast<nn::Tensor>(op.getArgs()[operand].getType());
      heads.insert({name, type.getDims()[type.find(name)].getSize()});
    }
  });
  for (auto [name, size] : heads) {
    const Shard *shard = layout.find(name);
    int64_t ranks = layout.ranks(shard);
    if (ranks > size && ranks % size == 0)
      report
          .warning(shard->loc,
                   "{0} has fewer heads than ranks, of which {1} compute the same: shard it over "
                   "at most {2}, found {3}",
                   name, ranks / size, size, ranks)
          .note(layout.mesh, "the mesh is given here");
  }
}
