//===- jit.cpp - compiles kernels in process ------------------------------===//
#include "test/lower/jit.h"
#include "dialects/rt/RT.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Emit/Object.h"
#include "lib/Lower/Lower.h"
#include "mlir/IR/MLIRContext.h"
#include "mlir/InitAllDialects.h"
#include "mlir/Parser/Parser.h"
#include "llvm/ExecutionEngine/Orc/LLJIT.h"
#include "llvm/Support/TargetSelect.h"
#include <chrono>

using namespace tplan;

using llvm::StringRef;

static std::vector<std::pair<std::string, std::string>> parseSizes(StringRef text) {
  std::vector<std::pair<std::string, std::string>> sizes;
  llvm::SmallVector<StringRef> parts;
  text.split(parts, ',', -1, /*KeepEmpty=*/false);
  for (StringRef part : parts) {
    auto [name, size] = part.split('=');
    sizes.push_back({name.str(), size.str()});
  }
  return sizes;
}

std::string KernelText::text(const std::string &name, const std::string &type,
                             const std::string &more) const {
  auto sizes = parseSizes(rows + "," + cols + "," + more);
  auto dims = [](const std::string &loops) {
    std::string out = "[";
    for (auto &[name, size] : parseSizes(loops)) {
      bool bounded = name.back() == '<';
      out += (out.size() > 1 ? ", " : "") + ("#nn.dim<\"" + name.substr(0, name.size() - bounded)) +
             "\", " + size + (bounded ? ", true>" : ">");
    }
    return out + "]";
  };
  std::string accesses;
  auto tensors = [&](const std::vector<std::string> &operands, std::string *elements) {
    std::string out;
    for (const std::string &operand : operands) {
      llvm::SmallVector<StringRef> words, names;
      StringRef(operand).split(words, ' ');
      auto [list, element] = words[0].split(':');
      list.split(names, ',', -1, /*KeepEmpty=*/false);
      std::string shape;
      for (StringRef dim : names)
        for (auto &[known, size] : sizes)
          if (StringRef(known).rtrim('<') == dim) {
            bool half = words.size() > 1 && words[1] == "repeat" && words[2] == dim;
            shape += std::string(shape.empty() ? "" : ", ") + (half ? "half." : "") + dim.str() +
                     (known.back() == '<' ? " max " : " ") +
                     (half ? std::to_string(std::stoll(size) / 2) : size);
          }
      std::string t = element == "T" ? type : element.str();
      out += (out.empty() ? "" : ", ") + ("!nn.tensor<[" + shape + "], " + t + ">");
      if (elements)
        *elements += (elements->empty() ? "%" : ", %") +
                     std::to_string(llvm::count(*elements, '%')) + ": " + t;
      accesses += accesses.empty() ? "" : ", ";
      accesses += words.size() == 1 ? "#rt.access<identity, \"\", 0>"
                                    : "#rt.access<" + words[1].str() + ", \"" + words[2].str() +
                                          "\", " + words[3].str() + ">";
    }
    return "(" + out + ")";
  };
  std::string arguments;
  std::string in = tensors(inputs, &arguments), out = tensors(outputs, nullptr);
  std::string code;
  for (size_t i = 0; i < body.size(); ++i) { // T as a word
    bool word = body[i] == 'T' && (i == 0 || !isalnum(body[i - 1])) &&
                (i + 1 == body.size() || !isalnum(body[i + 1]));
    code += word ? type : std::string(1, body[i]);
  }
  return "rt.kernel @" + name + " " + skeleton + " rows " + dims(rows) + " cols " + dims(cols) +
         " grain " + std::to_string(grain) + " : " + in + " -> " + out + " access [" + accesses +
         "] {\n^bb0(" + arguments + "):\n" + code + "\n}\n";
}

struct Jit::Impl {
  std::unique_ptr<llvm::orc::LLJIT> jit;
};

Jit::~Jit() = default;

Jit::Jit(const std::string &text, const std::string &cpu,
         const std::function<void(mlir::ModuleOp)> &prepare)
    : impl(std::make_unique<Impl>()) {
  llvm::ExitOnError check("jit: ");
  llvm::InitializeNativeTarget();
  llvm::InitializeNativeTargetAsmPrinter();
  mlir::DialectRegistry registry;
  registry.insert<lang::TplanDialect, nn::NNDialect, rt::RTDialect>();
  mlir::registerAllDialects(registry);
  mlir::MLIRContext context(registry, mlir::MLIRContext::Threading::DISABLED);
  context.loadAllAvailableDialects();
  auto module = mlir::parseSourceString<mlir::ModuleOp>(text, &context);
  if (!module)
    exit(1);
  auto start = std::chrono::steady_clock::now();
  if (prepare)
    prepare(*module);
  if (failed(lower::lowerKernelsToLLVM(*module)))
    exit(1);
  llvm::LLVMContext llvmContext;
  std::unique_ptr<llvm::Module> ir = emit::translateToLLVM(*module, llvmContext);
  if (!ir)
    exit(1);
  auto bytes = check(emit::emitObject(*ir, cpu.empty() ? emit::hostCpu() : cpu,
                                      cpu.empty() ? emit::hostFeatures() : ""));
  seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  impl->jit = check(llvm::orc::LLJITBuilder().create());
  check(impl->jit->addObjectFile(llvm::MemoryBuffer::getMemBufferCopy(
      llvm::StringRef(bytes.data(), bytes.size()), "kernels")));
}

tp_kernel Jit::get(const std::string &name) {
  llvm::ExitOnError check("jit: ");
  return check(impl->jit->lookup(name)).toPtr<tp_kernel>();
}
