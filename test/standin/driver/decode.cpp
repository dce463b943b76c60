//===- decode.cpp - what the families of instructions share ---------------===//
#include "test/standin/driver/decode.h"

#include <algorithm>

namespace standin {

bool parseType(std::string_view text, Type &type) {
  static constexpr struct {
    std::string_view name;
    Type type;
  } kTypes[] = {
      {"pred", {'p', 1}},      {"b8", {'b', 8}},         {"u8", {'u', 8}},
      {"s8", {'s', 8}},        {"b16", {'b', 16}},       {"u16", {'u', 16}},
      {"s16", {'s', 16}},      {"b32", {'b', 32}},       {"u32", {'u', 32}},
      {"s32", {'s', 32}},      {"b64", {'b', 64}},       {"u64", {'u', 64}},
      {"s64", {'s', 64}},      {"f16", {'f', 16}},       {"f32", {'f', 32}},
      {"f64", {'f', 64}},      {"bf16", {'h', 16}},      {"f16x2", {'f', 16, 2}},
      {"f32x2", {'f', 32, 2}}, {"bf16x2", {'h', 16, 2}}, {"s16x2", {'s', 16, 2}},
      {"u16x2", {'u', 16, 2}}, {"e4m3x2", {'e', 8, 2}},  {"e5m2x2", {'g', 8, 2}},
  };
  for (const auto &t : kTypes)
    if (t.name == text) {
      type = t.type;
      return true;
    }
  return false;
}

bool Decoder::take(std::string_view modifier) {
  auto it = std::find(modifiers.begin(), modifiers.end(), modifier);
  if (it == modifiers.end())
    return false;
  modifiers.erase(it);
  return true;
}

Type Decoder::type(bool required) {
  Type type;
  for (auto it = modifiers.begin(); it != modifiers.end(); ++it)
    if (parseType(*it, type)) {
      modifiers.erase(it);
      return type;
    }
  if (required)
    fail("instruction without a type: %.*s", int(s->mnemonic.size()), s->mnemonic.data());
  return type;
}

void Decoder::need(int arch, int version) {
  if (module.arch < arch)
    fail("instruction needs sm_%d, the target is sm_%d: %.*s", arch, module.arch,
         int(s->mnemonic.size()), s->mnemonic.data());
  if (module.version < version)
    fail("instruction needs PTX %d.%d, the module is of %d.%d: %.*s", version / 10, version % 10,
         module.version / 10, module.version % 10, int(s->mnemonic.size()), s->mnemonic.data());
}

void Decoder::expect(size_t operands) {
  if (count() != operands)
    fail("instruction of %zu operands has %zu: %.*s", operands, count(), int(s->mnemonic.size()),
         s->mnemonic.data());
}

const Operand &Decoder::operand(size_t n) {
  static const Operand none;
  if (n < count())
    return s->operands[n];
  fail("instruction lacks operand %zu: %.*s", n + 1, int(s->mnemonic.size()), s->mnemonic.data());
  return none;
}

uint32_t Decoder::newRegister(int bits) {
  uint32_t offset = kernel.registerBytes;
  kernel.registerBytes += std::max(64, kWarp * bits / 8); // lanes are loaded as whole vectors
  return offset;
}

uint32_t Decoder::constant(int bits, uint64_t value) {
  for (const Kernel::Constant &c : kernel.constants)
    if (c.bits == uint32_t(bits) && c.value == value)
      return c.offset;
  uint32_t offset = newRegister(bits);
  kernel.constants.push_back({offset, uint32_t(bits), value});
  return offset;
}

uint32_t Decoder::registerOf(const Operand &o, int bits) {
  bool fits = bits == 1 ? o.registerKind == 'p' : o.registerKind == 'b' && o.bits == bits;
  if (!fits)
    fail("register is not of %d bits: %.*s", bits, int(o.text.size()), o.text.data());
  return o.offset;
}

uint32_t Decoder::in(const Operand &o, int bits) {
  if (o.negated)
    fail("predicate cannot be negated here: %.*s", int(o.text.size()), o.text.data());
  switch (o.kind) {
  case Operand::reg:
    return registerOf(o, bits);
  case Operand::integer:
    return constant(bits, bits == 1 ? (o.value ? ~0u : 0) : o.value);
  case Operand::floating:
    if (o.bits == bits)
      return constant(bits, o.value);
    break;
  case Operand::symbol:
    if (bits == 64)
      return constant(bits, o.value);
    break;
  case Operand::special:
    if (bits == 32)
      return o.offset;
    break;
  default:
    break;
  }
  fail("operand is no value of %d bits: %.*s", bits, int(o.text.size()), o.text.data());
  return 0;
}

uint32_t Decoder::in(size_t n, int bits) { return in(operand(n), bits); }
uint32_t Decoder::predicate(size_t n) { return in(n, 1); }

uint32_t Decoder::out(const Operand &o, int bits) {
  if (o.kind == Operand::sink)
    return kNowhere;
  if (o.kind != Operand::reg || o.negated)
    fail("result is no register: %.*s", int(o.text.size()), o.text.data());
  return registerOf(o, bits);
}

uint32_t Decoder::out(size_t n, int bits) {
  const Operand &o = operand(n);
  if (o.kind == Operand::sink)
    fail("result is no register: %.*s", int(o.text.size()), o.text.data());
  return out(o, bits);
}

Inst &Decoder::emit(void (*run)(Warp &, const Inst &)) {
  Inst inst;
  inst.run = run;
  inst.line = line();
  if (s->guarded) {
    if (s->guard.registerKind != 'p')
      fail("guard is no predicate: %.*s", int(s->guard.text.size()), s->guard.text.data());
    inst.guard = s->guard.offset;
    inst.guardNot = s->guard.negated;
  }
  kernel.code.push_back(inst);
  kernel.texts.emplace_back(s->mnemonic);
  return kernel.code.back();
}

Inst &Decoder::emit(void (*run)(Warp &, const Inst &), uint32_t d, uint32_t a, uint32_t b,
                    uint32_t c) {
  Inst &inst = emit(run);
  inst.d = d, inst.a = a, inst.b = b, inst.c = c;
  return inst;
}

uint32_t Decoder::addList(const std::vector<uint32_t> &values) {
  uint32_t first = kernel.lists.size();
  kernel.lists.insert(kernel.lists.end(), values.begin(), values.end());
  return first;
}

void Decoder::branchTo(std::string_view label, Inst &inst) {
  fixups.push_back({size_t(&inst - kernel.code.data()), label});
}

void Decoder::decode(const Statement &statement) {
  s = &statement;
  modifiers.clear();
  std::string_view rest = statement.mnemonic;
  name = rest.substr(0, rest.find('.'));
  while (rest.find('.') != rest.npos) {
    rest.remove_prefix(rest.find('.') + 1);
    modifiers.push_back(rest.substr(0, rest.find('.')));
  }
  Decode family = nullptr;
  for (auto find : {findInteger, findFloat, findMove, findConvert, findMemory, findControl})
    if (!family)
      family = find(name);
  if (!family)
    return fail("unknown instruction: %.*s", int(s->mnemonic.size()), s->mnemonic.data());
  family(*this);
  checkLeftOver();
}

void Decoder::checkLeftOver() {
  if (!modifiers.empty())
    fail("unknown modifier .%.*s: %.*s", int(modifiers[0].size()), modifiers[0].data(),
         int(s->mnemonic.size()), s->mnemonic.data());
}

void Decoder::finish(
    const std::vector<std::pair<std::string_view, int>> &labels,
    const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> &tables) {
  auto find = [&](std::string_view label) -> int {
    for (const auto &[text, place] : labels)
      if (text == label)
        return place;
    failure.set(0, "unknown label: %.*s", int(label.size()), label.data());
    return 0;
  };
  for (const auto &[inst, label] : fixups) {
    Inst &i = kernel.code[inst];
    if (i.kind == Kind::branch) {
      i.target = find(label);
      continue;
    }
    for (const auto &[text, targets] : tables)
      if (text == label) {
        std::vector<uint32_t> places;
        for (std::string_view target : targets)
          places.push_back(find(target));
        i.list = addList(places), i.imm = places.size();
      }
    if (!i.imm)
      failure.set(i.line, "unknown table of branches: %.*s", int(label.size()), label.data());
  }
}

} // namespace standin
