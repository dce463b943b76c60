// What adds up parts of ranks, of every type and in both ways: for the conformance suite on a GPU.
!f64 = !nn.tensor<[B 4], f64>
!f32 = !nn.tensor<[B 4], f32>
!bf16 = !nn.tensor<[B 4], bf16>
!f16 = !nn.tensor<[B 4], f16>
!i32 = !nn.tensor<[B 4], i32>
!i64 = !nn.tensor<[B 4], i64>
module attributes {dist.mesh = #dist.mesh<<"dp", 2>>} {
rt.func @sums(%a: !f64 {nn.role = "carried", nn.name = "c0"}, %b: !f32 {nn.role = "carried", nn.name = "c1"},
    %c: !bf16 {nn.role = "carried", nn.name = "c2"}, %d: !i32 {nn.role = "carried", nn.name = "c3"},
    %e: !i64 {nn.role = "carried", nn.name = "c4"}, %f: !f16 {nn.role = "carried", nn.name = "c5"}) {
  %0 = rt.collective all_reduce sum %a over ["dp"] : !f64 -> !f64
  %1 = rt.collective all_reduce sum %b over ["dp"] : !f32 -> !f32
  %2 = rt.collective all_reduce sum %c over ["dp"] : !bf16 -> !bf16
  %3 = rt.collective all_reduce sum %d over ["dp"] : !i32 -> !i32
  %4 = rt.collective all_reduce sum %e over ["dp"] : !i64 -> !i64
  %5 = rt.collective all_reduce max %a over ["dp"] : !f64 -> !f64
  %6 = rt.collective all_reduce max %b over ["dp"] : !f32 -> !f32
  %7 = rt.collective all_reduce max %c over ["dp"] : !bf16 -> !bf16
  %8 = rt.collective all_reduce max %d over ["dp"] : !i32 -> !i32
  %9 = rt.collective all_reduce max %e over ["dp"] : !i64 -> !i64
  %10 = rt.collective all_reduce sum %f over ["dp"] : !f16 -> !f16
  %11 = rt.collective all_reduce max %f over ["dp"] : !f16 -> !f16
  rt.return
}
}
