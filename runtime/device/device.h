//===- device.h - what computes where the threads of a rank do not ---------===//
//
// A device has memory of its own, which the host adds to addresses of and never touches, and
// streams: lists of work that it runs beside each other, each in order. Every call returns when the
// work is issued; `read` and `write` wait for all of it.
//
// One decision: a rank on a CPU has no device, so that its calls cost no more than without this
// class.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DEVICE_DEVICE_H
#define TPLAN_RUNTIME_DEVICE_DEVICE_H

#include "runtime/device/gemm_choices.h"
#include "runtime/support/status.h"
#include "tplan/runtime.h"

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace tplan::runtime {

/// Rows of `row` bytes, at a distance in either memory.
struct Rows {
  int64_t rows = 1, row = 0, fromStride = 0, toStride = 0;
};

/// Marks by which ranks on devices know where the others are in a stream.
enum SharedMark { sharedReady, sharedDone, sharedMarks };

/// How sections are captured, and what became of that.
struct Capture {
  bool loads = true; // asks for their memory now, and not when they are first launched
  Status refused{};  // why one failed: then nothing is left of it, and calls may be issued
  int64_t bytes = 0; // of the device's memory that they take by now; below 0: nobody knows
};

class Device {
public:
  virtual ~Device() = default;

  /// "H100, driver 13.0"
  virtual std::string name() const = 0;
  /// Memory for the arena of a program, and its kernels. Called once.
  virtual Status start(const tp_program &program, char *&arena) = 0;

  // Calls of generated code; around each, functions that take its time or wait for it.
  virtual Status beforeCall(const tp_call &) { return {}; }
  virtual Status afterCall(const tp_call &) { return {}; }
  virtual Status launch(const tp_call &call, const tp_device_kernel &kernel, void *const *args,
                        int64_t layers) = 0;
  /// `scales` is null where operands have none.
  virtual Status matmul(const tp_call &call, const tp_gemm &gemm, const tp_scales *scales,
                        const GemmOperands &operands) = 0;
  virtual Status attend(const tp_call &call, const tp_attention &attention,
                        void *const *pointers) = 0;
  virtual Status copy(int64_t stream, void *to, const void *from, const Rows &rows) = 0;
  virtual Status zero(int64_t stream, void *place, const Rows &rows) = 0;
  /// out = the sum (or maximum) of `members` arrays of `count` elements, `stride` elements apart.
  virtual Status sum(int64_t stream, int32_t type, int32_t reduction, void *out, const void *in,
                     int64_t members, int64_t count, int64_t stride) = 0;
  virtual Status record(int64_t stream, int64_t event) = 0;
  virtual Status wait(int64_t stream, int64_t event) = 0;

  // Between the ranks of a process.
  virtual Status mark(int64_t stream, SharedMark mark) = 0;
  /// What follows in a stream waits for the last mark in a stream of another rank.
  virtual Status follow(int64_t stream, Device &other, int64_t otherStream, SharedMark mark) = 0;
  /// The same for the last record of an event of another rank.
  virtual Status follow(int64_t stream, Device &other, int64_t event) = 0;
  /// Scratch of the collectives in a stream.
  virtual char *scratch(int64_t stream) = 0;

  // GEMMs, before anything lies in the arena: see gemm_choices.h.
  /// Measures those that have no choice yet, on memory of the arena, and counts them.
  virtual Status chooseGemms(std::span<const GemmUse>, int64_t &) { return {}; }
  virtual GemmChoices gemmChoices() const { return {}; }
  /// Takes choices of this library and GPU, and counts those that are refused all the same.
  virtual Status setGemmChoices(const GemmChoices &, int64_t &) { return {}; }

  // For the collectives of processes.
  virtual int64_t scratchBytes(int64_t) const { return 0; }
  /// The stream's handle in NVIDIA's libraries.
  virtual void *handle(int64_t) const { return nullptr; }
  /// When the stream reaches this point, the host sees the number.
  virtual Status note(int64_t, uint32_t) { return {}; }
  virtual uint32_t noted(int64_t) const { return 0; }
  /// The function is called again and again while the host waits for the device, with the seconds
  /// of this wait; an error ends it.
  virtual void watch(std::function<Status(double)>) {}
  /// The same of the section that stream 0 has come to, where a host watches.
  virtual Status noteSection(uint32_t) { return {}; }
  virtual uint32_t notedSection() const { return 0; }
  /// Drops all graphs, before anything is released that they use.
  virtual void forget() {}

  // The host and the device's memory, outside of steps.
  virtual Status read(void *to, const void *from, int64_t bytes) = 0;
  virtual Status write(void *to, const void *from, int64_t bytes) = 0;

  // What the host gives for a step.
  /// Where byte 0 of the arena would be; only the piece that tp_device names is there.
  virtual char *givenBase() = 0;
  /// Sends the piece; it may be written again when this returns.
  virtual Status send() = 0;
  /// What was sent last becomes what the next step reads.
  virtual Status take() = 0;

  // Graphs: work that is issued once and replayed often.
  /// What is issued from here to the end of the capture is not executed, but kept as a graph.
  virtual Status beginCapture() { return {}; }
  virtual Status endCapture(int64_t, Capture &) { return {}; }
  /// Executes graph `number`, which was captured and not forgotten.
  virtual Status replay(int64_t number) {
    return errorf("this device has no graph %lld", (long long)number);
  }
  /// Waits for all that was issued.
  virtual Status finish() = 0;

  /// Reports the seconds that calls took, by their events, to a profile: see --profile.
  virtual Status collectTimes(const std::function<void(const tp_call &, double)> &) { return {}; }
};

/// A stream of a device, as transports see it.
struct Stream {
  Device *device;
  int64_t number;
};

/// Memory of the arena as the host sees it: itself where there is no device, else a copy that goes
/// back when the view is closed.
class HostView {
public:
  enum Mode { reads = 1, writes = 2, updates = 3 };
  HostView(Device *device, char *place, int64_t bytes, Mode mode)
      : device(device), place(place), bytes(bytes), mode(mode) {}
  HostView(const HostView &) = delete;

  Status open();
  char *data() { return device ? copy.data() : place; }
  Status close();

private:
  Device *device;
  char *place;
  int64_t bytes;
  Mode mode;
  std::vector<char> copy;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DEVICE_DEVICE_H
