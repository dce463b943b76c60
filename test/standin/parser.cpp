//===- parser.cpp - modules, kernels and statements of PTX ----------------===//
#include "test/standin/decode.h"
#include "test/standin/lexer.h"

#include <algorithm>
#include <map>

namespace standin {

namespace {

struct Symbol {
  Space space;
  uint64_t value;
  bool dynamic = false; ///< .extern .shared: behind all others, once they are known
};

/// %r of `.reg .b32 %r<73>`: count is 0 for a register with a name of its own.
struct Registers {
  char kind;
  uint16_t bits;
  uint32_t offset, count;
};

using Scope = std::map<std::string_view, Registers, std::less<>>;

class Parser {
public:
  Parser(std::vector<Token> tokens, Placer *placer, Module &module, Failure &failure)
      : tokens(std::move(tokens)), placer(placer), module(module), failure(failure) {}
  void head();
  void all();

private:
  const Token &peek(size_t ahead = 0) const {
    return tokens[std::min(pos + ahead, tokens.size() - 1)];
  }
  const Token &next() { return tokens[std::min(pos++, tokens.size() - 1)]; }
  bool accept(std::string_view text) {
    if (!peek().is(text))
      return false;
    ++pos;
    return true;
  }
  void expect(std::string_view text) {
    if (!accept(text))
      unexpected(text);
  }
  void unexpected(std::string_view wanted) {
    failure.set(peek().line, "expected '%.*s', found '%.*s'", int(wanted.size()), wanted.data(),
                int(peek().text_.size()), peek().text_.data());
  }
  bool good() { return !failure.failed(); }
  uint64_t integer();
  void target();

  void entry();
  void params();
  void body();
  void statement();
  void directive();
  void registers();
  void dimensions(uint32_t (&out)[3]);
  void branchTargets(std::string_view label);
  void shared(bool external);
  void moduleVariable(bool constant);
  void initialise(Variable &variable, Type type, bool array);
  Operand operand();
  Operand plain();
  Operand word(const Token &token);
  bool special(std::string_view text, Operand &operand);
  const Registers *findRegisters(std::string_view text, uint32_t &number) const;
  Type declaredType(uint32_t &align);
  void declare(std::string_view name, Symbol symbol);

  std::vector<Token> tokens;
  size_t pos = 0;
  Placer *placer;
  Module &module;
  Failure &failure;
  Kernel *kernel = nullptr;
  std::unique_ptr<Decoder> decoder;
  std::map<std::string_view, Symbol, std::less<>> globals, locals;
  std::vector<Scope> scopes;
  std::vector<std::pair<std::string_view, int>> labels;
  std::vector<std::pair<std::string_view, std::vector<std::string_view>>> tables;
  uint32_t moduleShared = 0;
  bool usedDynamic = false;
};

uint64_t Parser::integer() {
  bool minus = accept("-");
  uint64_t value = 0;
  const Token &token = next();
  if (token.kind != Token::number || !readInteger(token.text_, value))
    failure.set(token.line, "expected an integer, found '%.*s'", int(token.text_.size()),
                token.text_.data());
  return minus ? -value : value;
}

void Parser::target() {
  const Token &token = next();
  std::string_view text = token.text_;
  if (!text.starts_with("sm_"))
    return failure.set(token.line, "unknown target: %.*s", int(text.size()), text.data());
  text.remove_prefix(3);
  while (!text.empty() && isdigit((unsigned char)text[0])) {
    module.arch = module.arch * 10 + (text[0] - '0');
    text.remove_prefix(1);
  }
  module.archOnly = text == "a";
  if (!text.empty() && text != "a")
    failure.set(token.line, "unknown target: %.*s", int(token.text_.size()), token.text_.data());
}

void Parser::head() {
  while (good() && peek().kind != Token::end) {
    if (accept(".version")) {
      const Token &token = next();
      std::string_view text = token.text_;
      if (text.size() < 3 || text[1] != '.' || !isdigit((unsigned char)text[0]) ||
          text.size() != 3 || !isdigit((unsigned char)text[2]))
        return failure.set(token.line, "unknown version: %.*s", int(text.size()), text.data());
      module.version = (text[0] - '0') * 10 + (text[2] - '0');
    } else if (accept(".target")) {
      target();
    } else if (accept(".address_size")) {
      if (uint64_t size = integer(); size != 64)
        failure.set(peek().line, "unknown address size: %llu", (unsigned long long)size);
    } else {
      break;
    }
  }
  if (good() && (!module.version || !module.arch))
    failure.set(peek().line, "module without .version and .target");
}

void Parser::all() {
  head();
  static constexpr struct {
    int arch, version;
  } kFirst[] = {{70, 60}, {75, 63}, {80, 70},  {86, 71}, {87, 74},
                {89, 78}, {90, 78}, {100, 86}, {120, 87}};
  bool known = false;
  for (auto first : kFirst)
    if (first.arch == module.arch) {
      known = true;
      if (module.version < first.version)
        failure.set(1, "sm_%d needs PTX %d.%d, the module is of %d.%d", module.arch,
                    first.version / 10, first.version % 10, module.version / 10,
                    module.version % 10);
    }
  if (!known && good())
    failure.set(1, "unknown target: sm_%d", module.arch);
  while (good() && peek().kind != Token::end) {
    while (accept(".visible") || accept(".weak"))
      ;
    bool external = accept(".extern");
    if (accept(".entry"))
      entry();
    else if (accept(".shared"))
      shared(external);
    else if (!external && (peek().is(".global") || peek().is(".const")))
      moduleVariable(next().is(".const"));
    else
      failure.set(peek().line, "unknown directive: %.*s", int(peek().text_.size()),
                  peek().text_.data());
  }
}

void Parser::declare(std::string_view name, Symbol symbol) {
  auto &symbols = kernel ? locals : globals;
  if (!symbols.emplace(name, symbol).second)
    failure.set(peek().line, "declared twice: %.*s", int(name.size()), name.data());
}

/// `.align 16 .b8` up to the name.
Type Parser::declaredType(uint32_t &align) {
  align = 0;
  if (accept(".align"))
    align = integer();
  const Token &token = next();
  Type type;
  if (token.text_.size() < 2 || token.text_[0] != '.' || !parseType(token.text_.substr(1), type))
    failure.set(token.line, "unknown type: %.*s", int(token.text_.size()), token.text_.data());
  if (!align)
    align = std::max(1, type.bits() / 8);
  return type;
}

void Parser::shared(bool external) {
  uint32_t align;
  Type type = declaredType(align);
  std::string_view name = next().text_;
  uint64_t count = 1;
  bool open = false;
  if (accept("[")) {
    open = accept("]");
    if (!open) {
      count = integer();
      expect("]");
    }
  }
  expect(";");
  if (open != external)
    return failure.set(peek().line, "shared memory of unknown size: %.*s", int(name.size()),
                       name.data());
  if (external)
    return declare(name, {Space::shared, align, true});
  if (usedDynamic)
    return failure.set(peek().line, "shared memory declared behind a use of the dynamic: %.*s",
                       int(name.size()), name.data());
  uint32_t &used = kernel ? kernel->sharedBytes : moduleShared;
  used = (used + align - 1) / align * align;
  declare(name, {Space::shared, kSharedBase + used});
  used += count * (type.bits() / 8);
}

void Parser::moduleVariable(bool constant) {
  Variable variable;
  variable.constant = constant;
  Type type = declaredType(variable.align);
  variable.name = next().text_;
  std::string_view name = tokens[pos - 1].text_;
  uint64_t count = 1;
  bool array = accept("[");
  if (array) {
    count = integer();
    expect("]");
  }
  variable.bytes.resize(count * (type.bits() / 8));
  if (accept("="))
    initialise(variable, type, array);
  expect(";");
  if (!good())
    return;
  variable.address = placer->place(variable);
  declare(name, {Space::global, variable.address});
  module.variables.push_back(std::move(variable));
}

void Parser::initialise(Variable &variable, Type type, bool array) {
  if (array)
    expect("{");
  size_t size = type.bits() / 8, at = 0;
  do {
    uint64_t value = 0;
    int width = 0;
    if (readFloat(peek().text_, value, width)) {
      if (width != type.bits())
        failure.set(peek().line, "initialiser of another width: %.*s", int(peek().text_.size()),
                    peek().text_.data());
      next();
    } else {
      value = integer();
    }
    if (at + size > variable.bytes.size())
      return failure.set(peek().line, "too many initialisers: %s", variable.name.c_str());
    std::copy_n(reinterpret_cast<char *>(&value), size, variable.bytes.data() + at);
    at += size;
  } while (good() && array && accept(","));
  if (array)
    expect("}");
}

void Parser::entry() {
  module.kernels.push_back(std::make_unique<Kernel>());
  kernel = module.kernels.back().get();
  kernel->name = next().text_;
  kernel->sharedBytes = moduleShared;
  locals.clear(), labels.clear(), tables.clear();
  usedDynamic = false;
  decoder = std::make_unique<Decoder>(module, *kernel, failure);
  if (accept("("))
    params();
  while (good() && !peek().is("{"))
    directive();
  body();
  decoder->finish(labels, tables);
  kernel = nullptr;
}

void Parser::params() {
  while (good() && !accept(")")) {
    expect(".param");
    uint32_t align = 0;
    if (accept(".align"))
      align = integer();
    uint32_t natural;
    Type type = declaredType(natural);
    Kernel::Param param{};
    if (accept(".ptr")) { // what it promises of alignment is not relied on
      param.pointer = true;
      for (const char *space : {".global", ".shared", ".const", ".local"})
        accept(space);
      if (accept(".align"))
        integer();
    }
    std::string_view name = next().text_;
    uint64_t count = 1;
    if (accept("[")) {
      count = integer();
      expect("]");
    }
    align = std::max(align, natural);
    param.name = name;
    param.offset = (kernel->paramBytes + align - 1) / align * align;
    param.bytes = count * (type.bits() / 8);
    kernel->paramBytes = param.offset + param.bytes;
    kernel->params.push_back(param);
    declare(name, {Space::param, param.offset});
    if (!peek().is(")"))
      expect(",");
  }
}

void Parser::dimensions(uint32_t (&out)[3]) {
  out[0] = integer(), out[1] = out[2] = 1;
  for (int i = 1; i < 3 && accept(","); ++i)
    out[i] = integer();
}

void Parser::directive() {
  if (accept(".maxntid"))
    return dimensions(kernel->maxThreads);
  if (accept(".reqntid"))
    return dimensions(kernel->requiredThreads);
  if (accept(".minnctapersm") || accept(".maxnreg")) {
    integer();
    return;
  }
  if (accept(".pragma")) {
    if (next().kind != Token::text)
      failure.set(peek().line, "pragma without a string");
    return expect(";");
  }
  failure.set(peek().line, "unknown directive: %.*s", int(peek().text_.size()),
              peek().text_.data());
}

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

} // namespace

void parseHead(std::string_view text, Module &module, Failure &failure) {
  Parser(tokenize(text, failure), nullptr, module, failure).head();
}

void parseModule(std::string_view text, Placer &placer, Module &module, Failure &failure) {
  std::vector<Token> tokens = tokenize(text, failure);
  if (!failure.failed())
    Parser(std::move(tokens), &placer, module, failure).all();
}

} // namespace standin
