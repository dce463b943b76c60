//===- parser.cpp - modules, variables and heads of kernels ---------------===//
#include "test/standin/driver/parser.h"

namespace standin {

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
    if (accept(".ptr")) { // its promise of alignment is not relied on
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

void parseHead(std::string_view text, Module &module, Failure &failure) {
  Parser(tokenize(text, failure), nullptr, module, failure).head();
}

void parseModule(std::string_view text, Placer &placer, Module &module, Failure &failure) {
  std::vector<Token> tokens = tokenize(text, failure);
  if (!failure.failed())
    Parser(std::move(tokens), &placer, module, failure).all();
}

} // namespace standin
