//===- Image.cpp - kernels for a GPU inside an object ---------------------===//
//
// One decision: ptxas helps, but is not needed. A driver translates PTX by itself, so nobody has to
// install a toolkit; where ptxas is found, its work is done here, once, and not in each job.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Image.h"
#include "lib/Emit/Temporary.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

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

Error emit::assemble(KernelImage &image, StringRef arch) {
  std::string ptxas = findPtxas();
  if (ptxas.empty())
    return Error::success();
  SmallString<128> model;
  sys::path::system_temp_directory(/*ErasedOnReboot=*/true, model);
  sys::path::append(model, "tplan-%%%%%%%%");
  Temporary text, code, messages;
  for (auto [file, suffix] : {std::pair(&text, ".ptx"), {&code, ".cubin"}, {&messages, ".log"}})
    if (Error error = file->create(model + suffix, sys::fs::owner_read | sys::fs::owner_write))
      return error;
  if (Error error = text.write(image.ptx))
    return error;
  StringRef arguments[] = {ptxas, "-arch", arch, text.getPath(), "-o", code.getPath()};
  std::optional<StringRef> redirects[] = {StringRef(), messages.getPath(), messages.getPath()};
  int status = sys::ExecuteAndWait(ptxas, arguments, std::nullopt, redirects);
  // A ptxas that is older than the architecture is no help.
  if (status != 0 && StringRef(messages.getText()).contains("not defined for option 'gpu-name'"))
    return Error::success();
  if (status != 0)
    return createStringError("ptxas refuses the kernels: " + messages.getText());
  auto bytes = MemoryBuffer::getFile(code.getPath());
  if (!bytes)
    return createStringError(bytes.getError(), "cannot read what ptxas wrote: " + code.getPath());
  image.cubin.assign((*bytes)->getBufferStart(), (*bytes)->getBufferEnd());
  return Error::success();
}
