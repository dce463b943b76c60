// RUN: tplan-opt --hoist-tables %s | FileCheck %s
// EXAMPLE
// A cosine of positions is computed once, before the list, and both kinds share it.
!x = !nn.tensor<[B 2, S 4], f32>
!t = !nn.tensor<[S 4], f32>

// CHECK:      %[[I:.+]] = nn.index
// CHECK:      %[[TABLE:.+]] = nn.cos
// CHECK-NOT:  nn.cos
// CHECK:      tplan.for "blocks" {{.*}} invariant(%[[TABLE]])
// CHECK-NEXT: ^bb0(%[[X:.+]]: {{.+}}, %[[T:.+]]: {{.+}}):
// CHECK-NEXT:   nn.mul %[[X]], %[[T]]
// CHECK:      ^bb0(%[[X2:.+]]: {{.+}}, %[[T2:.+]]: {{.+}}):
// CHECK-NEXT:   nn.add %[[X2]], %[[T2]]
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %y = tplan.for "blocks" runs [[2 : i64, 0 : i64, 1 : i64]] carried(%x) invariant() : (!x) -> !x {
  ^bb0(%c: !x):
    %i = nn.index : <[S 4], i32>
    %f = nn.cast %i : <[S 4], i32> -> <[S 4], f32>
    %t = nn.cos %f : <[S 4], f32>
    %z = nn.mul %c, %t : (<[B 2, S 4], f32>, <[S 4], f32>) -> <[B 2, S 4], f32>
    tplan.return %z : !x
  } {
  ^bb0(%c: !x):
    %i = nn.index : <[S 4], i32>
    %f = nn.cast %i : <[S 4], i32> -> <[S 4], f32>
    %t = nn.cos %f : <[S 4], f32>
    %z = nn.add %c, %t : (<[B 2, S 4], f32>, <[S 4], f32>) -> <[B 2, S 4], f32>
    tplan.return %z : !x
  }
}
// END
