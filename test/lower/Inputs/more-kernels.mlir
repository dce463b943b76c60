// What assemble-ptx assembles beside the kernels of the lit tests: other types, accesses
// and functions.
#in = #rt.access<identity, "", 0>

// Wider than a shuffle, more registers than any other.
rt.kernel @norm64 row rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 4096>] grain 50
    : (!nn.tensor<[S 333, D 4096], f64>, !nn.tensor<[S 333, D 4096], f64>)
   -> (!nn.tensor<[S 333, D 4096], f64>, !nn.tensor<[each.task 7, D 4096], f64>,
       !nn.tensor<[each.task 7], f64>)
    access [#in, #in, #in, #in, #in] {
^bb0(%x: f64, %dy: f64):
  %sq = arith.mulf %x, %x : f64
  %ss = rt.row_reduce sum %sq : f64
  %m = rt.row_reduce max %x : f64
  %r = math.rsqrt %ss : f64
  %p = arith.mulf %x, %dy : f64
  %c = rt.row_reduce sum %p : f64
  %n = arith.mulf %x, %r : f64
  %e = math.exp %n : f64
  %y = arith.subf %e, %c : f64
  %g = arith.mulf %n, %dy : f64
  %s = rt.col_reduce sum %g : f64
  %a = rt.col_reduce sum %m : f64
  rt.yield %y, %s, %a : f64, f64, f64
}

rt.kernel @rope map rows [#nn.dim<"S", 37>] cols [#nn.dim<"H", 3>, #nn.dim<"K", 64>] grain 16
    : (!nn.tensor<[S 37, H 3, K 64], bf16>, !nn.tensor<[S 37, H 3, K 64], bf16>,
       !nn.tensor<[S 37, half.K 32], f32>, !nn.tensor<[S 37, K 64], f32>)
   -> (!nn.tensor<[S 37, H 3, K 64], bf16>)
    access [#in, #rt.access<rotate, "K", 1>, #rt.access<repeat, "K", 0>, #in, #in] {
^bb0(%x: bf16, %t: bf16, %c: f32, %s: f32):
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.extf %t : bf16 to f32
  %2 = arith.mulf %0, %c : f32
  %3 = arith.mulf %1, %s : f32
  %4 = arith.addf %2, %3 : f32
  %5 = arith.truncf %4 : f32 to bf16
  rt.yield %5 : bf16
}

// An embedding, and an id of its own in each column.
rt.kernel @gather map rows [#nn.dim<"S", 333>] cols [#nn.dim<"D", 72>] grain 50
    : (!nn.tensor<[V 32, D 72], bf16>, !nn.tensor<[S 333], i32>, !nn.tensor<[V 32], f32>,
       !nn.tensor<[S 333, D 72], i32>)
   -> (!nn.tensor<[S 333, D 72], f32>)
    access [#rt.access<gather, "V", 1>, #in, #rt.access<gather, "V", 3>, #in, #in] {
^bb0(%x: bf16, %row: i32, %y: f32, %each: i32):
  %0 = arith.extf %x : bf16 to f32
  %1 = arith.addf %0, %y : f32
  rt.yield %1 : f32
}

// Every function of the table.
rt.kernel @functions map rows [] cols [#nn.dim<"D", 1000>] grain 1
    : (!nn.tensor<[D 1000], f32>, !nn.tensor<[D 1000], f64>)
   -> (!nn.tensor<[D 1000], f32>, !nn.tensor<[D 1000], f64>)
    access [#in, #in, #in, #in] {
^bb0(%x: f32, %y: f64):
  %0 = math.exp %x : f32
  %1 = math.log %0 : f32
  %2 = math.tanh %1 : f32
  %3 = math.erf %2 : f32
  %4 = math.sin %3 : f32
  %5 = math.cos %4 : f32
  %6 = math.rsqrt %5 : f32
  %7 = math.sqrt %6 : f32
  %8 = math.exp %y : f64
  %9 = math.log %8 : f64
  %10 = math.tanh %9 : f64
  %11 = math.erf %10 : f64
  %12 = math.sin %11 : f64
  %13 = math.cos %12 : f64
  %14 = math.rsqrt %13 : f64
  %15 = math.floor %14 : f64
  rt.yield %7, %15 : f32, f64
}
