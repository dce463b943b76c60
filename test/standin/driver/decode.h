//===- decode.h - from a statement of PTX to an instruction ---------------===//
//
// A statement has been parsed into operands; here it becomes one or two instructions with
// the function that executes them.
//
// One decision: every modifier of a mnemonic must be taken by the code that knows it. Modifiers
// that are left are refused by name, so nothing is ever ignored by accident.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_DECODE_H
#define TPLAN_TEST_STANDIN_DECODE_H

#include "test/standin/driver/ptx.h"

namespace standin {

struct Operand {
  enum Kind : uint8_t { reg, integer, floating, vector, address, label, symbol, sink, special };
  Kind kind = sink;
  bool negated = false;       ///< !%p
  char registerKind = 0;      ///< b, or p
  uint16_t bits = 0;          ///< of a register, or of a floating constant
  uint32_t offset = kNowhere; ///< of a register; the base of an address, if it is one
  uint64_t value = 0;         ///< of a constant, of a symbol; the displacement of an address
  Space space = Space::generic;
  std::vector<Operand> parts; ///< of a vector; what stands after the | of a pair
  std::string_view text;
};

struct Statement {
  int line = 0;
  Operand guard;
  bool guarded = false;
  std::string_view mnemonic;
  std::vector<Operand> operands;
};

class Decoder {
public:
  Decoder(const Module &module, Kernel &kernel, Failure &failure)
      : module(module), kernel(kernel), failure(failure) {}
  void decode(const Statement &statement);
  /// Labels are known.
  void
  finish(const std::vector<std::pair<std::string_view, int>> &labels,
         const std::vector<std::pair<std::string_view, std::vector<std::string_view>>> &tables);
  uint32_t newRegister(int bits);
  uint32_t constant(int bits, uint64_t value);

  // What the decoders of families use.
  template <typename... Args> void fail(const char *format, Args... args) {
    failure.set(line(), format, args...);
  }
  int line() const { return s->line; }
  std::string_view name; ///< the mnemonic up to its first dot
  /// Takes the modifier if it is there.
  bool take(std::string_view modifier);
  /// Takes the next modifier that is a type.
  Type type(bool required = true);
  /// The architecture and the version of PTX that the instruction needs.
  void need(int arch, int version);
  size_t count() const { return s->operands.size(); }
  void expect(size_t operands);
  const Operand &operand(size_t n);
  /// The register of an operand that has just this many bits.
  uint32_t in(size_t n, int bits);
  uint32_t in(const Operand &operand, int bits);
  uint32_t predicate(size_t n); ///< not negated
  uint32_t out(size_t n, int bits);
  uint32_t out(const Operand &operand, int bits);
  Inst &emit(void (*run)(Warp &, const Inst &));
  Inst &emit(void (*run)(Warp &, const Inst &), uint32_t d, uint32_t a = 0, uint32_t b = 0,
             uint32_t c = 0);
  uint32_t addList(const std::vector<uint32_t> &values);
  void branchTo(std::string_view label, Inst &inst);

  const Module &module;
  Kernel &kernel;
  Failure &failure;
  const Statement *s = nullptr;
  uint32_t temporary = kNowhere; ///< of 64 bits, for instructions that become two

private:
  uint32_t registerOf(const Operand &operand, int bits);
  void checkLeftOver();
  std::vector<std::string_view> modifiers;
  std::vector<std::pair<size_t, std::string_view>> fixups;
};

using Decode = void (*)(Decoder &);
/// The decoder of a family of instructions, or null.
Decode findInteger(std::string_view name);
Decode findFloat(std::string_view name);
Decode findMove(std::string_view name);
Decode findConvert(std::string_view name);
Decode findMemory(std::string_view name);
Decode findControl(std::string_view name);

bool parseType(std::string_view text, Type &type);

} // namespace standin

#endif // TPLAN_TEST_STANDIN_DECODE_H
