//===- on-device.h - the conformance suite in the memory of a GPU -------------===//
//
// Tests of the suite have their arrays in the memory of the host. Here an operation is brought to a
// device, done there in the stream of its group, and brought back with all that was around it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_DEVICE_ON_DEVICE_H
#define TPLAN_TEST_DEVICE_ON_DEVICE_H

#include "../collectives/world.h"
#include "runtime/device/cuda.h"

namespace conformance {

/// A program's mesh, with a device's tables: kernels that add, and for each group a stream.
class DeviceProgram {
public:
  DeviceProgram(const tp_program &mesh, bool nativeSums = false);
  DeviceProgram(const DeviceProgram &) = delete;
  const tp_program &program() const { return made; }
  /// Bytes of the arena before the scratch.
  int64_t operands() const { return room; }

private:
  void addKernels();

  tp_program made;
  tp_device facts = {};
  std::vector<std::string> names;
  std::vector<tp_device_kernel> kernels;
  std::vector<const tp_device_kernel *> places;
  std::vector<tp_device_sum> sums;
  std::vector<int64_t> offsets, bytes;
  int64_t room;
};

/// The text of the kernels, from the file that DEVICE_SUMS names.
const std::string &kernelText();

/// A rank on a GPU: its device, and groups that take arrays of the host.
class DeviceRank {
public:
  DeviceRank(tplan::runtime::Transport &transport, const DeviceProgram &program, int64_t gpu);
  ~DeviceRank();
  void run(tplan::runtime::Team &team, const Body &body);

private:
  tplan::runtime::Transport &transport;
  const DeviceProgram &program;
  std::unique_ptr<tplan::runtime::Device> device;
  char *arena = nullptr;
};

} // namespace conformance

#endif // TPLAN_TEST_DEVICE_ON_DEVICE_H
