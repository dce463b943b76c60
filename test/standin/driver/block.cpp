//===- block.cpp - the blocks of a launch, and barriers between warps -----===//
//
// One decision: warps run in random order until they all wait, and blocks in random order too, so
// that a kernel that lacks a barrier does not work by luck.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/environment.h"
#include "test/standin/driver/warp.h"

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>

namespace standin {

namespace {

/// Memory for registers, kept by a thread of the host: that of a launch is large, and to map
/// it anew costs more than a small kernel.
struct Registers {
  char *memory = nullptr;
  size_t bytes = 0;
  ~Registers() { free(memory); }
  char *get(size_t wanted) {
    if (wanted > bytes) {
      free(memory);
      memory = static_cast<char *>(aligned_alloc(64, wanted)), bytes = wanted;
    }
    return memory;
  }
};
thread_local Registers keptRegisters;

/// What one thread of the host needs to run blocks, one after the other.
class Runner {
public:
  explicit Runner(Run &run);
  void runAll();

private:
  bool runBlock(uint64_t number);
  bool release();
  void fail(const char *what, uint32_t value);
  uint64_t random() {
    seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
    return seed;
  }

  Run &run;
  const Kernel &kernel;
  Block block;
  std::vector<Warp> warps;
  std::vector<int> ready;
  std::vector<char> shared;
  uint64_t seed = 1;
};

Runner::Runner(Run &run)
    : run(run), kernel(*run.launch.kernel), block{run, kernel},
      warps((run.launch.block.count() + kWarp - 1) / kWarp) {
  size_t bytes = std::max<size_t>(64, kernel.registerBytes);
  char *registers = keptRegisters.get(bytes * warps.size());
  fillFresh(registers, bytes * warps.size());
  for (size_t i = 0; i < warps.size(); ++i) {
    warps[i].r = registers + i * bytes;
    for (const Kernel::Constant &c : kernel.constants)
      for (int lane = 0; lane < kWarp; ++lane) {
        int size = c.bits / 8;
        if (c.bits == 1)
          memcpy(warps[i].r + c.offset, &c.value, 4);
        else
          memcpy(warps[i].r + c.offset + lane * size, &c.value, size);
      }
  }
  block.sharedBytes = kernel.sharedBytes + run.launch.dynamicShared;
  shared.resize(block.sharedBytes + 64);
  block.shared = shared.data() + (-reinterpret_cast<uintptr_t>(shared.data()) & 63);
}

void Runner::fail(const char *what, uint32_t value) {
  std::lock_guard<std::mutex> lock(run.mutex);
  int expected = CUDA_SUCCESS;
  if (run.error.compare_exchange_strong(expected, CUDA_ERROR_LAUNCH_FAILED))
    fprintf(stderr, "standin: kernel '%s', launch %llu, block (%u, %u, %u): %s: %u\n",
            kernel.name.c_str(), (unsigned long long)run.launch.number, block.index[0],
            block.index[1], block.index[2], what, value);
}

/// All warps wait or have ended: those of barriers whose threads have come go on.
bool Runner::release() {
  uint32_t waiting[16] = {}, wanted[16] = {};
  for (const Warp &w : warps) {
    if (w.state != Warp::atBarrier)
      continue;
    if (w.barrier >= 16 || w.barrierThreads % kWarp) {
      fail("barrier with a number or count that no GPU has", w.barrier);
      return false;
    }
    uint32_t threads = w.barrierThreads ? w.barrierThreads : run.launch.block.count();
    if (wanted[w.barrier] && wanted[w.barrier] != threads) {
      fail("warps wait at one barrier for different numbers of threads", w.barrier);
      return false;
    }
    wanted[w.barrier] = threads;
    waiting[w.barrier] += __builtin_popcount(w.live);
  }
  for (Warp &w : warps)
    if (w.state == Warp::atBarrier && waiting[w.barrier] == wanted[w.barrier])
      ready.push_back(&w - warps.data());
  if (ready.size() == warps.size())
    block.use.clear();
  else
    block.use.stop();
  for (uint32_t i = 0; i < 16 && ready.empty(); ++i)
    if (wanted[i]) {
      fail("threads of the block do not all come to a barrier, those that came", waiting[i]);
      return false;
    }
  return !ready.empty();
}

bool Runner::runBlock(uint64_t number) {
  const Dim &grid = run.launch.grid;
  block.index[0] = number % grid.x;
  block.index[1] = number / grid.x % grid.y;
  block.index[2] = number / grid.x / grid.y;
  seed = (run.launch.seed + number + 1) * 0x9E3779B97F4A7C15ull | 1;
  fillFresh(block.shared, block.sharedBytes);
  if (environment().races)
    block.use.start(block.sharedBytes);
  ready.clear();
  for (size_t i = 0; i < warps.size(); ++i) {
    warps[i].start(block, i);
    ready.push_back(i);
  }
  do
    while (!ready.empty()) {
      std::swap(ready[random() % ready.size()], ready.back());
      Warp &w = warps[ready.back()];
      ready.pop_back();
      w.resume();
      if (w.state == Warp::failed)
        return false;
    }
  while (release());
  return run.error.load() == CUDA_SUCCESS;
}

void Runner::runAll() {
  uint64_t count = run.launch.grid.count(), step = 1;
  for (uint64_t s = run.launch.seed * 2 + 3; count > 1; s += 2)
    if (std::gcd(s % count, count) == 1) { // every block once
      step = s % count;
      break;
    }
  for (uint64_t i; (i = run.next.fetch_add(1)) < count && run.error.load() == CUDA_SUCCESS;)
    if (!runBlock((unsigned __int128)i * step % count))
      break;
  uint64_t steps = 0;
  for (Warp &w : warps)
    steps += w.steps, w.steps = 0;
  run.instructions.fetch_add(steps * kWarp);
}

std::atomic<uint64_t> executed{0};

} // namespace

CUresult run(const Launch &launch, std::shared_ptr<const Table> table, Touched *touched) {
  Run run(launch, std::move(table), touched);
  int threads = std::min<uint64_t>(environment().threads, launch.grid.count());
  std::vector<std::thread> others;
  for (int i = 1; i < threads; ++i)
    others.emplace_back([&] { Runner(run).runAll(); });
  Runner(run).runAll();
  for (std::thread &t : others)
    t.join();
  executed.fetch_add(run.instructions.load());
  return CUresult(run.error.load());
}

} // namespace standin

unsigned long long standin_lane_instructions() { return standin::executed.load(); }
