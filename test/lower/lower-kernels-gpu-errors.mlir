// RUN: tplan-opt %s -split-input-file -verify-diagnostics -lower-kernels-gpu

// What both targets refuse is in lower-kernels-errors.mlir.
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 8200>] grain 4
    : (!nn.tensor<[S 8, D 8200], f32>) -> (!nn.tensor<[each.task 2, D 8200], bf16>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %m = rt.row_reduce max %a : f32
  %d = arith.subf %a, %m : f32
  // expected-error @below {{keeps sums over rows in registers, at most 8192 columns; found 8200: yield it to an output of its own type}}
  %s = rt.col_reduce sum %d : f32
  %t = arith.truncf %s : f32 to bf16
  rt.yield %t : bf16
}
