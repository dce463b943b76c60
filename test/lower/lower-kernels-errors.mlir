// RUN: tplan-opt %s -split-input-file -verify-diagnostics -lower-kernels
// RUN: tplan-opt %s -split-input-file -verify-diagnostics -lower-kernels-gpu
// RUN: tplan-opt %S/Inputs/stack.mlir -verify-diagnostics -lower-kernels

// expected-error @below {{reads no input by access scatter}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<scatter, "S", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{writes no output by access rotate}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<rotate, "D", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{takes ids from an input that is not there: 7}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[V 9, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<gather, "V", 7>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{ids must be i32, read in place; found input 1 of type 'f32'}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[V 9, D 32], f32>, !nn.tensor<[S 8], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<gather, "V", 1>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32, %b: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{access goes along a dimension that the operand lacks: V}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>, !nn.tensor<[S 8], i32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<gather, "V", 1>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32, %b: i32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{repeats the last dimension along a loop of twice its size; found '!nn.tensor<[S 8, R 32], f32>' along D}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, R 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<repeat, "D", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{repeats the last dimension along a loop of twice its size; found '!nn.tensor<[S 8, R 16], f32>' along T}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, R 16], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<repeat, "T", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{repeats the last dimension along a loop of twice its size; found '!nn.tensor<[], f32>' along D}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<repeat, "D", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{rotates only the last dimension, of even size; found S}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<rotate, "S", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], bf16>) -> (!nn.tensor<[S 8, D 32], bf16>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: bf16):
  // expected-error @below {{computes in a narrow type, add arith.extf and arith.truncf around it; found 'bf16'}}
  %0 = arith.addf %a, %a : bf16
  rt.yield %0 : bf16
}

// -----

rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], bf16>) -> (!nn.tensor<[S 8], bf16>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: bf16):
  // expected-error @below {{reduces in f32 or f64, add arith.extf; found 'bf16'}}
  %0 = rt.row_reduce sum %a : bf16
  rt.yield %0 : bf16
}

// -----

rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>, !nn.tensor<[S 8, D 32], i32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  // expected-error @below {{position along a dimension that is no loop: Q}}
  %0 = rt.position "Q"
  rt.yield %a, %0 : f32, i32
}

// -----

rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  // expected-error @below {{has no form on vectors, so no place in a kernel body}}
  %t = tensor.from_elements %a : tensor<1xf32>
  rt.yield %a : f32
}

// -----

rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[each.task 2, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = rt.col_reduce sum %a : f32
  // expected-error @below {{reduces over the rows what is known only after them}}
  %1 = rt.col_reduce sum %0 : f32
  rt.yield %1 : f32
}

// -----

rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[each.task 2, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = rt.col_reduce sum %a : f32
  // expected-error @below {{mixes a sum over the rows with a value of one row}}
  %1 = arith.addf %0, %a : f32
  rt.yield %1 : f32
}

// -----

// expected-error @below {{scatters whole rows of a column kernel; output 0}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>, !nn.tensor<[S 8], i32>) -> (!nn.tensor<[V 9, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<scatter, "V", 1>] {
^bb0(%a: f32, %b: i32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{yields a value of each column to an output without columns: output 0}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{yields a sum over the rows to an output with rows: output 0}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[S 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = rt.col_reduce sum %a : f32
  rt.yield %0 : f32
}

// -----

// expected-error @below {{needs the leading dimension each.task in output 0, one sum for each of the tasks: 2}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = rt.col_reduce sum %a : f32
  rt.yield %0 : f32
}

// -----

// expected-error @below {{writes one element from several rows: output 0; add rt.col_reduce}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, D 32], f32>) -> (!nn.tensor<[D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{only the outermost row loop may have a run-time count, found T}}
rt.kernel @k map rows [#nn.dim<"S", 8>, #nn.dim<"T", 8, true>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8, T max 8, D 32], f32>) -> (!nn.tensor<[S 8, T max 8, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{columns are static, found a bound: D}}
rt.kernel @k map rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32, true>] grain 4
    : (!nn.tensor<[S 8, D max 32], f32>) -> (!nn.tensor<[S 8, D max 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{has an empty loop}}
rt.kernel @k map rows [#nn.dim<"S", 0>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 0, D 32], f32>) -> (!nn.tensor<[S 0, D 32], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{writes a value of a row from every block of columns: output 0; make it a row kernel}}
rt.kernel @k column rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 32>] grain 4
    : (!nn.tensor<[S 8], f32>) -> (!nn.tensor<[S 8], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  rt.yield %a : f32
}

// -----

// expected-error @below {{yields a value of each column to an output of segments: output 0}}
rt.kernel @k row rows [#nn.dim<"S", 8>] cols [#nn.dim<"D", 2>, #nn.dim<"I", 32>] grain 4
    : (!nn.tensor<[S 8, D 2, I 32], f32>) -> (!nn.tensor<[S 8, D 2], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %m = rt.segment_reduce max %a of 32 : f32
  %0 = arith.subf %a, %m : f32
  rt.yield %0 : f32
}
