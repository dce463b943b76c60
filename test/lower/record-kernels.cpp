//===- record-kernels.cpp - launches, written down for a GPU that is elsewhere ===//
#include "test/lower/record-kernels.h"
#include "dialects/rt/RT.h"
#include "lib/Emit/Ptx.h"
#include "lib/Lower/Lower.h"
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <utility>

using namespace tplan;

/// Recorded kernels run on each architecture from this one on.
static constexpr llvm::StringLiteral kArchitecture = "sm_80";

/// Larger launches are left out: smaller ones show the same, and a pack must be carried.
static constexpr int64_t kMostBytes = 320 << 10;

static std::string nameOf(mlir::Type type) {
  std::string text;
  llvm::raw_string_ostream(text) << type;
  return text;
}

void KernelRecord::begin(mlir::ModuleOp module) {
  const char *folder = getenv("RECORD_KERNELS");
  if (!folder)
    return;
  std::string skeleton = "attention";
  mlir::FunctionType type;
  bool bounded = false;
  module.walk(
      [&](rt::TileOp tile) { name = tile.getSymName().str(), type = tile.getFunctionType(); });
  module.walk([&](rt::KernelOp kernel) {
    name = kernel.getSymName().str(), type = kernel.getFunctionType();
    skeleton = rt::stringifySkeleton(kernel.getSkeleton()).str();
  });
  auto add = [&](mlir::Type operand) {
    auto tensor = llvm::cast<nn::Tensor>(operand);
    arguments.push_back({nameOf(tensor.getElementType()), tensor.getBytes()});
    bounded |= llvm::any_of(tensor.getDims(), [](nn::DimAttr dim) { return dim.getBounded(); });
  };
  llvm::for_each(type.getInputs(), add);
  llvm::for_each(type.getResults(), add);
  std::string element = "i32";
  for (const Argument &argument : arguments)
    if (argument.type[0] != 'i')
      element = argument.type;
  if (bounded)
    arguments.push_back({"i64", 8});
  int64_t bytes = 0;
  for (const Argument &argument : arguments)
    bytes += argument.bytes;
  if (bytes <= kMostBytes)
    file = std::string(folder) + "/" + skeleton + "-" + element + ".launches";
}

void KernelRecord::keepKernel(mlir::gpu::GPUModuleOp kernels, int32_t threads, int32_t blocks) {
  if (file.empty())
    return;
  std::string ptx = llvm::cantFail(emit::emitPtx(kernels, kArchitecture));
  kernel = llvm::formatv("kernel {0} {1} {2} {3}\n{4}", lower::ptxName(name), threads, blocks,
                         ptx.size(), ptx);
}

bool KernelRecord::isWhatTheFileEndsWith() {
  static std::map<std::string, const std::string *> ends;
  static std::set<std::string> kernels; // their addresses stay
  const std::string *mine = &*kernels.insert(kernel).first;
  return std::exchange(ends[file], mine) == mine;
}

void KernelRecord::keep(const std::vector<void *> &args) {
  before.clear();
  for (size_t i = 0; i < arguments.size() && !file.empty(); ++i)
    before.emplace_back(static_cast<char *>(args[i]), arguments[i].bytes);
}

void KernelRecord::writeLaunch(const std::vector<void *> &args) {
  if (file.empty())
    return;
  std::ofstream out(file, std::ios::app);
  if (!isWhatTheFileEndsWith())
    out << kernel;
  out << "launch " << arguments.size() << "\n";
  for (size_t i = 0; i < arguments.size(); ++i) {
    size_t first = std::find(args.begin(), args.end(), args[i]) - args.begin();
    if (first < i) {
      out << "same " << first << "\n";
      continue;
    }
    std::string behind(static_cast<char *>(args[i]), arguments[i].bytes);
    bool changed = behind != before[i];
    out << "buffer " << arguments[i].type << " " << behind.size() << " " << changed << "\n"
        << before[i] << (changed ? behind : "");
  }
}
