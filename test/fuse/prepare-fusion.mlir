// RUN: tplan-opt --prepare-fusion --cse --split-input-file %s | FileCheck %s
// A column sum is cut in two; a sum in the middle changes the order of dimensions.
!x = !nn.tensor<[B 4, S 64, D 8], f32>

// CHECK-LABEL: nn.layer @layer
// CHECK:         %[[P:.+]] = rt.partial_sum %arg0 grain 32 : <[B 4, S 64, D 8], f32> -> <[each.task 8, D 8], f32>
// CHECK:         nn.reduce sum %[[P]] : <[each.task 8, D 8], f32> -> <[D 8], f32>
// CHECK:         %[[T:.+]] = nn.broadcast %arg0 : <[B 4, S 64, D 8], f32> -> <[B 4, D 8, S 64], f32>
// CHECK:         nn.reduce sum %[[T]] : <[B 4, D 8, S 64], f32> -> <[B 4, D 8], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0"})
    -> (!nn.tensor<[D 8], f32> {nn.role = "output", nn.name = "a"},
        !nn.tensor<[B 4, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.reduce sum %x : <[B 4, S 64, D 8], f32> -> <[D 8], f32>
  %1 = nn.reduce sum %x : <[B 4, S 64, D 8], f32> -> <[B 4, D 8], f32>
  nn.return %0, %1 : !nn.tensor<[D 8], f32>, !nn.tensor<[B 4, D 8], f32>
}

// -----

// Two scattered sums of one shape are added onto zeros of their own: equal ones would be one memory.
// CHECK-LABEL: nn.layer @two
// CHECK-DAG:     %[[A:.+]] = nn.lookup_grad %arg0
// CHECK-DAG:     %[[B:.+]] = nn.lookup_grad %arg1
// CHECK-DAG:     %[[ONE:.+]] = nn.broadcast %{{.+}} {fuse.fill = 0 : i64}
// CHECK-DAG:     %[[TWO:.+]] = nn.broadcast %{{.+}} {fuse.fill = 1 : i64}
// CHECK-DAG:     nn.add %[[ONE]], %[[A]]
// CHECK-DAG:     nn.add %[[TWO]], %[[B]]
nn.layer @two(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "c0"},
              %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "carried", nn.name = "c1"},
              %ids: !nn.tensor<[B 4], i32> {nn.role = "invariant", nn.name = "i0"})
    -> (!nn.tensor<[V 5, D 8], f32> {nn.role = "output", nn.name = "a"},
        !nn.tensor<[V 5, D 8], f32> {nn.role = "output", nn.name = "b"}) {
  %0 = nn.lookup_grad %x["V" = %ids] : (<[B 4, D 8], f32>, <[B 4], i32>) -> <[V 5, D 8], f32>
  %1 = nn.lookup_grad %y["V" = %ids] : (<[B 4, D 8], f32>, <[B 4], i32>) -> <[V 5, D 8], f32>
  nn.return %0, %1 : !nn.tensor<[V 5, D 8], f32>, !nn.tensor<[V 5, D 8], f32>
}
