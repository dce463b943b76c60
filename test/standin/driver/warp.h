//===- warp.h - 32 threads that execute instructions together -------------===//
//
// A warp executes one instruction for all of its threads that stand at it, so that the cost of
// decoding is shared. Threads that branch apart have places of their own; those with the smallest
// place go first, which brings them together again after loops and ifs as LLVM lays them out.
//
// One decision: what threads do together (shuffles, votes, barriers) waits until all threads that
// it names have come to the same instruction, and fails where they never do.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_WARP_H
#define TPLAN_TEST_STANDIN_WARP_H

#include "test/standin/driver/driver.h"
#include "test/standin/driver/memory.h"
#include "test/standin/driver/ptx.h"

#include <atomic>
#include <mutex>

namespace standin {

class Touched;

struct Dim {
  uint32_t x = 1, y = 1, z = 1;
  uint64_t count() const { return uint64_t(x) * y * z; }
};

/// A kernel with everything that it needs to run.
struct Launch {
  std::shared_ptr<const Kernel> kernel;
  Dim grid, block;
  uint32_t dynamicShared = 0;
  std::vector<char> params;
  int device = 0;
  uint64_t number = 0, seed = 0;
};

/// A launch at work. The table keeps its memory, though it may be freed meanwhile.
struct Run {
  Run(const Launch &launch, std::shared_ptr<const Table> table, Touched *touched)
      : launch(launch), table(std::move(table)), touched(touched) {}
  const Launch &launch;
  std::shared_ptr<const Table> table;
  Touched *touched; ///< what is read and written, if somebody asked
  std::atomic<int> error{CUDA_SUCCESS};
  std::atomic<uint64_t> instructions{0}, next{0};
  std::mutex mutex; ///< of the message and of touched
};

/// Runs all blocks, in no order that a program may rely on.
CUresult run(const Launch &launch, std::shared_ptr<const Table> table, Touched *touched);

/// Which warp has touched each byte of shared memory since the last barrier: a warp that reads or
/// writes what another wrote, or writes what another read, races with it.
class SharedUse {
public:
  void start(uint32_t bytes);
  /// All warps have met.
  void clear();
  /// Warps meet in parts: from now on races are not known.
  void stop() { on = false; }
  bool active() const { return on; }
  /// The accesses of some threads of a warp. False where two warps race, or where they have to be
  /// looked at by bytes: with `add`, which may see all of them again.
  bool addAll(const uint32_t *offsets, uint32_t threads, uint32_t width, int warp, bool write);
  /// The other warp, or -1.
  int add(uint32_t offset, uint32_t width, int warp, bool write);

private:
  template <unsigned kBytes> bool addRange(uint32_t begin, uint32_t end, int warp, bool write);
  static constexpr uint8_t kNone = 255, kSeveral = 254;
  std::vector<uint8_t> writers, readers;
  uint32_t low = 0, high = 0; ///< what has been touched
  bool on = false;
};

struct Block {
  Run &run;
  const Kernel &kernel;
  char *shared = nullptr;
  uint32_t sharedBytes = 0;
  uint32_t index[3] = {0, 0, 0};
  SharedUse use = {};
};

struct Warp {
  enum State : uint8_t { ready, atBarrier, done, failed };

  char *r = nullptr;   ///< registers, each as 32 values
  uint32_t exec = 0;   ///< threads that execute the instruction at work
  uint32_t active = 0; ///< threads that stand at `pc`
  uint32_t live = 0;   ///< threads that have not ended
  uint32_t held = 0;   ///< threads that wait for others of the warp
  int pc = 0;
  int next = 0; ///< smallest place of threads that are neither active nor held
  int places[kWarp] = {};
  State state = ready;
  uint32_t barrier = 0, barrierThreads = 0; ///< 0 threads: the whole block
  int number = 0;
  uint64_t steps = 0;
  Block *block = nullptr;
  const Allocation *lastAllocation = nullptr;

  void start(Block &block, int number);
  /// Until a barrier or the end.
  void resume();
  /// Says what thread `lane` did wrong, and ends the launch.
  __attribute__((format(printf, 5, 6))) void fail(const Inst &inst, int lane, CUresult error,
                                                  const char *format, ...);

private:
  void split(const Inst &inst, uint32_t taken);
  void jumpByTable(const Inst &inst);
  bool gather(const Inst &inst, uint32_t wanted);
  void pick();
  void exitThreads(uint32_t threads);
  bool together(const Inst &inst);
};

/// Instructions of a warp, after which a kernel counts as one that never ends.
inline constexpr uint64_t kMostSteps = uint64_t(1) << 34;

} // namespace standin

#endif // TPLAN_TEST_STANDIN_WARP_H
