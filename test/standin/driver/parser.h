//===- parser.h - modules, kernels and statements of PTX ------------------===//
#ifndef TPLAN_TEST_STANDIN_PARSER_H
#define TPLAN_TEST_STANDIN_PARSER_H

#include "test/standin/driver/decode.h"
#include "test/standin/driver/lexer.h"

#include <algorithm>
#include <map>

namespace standin {

struct Symbol {
  Space space;
  uint64_t value;
  bool dynamic = false; ///< .extern .shared: after all others, once they are known
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

} // namespace standin

#endif // TPLAN_TEST_STANDIN_PARSER_H
