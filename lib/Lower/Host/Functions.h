//===- Host/Functions.h - the convention between functions and program ----===//
//
// rt.func @f becomes `int f(tp_rank *, void *const *table)`. The table holds the arguments, then
// the results that do not update an argument, then the frame. Where a function may be called once
// for several layers (repeat-updates), their number comes after the frame, and the addresses are
// those of the first layer. So a caller fills one array of pointers, whatever the function.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_HOST_FUNCTIONS_H
#define TPLAN_LOWER_HOST_FUNCTIONS_H

#include "dialects/rt/RT.h"
#include "lib/Lower/Host/Calls.h"

namespace tplan::lower {

/// Attribute of a call, an rt::CallRecordAttr.
inline constexpr llvm::StringLiteral kCallRecord = "tp.call";

/// Place in the table of result i, or none where it updates an argument.
std::optional<unsigned> tableIndexOfResult(rt::FuncOp func, unsigned result);
/// Place of the frame in the table, and of the number of layers after it.
unsigned tableIndexOfFrame(rt::FuncOp func);
inline unsigned tableIndexOfLayers(rt::FuncOp func) { return tableIndexOfFrame(func) + 1; }
/// Whether one call may do the work of several layers.
bool repeats(rt::FuncOp func);
inline unsigned tableSize(rt::FuncOp func) { return tableIndexOfLayers(func) + repeats(func); }

/// The symbol of the code of a function.
inline std::string codeSymbol(rt::FuncOp func) { return "tplan.layer." + func.getSymName().str(); }

/// Adds the LLVM function of `func`.
void lowerFunction(HostBuilder &host, HostGroups &groups, HostCalls &calls, rt::FuncOp func);

} // namespace tplan::lower

#endif // TPLAN_LOWER_HOST_FUNCTIONS_H
