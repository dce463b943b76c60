//===- Image.cpp - kernels for a GPU inside an object ---------------------===//
//
// One decision: ptxas is a help, not a need. A driver translates PTX by itself, so nobody has to
// install a toolkit; where one is at hand its work is done here, once, and not in each job.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Image.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"

using namespace llvm;
using namespace tplan;

static std::string findPtxas() {
  if (auto found = sys::findProgramByName("ptxas"))
    return *found;
  if (auto home = sys::Process::GetEnv("CUDA_HOME")) {
    SmallString<128> path(*home);
    sys::path::append(path, "bin", "ptxas");
    if (sys::fs::can_execute(path))
      return path.str().str();
  }
  return "";
}

static void define(Module &module, StringRef name, Constant *value) {
  GlobalVariable *declared = module.getNamedGlobal(name);
  if (!declared)
    return;
  auto *defined = new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                                     GlobalValue::InternalLinkage, value);
  declared->replaceAllUsesWith(defined);
  declared->eraseFromParent();
  defined->setName(name);
  defined->setAlignment(Align(16));
}

void emit::KernelImage::defineIn(Module &module, StringRef text, StringRef code,
                                 StringRef codeBytes) const {
  LLVMContext &context = module.getContext();
  define(module, text, ConstantDataArray::getString(context, ptx, /*AddNull=*/true));
  define(module, code,
         ConstantDataArray::getString(context, StringRef(cubin.data(), cubin.size()),
                                      /*AddNull=*/false));
  define(module, codeBytes, ConstantInt::get(Type::getInt64Ty(context), cubin.size()));
}

namespace {
/// Files of one run of ptxas, which go when it is done.
class Assembly {
public:
  ~Assembly() {
    for (StringRef path : {text, code, messages})
      if (!path.empty())
        sys::fs::remove(path);
  }
  Error run(StringRef ptxas, emit::KernelImage &image, StringRef arch);

private:
  SmallString<128> text, code, messages;
  Error create();
  std::string said() const {
    auto buffer = MemoryBuffer::getFile(messages);
    return buffer ? (*buffer)->getBuffer().rtrim().str() : "";
  }
};
} // namespace

Error Assembly::create() {
  struct {
    const char *suffix;
    SmallString<128> *path;
  } files[] = {{"ptx", &text}, {"cubin", &code}, {"log", &messages}};
  for (auto [suffix, path] : files)
    if (std::error_code error = sys::fs::createTemporaryFile("tplan", suffix, *path))
      return createStringError(error, "cannot write a temporary file: " + error.message());
  return Error::success();
}

Error Assembly::run(StringRef ptxas, emit::KernelImage &image, StringRef arch) {
  if (Error error = create())
    return error;
  std::error_code error;
  raw_fd_ostream(text, error) << image.ptx;
  if (error)
    return createStringError(error, "cannot write " + text + ": " + error.message());
  StringRef arguments[] = {ptxas, "-arch", arch, text, "-o", code};
  std::optional<StringRef> redirects[] = {StringRef(), StringRef(messages), StringRef(messages)};
  int status = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects);
  std::string report = said();
  // A ptxas that is older than the architecture is as good as none.
  if (status != 0 && StringRef(report).contains("not defined for option 'gpu-name'"))
    return Error::success();
  if (status != 0)
    return createStringError("ptxas refuses the kernels: " + report);
  auto bytes = MemoryBuffer::getFile(code);
  if (!bytes)
    return createStringError(bytes.getError(), "cannot read what ptxas wrote: " + code);
  image.cubin.assign((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  return Error::success();
}

Error emit::assemble(KernelImage &image, StringRef arch) {
  std::string ptxas = findPtxas();
  return ptxas.empty() ? Error::success() : Assembly().run(ptxas, image, arch);
}
