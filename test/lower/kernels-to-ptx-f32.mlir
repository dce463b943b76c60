// The kernels of bench/kernels.cpp in f32 as PTX, with the CUDA toolkit hidden: 16 bytes an
// access except for scalars, no local memory, no f64, no function of anybody else.
//
// RUN: env -u PATH -u CUDA_HOME %bin/tplan-translate --kernels-to-ptx=sm_90 %s -o %t
// RUN: FileCheck %s --input-file=%t --implicit-check-not=.local --implicit-check-not=.f64 \
// RUN:   --implicit-check-not=call --implicit-check-not=.extern --implicit-check-not=.func
// RUN: FileCheck %s --input-file=%t --check-prefix=MEMORY --implicit-check-not=ld.global \
// RUN:   --implicit-check-not=st.global
// RUN: FileCheck %s --input-file=%t --check-prefix=SHARED --implicit-check-not=shfl \
// RUN:   --implicit-check-not=ld.shared --implicit-check-not=st.shared --implicit-check-not=bar.
//
// CHECK: .version 7.8
// CHECK: .target sm_90

// x is read once. A row's sum: one shuffle a level of the warp, then the warps meet.
// CHECK-LABEL: .entry norm(
// CHECK: .maxntid 512, 1, 1
// CHECK: sqrt.rn.f32
// CHECK: rcp.rn.f32
// MEMORY-LABEL: .entry norm(
// MEMORY-COUNT-2: ld.global.v4.b32
// MEMORY-COUNT-4: {{(ld|st).global.v4.b32}}
// SHARED-LABEL: .entry norm(
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// SHARED: st.shared.b32
// SHARED: bar.
// SHARED: ld.shared.b32
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
rt.kernel @norm row rows [#nn.dim<"S", 8192>] cols [#nn.dim<"D", 4096>] grain 64
    : (!nn.tensor<[S 8192, D 4096], f32>, !nn.tensor<[D 4096], f32>) -> (!nn.tensor<[S 8192, D 4096], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%0: f32, %1: f32):
  %x2 = arith.mulf %0, %0 : f32
  %ss = rt.row_reduce sum %x2 : f32
  %n = arith.constant 2.441406e-04 : f32
  %e = arith.constant 1.0e-05 : f32
  %m = arith.mulf %ss, %n : f32
  %me = arith.addf %m, %e : f32
  %r = math.rsqrt %me : f32
  %y = arith.mulf %0, %r : f32
  %w = arith.mulf %y, %1 : f32
  rt.yield %w : f32
}

// x, dy and the gain once a row; the gain's sums stay in registers until the last row of
// a task: 128 partial sums, in f32.
// CHECK-LABEL: .entry norm_backward(
// CHECK: .maxntid 512, 1, 1
// MEMORY-LABEL: .entry norm_backward(
// MEMORY-COUNT-2: st.global.v4.b32
// MEMORY-COUNT-6: ld.global.v4.b32
// MEMORY-COUNT-2: st.global.v4.b32
// SHARED-LABEL: .entry norm_backward(
// SHARED: bar.
// SHARED: ld.shared.b32
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: bar.
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// SHARED: st.shared.b32
// SHARED: bar.
// SHARED: ld.shared.b32
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// SHARED: st.shared.b32
rt.kernel @norm_backward row rows [#nn.dim<"S", 8192>] cols [#nn.dim<"D", 4096>] grain 64
    : (!nn.tensor<[S 8192, D 4096], f32>, !nn.tensor<[D 4096], f32>, !nn.tensor<[S 8192, D 4096], f32>)
   -> (!nn.tensor<[S 8192, D 4096], f32>, !nn.tensor<[each.task 128, D 4096], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%0: f32, %1: f32, %2: f32):
  %x2 = arith.mulf %0, %0 : f32
  %ss = rt.row_reduce sum %x2 : f32
  %n = arith.constant 2.441406e-04 : f32
  %e = arith.constant 1.0e-05 : f32
  %m = arith.mulf %ss, %n : f32
  %me = arith.addf %m, %e : f32
  %r = math.rsqrt %me : f32
  %gd = arith.mulf %2, %1 : f32
  %xg = arith.mulf %0, %gd : f32
  %s = rt.row_reduce sum %xg : f32
  %sm = arith.mulf %s, %n : f32
  %rr = arith.mulf %r, %r : f32
  %c = arith.mulf %sm, %rr : f32
  %xc = arith.mulf %0, %c : f32
  %d = arith.subf %gd, %xc : f32
  %dx = arith.mulf %d, %r : f32
  %xr = arith.mulf %0, %r : f32
  %dg = arith.mulf %xr, %2 : f32
  %dgs = rt.col_reduce sum %dg : f32
  rt.yield %dx, %dgs : f32, f32
}

// Rows of 128256 do not stay in registers: two passes. The label and the logit at it are
// scalars, the functions are arithmetic.
// CHECK-LABEL: .entry loss(
// CHECK: .maxntid 512, 1, 1
// CHECK: fma.rn.f32
// MEMORY-LABEL: .entry loss(
// MEMORY: ld.global.b32
// MEMORY: ld.global.b32
// MEMORY-COUNT-2: ld.global.v4.b32
// MEMORY-COUNT-2: st.global.b32
// SHARED-LABEL: .entry loss(
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// SHARED: st.shared.b32
// SHARED: bar.
// SHARED: ld.shared.b32
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 16, 31, -1;
// SHARED: st.shared.b32
// SHARED: bar.
// SHARED: ld.shared.b32
// SHARED: shfl.sync.bfly.b32 {{.*}}, 1, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 2, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 4, 31, -1;
// SHARED: shfl.sync.bfly.b32 {{.*}}, 8, 31, -1;
rt.kernel @loss row rows [#nn.dim<"S", 8192>] cols [#nn.dim<"V", 128256>] grain 4
    : (!nn.tensor<[S 8192, V 128256], f32>, !nn.tensor<[S 8192], i32>, !nn.tensor<[S 8192, V 128256], f32>)
   -> (!nn.tensor<[S 8192], f32>, !nn.tensor<[S 8192], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<gather, "V", 1>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%0: f32, %1: i32, %2: f32):
  %m = rt.row_reduce max %0 : f32
  %d = arith.subf %0, %m : f32
  %e = math.exp %d : f32
  %s = rt.row_reduce sum %e : f32
  %l = math.log %s : f32
  %lse = arith.addf %m, %l : f32
  %loss = arith.subf %lse, %2 : f32
  rt.yield %lse, %loss : f32, f32
}

// CHECK-LABEL: .entry loss_backward(
// CHECK: .maxntid 256, 1, 1
// CHECK: fma.rn.f32
// MEMORY-LABEL: .entry loss_backward(
// MEMORY-COUNT-3: ld.global.b32
// MEMORY: ld.global.v4.b32
// MEMORY: st.global.v4.b32
// SHARED-LABEL: .entry loss_backward(
rt.kernel @loss_backward map rows [#nn.dim<"S", 8192>] cols [#nn.dim<"V", 128256>] grain 4
    : (!nn.tensor<[S 8192, V 128256], f32>, !nn.tensor<[S 8192], i32>, !nn.tensor<[S 8192], f32>, !nn.tensor<[], f32>)
   -> (!nn.tensor<[S 8192, V 128256], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%0: f32, %1: i32, %2: f32, %3: f32):
  %d = arith.subf %0, %2 : f32
  %e = math.exp %d : f32
  %v = rt.position "V"
  %is = arith.cmpi eq, %v, %1 : i32
  %one = arith.constant 1.0 : f32
  %em = arith.subf %e, %one : f32
  %h = arith.select %is, %em, %e : f32
  %y = arith.mulf %h, %3 : f32
  rt.yield %y : f32
}

// Squares of 32, whose lines are an odd number of words apart.
// CHECK-LABEL: .entry turn(
// CHECK: .shared .align 16 .b8 {{.*}}[4224];
// MEMORY-LABEL: .entry turn(
// MEMORY: ld.global.v4.b32
// MEMORY: st.global.v4.b32
// SHARED-LABEL: .entry turn(
// SHARED-COUNT-4: st.shared.b32
// SHARED: bar.
// SHARED-COUNT-4: ld.shared.b32
rt.kernel @turn transpose rows [#nn.dim<"C", 4096>] cols [#nn.dim<"R", 8192>] grain 64
    : (!nn.tensor<[R 8192, C 4096], f32>) -> (!nn.tensor<[C 4096, R 8192], f32>)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%0: f32):
  rt.yield %0 : f32
}
