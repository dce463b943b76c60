// Regions of fused kernels: which kernels are one, and the bytes that they need at least.
#include "lib/Driver/Driver.h"
#include "lib/Driver/Regions.h"

#include "mlir/Parser/Parser.h"
#include <gtest/gtest.h>

using namespace tplan;

namespace {

/// Kernels of one and two inputs on arrays of 64 bytes, one that sums its rows in two parts, and
/// one that adds up such parts.
constexpr const char *kKernels = R"(
!x = !nn.tensor<[B 4, E 4], f32>
!p = !nn.tensor<[each.task 2, E 4], f32>
!s = !nn.tensor<[E 4], f32>
#id = #rt.access<identity, "", 0>
rt.kernel @one map rows [#nn.dim<"B", 4>] cols [#nn.dim<"E", 4>] grain 4 : (!x) -> (!x) access [#id, #id] {
^bb0(%a: f32):
  rt.yield %a : f32
}
rt.kernel @two map rows [#nn.dim<"B", 4>] cols [#nn.dim<"E", 4>] grain 4 : (!x, !x) -> (!x) access [#id, #id, #id] {
^bb0(%a: f32, %b: f32):
  %0 = arith.addf %a, %b : f32
  rt.yield %0 : f32
}
rt.kernel @parts row rows [#nn.dim<"B", 4>] cols [#nn.dim<"E", 4>] grain 2 : (!x) -> (!p) access [#id, #id] {
^bb0(%a: f32):
  %0 = rt.col_reduce sum %a : f32
  rt.yield %0 : f32
}
rt.kernel @sum column rows [#nn.dim<"each.task", 2>] cols [#nn.dim<"E", 4>] grain 4 : (!p, !s) -> (!s) access [#id, #id, #id] {
^bb0(%a: f32, %b: f32):
  %0 = rt.col_reduce sum %a : f32
  %1 = arith.addf %b, %0 : f32
  rt.yield %1 : f32
}
)";

/// "kernels: bytes of bound, ..." of one function.
std::string regionsOf(const std::string &function) {
  mlir::MLIRContext context(dialects());
  mlir::OwningOpRef<mlir::ModuleOp> module =
      mlir::parseSourceString<mlir::ModuleOp>(kKernels + function, &context);
  if (!module)
    return "no module";
  std::string text;
  llvm::raw_string_ostream os(text);
  for (rt::FuncOp func : module->getOps<rt::FuncOp>())
    for (const FusedRegion &region : fusedRegionsOf(func)) {
      for (const std::string &kernel : region.kernels)
        os << kernel << " ";
      os << region.bytes << " of " << region.bound << "; ";
    }
  return text;
}

constexpr const char *kX =
    R"((%x: !x {nn.role = "carried", nn.name = "c0"}) -> (!x {nn.role = "carried", nn.name = "c0"}))";

// An array between two kernels is written and read in vain.
TEST(Regions, AValueInsideIsNotOfTheBound) {
  EXPECT_EQ(regionsOf(std::string("rt.func @f") + kX + R"({
  %0 = rt.launch @one(%x) : (!x) -> !x
  %1 = rt.launch @one(%0) : (!x) -> !x
  rt.return %1 : !x
})"),
            "one one 256 of 128; ");
}

// Two that read one array could read it once, though neither reads the other's result.
TEST(Regions, ReadersOfOneArrayAreOne) {
  EXPECT_EQ(regionsOf(std::string("rt.func @f") + kX + R"({
  %0 = rt.launch @one(%x) : (!x) -> !x
  %1 = rt.launch @one(%x) : (!x) -> !x
  %2 = rt.matmul %0, %1 : (!x, !x) -> !nn.tensor<[], f32>
  rt.return %0 : !x
})"),
            "one one 256 of 192; ");
}

// The library call reads the first and is read by the second, so they are two; one array read twice
// by one kernel moves once.
TEST(Regions, ALibraryCallBetweenPartsThem) {
  EXPECT_EQ(regionsOf(std::string("rt.func @f") + kX + R"({
  %0 = rt.launch @one(%x) : (!x) -> !x
  %1 = rt.copy %0 : !x -> !x
  %2 = rt.launch @two(%1, %x) : (!x, !x) -> !x
  %3 = rt.launch @two(%2, %2) : (!x, !x) -> !x
  rt.return %3 : !x
})"),
            "one 128 of 128; two two 320 of 192; ");
}

// The second step of a sum over rows reads what the first has written: that is not in the bound.
TEST(Regions, PartialSumsAreNotOfTheBound) {
  EXPECT_EQ(regionsOf(R"(
rt.func @f(%x: !x {nn.role = "carried", nn.name = "c0"}, %s: !s {nn.role = "cot_param", nn.name = "b"})
    -> (!s {nn.role = "cot_param", nn.name = "b"}) {
  %0 = rt.launch @parts(%x) : (!x) -> !p
  %1 = rt.launch @sum(%0, %s) {in_place = array<i64: 1, 0>} : (!p, !s) -> !s
  rt.return %1 : !s
})"),
            "parts sum 160 of 96; ");
}

} // namespace
