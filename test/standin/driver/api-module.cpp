//===- api-module.cpp - modules of PTX and launches -----------------------===//
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"
#include "test/standin/driver/stream.h"
#include "test/standin/driver/touched.h"
#include "test/standin/driver/warp.h"

#include <cstring>

using namespace standin;

namespace {
constexpr uint32_t kStaticShared = 49152;

/// The newest version of PTX that a driver reads.
int newestPtx(int driver) {
  int major = driver / 1000, minor = driver % 1000 / 10;
  if (major == 12)
    return 80 + (minor <= 5 ? minor : minor - 1);
  return major == 11 ? 70 + minor : major >= 13 ? 90 + (major - 13) * 10 + minor : 65;
}

/// The memory where the caller wants to read why a module was refused.
struct JitLog {
  char *buffer = nullptr;
  void **size = nullptr;
  CUresult read(unsigned count, CUjit_option *options, void **values);
  void write(const std::string &text) const;
};

CUresult JitLog::read(unsigned count, CUjit_option *options, void **values) {
  if (count && (!options || !values))
    return CUDA_ERROR_INVALID_VALUE;
  for (unsigned i = 0; i < count; ++i) {
    if (options[i] < 0 || options[i] >= CU_JIT_NUM_OPTIONS)
      return refuse(CUDA_ERROR_INVALID_VALUE, "unknown option: %d", int(options[i]));
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER)
      buffer = static_cast<char *>(values[i]);
    if (options[i] == CU_JIT_ERROR_LOG_BUFFER_SIZE_BYTES)
      size = &values[i];
  }
  return CUDA_SUCCESS;
}

/// The size that was given becomes that of the text.
void JitLog::write(const std::string &text) const {
  if (!buffer || !size)
    return;
  size_t room = reinterpret_cast<uintptr_t>(*size);
  size_t length = room ? std::min(room - 1, text.size()) : 0;
  if (room) {
    memcpy(buffer, text.data(), length);
    buffer[length] = 0;
  }
  *size = reinterpret_cast<void *>(room ? length + 1 : 0);
}

class DevicePlacer : public Placer {
public:
  uint64_t place(const Variable &v) override {
    uint64_t address =
        standin::system().memory.allocate(std::max<size_t>(1, v.bytes.size()),
                                          currentContext->device, environment().memory, v.constant);
    if (address)
      memcpy(hostOf(address), v.bytes.data(), v.bytes.size());
    return address;
  }
};

CUresult parse(const char *image, standin::Module &module, Failure &failure) {
  standin::Module head;
  parseHead(image, head, failure);
  if (failure.failed())
    return CUDA_ERROR_INVALID_PTX;
  if (int newest = newestPtx(environment().driver); head.version > newest) {
    failure.set(1, "PTX %d.%d is newer than the driver's %d.%d", head.version / 10,
                head.version % 10, newest / 10, newest % 10);
    return CUDA_ERROR_UNSUPPORTED_PTX_VERSION;
  }
  if (head.arch > environment().arch || (head.archOnly && head.arch != environment().arch)) {
    failure.set(1, "module is for sm_%d%s, the device is sm_%d", head.arch,
                head.archOnly ? "a" : "", environment().arch);
    return CUDA_ERROR_NO_BINARY_FOR_GPU;
  }
  DevicePlacer placer;
  parseModule(image, placer, module, failure);
  for (const auto &kernel : module.kernels)
    if (kernel->sharedBytes > kStaticShared)
      failure.set(1, "kernel '%s' has more than %u bytes of static shared memory: %u",
                  kernel->name.c_str(), kStaticShared, kernel->sharedBytes);
  return failure.failed() ? CUDA_ERROR_INVALID_PTX : CUDA_SUCCESS;
}

Function *find(CUfunction handle) {
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  return s.functions.count(handle) ? reinterpret_cast<Function *>(handle) : nullptr;
}

/// What a device refuses of a grid.
CUresult checkDims(const Kernel &k, const Dim &grid, const Dim &block) {
  auto bad = [&](const char *what, unsigned long long value) {
    return refuse(CUDA_ERROR_INVALID_VALUE, "launch of '%s', %s: %llu", k.name.c_str(), what,
                  value);
  };
  if (!grid.count() || grid.x > 0x7FFFFFFF || grid.y > 65535 || grid.z > 65535)
    return bad("blocks", grid.count());
  if (!block.count() || block.x > 1024 || block.y > 1024 || block.z > 64 || block.count() > 1024)
    return bad("threads", block.count());
  if (const uint32_t *m = k.maxThreads; m[0] && block.count() > uint64_t(m[0]) * m[1] * m[2])
    return bad("threads above .maxntid", block.count());
  if (const uint32_t *m = k.requiredThreads;
      m[0] && (block.x != m[0] || block.y != m[1] || block.z != m[2]))
    return bad("threads other than .reqntid", block.count());
  return CUDA_SUCCESS;
}

std::string joined(const Dim &d) {
  return std::to_string(d.x) + "," + std::to_string(d.y) + "," + std::to_string(d.z);
}

CUresult runLaunch(const Launch &launch) {
  if (launch.number == environment().fault)
    return refuse(CUDA_ERROR_ILLEGAL_ADDRESS, "STANDIN_FAULT: kernel '%s' fails",
                  launch.kernel->name.c_str());
  Touched touched;
  bool wanted = environment().touch;
  CUresult result = run(launch, standin::system().memory.table(), wanted ? &touched : nullptr);
  if (wanted) {
    Line line("touch");
    line.text("kernel", launch.kernel->name).number("n", launch.number);
    if (line.wanted())
      line.text("r", touched.reads.text(4096)).text("w", touched.writes.text(4096));
    line.end(result);
  }
  return result;
}

std::string argumentsOf(const Kernel &k, const std::vector<char> &params) {
  std::string out;
  for (const Kernel::Param &p : k.params) {
    uint64_t value = 0;
    memcpy(&value, params.data() + p.offset, std::min<size_t>(8, p.bytes));
    char buffer[20];
    snprintf(buffer, sizeof buffer, "%s%llx", out.empty() ? "" : ",", (unsigned long long)value);
    out += buffer;
  }
  return out.empty() ? "-" : out;
}
} // namespace

int standin_most_shared();

CUresult cuModuleLoadDataEx(CUmodule *module, const void *image, unsigned count,
                            CUjit_option *options, void **values) {
  Line line("module");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  {
    std::lock_guard<std::mutex> lock(s.mutex);
    if (CUresult r = checkUnsafe("cuModuleLoadDataEx"))
      return line.end(r);
  }
  JitLog log;
  if (!module || !image)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  if (CUresult r = log.read(count, options, values))
    return line.end(r);
  if (!memcmp(image, "\177ELF", 4))
    return line.end(refuse(CUDA_ERROR_NO_BINARY_FOR_GPU, "a cubin, and no PTX"));
  auto loaded = std::make_unique<LoadedModule>();
  Failure failure;
  if (CUresult r = parse(static_cast<const char *>(image), loaded->module, failure)) {
    std::string text = "line " + std::to_string(failure.line) + ": " + failure.text;
    log.write(text + "\n");
    for (const Variable &v : loaded->module.variables)
      if (v.address)
        s.memory.free(v.address);
    return line.end(refuse(r, "%s", text.c_str()));
  }
  log.write("");
  loaded->context = currentContext;
  line.number("kernels", loaded->module.kernels.size());
  std::lock_guard<std::mutex> lock(s.mutex);
  for (auto &kernel : loaded->module.kernels) {
    auto f = std::make_unique<Function>();
    f->kernel = std::move(kernel), f->module = loaded.get();
    f->mostDynamic = kStaticShared - f->kernel->sharedBytes;
    s.functions.insert(f.get());
    loaded->functions.push_back(std::move(f));
  }
  *module = reinterpret_cast<CUmodule>(loaded.get());
  s.modules[loaded.get()] = std::move(loaded);
  return line.end(CUDA_SUCCESS);
}

CUresult cuModuleUnload(CUmodule module) {
  Line line("unload");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (CUresult r = checkUnsafe("cuModuleUnload"))
    return line.end(r);
  auto it = s.modules.find(module);
  if (it == s.modules.end())
    return line.end(refuse(CUDA_ERROR_INVALID_HANDLE, "unknown module: %p", (void *)module));
  for (auto &f : it->second->functions)
    s.functions.erase(f.get());
  for (const Variable &v : it->second->module.variables)
    s.memory.free(v.address);
  s.modules.erase(it);
  return line.end(CUDA_SUCCESS);
}

CUresult cuModuleGetFunction(CUfunction *function, CUmodule module, const char *name) {
  if (CUresult r = enter())
    return r;
  if (!function || !name)
    return CUDA_ERROR_INVALID_VALUE;
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.modules.find(module);
  if (it == s.modules.end())
    return refuse(CUDA_ERROR_INVALID_HANDLE, "unknown module: %p", (void *)module);
  for (auto &f : it->second->functions)
    if (f->kernel->name == name) {
      *function = reinterpret_cast<CUfunction>(f.get());
      return CUDA_SUCCESS;
    }
  return CUDA_ERROR_NOT_FOUND;
}

CUresult cuFuncGetAttribute(int *value, CUfunction_attribute which, CUfunction handle) {
  if (CUresult r = enter())
    return r;
  Function *f = find(handle);
  if (!value || !f)
    return !value ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE;
  const Kernel &k = *f->kernel;
  const uint32_t *m = k.maxThreads[0] ? k.maxThreads : k.requiredThreads;
  switch (which) {
  case CU_FUNC_ATTRIBUTE_MAX_THREADS_PER_BLOCK:
    *value = m[0] ? m[0] * m[1] * m[2] : 1024;
    break;
  case CU_FUNC_ATTRIBUTE_SHARED_SIZE_BYTES:
    *value = k.sharedBytes;
    break;
  case CU_FUNC_ATTRIBUTE_CONST_SIZE_BYTES:
    *value = 0;
    break;
  case CU_FUNC_ATTRIBUTE_LOCAL_SIZE_BYTES:
    *value = k.localBytes;
    break;
  // What an assembler would use is not known; the registers that PTX declares are no measure of it.
  case CU_FUNC_ATTRIBUTE_NUM_REGS:
    *value = 32;
    break;
  case CU_FUNC_ATTRIBUTE_PTX_VERSION:
    *value = f->module->module.version;
    break;
  case CU_FUNC_ATTRIBUTE_BINARY_VERSION:
    *value = environment().arch;
    break;
  case CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES:
    *value = f->mostDynamic;
    break;
  case CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT:
    *value = -1;
    break;
  default:
    return refuse(CUDA_ERROR_INVALID_VALUE, "unknown attribute of a function: %d", int(which));
  }
  return CUDA_SUCCESS;
}

CUresult cuFuncSetAttribute(CUfunction handle, CUfunction_attribute which, int value) {
  if (CUresult r = enter())
    return r;
  Function *f = find(handle);
  if (!f)
    return refuse(CUDA_ERROR_INVALID_HANDLE, "unknown function: %p", (void *)handle);
  if (which == CU_FUNC_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT)
    return value >= -1 && value <= 100 ? CUDA_SUCCESS : CUDA_ERROR_INVALID_VALUE;
  if (which != CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES)
    return refuse(CUDA_ERROR_INVALID_VALUE, "attribute that cannot be set: %d", int(which));
  if (value < 0 || value + int(f->kernel->sharedBytes) > standin_most_shared())
    return refuse(CUDA_ERROR_INVALID_VALUE, "more shared memory than %d bytes: %d",
                  standin_most_shared(), value);
  f->mostDynamic = value;
  return CUDA_SUCCESS;
}

CUresult cuLaunchKernel(CUfunction handle, unsigned gridX, unsigned gridY, unsigned gridZ,
                        unsigned blockX, unsigned blockY, unsigned blockZ, unsigned shared,
                        CUstream streamHandle, void **params, void **extra) {
  Line line("launch");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(streamHandle, stream))
    return line.end(r);
  Function *f = find(handle);
  if (!f)
    return line.end(refuse(CUDA_ERROR_INVALID_HANDLE, "unknown function: %p", (void *)handle));
  auto launch = std::make_shared<Launch>();
  launch->kernel = f->kernel;
  launch->grid = {gridX, gridY, gridZ}, launch->block = {blockX, blockY, blockZ};
  launch->dynamicShared = shared, launch->device = stream->context->device;
  const Kernel &k = *f->kernel;
  line.text("s", "s" + std::to_string(stream->number)).text("kernel", k.name);
  line.text("grid", joined(launch->grid)).text("block", joined(launch->block));
  line.number("shared", shared);
  if (CUresult r = checkDims(k, launch->grid, launch->block))
    return line.end(r);
  if (f->module->context != stream->context)
    return line.end(
        refuse(CUDA_ERROR_INVALID_HANDLE, "kernel '%s' is of another device", k.name.c_str()));
  if (shared > f->mostDynamic || (shared && !k.dynamicShared))
    return line.end(refuse(CUDA_ERROR_INVALID_VALUE, "launch of '%s', dynamic shared memory: %u",
                           k.name.c_str(), shared));
  if (extra || (!params && !k.params.empty()))
    return line.end(
        refuse(CUDA_ERROR_INVALID_VALUE, "launch of '%s' without its parameters", k.name.c_str()));
  launch->params.resize(k.paramBytes);
  for (size_t i = 0; i < k.params.size(); ++i)
    memcpy(launch->params.data() + k.params[i].offset, params[i], k.params[i].bytes);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  launch->number = s.launches++, launch->seed = nextRandom();
  line.number("n", launch->number);
  if (line.wanted())
    line.text("args", argumentsOf(k, launch->params));
  auto action = std::make_shared<Action>();
  action->run = [launch] { return runLaunch(*launch); };
  return line.end(enqueue(*stream, std::move(action)));
}

CUresult cuLaunchHostFunc(CUstream handle, CUhostFn function, void *data) {
  Line line("hostfunc");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  if (!function)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  line.text("s", "s" + std::to_string(stream->number));
  line.hex("function", reinterpret_cast<void *>(function)).hex("data", data);
  auto action = std::make_shared<Action>();
  action->host = true;
  action->run = [=] {
    function(data);
    return CUDA_SUCCESS;
  };
  std::lock_guard<std::mutex> lock(standin::system().mutex);
  return line.end(enqueue(*stream, std::move(action)));
}
