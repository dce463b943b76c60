//===- Attention.cpp - who computes attention on a GPU, for the report -----===//
#include "lib/Driver/Attention.h"
#include "lib/Fuse/Fuse.h"
#include "lib/Lower/Lower.h"
#include "llvm/Support/FormatVariadic.h"

using namespace mlir;
using llvm::formatv;

namespace tplan {

std::vector<AttentionCall> attentionOf(rt::FuncOp func) {
  std::vector<AttentionCall> calls;
  for (Operation &op : func.getBlock()) {
    auto library = dyn_cast<rt::AttentionOp>(op);
    auto why = op.getAttrOfType<StringAttr>(fuse::kGeneratedFor);
    if (!library && !why)
      continue;
    AttentionCall &row = calls.emplace_back();
    row.function = func.getSymName().str();
    row.by = library ? "library" : "generated";
    row.why = why ? why.str() : "";
    rt::AttentionPass pass;
    if (library)
      pass = library.getPass(), row.workspace = library.getWorkspace();
    else
      pass = SymbolTable::lookupNearestSymbolFrom<rt::TileOp>(
                 &op, cast<rt::LaunchOp>(op).getKernelAttr())
                 .getPass();
    row.pass = rt::stringifyAttentionPass(pass).str();
    std::tie(row.file, row.line) = lower::sourceOf(op.getLoc());
  }
  return calls;
}

void printAttention(const std::vector<AttentionCall> &calls, llvm::raw_ostream &os) {
  if (calls.empty())
    return;
  os << formatv("\n{0,-20} {1,-10} {2,-10} {3,12} {4,18}  {5}\n", "attention", "pass", "by",
                "calls", "workspace", "of");
  for (const AttentionCall &row : calls)
    os << formatv("  {0,-18} {1,-10} {2,-10} {3,12:N0} {4,18:N0}  {5}:{6}{7}\n", row.function,
                  row.pass, row.by, row.calls, row.workspace, row.file, row.line,
                  row.why.empty() ? "" : ", for " + row.why);
}

void writeAttention(const AttentionCall &call, llvm::json::OStream &json) {
  json.attribute("function", call.function);
  json.attribute("pass", call.pass);
  json.attribute("by", call.by);
  json.attribute("why", call.why);
  json.attribute("file", call.file);
  json.attribute("line", call.line);
  json.attribute("calls", call.calls);
  json.attribute("workspace", call.workspace);
}

} // namespace tplan
