//===- body.cpp - the statements of a kernel of PTX -----------------------===//
#include "test/standin/driver/parser.h"

namespace standin {

void Parser::registers() {
  const Token &token = next();
  Type type;
  if (!parseType(token.text_.substr(1), type) || (type.kind != 'p' && type.bits() < 16))
    return failure.set(token.line, "unknown type of register: %.*s", int(token.text_.size()),
                       token.text_.data());
  do {
    std::string_view name = next().text_;
    Registers range{type.kind == 'p' ? 'p' : 'b', uint16_t(type.bits()), kernel->registerBytes, 0};
    uint64_t count = 1;
    if (accept("<")) {
      count = range.count = integer();
      expect(">");
    }
    if (count > 1u << 20)
      return failure.set(token.line, "too many registers: %llu", (unsigned long long)count);
    for (uint64_t i = 0; i < count; ++i)
      decoder->newRegister(type.bits());
    if (!scopes.back().emplace(name, range).second)
      failure.set(token.line, "declared twice: %.*s", int(name.size()), name.data());
  } while (good() && accept(","));
  expect(";");
}

void Parser::body() {
  expect("{");
  scopes.assign(1, {});
  while (good() && !scopes.empty()) {
    if (peek().kind == Token::end)
      unexpected("}");
    else if (accept("{"))
      scopes.emplace_back();
    else if (accept("}"))
      scopes.pop_back();
    else if (accept(".reg"))
      registers();
    else if (accept(".shared"))
      shared(false);
    else if (accept(".local"))
      failure.set(peek().line, "local memory is not supported: %s", kernel->name.c_str());
    else if (peek().kind == Token::word && peek(1).is(":")) {
      std::string_view label = next().text_;
      next();
      if (accept(".branchtargets"))
        branchTargets(label);
      else
        labels.push_back({label, int(kernel->code.size())});
    } else if (peek().kind == Token::word && peek().text_[0] == '.')
      directive();
    else
      statement();
  }
  // A kernel that runs off its end would run into nothing.
  if (good() &&
      (kernel->code.empty() ||
       (kernel->code.back().kind != Kind::exit && kernel->code.back().kind != Kind::branch &&
        kernel->code.back().kind != Kind::branchTable && kernel->code.back().kind != Kind::trap)))
    failure.set(peek().line, "kernel without an end: %s", kernel->name.c_str());
}

void Parser::branchTargets(std::string_view label) {
  tables.push_back({label, {}});
  do
    tables.back().second.push_back(next().text_);
  while (good() && accept(","));
  expect(";");
}

void Parser::statement() {
  Statement s;
  s.line = peek().line;
  if (accept("@")) {
    s.guarded = true;
    bool negated = accept("!");
    s.guard = word(next());
    s.guard.negated = negated;
  }
  if (peek().kind != Token::word)
    return unexpected("an instruction");
  s.mnemonic = next().text_;
  while (good() && !accept(";")) {
    s.operands.push_back(operand());
    if (!peek().is(";"))
      expect(",");
  }
  if (good())
    decoder->decode(s);
}

Operand Parser::operand() {
  Operand o;
  const Token &first = peek();
  if (accept("{")) {
    o.kind = Operand::vector;
    do
      o.parts.push_back(plain());
    while (good() && accept(","));
    expect("}");
    o.text = first.text_;
    return o;
  }
  if (accept("[")) {
    o = plain();
    Operand base = o;
    o.kind = Operand::address;
    if (base.kind == Operand::reg && base.registerKind == 'b' && base.bits == 64)
      o.value = 0;
    else if (base.kind != Operand::symbol)
      failure.set(first.line, "unknown address: %.*s", int(base.text.size()), base.text.data());
    if (base.kind != Operand::reg)
      o.offset = kNowhere;
    if (accept("+"))
      o.value += integer();
    expect("]");
    return o;
  }
  o = plain();
  if (accept("|"))
    o.parts.push_back(plain());
  return o;
}

Operand Parser::plain() {
  Operand o;
  bool negated = accept("!"), minus = accept("-");
  const Token &token = next();
  if (token.kind == Token::number) {
    int width = 0;
    o.text = token.text_;
    if (readFloat(token.text_, o.value, width)) {
      o.kind = Operand::floating, o.bits = width;
      if (minus)
        failure.set(token.line, "minus before bits of a float: %.*s", int(token.text_.size()),
                    token.text_.data());
    } else if (readInteger(token.text_, o.value)) {
      o.kind = Operand::integer;
      o.value = minus ? -o.value : o.value;
    } else {
      failure.set(token.line, "unknown number: %.*s", int(token.text_.size()), token.text_.data());
    }
    return o;
  }
  if (token.kind != Token::word || minus) {
    failure.set(token.line, "expected an operand, found '%.*s'", int(token.text_.size()),
                token.text_.data());
    return o;
  }
  o = word(token);
  o.negated = negated;
  if (o.kind == Operand::symbol && peek().is("+") && peek(1).kind == Token::number) {
    next();
    o.value += integer();
  }
  return o;
}

const Registers *Parser::findRegisters(std::string_view text, uint32_t &number) const {
  size_t digits = text.size();
  while (digits > 1 && isdigit((unsigned char)text[digits - 1]))
    --digits;
  uint64_t value = 0;
  bool numbered = digits < text.size();
  for (char c : text.substr(digits))
    value = value * 10 + (c - '0');
  for (auto scope = scopes.rbegin(); scope != scopes.rend(); ++scope) {
    auto whole = scope->find(text);
    if (whole != scope->end() && !whole->second.count) {
      number = 0;
      return &whole->second;
    }
    auto range = scope->find(text.substr(0, digits));
    if (numbered && range != scope->end() && value < range->second.count) {
      number = value;
      return &range->second;
    }
  }
  return nullptr;
}

Operand Parser::word(const Token &token) {
  Operand o;
  o.text = token.text_;
  if (token.text_ == "_")
    return o;
  uint32_t number = 0;
  if (const Registers *r = findRegisters(token.text_, number)) {
    o.kind = Operand::reg, o.registerKind = r->kind, o.bits = r->bits;
    o.offset = r->offset + number * std::max(64, kWarp * r->bits / 8);
    return o;
  }
  if (special(token.text_, o))
    return o;
  for (auto *symbols : {&locals, &globals})
    if (auto it = symbols->find(token.text_); it != symbols->end()) {
      o.kind = Operand::symbol, o.space = it->second.space, o.value = it->second.value;
      if (it->second.dynamic) {
        uint32_t align = it->second.value;
        kernel->dynamicShared = usedDynamic = true;
        kernel->sharedBytes = (kernel->sharedBytes + align - 1) / align * align;
        o.value = kSharedBase + kernel->sharedBytes;
      }
      return o;
    }
  o.kind = Operand::label;
  if (token.text_[0] == '%')
    failure.set(token.line, "unknown register: %.*s", int(token.text_.size()), token.text_.data());
  return o;
}

bool Parser::special(std::string_view text, Operand &o) {
  static constexpr struct {
    std::string_view name;
    Special which;
    uint8_t part;
  } kSpecials[] = {
      {"%tid.x", Special::tid, 0},
      {"%tid.y", Special::tid, 1},
      {"%tid.z", Special::tid, 2},
      {"%ntid.x", Special::ntid, 0},
      {"%ntid.y", Special::ntid, 1},
      {"%ntid.z", Special::ntid, 2},
      {"%ctaid.x", Special::ctaid, 0},
      {"%ctaid.y", Special::ctaid, 1},
      {"%ctaid.z", Special::ctaid, 2},
      {"%nctaid.x", Special::nctaid, 0},
      {"%nctaid.y", Special::nctaid, 1},
      {"%nctaid.z", Special::nctaid, 2},
      {"%laneid", Special::laneid, 0},
      {"%warpid", Special::warpid, 0},
      {"%nwarpid", Special::nwarpid, 0},
      {"%lanemask_eq", Special::lanemask, 0},
      {"%lanemask_lt", Special::lanemask, 1},
      {"%lanemask_le", Special::lanemask, 2},
      {"%lanemask_gt", Special::lanemask, 3},
      {"%lanemask_ge", Special::lanemask, 4},
  };
  for (const auto &s : kSpecials)
    if (s.name == text) {
      o.kind = Operand::special, o.registerKind = 'b', o.bits = 32;
      for (const Kernel::SpecialUse &use : kernel->specials)
        if (use.which == s.which && use.part == s.part)
          o.offset = use.offset;
      if (o.offset == kNowhere) {
        o.offset = decoder->newRegister(32);
        kernel->specials.push_back({o.offset, s.which, s.part});
      }
      return true;
    }
  return false;
}

} // namespace standin
