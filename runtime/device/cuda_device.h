//===- cuda_device.h - a GPU of NVIDIA's, from the inside -------------------===//
//
// What cuda_device.cpp (start and end), cuda_calls.cpp (calls of generated code) and cuda_host.cpp
// (what the host gives and takes, graphs) share; everybody else sees a Device.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_CUDA_DEVICE_H
#define TPLAN_RUNTIME_DEVICE_CUDA_DEVICE_H

#include "runtime/device/cuda_attention.h"
#include "runtime/device/cuda_matmul.h"
#include "runtime/device/cuda_options.h"
#include "runtime/device/device.h"
#include "runtime/libraries/cuda_driver.h"

#include <map>

namespace tplan::runtime {

inline cuda::Pointer pointer(const void *address) { return (cuda::Pointer)(uintptr_t)address; }

/// A call between two events of its stream.
struct TimedCall {
  const tp_call *call;
  cuda::EventHandle *begin, *end;
};

/// Memory of a rank of this process that has another GPU.
struct Neighbour {
  cuda::Pointer begin, end;
  cuda::Context *context;
};

class CudaDevice : public Device {
public:
  CudaDevice(const CudaDriver &driver, const CudaOptions &options) : cu(driver), options(options) {}
  ~CudaDevice() override;
  Status open();

  std::string name() const override { return title; }
  Status start(const tp_program &program, char *&arena) override;
  Status beforeCall(const tp_call &call) override;
  Status afterCall(const tp_call &call) override;
  Status launch(const tp_call &call, const tp_device_kernel &kernel, void *const *args,
                int64_t layers) override;
  Status matmul(const tp_call &call, const tp_gemm &gemm, const tp_scales *scales,
                const GemmOperands &operands) override;
  Status attend(const tp_call &call, const tp_attention &attention, void *const *pointers) override;
  Status copy(int64_t stream, void *to, const void *from, const Rows &rows) override;
  Status zero(int64_t stream, void *place, const Rows &rows) override;
  Status sum(int64_t stream, int32_t type, int32_t reduction, void *out, const void *in,
             int64_t members, int64_t count, int64_t stride) override;
  Status record(int64_t stream, int64_t event) override;
  Status wait(int64_t stream, int64_t event) override;
  Status mark(int64_t stream, SharedMark mark) override;
  Status follow(int64_t stream, Device &other, int64_t otherStream, SharedMark mark) override;
  Status follow(int64_t stream, Device &other, int64_t event) override;
  char *scratch(int64_t stream) override {
    return (char *)(uintptr_t)arena + facts->scratch_offsets[stream];
  }
  Status chooseGemms(std::span<const GemmUse> uses, int64_t &measured) override;
  GemmChoices gemmChoices() const override;
  Status setGemmChoices(const GemmChoices &choices, int64_t &refused) override;
  int64_t scratchBytes(int64_t stream) const override { return facts->scratch_bytes[stream]; }
  void *handle(int64_t stream) const override { return streams[stream]; }
  Status note(int64_t stream, uint32_t number) override { return note(stream, number, stream); }
  uint32_t noted(int64_t stream) const override {
    return __atomic_load_n(&notes[stream], __ATOMIC_RELAXED);
  }
  Status noteSection(uint32_t number) override {
    return watcher ? note(0, number, noteOfSection()) : Status();
  }
  uint32_t notedSection() const override {
    return __atomic_load_n(&notes[noteOfSection()], __ATOMIC_RELAXED);
  }
  void watch(std::function<Status(double)> asked) override { watcher = std::move(asked); }
  void forget() override;
  Status read(void *to, const void *from, int64_t bytes) override;
  Status write(void *to, const void *from, int64_t bytes) override;
  char *givenBase() override { return pinned[current] - facts->given_offset; }
  Status send() override;
  Status take() override;
  Status beginCapture() override;
  Status endCapture(int64_t number, Capture &made) override;
  Status replay(int64_t number) override;
  Status finish() override;
  Status collectTimes(const std::function<void(const tp_call &, double)> &add) override;

private:
  Status checkArchitecture();
  Status loadKernels();
  Status loadModule(const void *image);
  Status allocateArena(int64_t bytes);
  Status makeStreams();
  Status makePinned();
  Status note(int64_t stream, uint32_t number, int64_t place);
  int64_t noteOfSection() const { return (int64_t)streams.size(); }
  Status instantiate(cuda::Graph *captured, bool loads, cuda::GraphExec *&graph, Status &refused);
  Status meet(const CudaDevice &other);
  cuda::Context *contextOf(const void *address) const;
  Status copyBetween(int64_t stream, void *to, const void *from, const Rows &rows);
  Status fillRandomly(int64_t begin, int64_t bytes);
  Status keepPace();
  Status await(cuda::EventHandle *event);
  Status await(cuda::StreamHandle *stream);

  const CudaDriver &cu;
  const CudaOptions options;
  cuda::Device gpu = 0;
  cuda::Context *context = nullptr;
  std::string gpuName, title;
  const tp_program *program = nullptr;
  const tp_device *facts = nullptr;
  cuda::Pointer arena = 0;
  cuda::Module *module = nullptr;
  std::vector<cuda::Function *> kernels;
  std::vector<cuda::StreamHandle *> streams;
  std::vector<cuda::EventHandle *> events;
  std::vector<cuda::EventHandle *> marks; // for other ranks, of each stream
  std::vector<Neighbour> neighbours;
  uint32_t *notes = nullptr; // of each stream, and of the section, in memory of the host
  std::function<Status(double)> watcher;
  cuda::EventHandle *awaited = nullptr;
  CudaMatmul gemms;
  CudaAttention attentions;
  // What the host gives: written in one piece of pinned memory while the other is on its way.
  cuda::StreamHandle *givingStream = nullptr;
  cuda::EventHandle *sent = nullptr, *taken = nullptr;
  char *pinned[2] = {};
  cuda::EventHandle *pinnedSent[2] = {};
  int current = 0;
  std::map<int64_t, cuda::GraphExec *> graphs; // by number
  static constexpr int64_t replaysAhead = 64;
  int64_t replays = 0;
  cuda::EventHandle *paces[2] = {}; // where stream 0 was, each replaysAhead replays
  size_t freeBefore = 0;            // bytes of the GPU, before a capture
  std::vector<TimedCall> timed;
  std::vector<cuda::EventHandle *> spare; // events of calls whose times have been read
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_CUDA_DEVICE_H
