//===- cuda.cpp - a GPU of NVIDIA's -----------------------------------------===//
//
// One allocation for the arena, streams and events as the program counts them, one stream beside
// them for what the host gives, and a graph of the step.
//
// Decision: the first step is issued call by call, and the second is captured. By then every
// library has made what it makes on a first call, which a capture would refuse.
//
//===----------------------------------------------------------------------===//

#include "runtime/cuda.h"

#include "runtime/cuda_driver.h"
#include "runtime/cuda_matmul.h"
#include "runtime/types.h"

#include <array>
#include <cinttypes>
#include <cstring>

using namespace tplan::runtime;

namespace {

cuda::Pointer pointer(const void *address) { return (cuda::Pointer)(uintptr_t)address; }

/// A call between two events of its stream.
struct TimedCall {
  const tp_call *call;
  cuda::EventHandle *begin, *end;
};

class CudaDevice : public Device {
public:
  CudaDevice(const CudaDriver &driver, const CudaOptions &options) : cu(driver), options(options) {}
  ~CudaDevice() override;
  Status open();

  std::string name() const override { return title; }
  Status start(const tp_program &program, char *&arena) override;
  Status launch(const tp_call &call, const tp_device_kernel &kernel, void *const *args) override;
  Status matmul(const tp_call &call, const tp_gemm &gemm, const void *a, const void *b,
                void *c) override;
  Status copy(int64_t stream, void *to, const void *from, const Rows &rows) override;
  Status zero(int64_t stream, void *place, const Rows &rows) override;
  Status sum(int64_t stream, int32_t type, int32_t reduction, void *out, const void *in,
             int64_t members, int64_t count, int64_t stride) override;
  Status record(int64_t stream, int64_t event) override;
  Status wait(int64_t stream, int64_t event) override;
  Status mark(int64_t stream, SharedMark mark) override;
  Status follow(int64_t stream, Device &other, int64_t otherStream, SharedMark mark) override;
  char *scratch(int64_t stream) override {
    return (char *)(uintptr_t)arena + facts->scratch_offsets[stream];
  }
  Status read(void *to, const void *from, int64_t bytes) override;
  Status write(void *to, const void *from, int64_t bytes) override;
  char *image() override { return images[current] - facts->given_offset; }
  Status send() override;
  Status take() override;
  Status run(tp_rank *rank, int (*entry)(tp_rank *, char *), char *arena, bool repeated) override;
  Status finish() override;
  Status collectTimes(const std::function<void(const tp_call &, double)> &add) override;

private:
  Status checkArchitecture();
  Status loadKernels();
  Status loadModule(const void *image);
  Status allocateArena(int64_t bytes);
  Status makeStreams();
  Status makeImages();
  Status capture(tp_rank *rank, int (*entry)(tp_rank *, char *), char *arena, int &code);
  Status begin(const tp_call &call);
  Status end(const tp_call &call);

  const CudaDriver &cu;
  const CudaOptions options;
  cuda::Device gpu = 0;
  cuda::Context *context = nullptr;
  std::string title;
  const tp_program *program = nullptr;
  const tp_device *facts = nullptr;
  cuda::Pointer arena = 0;
  cuda::Module *module = nullptr;
  std::vector<cuda::Function *> kernels;
  std::vector<cuda::StreamHandle *> streams;
  std::vector<cuda::EventHandle *> events;
  std::vector<cuda::EventHandle *> marks; // for other ranks, of each stream
  CudaMatmul gemms;
  // What the host gives: written in one image while the other is on its way.
  cuda::StreamHandle *givingStream = nullptr;
  cuda::EventHandle *sent = nullptr, *taken = nullptr;
  char *images[2] = {};
  cuda::EventHandle *imageSent[2] = {};
  int current = 0;
  cuda::GraphExec *graph = nullptr;
  std::vector<TimedCall> timed;
  std::vector<cuda::EventHandle *> spare; // events of calls whose times have been read
};

} // namespace

//===----------------------------------------------------------------------===//
// Start and end
//===----------------------------------------------------------------------===//

Status CudaDevice::open() {
  char text[256] = "";
  TP_CUDA(DeviceGet(&gpu, (int)options.ordinal));
  TP_CUDA(DeviceGetName(text, sizeof text, gpu));
  TP_CUDA(PrimaryCtxRetain(&context, gpu));
  TP_CUDA(CtxSetCurrent(context));
  title = format("%s, driver for CUDA %d.%d", text, cu.version / 1000, cu.version % 1000 / 10);
  return {};
}

/// Errors are not reported: they have been, or the process ends.
CudaDevice::~CudaDevice() {
  if (!context)
    return;
  cu.CtxSetCurrent(context);
  for (cuda::StreamHandle *stream : streams)
    cu.StreamSynchronize(stream);
  if (givingStream)
    cu.StreamSynchronize(givingStream);
  if (graph)
    cu.GraphExecDestroy(graph);
  auto destroy = [&](cuda::EventHandle *event) {
    if (event)
      cu.EventDestroy(event);
  };
  for (cuda::EventHandle *event : events)
    destroy(event);
  for (cuda::EventHandle *event : marks)
    destroy(event);
  for (cuda::EventHandle *event : spare)
    destroy(event);
  for (const TimedCall &call : timed)
    destroy(call.begin), destroy(call.end);
  for (cuda::EventHandle *event : {sent, taken, imageSent[0], imageSent[1]})
    destroy(event);
  for (cuda::StreamHandle *stream : streams)
    cu.StreamDestroy(stream);
  if (givingStream)
    cu.StreamDestroy(givingStream);
  for (char *image : images)
    if (image)
      cu.MemFreeHost(image);
  if (module)
    cu.ModuleUnload(module);
  if (arena)
    cu.MemFree(arena);
  cu.PrimaryCtxRelease(gpu);
}

Status CudaDevice::start(const tp_program &started, char *&address) {
  program = &started;
  facts = program->device;
  TP_TRY(checkArchitecture());
  TP_TRY(allocateArena(program->arena_bytes));
  TP_TRY(loadKernels());
  TP_TRY(makeStreams());
  TP_TRY(makeImages());
  address = (char *)(uintptr_t)arena;
  if (facts->workspace_bytes)
    TP_TRY(gemms.start(cu, address + facts->workspace_offset, facts->workspace_bytes));
  return {};
}

/// Kernels run where they were compiled for, and on what came later.
Status CudaDevice::checkArchitecture() {
  int major = 0, minor = 0, wanted = atoi(facts->arch + strlen("sm_"));
  TP_CUDA(DeviceGetAttribute(&major, cuda::attributeMajor, gpu));
  TP_CUDA(DeviceGetAttribute(&minor, cuda::attributeMinor, gpu));
  if (10 * major + minor < wanted)
    return errorf("the plan '%s' is compiled for %s, and this GPU (%s) is an sm_%d%d: compile it "
                  "with --target=cuda:sm_%d%d",
                  program->plan, facts->arch, title.c_str(), major, minor, major, minor);
  return {};
}

Status CudaDevice::allocateArena(int64_t bytes) {
  cuda::Result result = cu.MemAlloc(&arena, bytes);
  if (result != cuda::outOfMemory)
    return cu.check(result, "cuMemAlloc");
  size_t free = 0, total = 0;
  TP_CUDA(MemGetInfo(&free, &total));
  return errorf("the plan '%s' needs %" PRId64 " bytes of the GPU (%s), which has %zu free of %zu",
                program->plan, bytes, title.c_str(), free, total);
}

Status CudaDevice::loadModule(const void *image) {
  std::array<char, 4096> log = {};
  int names[] = {cuda::jitErrorBuffer, cuda::jitErrorBytes};
  void *values[] = {log.data(), (void *)log.size()};
  cuda::Result result = cu.ModuleLoadDataEx(&module, image, 2, names, values);
  Status status = cu.check(result, "cuModuleLoadDataEx");
  if (status.ok() || !log[0])
    return status;
  return errorf("%s: %s", status.message().c_str(), log.data());
}

/// Code that ptxas made is for one architecture; the text serves all later ones.
Status CudaDevice::loadKernels() {
  if (!*facts->ptx)
    return {};
  if (!*facts->cubin_bytes || !loadModule(facts->cubin).ok())
    TP_TRY(loadModule(facts->ptx));
  kernels.resize(facts->num_kernels);
  for (int64_t i = 0; i < facts->num_kernels; ++i)
    TP_CUDA(ModuleGetFunction(&kernels[i], module, facts->kernels[i]->name));
  return {};
}

/// Collectives come first where both could run, for others wait for them.
Status CudaDevice::makeStreams() {
  streams.resize(facts->num_streams);
  for (size_t i = 0; i < streams.size(); ++i)
    TP_CUDA(StreamCreate(&streams[i], cuda::streamNonBlocking, i ? -1 : 0));
  TP_CUDA(StreamCreate(&givingStream, cuda::streamNonBlocking, 0));
  events.resize(facts->num_events);
  for (cuda::EventHandle *&event : events)
    TP_CUDA(EventCreate(&event, cuda::eventDisableTiming));
  marks.resize(sharedMarks * streams.size());
  for (cuda::EventHandle *&event : marks)
    TP_CUDA(EventCreate(&event, cuda::eventDisableTiming));
  for (cuda::EventHandle **event : {&sent, &taken, &imageSent[0], &imageSent[1]})
    TP_CUDA(EventCreate(event, cuda::eventDisableTiming));
  return {};
}

Status CudaDevice::makeImages() {
  for (char *&image : images) {
    TP_CUDA(MemHostAlloc((void **)&image, std::max<int64_t>(facts->given_bytes, 1),
                         cuda::hostAllocPortable));
    memset(image, 0, facts->given_bytes);
  }
  return {};
}

//===----------------------------------------------------------------------===//
// Calls
//===----------------------------------------------------------------------===//

Status CudaDevice::begin(const tp_call &call) {
  if (!options.times)
    return {};
  TimedCall &entry = timed.emplace_back(TimedCall{&call, nullptr, nullptr});
  for (cuda::EventHandle **event : {&entry.begin, &entry.end}) {
    if (spare.empty()) {
      TP_CUDA(EventCreate(event, cuda::eventDefault));
      continue;
    }
    *event = spare.back();
    spare.pop_back();
  }
  TP_CUDA(EventRecord(entry.begin, streams[call.stream]));
  return {};
}

Status CudaDevice::end(const tp_call &call) {
  if (options.times)
    TP_CUDA(EventRecord(timed.back().end, streams[call.stream]));
  if (options.synchronous)
    TP_CUDA(StreamSynchronize(streams[call.stream]));
  return {};
}

Status CudaDevice::launch(const tp_call &call, const tp_device_kernel &kernel, void *const *args) {
  constexpr int mostArguments = 512; // 4 KiB of parameters
  if (kernel.num_args > mostArguments)
    return errorf("kernel '%s' has %d arguments, a GPU takes %d", kernel.name, kernel.num_args,
                  mostArguments);
  std::array<void *, mostArguments> parameters;
  for (int32_t i = 0; i < kernel.num_args; ++i)
    parameters[i] = (void *)&args[i];
  TP_TRY(begin(call));
  TP_CUDA(LaunchKernel(kernels[kernel.number], kernel.grid, 1, 1, kernel.block, 1, 1, 0,
                       streams[call.stream], parameters.data(), nullptr));
  return end(call);
}

Status CudaDevice::matmul(const tp_call &call, const tp_gemm &gemm, const void *a, const void *b,
                          void *c) {
  TP_TRY(begin(call));
  TP_TRY(gemms.run(gemm, a, b, c, streams[call.stream]));
  return end(call);
}

Status CudaDevice::copy(int64_t stream, void *to, const void *from, const Rows &rows) {
  if (rows.rows == 0 || rows.row == 0)
    return {};
  bool whole = rows.rows == 1 || (rows.row == rows.fromStride && rows.row == rows.toStride);
  if (whole) {
    TP_CUDA(MemcpyDtoDAsync(pointer(to), pointer(from), rows.rows * rows.row, streams[stream]));
    return {};
  }
  cuda::Copy2D piece;
  piece.srcMemoryType = piece.dstMemoryType = cuda::memoryTypeDevice;
  piece.srcDevice = pointer(from), piece.srcPitch = rows.fromStride;
  piece.dstDevice = pointer(to), piece.dstPitch = rows.toStride;
  piece.WidthInBytes = rows.row, piece.Height = rows.rows;
  TP_CUDA(Memcpy2DAsync(&piece, streams[stream]));
  return {};
}

Status CudaDevice::zero(int64_t stream, void *place, const Rows &rows) {
  if (rows.rows == 0 || rows.row == 0)
    return {};
  if (rows.rows == 1)
    TP_CUDA(MemsetD8Async(pointer(place), 0, rows.row, streams[stream]));
  else
    TP_CUDA(
        MemsetD2D8Async(pointer(place), rows.toStride, 0, rows.row, rows.rows, streams[stream]));
  return {};
}

Status CudaDevice::sum(int64_t stream, int32_t type, int32_t reduction, void *out, const void *in,
                       int64_t members, int64_t count, int64_t stride) {
  for (int64_t i = 0; i < facts->num_sums; ++i) {
    const tp_device_sum &it = facts->sums[i];
    if (it.type != type || it.reduction != reduction)
      continue;
    void *parameters[] = {(void *)&in, &out, &members, &count, &stride};
    auto blocks = unsigned((count + it.kernel->block - 1) / it.kernel->block);
    TP_CUDA(LaunchKernel(kernels[it.kernel->number], blocks, 1, 1, it.kernel->block, 1, 1, 0,
                         streams[stream], parameters, nullptr));
    return {};
  }
  return errorf("the plan '%s' has no kernel that adds up %s of ranks", program->plan,
                nameOf(type));
}

Status CudaDevice::mark(int64_t stream, SharedMark mark) {
  TP_CUDA(EventRecord(marks[sharedMarks * stream + mark], streams[stream]));
  return {};
}

Status CudaDevice::follow(int64_t stream, Device &other, int64_t otherStream, SharedMark mark) {
  auto &its = static_cast<CudaDevice &>(other);
  TP_CUDA(StreamWaitEvent(streams[stream], its.marks[sharedMarks * otherStream + mark], 0));
  return {};
}

Status CudaDevice::record(int64_t stream, int64_t event) {
  TP_CUDA(EventRecord(events[event], streams[stream]));
  return {};
}

Status CudaDevice::wait(int64_t stream, int64_t event) {
  TP_CUDA(StreamWaitEvent(streams[stream], events[event], 0));
  return {};
}

//===----------------------------------------------------------------------===//
// The host and the device
//===----------------------------------------------------------------------===//

Status CudaDevice::finish() {
  for (cuda::StreamHandle *stream : streams)
    TP_CUDA(StreamSynchronize(stream));
  return {};
}

Status CudaDevice::read(void *to, const void *from, int64_t bytes) {
  TP_TRY(finish());
  if (bytes)
    TP_CUDA(MemcpyDtoH(to, pointer(from), bytes));
  return {};
}

Status CudaDevice::write(void *to, const void *from, int64_t bytes) {
  TP_TRY(finish());
  if (bytes)
    TP_CUDA(MemcpyHtoD(pointer(to), from, bytes));
  return {};
}

Status CudaDevice::send() {
  if (!facts->given_bytes)
    return {};
  int next = 1 - current;
  TP_CUDA(StreamWaitEvent(givingStream, taken, 0)); // what was there has been taken
  TP_CUDA(MemcpyHtoDAsync(arena + facts->staging_offset, images[current], facts->given_bytes,
                          givingStream));
  TP_CUDA(EventRecord(sent, givingStream));
  TP_CUDA(EventRecord(imageSent[current], givingStream));
  // The other image was sent a step ago. What is not written again stays as it is.
  TP_CUDA(EventSynchronize(imageSent[next]));
  memcpy(images[next], images[current], facts->given_bytes);
  current = next;
  return {};
}

Status CudaDevice::take() {
  if (!facts->given_bytes)
    return {};
  TP_CUDA(StreamWaitEvent(streams[0], sent, 0));
  TP_CUDA(MemcpyDtoDAsync(arena + facts->given_offset, arena + facts->staging_offset,
                          facts->given_bytes, streams[0]));
  TP_CUDA(EventRecord(taken, streams[0]));
  return {};
}

Status CudaDevice::capture(tp_rank *rank, int (*entry)(tp_rank *, char *), char *address,
                           int &code) {
  TP_CUDA(StreamBeginCapture(streams[0], cuda::captureThreadLocal));
  code = entry(rank, address);
  cuda::Graph *captured = nullptr;
  Status status = cu.check(cu.StreamEndCapture(streams[0], &captured), "cuStreamEndCapture");
  if (code || !status.ok()) {
    if (captured)
      cu.GraphDestroy(captured);
    return code ? Status() : std::move(status);
  }
  status = cu.check(cu.GraphInstantiate(&graph, captured, 0), "cuGraphInstantiate");
  cu.GraphDestroy(captured);
  return status;
}

/// The entry's own error is the rank's.
Status CudaDevice::run(tp_rank *rank, int (*entry)(tp_rank *, char *), char *address,
                       bool repeated) {
  int code = 0;
  if (!repeated || !options.captures || options.times || options.synchronous) {
    code = entry(rank, address);
  } else {
    if (!graph)
      TP_TRY(capture(rank, entry, address, code));
    if (!code)
      TP_CUDA(GraphLaunch(graph, streams[0]));
  }
  return code ? errorf("a call failed") : Status();
}

Status CudaDevice::collectTimes(const std::function<void(const tp_call &, double)> &add) {
  if (timed.empty())
    return {};
  TP_TRY(finish());
  for (const TimedCall &call : timed) {
    float milliseconds = 0;
    TP_CUDA(EventElapsedTime(&milliseconds, call.begin, call.end));
    add(*call.call, 1e-3 * milliseconds);
    spare.push_back(call.begin);
    spare.push_back(call.end);
  }
  timed.clear();
  return {};
}

//===----------------------------------------------------------------------===//
// Opening
//===----------------------------------------------------------------------===//

Status tplan::runtime::countGpus(int64_t &count) {
  const CudaDriver *driver = nullptr;
  TP_TRY(loadCuda(driver));
  const CudaDriver &cu = *driver;
  int found = 0;
  TP_CUDA(DeviceGetCount(&found));
  count = found;
  return found ? Status() : errorf("there is an NVIDIA driver but no GPU on this machine");
}

Status tplan::runtime::openCuda(const CudaOptions &options, std::unique_ptr<Device> &device) {
  const CudaDriver *driver = nullptr;
  TP_TRY(loadCuda(driver));
  auto opened = std::make_unique<CudaDevice>(*driver, options);
  TP_TRY(opened->open());
  device = std::move(opened);
  return {};
}
