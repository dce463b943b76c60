//===- Target.h - the machine that a plan is compiled for ----------------------===//
//
// One decision: phases ask for facts, never for names. What a name such as sm_90 or avx512bf16
// means is said once, where targets are made (lib/Driver/Target.cpp).
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIALECTS_TPLAN_TARGET_H
#define TPLAN_DIALECTS_TPLAN_TARGET_H

#include "dialects/tplan/Fields.h"
#include "dialects/tplan/TplanEnums.h"

namespace tplan::lang {

struct Target {
  std::string cpu{};        // for LLVM: "x86-64-v3"
  std::string features{};   // for LLVM, beyond the level: "+avx512bf16"
  std::string needs{};      // for tp_program.cpu: a level, or features by commas
  int64_t vectorBytes = 32; // of a register
  int64_t registers = 16;   // vector registers
  bool f16c = false;        // converts f16, as levels from v3 on do
  bool bf16Gemm = false;    // the CPU's library multiplies bf16
  std::string arch{};       // of a GPU: "sm_90"; then the CPU runs the host program alone
  /// How the scales of operands in f8 may be that the GPU's library multiplies: "tensor", "row".
  std::vector<std::string> scales{};
  int64_t workspace = 0; // bytes that GEMM and attention libraries of the GPU may use
  AttentionBy attention = AttentionBy::Library; // of a GPU
  /// The widest head that the library takes; any where this is not set.
  std::optional<int64_t> attentionForward{}, attentionBackward{};
  /// Other targets of the same plan in the same binary: symbols of their programs. One of the
  /// objects has `main`.
  std::vector<std::string> others{};
  bool hasMain = true;
  std::string embedAs{}; // NAME, where a program of a user's has `main` and links the object

  bool isGpu() const { return !arch.empty(); }
  /// GPUs that multiply f8 convert it as well.
  bool convertsF8() const { return !scales.empty(); }
  bool makesMain() const { return hasMain && embedAs.empty(); }
  /// Symbol of the tp_program.
  std::string program() const {
    return !embedAs.empty() ? embedAs + "_program"
           : isGpu()        ? "tplan.program.cuda"
                            : "tplan.program.cpu";
  }

  static constexpr auto fields() {
    return std::tuple(
        field("cpu", &Target::cpu), field("features", &Target::features, InText::Always),
        field("needs", &Target::needs, InText::Always),
        field("vector_bytes", &Target::vectorBytes, InText::Always),
        field("registers", &Target::registers, InText::Always),
        field("f16c", &Target::f16c, InText::Always), field("bf16_gemm", &Target::bf16Gemm),
        field("arch", &Target::arch), field("scales", &Target::scales),
        field("workspace", &Target::workspace),
        field("attention", &Target::attention, InText::Always),
        field("attention_forward", &Target::attentionForward),
        field("attention_backward", &Target::attentionBackward), field("others", &Target::others),
        field("has_main", &Target::hasMain), field("embed_as", &Target::embedAs));
  }
  bool operator==(const Target &) const = default;
};

} // namespace tplan::lang

#endif // TPLAN_DIALECTS_TPLAN_TARGET_H
