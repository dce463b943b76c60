// RUN: tplan-opt --repeat-updates %s | FileCheck %s
// EXAMPLE
// Updates of the layers of a list are marked, and their kernels know how far apart the layers lie.
!w = !nn.tensor<[D 8, E 5], f32>
!c = !nn.tensor<[D 8, E 5], bf16>
!n = !nn.tensor<[], f32>
#id = #rt.access<identity, "", 0>

// Memory of layers lies at the next multiple of 64 bytes; a number of the step is one for all.
// CHECK-LABEL: rt.func @block.U
// CHECK-SAME:    part = #nn.part<update>, sched.repeats
rt.func @block.U(%w: !w {nn.role = "param", nn.name = "w"}, %c: !c {nn.role = "param", nn.name = "w.bf16"},
                 %lr: !n {nn.role = "scalar", nn.name = "lr"})
    -> (!w {nn.role = "param", nn.name = "w"}, !c {nn.role = "param", nn.name = "w.bf16"}) attributes {layer = @block, part = #nn.part<update>} {
  %0:2 = rt.launch @update(%w, %lr) {sched.places = [#sched.place<arg, 0>, #sched.place<arg, 1>]} : (!w, !n) -> (!w, !c)
  rt.return %0#0, %0#1 : !w, !c
}
// CHECK: rt.kernel @update {{.*}}sched.strides = array<i64: 192, 0, 192, 128>
rt.kernel @update map rows [] cols [#nn.dim<"D", 8>, #nn.dim<"E", 5>] grain 1 : (!w, !n) -> (!w, !c) access [#id, #id, #id, #id] {
^bb0(%x: f32, %lr: f32):
  %0 = arith.mulf %x, %lr : f32
  %1 = arith.truncf %0 : f32 to bf16
  rt.yield %0, %1 : f32, bf16
}
// END

// What is made of numbers alone is made once, in the frame.
// CHECK-LABEL: rt.func @number_first.U
// CHECK-SAME:    sched.repeats
// CHECK-NEXT:    rt.launch @half(%arg1) {sched.places
// CHECK-NEXT:    rt.launch @scaled(%arg0, %0) {sched.places = {{.*}}, sched.repeats}
rt.func @number_first.U(%w: !w {nn.role = "param", nn.name = "w"}, %lr: !n {nn.role = "scalar", nn.name = "lr"})
    -> (!w {nn.role = "param", nn.name = "w"}) attributes {layer = @number_first, part = #nn.part<update>} {
  %0 = rt.launch @half(%lr) {sched.places = [#sched.place<frame, 0>]} : (!n) -> !n
  %1 = rt.launch @scaled(%w, %0) {sched.places = [#sched.place<arg, 0>]} : (!w, !n) -> !w
  rt.return %1 : !w
}
// CHECK: rt.kernel @half
// CHECK-NOT: sched.strides
// CHECK: rt.kernel @scaled {{.*}}sched.strides = array<i64: 192, 0, 192>
rt.kernel @half map rows [] cols [] grain 1 : (!n) -> (!n) access [#id, #id] {
^bb0(%x: f32):
  %c = arith.constant 0.5 : f32
  %0 = arith.mulf %x, %c : f32
  rt.yield %0 : f32
}
rt.kernel @scaled map rows [] cols [#nn.dim<"D", 8>, #nn.dim<"E", 5>] grain 1 : (!w, !n) -> (!w) access [#id, #id, #id] {
^bb0(%x: f32, %i: f32):
  %0 = arith.mulf %x, %i : f32
  rt.yield %0 : f32
}

// A kernel that uses a place in the frame, of which there is one for all layers, stays a call for
// each layer; so does one that reads the number of its layer, a call that is no kernel, and a
// function that is no update.
// CHECK-NOT: sched.repeats
// CHECK-NOT: sched.strides
rt.func @frame.U(%w: !w {nn.role = "param", nn.name = "w"}) -> (!w {nn.role = "param", nn.name = "w"}) attributes {layer = @frame, part = #nn.part<update>} {
  %0 = rt.launch @double(%w) {sched.places = [#sched.place<frame, 0>]} : (!w) -> !w
  %1 = rt.launch @double(%0) {sched.places = [#sched.place<arg, 0>]} : (!w) -> !w
  rt.return %1 : !w
}
rt.func @number.U(%w: !w {nn.role = "param", nn.name = "w"}, %i: !n {nn.role = "scalar", nn.name = "layer"})
    -> (!w {nn.role = "param", nn.name = "w"}) attributes {layer = @number, part = #nn.part<update>} {
  %0 = rt.launch @scale(%w, %i) {sched.places = [#sched.place<arg, 0>]} : (!w, !n) -> !w
  rt.return %0 : !w
}
rt.func @copy.U(%w: !w {nn.role = "param", nn.name = "w"}, %g: !w {nn.role = "cot_param", nn.name = "w"})
    -> (!w {nn.role = "param", nn.name = "w"}) attributes {layer = @copy, part = #nn.part<update>} {
  %0 = rt.copy %g {sched.places = [#sched.place<arg, 0>]} : !w -> !w
  rt.return %0 : !w
}
rt.func @norm.N(%w: !w {nn.role = "cot_param", nn.name = "w"}) -> (!w {nn.role = "cot_param", nn.name = "w"}) attributes {layer = @norm, part = #nn.part<norm>} {
  %0 = rt.launch @double(%w) {sched.places = [#sched.place<arg, 0>]} : (!w) -> !w
  rt.return %0 : !w
}
rt.kernel @double map rows [] cols [#nn.dim<"D", 8>, #nn.dim<"E", 5>] grain 1 : (!w) -> (!w) access [#id, #id] {
^bb0(%x: f32):
  %0 = arith.addf %x, %x : f32
  rt.yield %0 : f32
}
rt.kernel @scale map rows [] cols [#nn.dim<"D", 8>, #nn.dim<"E", 5>] grain 1 : (!w, !n) -> (!w) access [#id, #id, #id] {
^bb0(%x: f32, %i: f32):
  %0 = arith.mulf %x, %i : f32
  rt.yield %0 : f32
}
