// A CPU keeps sums on its stack; the case of GPUs is in lower-kernels-gpu-errors.mlir.
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 300000>] grain 4
    : (!nn.tensor<[S 8, D 300000], f32>) -> (!nn.tensor<[each.task 2, D 300000], bf16>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  // expected-error @below {{keeps sums over rows on the stack, at most 1 MiB; found 1200000 bytes}}
  %0 = rt.col_reduce sum %a : f32
  %1 = arith.truncf %0 : f32 to bf16
  rt.yield %1 : bf16
}
