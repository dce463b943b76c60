// RUN: tplan-opt --prepare-fusion --form-kernels %s | FileCheck %s
// Positions of a rank's rows come from scalars: a kernel takes the start of each piece, and adds it to the index along the
// loop; a tile takes those of queries and keys after its tensors.
// CHECK:       rt.func @f
// CHECK:         rt.launch @f.attention{{.*}}(%arg0, %arg0, %arg0, %arg1, %arg2, %arg1)
// CHECK:         rt.launch @f.attention{{.*}}, %arg1, %arg2, %arg1)
// CHECK:       rt.kernel
// CHECK:         %[[AT:.+]] = rt.position "S"
// CHECK-NEXT:    %[[FIRST:.+]] = arith.addi %[[AT]], %{{.+}} : i32
// CHECK-NEXT:    %[[BEGIN:.+]] = arith.constant 2 : i32
// CHECK-NEXT:    %[[SHIFT:.+]] = arith.subi %{{.+}}, %[[BEGIN]] : i32
// CHECK-NEXT:    %[[SECOND:.+]] = arith.addi %[[AT]], %[[SHIFT]] : i32
// CHECK-NEXT:    %[[IN:.+]] = arith.cmpi sge, %[[AT]], %[[BEGIN]] : i32
// CHECK-NEXT:    arith.select %[[IN]], %[[SECOND]], %[[FIRST]] : i32
// CHECK:       rt.tile @f.attention{{.+}} forward : ({{.*}}, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> {{.*}} queries [2, 6] keys [8] <query = "S"
// CHECK:       rt.tile @f.attention{{.+}} backward : ({{.*}}, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> {{.*}} queries [2, 6] keys [8] <query = "S"
!q = !nn.tensor<[S 8, H 2, K 4], f32>
!l = !nn.tensor<[H 2, S 8], f32>
!i = !nn.tensor<[], i32>
nn.layer @f(%q: !q {nn.role = "carried", nn.name = "c0"}, %a: !i {nn.role = "scalar", nn.name = "a"},
            %b: !i {nn.role = "scalar", nn.name = "b"})
    -> (!nn.tensor<[S 8], i32> {nn.role = "carried", nn.name = "o"}, !q {nn.role = "carried", nn.name = "p"}) {
  %0 = nn.index from %a, %b pieces [2, 6] : <[S 8], i32>
  %1:2 = nn.attention %q, %q, %q queries from %a, %b pieces [2, 6] keys from %a pieces [8] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!q, !q, !q, !i, !i, !i) -> (!q, !l)
  %2:3 = nn.attention_grad %q, %q, %q, %1#0, %1#1, %q queries from %a, %b pieces [2, 6] keys from %a pieces [8] <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!q, !q, !q, !q, !l, !q, !i, !i, !i) -> (!q, !q, !q)
  nn.return %0, %2#0 : !nn.tensor<[S 8], i32>, !q
}
