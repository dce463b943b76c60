// RUN: tplan-opt --narrow-precision --split-input-file %s | FileCheck %s
// EXAMPLE
// A contraction reads and gives bf16, its weight as a working copy; the gradient of
// the weight stays f32; what the layer hands on is bf16.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[F 8, D 4], f32>
!y = !nn.tensor<[B 2, F 8], f32>
tplan.plan @p {precision = "bf16"}

// CHECK:       nn.param @w.bf16 : !nn.tensor<[F 8, D 4], bf16>
// CHECK:       nn.run [@layer] {{.*}} params [{w = @w, w.bf16 = @w.bf16}]{{.*}} -> !nn.tensor<[B 2, F 8], bf16>
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  %y = nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}

// CHECK-LABEL: nn.layer @layer
// CHECK:         %[[X:.+]] = nn.cast %arg0 : <[B 2, D 4], f32> -> <[B 2, D 4], bf16>
// CHECK:         nn.contract %[[X]], %arg4 : {{.*}} -> <[B 2, F 8], bf16>
// CHECK:         nn.contract %arg2, %{{.+}} : (<[B 2, F 8], bf16>, <[B 2, D 4], bf16>) -> <[F 8, D 4], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %dy: !y {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %dw: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !w {nn.role = "cot_param", nn.name = "w"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
  %1 = nn.contract %dy, %x : (<[B 2, F 8], f32>, <[B 2, D 4], f32>) -> <[F 8, D 4], f32>
  %2 = nn.add %dw, %1 : (<[F 8, D 4], f32>, <[F 8, D 4], f32>) -> <[F 8, D 4], f32>
  nn.return %0, %2 : !y, !w
}
// END

// -----

// A tied weight: @head reads its copy, @table updates it, so the run of @table binds the copy too,
// and its update and part `prepare` write it.
!h = !nn.tensor<[B 2, D 4], f32>
!t = !nn.tensor<[V 8, D 4], f32>
!l = !nn.tensor<[B 2, V 8], f32>
tplan.plan @p {precision = "bf16"}

// CHECK:       nn.run [@table] {{.*}} params [{embed = @embed, embed.bf16 = @embed.bf16}]
// CHECK:       nn.run [@head] {{.*}} params [{w = @embed, w.bf16 = @embed.bf16}]
nn.param @embed : !t x 1 path "embed" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "embedding"
nn.chain @train losses {main = 1.0 : f64} {
  %ids = nn.input "ids" shift 0 vocabulary 8 : <[B 2], i32>
  %h = nn.run [@table] x 1 layer 0 carried() invariant(%ids) params [{embed = @embed}] : (!nn.tensor<[B 2], i32>) -> !h
  nn.run [@head] x 1 layer 1 carried(%h) invariant() params [{w = @embed}] : (!h) -> ()
}
nn.layer @table(%ids: !nn.tensor<[B 2], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64},
                %w: !t {nn.role = "param", nn.name = "embed"}) -> (!h {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.lookup %w["V" = %ids] : (<[V 8, D 4], f32>, <[B 2], i32>) -> <[B 2, D 4], f32>
  nn.return %0 : !h
}
nn.layer @head(%h: !h {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !t {nn.role = "param", nn.name = "w"})
    -> (!l {nn.role = "output", nn.name = "y"}) {
  %0 = nn.contract %h, %w : (<[B 2, D 4], f32>, <[V 8, D 4], f32>) -> <[B 2, V 8], f32>
  nn.return %0 : !l
}
// CHECK-LABEL: nn.layer @table.P
// CHECK:         nn.cast %arg0 : <[V 8, D 4], f32> -> <[V 8, D 4], bf16>
// CHECK-LABEL: nn.layer @table.U
// CHECK:         %[[W:.+]] = nn.add %arg0, %arg0
// CHECK:         %[[C:.+]] = nn.cast %[[W]] : <[V 8, D 4], f32> -> <[V 8, D 4], bf16>
// CHECK:         nn.return %[[W]], %[[C]]
nn.layer @table.U(%w: !t {nn.role = "param", nn.name = "embed"}) -> (!t {nn.role = "param", nn.name = "embed"}) attributes {layer = @table, part = #nn.part<update>} {
  %0 = nn.add %w, %w : (<[V 8, D 4], f32>, <[V 8, D 4], f32>) -> <[V 8, D 4], f32>
  nn.return %0 : !t
}

// -----

// What a list gives to all of its layers is bf16, as its producer hands it on, and so is the sum of
// its cotangents.
!g = !nn.tensor<[B 2, D 4], f32>
tplan.plan @p {precision = "bf16"}

// CHECK:       %[[Y:.+]] = nn.run [@first] {{.*}} -> !nn.tensor<[B 2, D 4], bf16>
// CHECK:       nn.run [@list] x 2 {{.*}} invariant(%[[Y]])
nn.param @v : !nn.tensor<[D 4], f32> x 1 path "v" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "other"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  %y = nn.run [@first] x 1 layer 0 carried(%x) invariant() params [{v = @v}] : (!g) -> !g
  nn.run [@list] x 2 layer 1 carried() invariant(%y) params [{}] : (!g) -> ()
}
nn.layer @first(%x: !g {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %v: !nn.tensor<[D 4], f32> {nn.role = "param", nn.name = "v"},
                %dy: !g {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}) -> (!g {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.mul %x, %v : (<[B 2, D 4], f32>, <[D 4], f32>) -> <[B 2, D 4], f32>
  nn.return %0 : !g
}
// CHECK-LABEL: nn.layer @list
// CHECK-SAME:    %arg0: !nn.tensor<[B 2, D 4], bf16> {nn.name = "i0", nn.position = 0 : i64, nn.role = "invariant"}
// CHECK-SAME:    %arg1: !nn.tensor<[B 2, D 4], bf16> {nn.name = "i0", nn.position = 0 : i64, nn.role = "cot_invariant"}
// CHECK:         %[[S:.+]] = nn.add %{{.+}}, %{{.+}} : (<[B 2, D 4], f32>, <[B 2, D 4], f32>)
// CHECK:         %[[N:.+]] = nn.cast %[[S]] : <[B 2, D 4], f32> -> <[B 2, D 4], bf16>
// CHECK:         nn.return %[[N]]
nn.layer @list(%g: !g {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64}, %dg: !g {nn.role = "cot_invariant", nn.name = "i0", nn.position = 0 : i64})
    -> (!g {nn.role = "cot_invariant", nn.name = "i0", nn.position = 0 : i64}) {
  %0 = nn.exp %g : <[B 2, D 4], f32>
  %1 = nn.add %dg, %0 : (<[B 2, D 4], f32>, <[B 2, D 4], f32>) -> <[B 2, D 4], f32>
  nn.return %1 : !g
}

// -----

// The product of the GEMM before a rotation is read by its bias alone: it stays f32, and the sum is
// rounded once. The product of the second GEMM is needed in f32, so it is rounded first.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[F 8, D 4], f32>
!b = !nn.tensor<[F 8], f32>
!y = !nn.tensor<[B 2, F 8], f32>
tplan.plan @p {precision = "bf16"}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.param @b : !b x 1 path "b" first 0 step 1 id 1 by 0 <"constant", 1.0 : f64> "bias"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  nn.run [@biased] x 1 layer 0 carried(%x) invariant() params [{w = @w, b = @b}] : (!x) -> ()
}
// CHECK-LABEL: nn.layer @biased
// CHECK-SAME:    [[BIAS:%[^:]+]]: !nn.tensor<[F 8], bf16> {nn.name = "b.bf16"
// CHECK:         %[[P:.+]] = nn.contract {{.*}} bf16>) -> <[B 2, F 8], f32>
// CHECK:         %[[B:.+]] = nn.cast [[BIAS]] : <[F 8], bf16> -> <[F 8], f32>
// CHECK:         %[[S:.+]] = nn.add %[[P]], %[[B]]
// CHECK:         %[[Y:.+]] = nn.cast %[[S]] : <[B 2, F 8], f32> -> <[B 2, F 8], bf16>
// CHECK:         nn.contract %[[Y]]
// CHECK:         %[[Q:.+]] = nn.contract {{.*}} -> <[B 2, F 8], bf16>
// CHECK:         %[[R:.+]] = nn.cast %[[Q]]
// CHECK:         %[[T:.+]] = nn.add %[[R]], %arg2
// CHECK:         nn.mul %[[T]], %[[T]]
nn.layer @biased(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                 %b: !b {nn.role = "param", nn.name = "b"}) -> (!x {nn.role = "output", nn.name = "o"}, !y {nn.role = "output", nn.name = "p"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
  %1 = nn.add %0, %b : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  %2 = nn.contract %1, %w : (<[B 2, F 8], f32>, <[F 8, D 4], f32>) -> <[B 2, D 4], f32>
  %3 = nn.contract %2, %w : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
  %4 = nn.add %3, %b : (<[B 2, F 8], f32>, <[F 8], f32>) -> <[B 2, F 8], f32>
  %5 = nn.mul %4, %4 : (<[B 2, F 8], f32>, <[B 2, F 8], f32>) -> <[B 2, F 8], f32>
  nn.return %2, %5 : !x, !y
}

// -----

// f16 in the same places.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[F 8, D 4], f32>
!y = !nn.tensor<[B 2, F 8], f32>
tplan.plan @p {precision = "f16"}

// CHECK:       nn.param @w.f16 : !nn.tensor<[F 8, D 4], f16> x 1 path "w.f16" {{.*}} "copy" copy_of @w
// CHECK:       nn.run [@layer] {{.*}} params [{w = @w, w.f16 = @w.f16}]
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  %y = nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{w = @w}] : (!x) -> !y
}
// CHECK-LABEL: nn.layer @layer
// CHECK:         %[[X:.+]] = nn.cast %arg0 : <[B 2, D 4], f32> -> <[B 2, D 4], f16>
// CHECK:         nn.contract %[[X]], %arg2 : {{.*}} -> <[B 2, F 8], f16>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"})
    -> (!y {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}) {
  %0 = nn.contract %x, %w : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
  nn.return %0 : !y
}

// -----

// A bias of some of the columns is not what a GEMM adds: the product is rounded first, so that it takes 2 bytes.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[H 3, F 8, D 4], f32>
!b = !nn.tensor<[F 8], f32>
!y = !nn.tensor<[B 2, H 3, F 8], f32>
tplan.plan @p {precision = "bf16"}
nn.param @w : !w x 1 path "w" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.param @b : !b x 1 path "b" first 0 step 1 id 1 by 0 <"constant", 1.0 : f64> "bias"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  nn.run [@partly] x 1 layer 0 carried(%x) invariant() params [{w = @w, b = @b}] : (!x) -> ()
}
// CHECK-LABEL: nn.layer @partly
// CHECK:         %[[P:.+]] = nn.contract {{.*}} -> <[B 2, H 3, F 8], bf16>
// CHECK:         %[[R:.+]] = nn.cast %[[P]]
// CHECK:         nn.add %[[R]], %arg2
nn.layer @partly(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                 %b: !b {nn.role = "param", nn.name = "b"}) -> (!x {nn.role = "output", nn.name = "o"}) {
  %0 = nn.contract %x, %w : (<[B 2, D 4], f32>, <[H 3, F 8, D 4], f32>) -> <[B 2, H 3, F 8], f32>
  %1 = nn.add %0, %b : (<[B 2, H 3, F 8], f32>, <[F 8], f32>) -> <[B 2, H 3, F 8], f32>
  %2 = nn.contract %1, %w : (<[B 2, H 3, F 8], f32>, <[H 3, F 8, D 4], f32>) -> <[B 2, D 4], f32>
  nn.return %2 : !x
}

// -----

// A weight with a precision of its own: its product stays f32, and so does the cotangent that comes of it; the gradient of the other
// weight is made of bf16.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[F 8, D 4], f32>
!y = !nn.tensor<[B 2, F 8], f32>
!v = !nn.tensor<[G 8, F 8], f32>
!z = !nn.tensor<[B 2, G 8], f32>
tplan.plan @p {precision = "bf16", precision_of = [{precision = "f32", selector = "w", weights = [{path = "w", first = 0, last = 0}]}]}

// CHECK:     nn.param @v.bf16
// CHECK-NOT: nn.param @w.bf16
nn.param @v : !v x 1 path "v" first 0 step 1 id 0 by 0 <"constant", 1.0 : f64> "linear"
nn.param @w : !w x 1 path "w" first 0 step 1 id 1 by 0 <"constant", 1.0 : f64> "linear"
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "x" shift 0 vocabulary 0 : <[B 2, D 4], f32>
  nn.run [@layer] x 1 layer 0 carried(%x) invariant() params [{v = @v, w = @w}] : (!x) -> !z
}

// CHECK-LABEL: nn.layer @layer
// CHECK-NOT:     precisions
// CHECK:         %[[Y:.+]] = nn.contract %arg0, %arg1 : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
// CHECK:         %[[N:.+]] = nn.cast %[[Y]] : <[B 2, F 8], f32> -> <[B 2, F 8], bf16>
// CHECK:         nn.contract %[[N]], %{{.+}} : {{.*}} -> <[B 2, G 8], bf16>
// CHECK:         %[[AGAIN:.+]] = nn.cast %[[Y]] : <[B 2, F 8], f32> -> <[B 2, F 8], bf16>
// CHECK:         nn.contract %{{.+}}, %[[AGAIN]] : {{.*}}bf16>) -> <[G 8, F 8], f32>
// CHECK:         %[[DY:.+]] = nn.contract {{.*}} -> <[B 2, F 8], bf16>
// CHECK:         %[[WIDE:.+]] = nn.cast %[[DY]] : <[B 2, F 8], bf16> -> <[B 2, F 8], f32>
// CHECK:         nn.contract %[[WIDE]], %arg0 : (<[B 2, F 8], f32>, <[B 2, D 4], f32>) -> <[F 8, D 4], f32>
nn.layer @layer(%x: !x {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, %w: !w {nn.role = "param", nn.name = "w"},
                %v: !v {nn.role = "param", nn.name = "v"},
                %dz: !z {nn.role = "cot_carried", nn.name = "c0", nn.position = 0 : i64}, %dw: !w {nn.role = "cot_param", nn.name = "w"},
                %dv: !v {nn.role = "cot_param", nn.name = "v"})
    -> (!z {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64}, !w {nn.role = "cot_param", nn.name = "w"},
        !v {nn.role = "cot_param", nn.name = "v"}) attributes {precisions = {w = "f32"}} {
  %0 = nn.contract %x, %w : (<[B 2, D 4], f32>, <[F 8, D 4], f32>) -> <[B 2, F 8], f32>
  %1 = nn.contract %0, %v : (<[B 2, F 8], f32>, <[G 8, F 8], f32>) -> <[B 2, G 8], f32>
  %2 = nn.contract %dz, %0 : (<[B 2, G 8], f32>, <[B 2, F 8], f32>) -> <[G 8, F 8], f32>
  %3 = nn.add %dv, %2 : (<[G 8, F 8], f32>, <[G 8, F 8], f32>) -> <[G 8, F 8], f32>
  %4 = nn.contract %dz, %v : (<[B 2, G 8], f32>, <[G 8, F 8], f32>) -> <[B 2, F 8], f32>
  %5 = nn.contract %4, %x : (<[B 2, F 8], f32>, <[B 2, D 4], f32>) -> <[F 8, D 4], f32>
  %6 = nn.add %dw, %5 : (<[F 8, D 4], f32>, <[F 8, D 4], f32>) -> <[F 8, D 4], f32>
  nn.return %1, %6, %3 : !z, !w, !v
}
