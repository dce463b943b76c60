//===- Attention.h - who computes attention on a GPU, for the report -------===//
#ifndef TPLAN_DRIVER_ATTENTION_H
#define TPLAN_DRIVER_ATTENTION_H

#include "dialects/rt/RT.h"
#include "llvm/Support/JSON.h"
#include <string>
#include <vector>

namespace tplan {

/// One call of attention.
struct AttentionCall {
  std::string function, pass, by; // "block.F", "forward", "library" or "generated"
  std::string why;                // if it is generated: what the library does not take
  std::string file;               // of the line in the plan
  int64_t line = 0;
  int64_t calls = 0;     // calls of the function in a step
  int64_t workspace = 0; // bytes that the library needs
};

/// In order; none on a CPU.
std::vector<AttentionCall> attentionOf(rt::FuncOp func);

void printAttention(const std::vector<AttentionCall> &calls, llvm::raw_ostream &os);
void writeAttention(const AttentionCall &call, llvm::json::OStream &json);

} // namespace tplan

#endif // TPLAN_DRIVER_ATTENTION_H
