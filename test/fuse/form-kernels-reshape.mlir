// RUN: tplan-opt --prepare-fusion --form-kernels %s | FileCheck %s
// Other dimensions of an argument are a view of it; those of a result are made in the result's memory. A row kernel writes an update
// in place where its last pass makes it, after the maximum of the row.
// CHECK:      rt.func @f
// CHECK-NEXT:   %[[ROWS:.+]] = rt.slice view %arg0 over [] : <[F 4, D 8], f32> -> <[blocks 2, block 16], f32>
// CHECK-NEXT:   %[[MADE:.+]]:2 = rt.launch @f.k0(%[[ROWS]], %arg1) {in_place = array<i64: 1, 1>}
// CHECK-NEXT:   %[[WHOLE:.+]] = rt.join %[[MADE]]#0 over [] : !nn.tensor<[blocks 2, block 16], f32> -> <[F 4, D 8], f32>
// CHECK-NEXT:   rt.return %[[WHOLE]], %[[MADE]]#1
!g = !nn.tensor<[F 4, D 8], f32>
!e = !nn.tensor<[blocks 2, block 16], f32>
!m = !nn.tensor<[blocks 2], f32>
nn.layer @f(%g: !g {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %e: !e {nn.role = "state", nn.name = "e"})
    -> (!g {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !e {nn.role = "state", nn.name = "e"}) {
  %0 = dist.reshape %g : <[F 4, D 8], f32> -> <[blocks 2, block 16], f32>
  %1 = nn.add %0, %e : (!e, !e) -> !e
  %2 = nn.reduce max %1 : <[blocks 2, block 16], f32> -> <[blocks 2], f32>
  %3 = nn.div %1, %2 : (!e, !m) -> !e
  %4 = nn.sub %1, %3 : (!e, !e) -> !e
  %5 = dist.reshape %3 : <[blocks 2, block 16], f32> -> <[F 4, D 8], f32>
  nn.return %5, %4 : !g, !e
}
