// RUN: tplan-opt --chunk-exchanges --split-input-file %s | FileCheck %s
// EXAMPLE
// What a GEMM reads comes from one rank after the other. What one makes goes to its rank block by block, and is added there in their order.
!own = !nn.tensor<[S 4, D 8], f64>
!whole = !nn.tensor<[S 8, D 8], f64>
!w = !nn.tensor<[D 8, F 8], f64>
!y = !nn.tensor<[S 8, F 8], f64>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["tp"]}
rt.func @a.F(%x: !own {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!own {nn.role = "carried", nn.name = "c0"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.collective all_gather sum %x over ["tp"] dim "S" {dist.activation} : !own -> !whole
  %1 = rt.matmul %0, %w : (!whole, !w) -> !y
  %2 = rt.matmul %1, %w : (!y, !w) -> !whole
  %3 = rt.collective reduce_scatter sum %2 over ["tp"] dim "S" {dist.activation} : !whole -> !own
  rt.return %3 : !own
}
}
// CHECK:      %[[NEXT:.*]] = rt.collective permute sum %arg0 over ["tp"] sources [1, 0]
// CHECK-NEXT: %[[Y0:.*]] = rt.matmul %arg0, %arg1 chunks 2 part
// CHECK-NEXT: %[[Y1:.*]] = rt.matmul %[[NEXT]], %arg1 chunks 2 part
// CHECK-NEXT: %[[Y:.*]] = rt.join %[[Y0]], %[[Y1]] over ["tp"]
// CHECK-NEXT: %[[OF1:.*]] = rt.slice view %[[Y]] over ["tp"] shift 1
// CHECK-NEXT: %[[Z1:.*]] = rt.matmul %[[OF1]], %arg1 chunks 2 part
// CHECK-NEXT: %[[CAME:.*]] = rt.collective permute sum %[[Z1]] over ["tp"] sources [1, 0]
// CHECK-NEXT: %[[OF0:.*]] = rt.slice view %[[Y]] over ["tp"] :
// CHECK-NEXT: %[[Z0:.*]] = rt.matmul %[[OF0]], %arg1 chunks 2 part
// CHECK-NEXT: rt.join %[[Z0]], %[[CAME]] over ["tp"]
// CHECK:      rt.launch
// END

// -----

// Without the line the GEMMs are whole, and their tiles end where chunks would: the bits are the same.
// CHECK-LABEL: rt.func @none.F
// CHECK:         all_gather
// CHECK-NEXT:    rt.matmul {{.*}} chunks 2 :
!own = !nn.tensor<[S 4, D 8], f64>
!whole = !nn.tensor<[S 8, D 8], f64>
!w = !nn.tensor<[D 8, F 8], f64>
!y = !nn.tensor<[S 8, F 8], f64>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = []}
rt.func @none.F(%x: !own {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.collective all_gather sum %x over ["tp"] dim "S" {dist.activation} : !own -> !whole
  %1 = rt.matmul %0, %w : (!whole, !w) -> !y
  rt.return %1 : !y
}
}

// -----

// Where ranks cut something else than the outermost dimension, all exchange one part of that after the other. A kernel in
// between is cut with the GEMM. A part that does not fill cache lines is not cut.
// CHECK-LABEL: rt.func @together.F
// CHECK:         %[[X0:.*]] = rt.slice view %arg0 over [] :
// CHECK-NEXT:    %[[Y0:.*]] = rt.matmul %[[X0]], %arg1 chunks 2 part
// CHECK-NEXT:    %[[K0:.*]] = rt.launch @twice.part2(%[[Y0]])
// CHECK-NEXT:    %[[S0:.*]] = rt.collective all_reduce sum %[[K0]] over ["tp"]
// CHECK-NEXT:    %[[X1:.*]] = rt.slice view %arg0 over [] shift 1
// CHECK-NEXT:    rt.matmul
// CHECK-NEXT:    rt.launch
// CHECK-NEXT:    %[[S1:.*]] = rt.collective all_reduce
// CHECK-NEXT:    %[[S:.*]] = rt.join %[[S0]], %[[S1]] over []
// CHECK-NEXT:    rt.matmul %[[S]], %arg2 :
// CHECK-NEXT:    rt.collective all_reduce
// CHECK-NOT:     all_reduce
!x = !nn.tensor<[B 2, D 8], f64>
!w = !nn.tensor<[D 8, F 8], f64>
!y = !nn.tensor<[B 2, F 8], f64>
!v = !nn.tensor<[F 8, G 2], f64>
!z = !nn.tensor<[B 2, G 2], f64>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["tp"]}
rt.kernel @twice map rows [#nn.dim<"B", 2>] cols [#nn.dim<"F", 8>] grain 1 : (!y) -> !y access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  %0 = arith.addf %a, %a : f64
  rt.yield %0 : f64
}
rt.func @together.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "param", nn.name = "w"}, %v: !v {nn.role = "param", nn.name = "v"})
    -> (!z {nn.role = "carried", nn.name = "c0"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.launch @twice(%0) : (!y) -> !y
  %2 = rt.collective all_reduce sum %1 over ["tp"] {dist.activation} : !y -> !y
  %3 = rt.matmul %2, %v : (!y, !v) -> !z
  %4 = rt.collective all_reduce sum %3 over ["tp"] {dist.activation} : !z -> !z
  rt.return %4 : !z
}
}

// -----

// A kernel between two exchanges is done in parts, too, if its rows do not depend on each other: its sums of rows are those of tasks,
// which end where parts do. Attention is done sequence by sequence. What is read whole is joined: here what each task has added up.
// CHECK:       rt.kernel @add.part2 row rows [#nn.dim<"B", 1>, #nn.dim<"S", 8>]
// CHECK-SAME:    !nn.tensor<[each.task 2, H 1, K 8], f64>
// CHECK:       rt.tile @attend.part2 forward : (!nn.tensor<[B 1, S 8, H 1, K 8], f64>
// CHECK-LABEL: rt.func @between.F
// CHECK:         %[[X0:.*]] = rt.slice view %arg0 over [] :
// CHECK-NEXT:    %[[Y0:.*]] = rt.matmul %[[X0]], %arg1 chunks 2 part
// CHECK-NEXT:    %[[S0:.*]] = rt.collective all_reduce sum %[[Y0]]
// CHECK-NEXT:    rt.slice
// CHECK-NEXT:    rt.matmul
// CHECK-NEXT:    %[[S1:.*]] = rt.collective all_reduce
// CHECK-NEXT:    %[[K0:.*]]:2 = rt.launch @add.part2(%[[S0]]) :
// CHECK-NEXT:    %[[K1:.*]]:2 = rt.launch @add.part2(%[[S1]]) :
// CHECK-NEXT:    %[[SUMS:.*]] = rt.join %[[K0]]#1, %[[K1]]#1 over []
// CHECK-NEXT:    rt.launch @attend.part2(%[[K0]]#0, %[[K0]]#0, %[[K0]]#0)
// CHECK-NEXT:    rt.launch @attend.part2(%[[K1]]#0, %[[K1]]#0, %[[K1]]#0)
// CHECK-NEXT:    %[[O:.*]] = rt.join
// CHECK-NEXT:    rt.return %[[O]], %[[SUMS]]
!y = !nn.tensor<[B 2, S 8, H 1, K 8], f64>
!w = !nn.tensor<[H 1, K 8, D 8], f64>
!x = !nn.tensor<[B 2, S 8, D 8], f64>
!sums = !nn.tensor<[each.task 4, H 1, K 8], f64>
!lse = !nn.tensor<[B 2, S 8, H 1], f64>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["tp"]}
rt.kernel @add row rows [#nn.dim<"B", 2>, #nn.dim<"S", 8>] cols [#nn.dim<"H", 1>, #nn.dim<"K", 8>] grain 4 : (!y) -> (!y, !sums)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  %0 = rt.col_reduce sum %a : f64
  rt.yield %a, %0 : f64, f64
}
rt.tile @attend forward : (!y, !y, !y) -> (!y, !lse) <query = "S", key = "S", heads = "H", groups = "H", scale = 1.0, mask = <causal>>
rt.func @between.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0"}, !sums {nn.role = "residual", nn.name = "r0"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.collective all_reduce sum %0 over ["tp"] {dist.activation} : !y -> !y
  %2:2 = rt.launch @add(%1) : (!y) -> (!y, !sums)
  %3:2 = rt.launch @attend(%2#0, %2#0, %2#0) : (!y, !y, !y) -> (!y, !lse)
  rt.return %3#0, %2#1 : !y, !sums
}
}

// -----

// Tasks that have rows of both parts stay whole, and so does what reads rows from elsewhere: the kernel has one task here, which
// reads what is summed joined.
// CHECK-LABEL: rt.func @across.F
// CHECK:         %[[S:.*]] = rt.join
// CHECK-NEXT:    rt.launch @all(%[[S]])
!y = !nn.tensor<[B 2, F 8], f64>
!w = !nn.tensor<[D 8, F 8], f64>
!x = !nn.tensor<[B 2, D 8], f64>
!sums = !nn.tensor<[each.task 1, F 8], f64>
module attributes {dist.mesh = #dist.mesh<<"tp", 2>>} {
tplan.plan @p {recipe = "r", cluster = "", overlap = ["tp"]}
rt.kernel @all row rows [#nn.dim<"B", 2>] cols [#nn.dim<"F", 8>] grain 2 : (!y) -> (!y, !sums)
    access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
^bb0(%a: f64):
  %0 = rt.col_reduce sum %a : f64
  rt.yield %a, %0 : f64, f64
}
rt.func @across.F(%x: !x {nn.role = "carried", nn.name = "c0"}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0"}, !sums {nn.role = "residual", nn.name = "r0"}) attributes {layer = @a, part = #nn.part<forward>} {
  %0 = rt.matmul %x, %w : (!x, !w) -> !y
  %1 = rt.collective all_reduce sum %0 over ["tp"] {dist.activation} : !y -> !y
  %2:2 = rt.launch @all(%1) : (!y) -> (!y, !sums)
  rt.return %2#0, %2#1 : !y, !sums
}
}
