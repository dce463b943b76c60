//===- MergeKernels.cpp - merge-kernels: kernels of equal code are one ----===//
//
// form-kernels gives equal rt.kernel ops one symbol. Here are those that differ in names of
// dimensions, in their order or in how many rows there are, and not in what a task does.
//
// One decision: the sizes of a function's arguments do not count. They say how much memory there
// is; what of it a task touches is in the code.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/EqualCode.h"
#include "dialects/rt/RT.h"
#include "dialects/sched/Sched.h"
#include "lib/Lower/Gpu/Names.h"
#include "lib/Lower/Lower.h"
#include "mlir/Dialect/Func/IR/FuncOps.h"
#include "mlir/Dialect/GPU/IR/GPUDialect.h"
#include "mlir/IR/OperationSupport.h"
#include "mlir/Interfaces/FunctionInterfaces.h"

namespace tplan::lower {
#define GEN_PASS_DEF_MERGEKERNELSPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static bool sameButForSize(Type a, Type b) {
  auto x = dyn_cast<MemRefType>(a), y = dyn_cast<MemRefType>(b);
  if (!x || !y)
    return a == b;
  return x.getElementType() == y.getElementType() && x.getRank() == y.getRank() &&
         x.getMemorySpace() == y.getMemorySpace() && x.getLayout() == y.getLayout();
}

/// `a` has the types of `b` while they are compared, because equal operations have equal types.
static bool sameCode(FunctionOpInterface a, FunctionOpInterface b) {
  Block &x = a.getFunctionBody().front(), &y = b.getFunctionBody().front();
  if (x.getNumArguments() != y.getNumArguments() ||
      x.getOperations().size() != y.getOperations().size())
    return false;
  DenseMap<Value, Value> same;
  unsigned own = a.getNumArguments(); // those after them are memory of a block, which has a size
  for (auto [i, arg] : llvm::enumerate(x.getArguments())) {
    Type type = arg.getType(), other = y.getArgument(i).getType();
    if (!(i < own ? sameButForSize(type, other) : type == other))
      return false;
    same[arg] = y.getArgument(i);
  }
  SmallVector<Type> types(x.getArgumentTypes());
  for (auto [arg, other] : llvm::zip(x.getArguments(), y.getArguments()))
    arg.setType(other.getType());
  auto check = [&](Value v, Value w) { return success(same.lookup(v) == w); };
  auto mark = [&](Value v, Value w) { same[v] = w; };
  bool equal = llvm::all_of(llvm::zip(x, y), [&](auto ops) {
    return OperationEquivalence::isEquivalentTo(&std::get<0>(ops), &std::get<1>(ops), check, mark,
                                                OperationEquivalence::IgnoreLocations);
  });
  for (auto [arg, type] : llvm::zip(x.getArguments(), types))
    arg.setType(type);
  return equal;
}

/// What stands on a function but its name and type.
static DictionaryAttr restOf(FunctionOpInterface kernel) {
  return rt::attributesBut(kernel, {SymbolTable::getSymbolAttrName(), "function_type"});
}

namespace {
/// What the module of a GPU's kernels keeps of each for the host, by name.
struct HostFacts {
  gpu::GPUModuleOp kernels;

  template <typename Act> void each(Act act) const {
    if (kernels)
      for (StringRef name : {StringRef(kLaunches), StringRef(sched::kStrides)})
        if (auto facts = kernels->getAttrOfType<DictionaryAttr>(name))
          act(name, facts);
  }
  bool agree(StringRef a, StringRef b) const {
    bool equal = true;
    each([&](StringRef, DictionaryAttr facts) { equal &= facts.get(a) == facts.get(b); });
    return equal;
  }
  void drop(StringRef kernel) const {
    each([&](StringRef name, DictionaryAttr facts) {
      NamedAttrList rest(facts);
      rest.erase(kernel);
      kernels->setAttr(name, rest.getDictionary(facts.getContext()));
    });
  }
};

struct MergeKernelsPass : tplan::lower::impl::MergeKernelsPassBase<MergeKernelsPass> {
  void runOnOperation() final {
    llvm::MapVector<StringRef, SmallVector<rt::LaunchOp>> launches;
    getOperation().walk(
        [&](rt::LaunchOp launch) { launches[launch.getKernel()].push_back(launch); });
    HostFacts facts{getOperation().lookupSymbol<gpu::GPUModuleOp>(kGpuModule)};
    Operation *scope = facts.kernels ? facts.kernels.getOperation() : getOperation();
    SymbolTable symbols(scope);

    DenseMap<size_t, SmallVector<StringRef, 1>> known; // by hash
    auto find = [&](StringRef name) {
      return dyn_cast_or_null<FunctionOpInterface>(
          symbols.lookup(facts.kernels ? ptxName(name) : name.str()));
    };
    for (auto &[name, calls] : launches) {
      auto kernel = find(name);
      if (!kernel || kernel.isExternal())
        continue;
      auto &others = known[rt::hashCode(kernel.getFunctionBody())];
      auto equal = llvm::find_if(others, [&](StringRef other) {
        auto function = find(other);
        return restOf(kernel) == restOf(function) && facts.agree(name, other) &&
               sameCode(kernel, function);
      });
      if (equal == others.end()) {
        others.push_back(name);
        continue;
      }
      for (rt::LaunchOp call : calls)
        call.setKernel(*equal);
      facts.drop(name);
      symbols.erase(kernel);
    }
  }
};
} // namespace
