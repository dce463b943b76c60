//===- ptx.h - a module of PTX as the interpreter sees it -----------------===//
//
// What the parser makes and warps run: kernels as arrays of instructions whose operands
// are byte offsets into the registers of a warp.
//
// One decision: constants and special registers are registers too, filled before the
// first instruction, so that an instruction never asks what kind its operands are.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_PTX_H
#define TPLAN_TEST_STANDIN_PTX_H

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace standin {

struct Warp;

inline constexpr int kWarp = 32;
/// No register: the sink `_`.
inline constexpr uint32_t kNowhere = ~0u;
/// Shared memory does not begin at address 0: sm_90 keeps the first KiB for itself.
inline constexpr uint64_t kSharedBase = 1024;
/// Where shared and local memory lie among generic addresses; host and device pointers do not.
inline constexpr uint64_t kSharedWindow = uint64_t(1) << 61, kLocalWindow = uint64_t(1) << 62;

/// A type of PTX. `count` is 2 for f32x2, bf16x2 and the like.
struct Type {
  char kind = 0; ///< b u s f, h for bf16, p for predicates, e and g for E4M3 and E5M2
  uint8_t element = 0, count = 1;
  int bits() const { return element * count; }
  bool isInt() const { return kind == 'u' || kind == 's'; }
  explicit operator bool() const { return kind; }
};

/// What the loop of a warp does with an instruction.
enum class Kind : uint8_t {
  ordinary,
  branch,
  branchTable,
  exit,
  barrier,
  sync, ///< between the threads of a warp: shuffles, votes
  trap,
};

enum class Space : uint8_t { generic, global, shared, local, param };

struct Inst {
  void (*run)(Warp &, const Inst &) = nullptr;
  uint32_t d = 0, a = 0, b = 0, c = 0; ///< byte offsets into the registers of a warp
  uint32_t e = kNowhere;               ///< second result, or predicate of a second operation
  uint32_t list = 0;                   ///< of vectors and tables: the first in Kernel::lists
  uint32_t guard = kNowhere;
  uint32_t line = 0;
  int64_t imm = 0; ///< displacement of an address, or what the operation says
  int32_t target = 0;
  Kind kind = Kind::ordinary;
  Space space = Space::generic;
  uint8_t count = 1; ///< elements of a vector
  bool guardNot = false, eNot = false;
};

enum class Special : uint8_t { tid, ntid, ctaid, nctaid, laneid, warpid, nwarpid, lanemask };

struct Kernel {
  std::string name;
  struct Param {
    std::string name;
    uint32_t offset, bytes;
    bool pointer;
  };
  struct Constant {
    uint32_t offset, bits;
    uint64_t value;
  };
  struct SpecialUse {
    uint32_t offset;
    Special which;
    uint8_t part; ///< x, y, z; eq, lt, le, gt, ge of a lane mask
  };
  std::vector<Param> params;
  uint32_t paramBytes = 0;
  uint32_t maxThreads[3] = {0, 0, 0}; ///< zeros: not stated
  uint32_t requiredThreads[3] = {0, 0, 0};
  uint32_t sharedBytes = 0, localBytes = 0;
  bool dynamicShared = false;
  uint32_t registerBytes = 0;
  std::vector<Constant> constants;
  std::vector<SpecialUse> specials;
  std::vector<Inst> code;
  std::vector<uint32_t> lists;
  std::vector<std::string> texts; ///< of each instruction, for messages
};

/// A module variable in global or constant memory.
struct Variable {
  std::string name;
  uint32_t align;
  bool constant;
  std::vector<char> bytes;
  uint64_t address = 0;
};

struct Module {
  int version = 0; ///< 78 is 7.8
  int arch = 0;
  bool archOnly = false; ///< sm_90a
  std::vector<std::unique_ptr<Kernel>> kernels;
  std::vector<Variable> variables;
};

/// The first thing that is wrong with a module.
struct Failure {
  int line = 0;
  std::string text;
  bool failed() const { return !text.empty(); }
  __attribute__((format(printf, 3, 4))) void set(int line, const char *format, ...);
};

/// Reads the directives up to the first that is no .version, .target or .address_size.
void parseHead(std::string_view text, Module &module, Failure &failure);

/// Places a variable: its bytes are copied where its address says.
class Placer {
public:
  virtual ~Placer() = default;
  virtual uint64_t place(const Variable &variable) = 0;
};

void parseModule(std::string_view text, Placer &placer, Module &module, Failure &failure);

} // namespace standin

#endif // TPLAN_TEST_STANDIN_PTX_H
