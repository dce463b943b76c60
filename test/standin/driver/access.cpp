//===- access.cpp - loads and stores --------------------------------------===//
//
// One decision: every access is checked before its first byte is touched, in one pass over
// the threads where all are in one allocation, as they nearly always are.
//
//===----------------------------------------------------------------------===//
#include "test/standin/driver/decode.h"
#include "test/standin/driver/lanes.h"
#include "test/standin/driver/stream.h"
#include "test/standin/driver/touched.h"

#include <bit>

namespace standin {

namespace {
using Fn = void (*)(Warp &, const Inst &);
using Addresses = Lanes<uint64_t>;

template <typename F> void forEach(uint32_t threads, F f) {
  for (; threads; threads &= threads - 1)
    f(std::countr_zero(threads));
}

/// The first thread whose address is no multiple of the width, or -1.
int misaligned(const Warp &w, const Addresses &address, uint32_t width) {
  uint32_t bad = maskOf((address & uint64_t(width - 1)) != 0) & w.exec;
  return bad ? std::countr_zero(bad) : -1;
}
/// The first thread that does not access [low, high), or -1.
int outside(const Warp &w, const Addresses &address, uint32_t width, uint64_t low, uint64_t high) {
  uint32_t bad = ~0u;
  if (high - low >= width)
    bad = maskOf((address - low) > (high - low - width)) & w.exec;
  return bad & w.exec ? std::countr_zero(bad & w.exec) : -1;
}

void badAddress(Warp &w, const Inst &i, int lane, uint64_t address, uint32_t width) {
  const Allocation *a = w.block->run.table->nearest(address);
  if (!a)
    return w.fail(i, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "no allocation holds %u bytes at 0x%llx",
                  width, (unsigned long long)address);
  w.fail(i, lane, CUDA_ERROR_ILLEGAL_ADDRESS,
         "no allocation holds %u bytes at 0x%llx, the nearest is 0x%llx to 0x%llx, offset %lld",
         width, (unsigned long long)address, (unsigned long long)a->base,
         (unsigned long long)a->end(), (long long)(address - a->base));
}

const Allocation *allocationOf(Warp &w, const Inst &i, int lane, uint64_t address, uint32_t width,
                               bool write) {
  const Allocation *a = w.lastAllocation;
  if (!a || address < a->base || address >= a->end())
    a = w.block->run.table->find(address);
  if (!a || a->end() - address < width ||
      !system().memory.reaches(w.block->run.launch.device, a->device)) {
    badAddress(w, i, lane, address, width);
    return nullptr;
  }
  if (write && a->constant) {
    w.fail(i, lane, CUDA_ERROR_ILLEGAL_ADDRESS, "store to a constant at 0x%llx",
           (unsigned long long)address);
    return nullptr;
  }
  return w.lastAllocation = a;
}

void touch(Warp &w, const Addresses &address, uint32_t width, bool write) {
  std::lock_guard<std::mutex> lock(w.block->run.mutex);
  Touched *touched = w.block->run.touched;
  Intervals &set = write ? touched->writes : touched->reads;
  forEach(w.exec, [&](int l) { set.add(address[l], address[l] + width); });
}

/// Checks global addresses, and makes them those of the host.
bool globalAddresses(Warp &w, const Inst &i, Addresses &address, uint32_t width, bool write) {
  int firstLane = std::countr_zero(w.exec);
  const Allocation *a = allocationOf(w, i, firstLane, address[firstLane], width, write);
  if (!a)
    return false;
  if (outside(w, address, width, a->base, a->end()) >= 0) // in several allocations, or wrong
    for (uint32_t left = w.exec; left; left &= left - 1)
      if (int l = std::countr_zero(left); !allocationOf(w, i, l, address[l], width, write))
        return false;
  if (w.block->run.touched) [[unlikely]]
    touch(w, address, width, write);
  address ^= Addresses(kDeviceBit);
  return true;
}

/// Threads of one warp take their steps together, so only other warps can race.
bool checkRaces(Warp &w, const Inst &i, const Addresses &address, uint32_t width, bool write) {
  uint32_t offsets[kWarp];
  for (int l = 0; l < kWarp; ++l)
    offsets[l] = address[l] - kSharedBase;
  if (w.block->use.addAll(offsets, w.exec, width, w.number, write))
    return true;
  for (uint32_t left = w.exec; left; left &= left - 1) {
    int l = std::countr_zero(left);
    uint32_t offset = address[l] - kSharedBase;
    int other = w.block->use.add(offset, width, w.number, write);
    if (other < 0)
      continue;
    w.fail(i, l, CUDA_ERROR_LAUNCH_FAILED,
           "no barrier between warps %d and %d at %u bytes of shared memory at %u", other, w.number,
           width, offset);
    return false;
  }
  return true;
}

bool sharedAddresses(Warp &w, const Inst &i, Addresses &address, uint32_t width, bool write) {
  uint64_t end = kSharedBase + w.block->sharedBytes;
  if (int l = outside(w, address, width, kSharedBase, end); l >= 0) {
    w.fail(i, l, CUDA_ERROR_ILLEGAL_ADDRESS, "shared memory of %u bytes has no %u bytes at %lld",
           w.block->sharedBytes, width, (long long)(uint64_t(address[l]) - kSharedBase));
    return false;
  }
  if (w.block->use.active() && !checkRaces(w, i, address, width, write))
    return false;
  address += Addresses(reinterpret_cast<uint64_t>(w.block->shared) - kSharedBase);
  return true;
}

bool paramAddresses(Warp &w, const Inst &i, Addresses &address, uint32_t width, bool write) {
  const auto &params = w.block->run.launch.params;
  int l = outside(w, address, width, 0, params.size());
  if (l >= 0 || write) {
    w.fail(i, std::max(0, l), CUDA_ERROR_ILLEGAL_ADDRESS,
           "parameters of %zu bytes have no %u bytes at %lld", params.size(), width,
           (long long)address[std::max(0, l)]);
    return false;
  }
  address += Addresses(reinterpret_cast<uint64_t>(params.data()));
  return true;
}

bool resolve(Warp &w, const Inst &i, Addresses &address, uint32_t width, bool write) {
  if (i.a != kNowhere)
    address = get<uint64_t>(w, i.a) + Addresses(uint64_t(i.imm));
  else
    address = Addresses(uint64_t(i.imm));
  if (int l = misaligned(w, address, width); l >= 0) {
    w.fail(i, l, CUDA_ERROR_MISALIGNED_ADDRESS, "address is no multiple of %u: 0x%llx", width,
           (unsigned long long)address[l]);
    return false;
  }
  switch (i.space) {
  case Space::global:
    return globalAddresses(w, i, address, width, write);
  case Space::shared:
    return sharedAddresses(w, i, address, width, write);
  case Space::param:
    return paramAddresses(w, i, address, width, write);
  case Space::generic:
    break;
  case Space::local:
    return false;
  }
  // Generic: threads of one instruction are all in shared memory, or none is.
  uint32_t shared = maskOf((address & kSharedWindow) != 0) & w.exec;
  if (!shared)
    return globalAddresses(w, i, address, width, write);
  if (shared != w.exec) {
    w.fail(i, std::countr_zero(shared), CUDA_ERROR_NOT_SUPPORTED,
           "one access to shared and global memory");
    return false;
  }
  address -= Addresses(kSharedWindow);
  return sharedAddresses(w, i, address, width, write);
}

template <typename Element, typename Register> void load(Warp &w, const Inst &i) {
  Addresses host;
  if (!resolve(w, i, host, sizeof(Element) * i.count, false))
    return;
  const uint32_t *to = w.block->kernel.lists.data() + i.list;
  uint64_t places[kWarp];
  __builtin_memcpy(places, &host, sizeof places);
  for (uint32_t k = 0; k < i.count; ++k) {
    if (to[k] == kNowhere)
      continue;
    auto *out = reinterpret_cast<Register *>(w.r + to[k]);
    auto one = [&](int l) {
      Element value;
      __builtin_memcpy(&value, reinterpret_cast<char *>(places[l]) + k * sizeof(Element),
                       sizeof value);
      out[l] = Register(value);
    };
    if (w.exec == ~0u)
      for (int l = 0; l < kWarp; ++l)
        one(l);
    else
      forEach(w.exec, one);
  }
}

template <typename Element, typename Register> void store(Warp &w, const Inst &i) {
  Addresses host;
  if (!resolve(w, i, host, sizeof(Element) * i.count, true))
    return;
  const uint32_t *from = w.block->kernel.lists.data() + i.list;
  uint64_t places[kWarp];
  __builtin_memcpy(places, &host, sizeof places);
  for (uint32_t k = 0; k < i.count; ++k) {
    auto *in = reinterpret_cast<const Register *>(w.r + from[k]);
    forEach(w.exec, [&](int l) {
      Element value = Element(in[l]);
      __builtin_memcpy(reinterpret_cast<char *>(places[l]) + k * sizeof(Element), &value,
                       sizeof value);
    });
  }
}

template <typename Element> Fn forRegister(int bits, bool write) {
  if (bits == 64)
    return write ? Fn(store<Element, uint64_t>) : Fn(load<Element, uint64_t>);
  if constexpr (sizeof(Element) <= 4)
    if (bits == 32)
      return write ? Fn(store<Element, uint32_t>) : Fn(load<Element, uint32_t>);
  if constexpr (sizeof(Element) <= 2)
    if (bits == 16)
      return write ? Fn(store<Element, uint16_t>) : Fn(load<Element, uint16_t>);
  return nullptr;
}

Fn forElement(Type t, int bits, bool write) {
  bool s = t.kind == 's';
  switch (t.bits()) {
  case 8:
    return s ? forRegister<int8_t>(bits, write) : forRegister<uint8_t>(bits, write);
  case 16:
    return s ? forRegister<int16_t>(bits, write) : forRegister<uint16_t>(bits, write);
  case 32:
    return s ? forRegister<int32_t>(bits, write) : forRegister<uint32_t>(bits, write);
  case 64:
    return forRegister<uint64_t>(bits, write);
  }
  return nullptr;
}

/// Hints of caches change no result.
void takeHints(Decoder &d) {
  for (const char *hint :
       {"weak", "ca", "cg", "cs", "lu", "cv", "wb", "wt", "L1::evict_normal", "L1::evict_unchanged",
        "L1::evict_first", "L1::evict_last", "L1::no_allocate", "L2::64B", "L2::128B", "L2::256B"})
    d.take(hint);
}

bool takeSpace(Decoder &d, Space &space) {
  static constexpr struct {
    std::string_view name;
    Space space;
  } kSpaces[] = {{"global", Space::global},      {"const", Space::global},
                 {"shared::cta", Space::shared}, {"shared", Space::shared},
                 {"param::entry", Space::param}, {"param", Space::param}};
  space = Space::generic;
  for (auto s : kSpaces)
    if (d.take(s.name)) {
      space = s.space;
      return true;
    }
  return true;
}

void loadOrStore(Decoder &d) {
  bool write = d.name == "st";
  Type t = d.type();
  Space space;
  takeSpace(d, space);
  takeHints(d);
  if (d.take("nc") && (write || space != Space::global))
    d.fail("only global loads are non-coherent: %.*s", int(d.s->mnemonic.size()),
           d.s->mnemonic.data());
  int count = d.take("v2") ? 2 : d.take("v4") ? 4 : d.take("v8") ? 8 : 1;
  d.expect(2);
  int width = count * t.bits() / 8;
  if (width > 32 || t.kind == 'p')
    return d.fail("unknown width of an access: %.*s", int(d.s->mnemonic.size()),
                  d.s->mnemonic.data());
  if (width == 32) {
    d.need(100, 88);
    if (space != Space::global)
      d.fail("only global accesses have 32 bytes: %.*s", int(d.s->mnemonic.size()),
             d.s->mnemonic.data());
  }
  const Operand &values = d.operand(write ? 1 : 0), &address = d.operand(write ? 0 : 1);
  std::vector<Operand> parts =
      values.kind == Operand::vector ? values.parts : std::vector<Operand>{values};
  if (address.kind != Operand::address || int(parts.size()) != count)
    return d.fail("operands do not fit: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  if (address.offset == kNowhere && address.space != Space::generic && address.space != space)
    return d.fail("variable is in another space: %.*s", int(address.text.size()),
                  address.text.data());
  // Registers may be wider than what is loaded, all of a vector alike.
  int bits = std::max(16, t.bits());
  for (const Operand &o : parts)
    if (o.kind == Operand::reg)
      bits = std::max<int>(bits, o.bits);
  std::vector<uint32_t> list;
  for (const Operand &o : parts)
    list.push_back(write ? d.in(o, bits) : d.out(o, bits));
  Fn fn = forElement(t, bits, write);
  if (!fn)
    return d.fail("unknown access: %.*s", int(d.s->mnemonic.size()), d.s->mnemonic.data());
  Inst &inst = d.emit(fn);
  inst.list = d.addList(list), inst.count = count, inst.space = space;
  inst.a = address.offset, inst.imm = address.value;
}

void fence(Decoder &d) { // a block is run by one thread of the host, and blocks share nothing
  for (const char *m : {"cta", "gl", "sys", "gpu", "acq_rel", "sc"})
    d.take(m);
  d.expect(0);
  d.emit(+[](Warp &, const Inst &) {});
}
} // namespace

Decode findMemory(std::string_view name) {
  if (name == "ld" || name == "st")
    return loadOrStore;
  if (name == "membar" || name == "fence")
    return fence;
  return nullptr;
}

} // namespace standin
