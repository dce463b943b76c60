// RUN: tplan-opt --bound-evaluation --split-input-file %s | FileCheck %s
// EXAMPLE
// The batch B of part `evaluate` becomes `max`; its calls take the scalar `count.B`.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4, V 8], f32>
!y = !nn.tensor<[B 2, V 8], f32>
#id = #rt.access<identity, "", 0>

// CHECK-LABEL: rt.func @f.E
// CHECK-SAME:    %[[COUNT:arg[0-9]+]]: !nn.tensor<[], i64> {nn.counts = "B", nn.name = "count.B", nn.role = "scalar"}
// CHECK-NEXT:    %0 = rt.launch @double.rows(%arg0) count(%[[COUNT]] : !nn.tensor<[], i64>) : (!nn.tensor<[B max 2, D 4], f32>)
// CHECK-NEXT:    rt.matmul %0, %arg1 count %[[COUNT]] : {{.*}} -> !nn.tensor<[B max 2, V 8], f32>
// CHECK:       rt.kernel @double.rows map rows [#nn.dim<"B", 2, true>] cols [#nn.dim<"D", 4>] grain 1
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : !x
  %y = nn.run [@f] x 1 layer 0 carried(%x) invariant() params [{}] : (!x) -> !y
}
rt.func @f.E(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"}) -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @f, part = #nn.part<evaluate>} {
  %0 = rt.launch @double(%x) : (!x) -> !x
  %1 = rt.matmul %0, %w : (!x, !w) -> !y
  rt.return %1 : !y
}
rt.kernel @double map rows [] cols [#nn.dim<"B", 2>, #nn.dim<"D", 4>] grain 16384 : (!x) -> !x access [#id, #id] {
^bb0(%a: f32):
  %0 = arith.addf %a, %a : f32
  rt.yield %0 : f32
}
// END

// -----
// The batch B of part `evaluate` becomes `max`; calls take the scalar `count.B`. `forward` keeps its kernel.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4, V 8], f32>
!y = !nn.tensor<[B 2, V 8], f32>

// CHECK-LABEL: rt.func @f.F
// CHECK:         rt.launch @double(%{{.+}}) : (!nn.tensor<[B 2, D 4], f32>)
// CHECK-LABEL: rt.func @f.E
// CHECK-SAME:    nn.counts = "B", nn.name = "count.B", nn.role = "scalar"
// CHECK:         rt.launch @double.rows(%arg0) count(%[[N:.+]] : !nn.tensor<[], i64>) : (!nn.tensor<[B max 2, D 4], f32>)
// CHECK:         rt.matmul %{{.+}}, %arg1 count %[[N]] : {{.*}} -> !nn.tensor<[B max 2, V 8], f32>
// CHECK:       rt.kernel @double map rows [] cols [#nn.dim<"B", 2>, #nn.dim<"D", 4>]
// CHECK-NOT:   rt.kernel @only_in_e map
// CHECK:       rt.kernel @double.rows map rows [#nn.dim<"B", 2, true>] cols [#nn.dim<"D", 4>] grain 1
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : !x
  %y = nn.run [@f] x 1 layer 0 carried(%x) invariant() params [{}] : (!x) -> !y
}
rt.func @f.F(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @f, part = #nn.part<forward>} {
  %0 = rt.launch @double(%x) : (!x) -> !x
  rt.return %0 : !x
}
rt.func @f.E(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"}) -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @f, part = #nn.part<evaluate>} {
  %0 = rt.launch @double(%x) : (!x) -> !x
  %1 = rt.launch @only_in_e(%0) : (!x) -> !x
  %2 = rt.matmul %1, %w : (!x, !w) -> !y
  rt.return %2 : !y
}
rt.kernel @double map rows [] cols [#nn.dim<"B", 2>, #nn.dim<"D", 4>] grain 16384 : (!x) -> !x access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = arith.addf %a, %a : f32
  rt.yield %0 : f32
}
rt.kernel @only_in_e map rows [#nn.dim<"B", 2>] cols [#nn.dim<"D", 4>] grain 4096 : (!x) -> !x access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = arith.mulf %a, %a : f32
  rt.yield %0 : f32
}

// -----
// Where the batch is not outermost, evaluation computes the whole microbatch.
!x = !nn.tensor<[D 4, B 2], f32>

// CHECK-LABEL: rt.func @g.E
// CHECK-NOT:     max
// CHECK:         rt.launch @k(%arg0) : (!nn.tensor<[D 4, B 2], f32>)
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : !nn.tensor<[B 2], i32>
  %y = nn.run [@g] x 1 layer 0 carried(%x) invariant() params [{}] : (!nn.tensor<[B 2], i32>) -> !x
}
rt.func @g.E(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) -> (!x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @g, part = #nn.part<evaluate>} {
  %0 = rt.launch @k(%x) : (!x) -> !x
  rt.return %0 : !x
}
rt.kernel @k map rows [#nn.dim<"D", 4>] cols [#nn.dim<"B", 2>] grain 4096 : (!x) -> !x access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f32):
  %0 = arith.addf %a, %a : f32
  rt.yield %0 : f32
}

// -----
// The library's attention computes all rows, and takes no count.
!q = !nn.tensor<[B 2, S 4, H 2, K 8], bf16>
!l = !nn.tensor<[B 2, H 2, S 4], f32>
// CHECK-LABEL: rt.func @a.E(
// CHECK-NOT:     count.B
// CHECK:         rt.attention forward %arg0, %arg0, %arg0 {{.*}} -> (!nn.tensor<[B max 2, S 4, H 2, K 8], bf16>, !nn.tensor<[B max 2, H 2, S 4], f32>)
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : !q
  %y = nn.run [@a] x 1 layer 0 carried(%x) invariant() params [{}] : (!q) -> !q
}
rt.func @a.E(%x: !q {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) -> (!q {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) attributes {layer = @a, part = #nn.part<evaluate>} {
  %0:2 = rt.attention forward %x, %x, %x <query = "S", key = "S", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!q, !q, !q) -> (!q, !l)
  rt.return %0#0 : !q
}
