//===- functions.cpp - layer functions with layouts, compiled and called --===//
#include "test/layouts/functions.h"
#include "dialects/sched/Sched.h"
#include "lib/Driver/Phases.h"
#include "lib/Emit/Object.h"
#include "lib/Lower/Host/Functions.h"
#include "mlir/IR/Verifier.h"
#include "mlir/Pass/PassManager.h"
#include "llvm/ExecutionEngine/Orc/AbsoluteSymbols.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"

using namespace mlir;
using namespace tplan;
using namespace layouts;

struct Functions::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

Functions::~Functions() = default;

/// The passes of the table from one flag to another, without those that a program needs.
static LogicalResult runPasses(ModuleOp module, StringRef first, StringRef last) {
  PassManager manager(module.getContext());
  bool inside = false;
  for (const tplan::PassInfo &pass : passes()) {
    inside |= pass.flag == first;
    bool needsProgram = pass.phase == Phase::schedule || pass.phase == Phase::recompute ||
                        pass.phase == Phase::overlap || pass.flag == "plan-arena";
    if (inside && (pass.when == tplan::PassInfo::always || pass.when == tplan::PassInfo::cpu) &&
        !needsProgram)
      manager.addPass(pass.create());
    if (pass.flag == last)
      break;
  }
  return manager.run(module);
}

Functions::Functions(ModuleOp module, std::string &error)
    : impl(std::make_unique<Impl>()), mesh(dist::meshOf(module)) {
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  if (failed(runPasses(module, "localize", "localize")))
    error = "localize failed";
  else
    readSignatures(module);
  if (error.empty() && failed(runPasses(module, "prepare-fusion", "vectors-to-llvm")))
    error = "passes failed";
  if (!error.empty() || !load(module, error))
    return;
  for (runtime::Status status : {rank.team.start(1), rank.matmul.start(rank.team, nullptr)})
    if (!status.ok())
      error = status.message();
}

void Functions::readSignatures(ModuleOp module) {
  auto value = [](StringRef name, Type type) {
    auto tensor = cast<nn::Tensor>(type);
    std::string element;
    llvm::raw_string_ostream(element) << tensor.getElementType();
    return Value{name.str(), element, tensor.getNumElements()};
  };
  for (auto layer : module.getOps<nn::LayerOp>()) {
    Signature &signature = signatures[layer.getSymName()];
    for (unsigned i = 0, e = layer.getNumArguments(); i < e; ++i)
      signature.arguments.push_back(value(layer.getArgName(i), layer.getArgumentTypes()[i]));
    for (unsigned i = 0, e = layer.getNumResults(); i < e; ++i)
      signature.results.push_back(value(layer.getResultName(i), layer.getResultTypes()[i]));
  }
}

/// What lower-host does, for functions alone.
bool Functions::load(ModuleOp module, std::string &error) {
  lower::HostBuilder host(module);
  lower::HostGroups groups(module);
  lower::HostCalls calls(host, groups, module);
  llvm::StringMap<std::string> symbols;
  for (rt::FuncOp func : llvm::to_vector(module.getOps<rt::FuncOp>())) {
    lower::lowerFunction(host, groups, calls, func);
    symbols[func.getSymName()] = lower::codeSymbol(func);
    signatures[func.getSymName()].frame = func->getAttrOfType<IntegerAttr>(sched::kFrame).getInt();
  }
  for (Operation &op : llvm::make_early_inc_range(*module.getBody())) {
    if (op.getName().getDialectNamespace() != "llvm")
      op.erase();
    else if (auto code = dyn_cast<LLVM::LLVMFuncOp>(op); code && !code.isExternal())
      code.setLinkage(LLVM::Linkage::External);
  }
  llvm::LLVMContext context;
  std::unique_ptr<llvm::Module> code = emit::translateToLLVM(module, context);
  if (!code) {
    error = "no LLVM module";
    return false;
  }
  llvm::ExitOnError check("functions: ");
  auto object = check(emit::emitObject(*code, emit::hostCpu(), emit::hostFeatures()));
  impl->jit = check(llvm::orc::LLJITBuilder().create());
  llvm::orc::SymbolMap known;
  auto define = [&](const char *name, auto *function) {
    known[impl->jit->mangleAndIntern(name)] = {llvm::orc::ExecutorAddr::fromPtr(function),
                                               llvm::JITSymbolFlags::Exported};
  };
  define("tp_launch", tp_launch);
  define("tp_matmul", tp_matmul);
  define("tp_copy", tp_copy);
  define("tp_audit", tp_audit);
  check(impl->jit->getMainJITDylib().define(llvm::orc::absoluteSymbols(known)));
  check(impl->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(object.data(), object.size()), "functions")));
  for (auto &[name, symbol] : symbols)
    signatures[name].code = check(impl->jit->lookup(symbol)).toPtr<int(tp_rank *, void *const *)>();
  return true;
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

namespace {
/// Memory as the arena gives it.
class Memory {
public:
  explicit Memory(int64_t bytes)
      : data(static_cast<char *>(std::aligned_alloc(64, (bytes + 127) / 64 * 64))) {}
  ~Memory() { std::free(data); }
  Memory(const Memory &) = delete;
  char *const data;
};

template <typename F> void withType(StringRef element, F f) {
  if (element == "f64")
    return f(double());
  if (element == "f32")
    return f(float());
  if (element == "i32")
    return f(int32_t());
  f(uint8_t()); // i1
}
} // namespace

/// The rank's number among those that differ on the axes "a+b".
double Functions::memberNumber(int64_t rank, StringRef axes) const {
  SmallVector<StringRef> names;
  axes.split(names, '+');
  int64_t number = 0;
  for (StringRef name : names) {
    int64_t below = 1;
    for (dist::AxisAttr axis : llvm::drop_begin(mesh.getAxes(), mesh.find(name) + 1))
      below *= axis.getSize();
    int64_t size = mesh.getAxes()[mesh.find(name)].getSize();
    number = number * size + rank / below % size;
  }
  return number;
}

std::vector<Numbers> Functions::call(StringRef name, int64_t number, const Arguments &given) {
  const Signature &signature = signatures[name];
  std::vector<std::unique_ptr<Memory>> memories;
  std::vector<void *> table;
  auto add = [&](int64_t bytes) {
    memories.push_back(std::make_unique<Memory>(bytes));
    table.push_back(memories.back()->data);
    return memories.back()->data;
  };
  for (const Value &argument : signature.arguments) {
    Numbers numbers;
    if (StringRef axes = argument.name; axes.consume_front("member."))
      numbers = {memberNumber(number, axes)};
    else
      numbers = given.lookup(argument.name);
    if (int64_t(numbers.size()) != argument.count) {
      fprintf(stderr, "%s: %s has %zd elements, the function takes %ld\n", name.str().c_str(),
              argument.name.c_str(), numbers.size(), argument.count);
      exit(1);
    }
    withType(argument.element, [&](auto type) {
      auto *to = reinterpret_cast<decltype(type) *>(add(argument.count * sizeof type));
      for (double v : numbers)
        *to++ = decltype(type)(v);
    });
  }
  for (const Value &result : signature.results)
    withType(result.element, [&](auto type) { add(result.count * sizeof type); });
  add(signature.frame);
  if (signature.code(&rank, table.data())) {
    fprintf(stderr, "%s: %s\n", name.str().c_str(), rank.error.message().c_str());
    exit(1);
  }
  std::vector<Numbers> results;
  for (auto [i, result] : llvm::enumerate(signature.results))
    withType(result.element, [&](auto type) {
      auto *from = static_cast<decltype(type) *>(table[signature.arguments.size() + i]);
      results.emplace_back(from, from + result.count);
    });
  return results;
}
