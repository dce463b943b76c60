//===- warp.cpp - 32 threads that execute instructions together -----------===//
#include "test/standin/driver/warp.h"
#include "test/standin/driver/lanes.h"

#include <bit>
#include <climits>
#include <cstdarg>
#include <cstdio>

namespace standin {

namespace {
int first(uint32_t threads) { return std::countr_zero(threads); }

/// Calls f(lane) for the threads of a mask.
template <typename F> void forEach(uint32_t threads, F f) {
  for (; threads; threads &= threads - 1)
    f(first(threads));
}

uint32_t threadsOf(const Dim &block, int warp) {
  uint64_t left = block.count() - uint64_t(warp) * kWarp;
  return left >= kWarp ? ~0u : (1u << left) - 1;
}
} // namespace

void Warp::start(Block &newBlock, int newNumber) {
  block = &newBlock, number = newNumber;
  const Dim &dim = block->run.launch.block, &grid = block->run.launch.grid;
  live = active = threadsOf(dim, number);
  held = 0, pc = 0, next = INT_MAX, state = ready;
  for (const Kernel::SpecialUse &use : block->kernel.specials) {
    auto part = [&](const Dim &d) { return use.part == 0 ? d.x : use.part == 1 ? d.y : d.z; };
    auto *out = reinterpret_cast<uint32_t *>(r + use.offset);
    for (uint32_t lane = 0; lane < kWarp; ++lane) {
      uint32_t thread = number * kWarp + lane, bit = 1u << lane;
      uint32_t tid[3] = {thread % dim.x, thread / dim.x % dim.y, thread / dim.x / dim.y};
      uint32_t masks[5] = {bit, bit - 1, (bit - 1) | bit, ~((bit - 1) | bit), ~(bit - 1)};
      switch (use.which) {
      case Special::tid:
        out[lane] = tid[use.part];
        break;
      case Special::ntid:
        out[lane] = part(dim);
        break;
      case Special::ctaid:
        out[lane] = block->index[use.part];
        break;
      case Special::nctaid:
        out[lane] = part(grid);
        break;
      case Special::laneid:
        out[lane] = lane;
        break;
      case Special::warpid:
        out[lane] = number;
        break;
      case Special::nwarpid:
        out[lane] = (dim.count() + kWarp - 1) / kWarp;
        break;
      case Special::lanemask:
        out[lane] = masks[use.part];
        break;
      }
    }
  }
}

void Warp::fail(const Inst &inst, int lane, CUresult error, const char *format, ...) {
  state = failed;
  Run &run = block->run;
  std::lock_guard<std::mutex> lock(run.mutex);
  int expected = CUDA_SUCCESS;
  if (!run.error.compare_exchange_strong(expected, error))
    return;
  char text[512];
  va_list args;
  va_start(args, format);
  vsnprintf(text, sizeof text, format, args);
  va_end(args);
  const Dim &dim = run.launch.block;
  uint32_t thread = number * kWarp + lane;
  fprintf(stderr,
          "standin: kernel '%s', launch %llu, block (%u, %u, %u), thread (%u, %u, %u), line %u, "
          "%s: %s\n",
          block->kernel.name.c_str(), (unsigned long long)run.launch.number, block->index[0],
          block->index[1], block->index[2], thread % dim.x, thread / dim.x % dim.y,
          thread / dim.x / dim.y, inst.line,
          block->kernel.texts[&inst - block->kernel.code.data()].c_str(), text);
}

/// What the threads at an instruction wait for.
static uint32_t wantedBy(const Warp &w, const Inst &inst, int lane) {
  if (inst.kind == Kind::barrier)
    return threadsOf(w.block->run.launch.block, w.number);
  return get<uint32_t>(w, inst.c)[lane];
}

/// The threads with the smallest place go on.
void Warp::pick() {
  uint32_t runnable = live & ~held;
  if (!live) {
    state = done;
    return;
  }
  int least = INT_MAX;
  if (runnable) {
    forEach(runnable, [&](int l) { least = std::min(least, places[l]); });
  } else { // those that were waited for may have ended
    forEach(held, [&](int l) {
      uint32_t here = 0;
      forEach(held, [&](int m) { here |= places[m] == places[l] ? 1u << m : 0; });
      const Inst &inst = block->kernel.code[places[l]];
      uint32_t ended = inst.kind == Kind::barrier ? 0 : ~live;
      if (!(wantedBy(*this, inst, l) & ~here & ~ended))
        least = std::min(least, places[l]);
    });
    if (least == INT_MAX) {
      const Inst &inst = block->kernel.code[places[first(held)]];
      return fail(inst, first(held), CUDA_ERROR_LAUNCH_FAILED,
                  "threads 0x%08x of the warp wait here for each other, 0x%08x came",
                  wantedBy(*this, inst, first(held)), held);
    }
    forEach(held, [&](int l) { held &= places[l] == least ? ~(1u << l) : ~0u; });
    runnable = live & ~held;
  }
  active = 0, pc = least, next = INT_MAX;
  forEach(runnable, [&](int l) {
    if (places[l] == least)
      active |= 1u << l;
    else
      next = std::min(next, places[l]);
  });
}

void Warp::split(const Inst &inst, uint32_t taken) {
  forEach(taken, [&](int l) { places[l] = inst.target; });
  forEach(active & ~taken, [&](int l) { places[l] = pc + 1; });
  pick();
}

void Warp::jumpByTable(const Inst &inst) {
  auto index = get<uint32_t>(*this, inst.a);
  forEach(active & ~exec, [&](int l) { places[l] = pc + 1; });
  for (uint32_t left = exec; left; left &= left - 1) {
    int l = first(left);
    if (index[l] >= inst.imm)
      return fail(inst, l, CUDA_ERROR_LAUNCH_FAILED, "index outside the table of %lld: %u",
                  (long long)inst.imm, uint32_t(index[l]));
    places[l] = block->kernel.lists[inst.list + index[l]];
  }
  pick();
}

void Warp::exitThreads(uint32_t threads) {
  live &= ~threads;
  forEach(active & ~threads, [&](int l) { places[l] = pc + 1; });
  pick();
}

/// Whether all that the instruction waits for are here; they are active then. Otherwise
/// the others go on.
bool Warp::gather(const Inst &inst, uint32_t wanted) {
  uint32_t here = active;
  forEach(held, [&](int l) { here |= places[l] == pc ? 1u << l : 0; });
  uint32_t ended = inst.kind == Kind::barrier ? 0 : ~live;
  if (!(wanted & ~here & ~ended)) {
    held &= ~here;
    active = exec = here;
    return true;
  }
  forEach(active, [&](int l) { places[l] = pc; });
  held |= active;
  pick();
  return false;
}

/// Threads of a guarded instruction that skip it go on by themselves.
bool Warp::together(const Inst &inst) {
  if (exec != active) {
    forEach(active, [&](int l) { places[l] = exec >> l & 1 ? pc : pc + 1; });
    pick();
    return false;
  }
  uint32_t wanted = wantedBy(*this, inst, first(active));
  if (!gather(inst, wanted))
    return false;
  if (inst.kind == Kind::sync)
    for (uint32_t left = active; left; left &= left - 1)
      if (uint32_t mine = wantedBy(*this, inst, first(left));
          mine != wanted || !(mine >> first(left) & 1)) {
        fail(inst, first(left), CUDA_ERROR_LAUNCH_FAILED,
             "mask of threads differs from that of others, or lacks this one: 0x%08x", mine);
        return false;
      }
  return true;
}

void Warp::resume() {
  const Inst *code = block->kernel.code.data();
  state = ready;
  while (state == ready) {
    if (pc >= next) {
      forEach(active, [&](int l) { places[l] = pc; });
      pick();
    }
    const Inst &i = code[pc];
    exec = active;
    if (i.guard != kNowhere) {
      uint32_t mask = getMask(*this, i.guard);
      exec &= i.guardNot ? ~mask : mask;
    }
    if (++steps > kMostSteps)
      return fail(i, first(active), CUDA_ERROR_LAUNCH_TIMEOUT, "kernel does not end");
    if (i.kind == Kind::ordinary) {
      if (exec)
        i.run(*this, i);
      ++pc;
      continue;
    }
    if (!exec) {
      ++pc;
      continue;
    }
    switch (i.kind) {
    case Kind::branch:
      if (exec == active)
        pc = i.target;
      else
        split(i, exec);
      break;
    case Kind::branchTable:
      jumpByTable(i);
      break;
    case Kind::exit:
      exitThreads(exec);
      break;
    case Kind::sync:
      if (together(i)) {
        i.run(*this, i);
        ++pc;
      }
      break;
    case Kind::barrier:
      if (together(i)) {
        barrier = get<uint32_t>(*this, i.a)[first(active)];
        barrierThreads = get<uint32_t>(*this, i.b)[first(active)];
        state = atBarrier;
        ++pc;
      }
      break;
    case Kind::trap:
      fail(i, first(exec), CUDA_ERROR_LAUNCH_FAILED, "trap");
      break;
    case Kind::ordinary:
      break;
    }
  }
}

} // namespace standin
