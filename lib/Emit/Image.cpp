//===- Image.cpp - kernels for a GPU inside an object ---------------------===//
//
// One decision: ptxas helps, but is not needed. A driver translates PTX by itself, so nobody has to
// install a toolkit; where ptxas is found, its work is done here, once, and not in each job. Both
// are compressed, because kernels repeat each other's words: a ninth is left.
//
//===----------------------------------------------------------------------===//
#include "lib/Emit/Image.h"
#include "lib/Emit/Temporary.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/IR/Constants.h"
#include "llvm/Support/Compression.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Process.h"
#include "llvm/Support/Program.h"

using namespace llvm;
using namespace tplan;

/// Higher levels of zstd save a tenth more in five times the time.
static constexpr int kLevel = 9;

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

static GlobalVariable *addConstant(Module &module, const Twine &name, Constant *value) {
  return new GlobalVariable(module, value->getType(), /*isConstant=*/true,
                            GlobalValue::InternalLinkage, value, name);
}

/// Defines a tp_image.
static void define(Module &module, StringRef name, StringRef bytes) {
  GlobalVariable *declared = module.getNamedGlobal(name);
  if (!declared)
    return;
  SmallVector<uint8_t, 0> packed;
  if (!bytes.empty())
    compression::zstd::compress(arrayRefFromStringRef(bytes), packed, kLevel);
  LLVMContext &context = module.getContext();
  auto number = [&](uint64_t n) { return ConstantInt::get(Type::getInt64Ty(context), n); };
  Constant *fields[] = {
      addConstant(module, name + ".packed", ConstantDataArray::get(context, ArrayRef(packed))),
      number(packed.size()), number(bytes.size())};
  GlobalVariable *image = addConstant(module, "", ConstantStruct::getAnon(fields));
  declared->replaceAllUsesWith(image);
  declared->eraseFromParent();
  image->setName(name);
}

void emit::KernelImage::defineIn(Module &module, StringRef text, StringRef code) const {
  // The size of a text counts the zero that a std::string has at its end.
  define(module, text, ptx.empty() ? StringRef() : StringRef(ptx.c_str(), ptx.size() + 1));
  define(module, code, StringRef(cubin.data(), cubin.size()));
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
