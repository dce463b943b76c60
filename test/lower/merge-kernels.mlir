// RUN: tplan-opt --lower-kernels --merge-kernels --split-input-file %s | FileCheck %s
// RUN: tplan-opt --lower-kernels-gpu --merge-kernels --split-input-file %s | FileCheck %s --check-prefix=GPU
// EXAMPLE
// Twice the rows in twice the tasks, of other dimensions, is the same code: 4 rows of 8.
// CHECK:      rt.launch @double(
// CHECK-NEXT: rt.launch @double(
// CHECK:      func.func @double
// CHECK-NOT:  func.func
!x = !nn.tensor<[B 16, D 8], f32>
!y = !nn.tensor<[S 32, E 8], f32>
#id = #rt.access<identity, "", 0>
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !y {nn.role = "carried", nn.name = "c1"})
    -> (!x {nn.role = "carried", nn.name = "c0"}, !y {nn.role = "carried", nn.name = "c1"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @double(%x) : (!x) -> !x
  %1 = rt.launch @twice(%y) : (!y) -> !y
  rt.return %0, %1 : !x, !y
}
rt.kernel @double row rows [#nn.dim<"B", 16>] cols [#nn.dim<"D", 8>] grain 4 : (!x) -> (!x) access [#id, #id] {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  rt.yield %s : f32
}
rt.kernel @twice row rows [#nn.dim<"S", 32>] cols [#nn.dim<"E", 8>] grain 4 : (!y) -> (!y) access [#id, #id] {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  rt.yield %s : f32
}
// END
// For a GPU the number of rows is in the code.
// GPU:     gpu.func @double
// GPU:     gpu.func @twice

// -----
// Not equal: the last task of @twice has 2 rows; @square computes something else. @again is @double.
// CHECK:      rt.launch @double(
// CHECK-NEXT: rt.launch @twice(
// CHECK-NEXT: rt.launch @square(
// CHECK-NEXT: rt.launch @double(
// GPU:        tp.launches = {double = {{[^}]*}}, square = {{[^}]*}}, twice = {{[^}]*}}}
!x = !nn.tensor<[B 16, D 8], f32>
!y = !nn.tensor<[S 30, E 8], f32>
!z = !nn.tensor<[S 16, E 8], f32>
#id = #rt.access<identity, "", 0>
rt.func @a.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %y: !y {nn.role = "carried", nn.name = "c1"}, %z: !z {nn.role = "carried", nn.name = "c2"})
    -> (!x {nn.role = "carried", nn.name = "c0"}, !y {nn.role = "carried", nn.name = "c1"}, !z {nn.role = "carried", nn.name = "c2"})
    attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.launch @double(%x) : (!x) -> !x
  %1 = rt.launch @twice(%y) : (!y) -> !y
  %2 = rt.launch @square(%0) : (!x) -> !x
  %3 = rt.launch @again(%z) : (!z) -> !z
  rt.return %2, %1, %3 : !x, !y, !z
}
rt.kernel @double row rows [#nn.dim<"B", 16>] cols [#nn.dim<"D", 8>] grain 4 : (!x) -> (!x) access [#id, #id] {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  rt.yield %s : f32
}
rt.kernel @twice row rows [#nn.dim<"S", 30>] cols [#nn.dim<"E", 8>] grain 4 : (!y) -> (!y) access [#id, #id] {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  rt.yield %s : f32
}
rt.kernel @square row rows [#nn.dim<"B", 16>] cols [#nn.dim<"D", 8>] grain 4 : (!x) -> (!x) access [#id, #id] {
^bb0(%e: f32):
  %s = arith.mulf %e, %e : f32
  rt.yield %s : f32
}
rt.kernel @again row rows [#nn.dim<"S", 16>] cols [#nn.dim<"E", 8>] grain 4 : (!z) -> (!z) access [#id, #id] {
^bb0(%e: f32):
  %s = arith.addf %e, %e : f32
  rt.yield %s : f32
}
