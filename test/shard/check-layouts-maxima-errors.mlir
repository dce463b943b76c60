// RUN: tplan-opt --check-layouts -verify-diagnostics -split-input-file %s

// NVIDIA/Megatron-LM#442: a maximum for a scale is reduced over another group of ranks.
// dist.collective (C4)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @scale(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<>}) {
  // expected-note @+1 {{reducing what is whole counts it once a rank}}
  %0 = nn.reduce max %x {dist.layouts = [#dist.layout<max over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{cannot go over dp: no maximum is pending; found #dist.layout<max over [tp]>}}
  %1 = dist.collective all_reduce max %0 over ["dp"] {dist.layouts = [#dist.layout<max over [tp]>]} : <[B 4], f32> -> <[B 4], f32>
  nn.return %1 : !nn.tensor<[B 4], f32>
}
}

// -----

// The same maximum, used before it is made.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @scale(%x: !nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[B 4, F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) {
  // expected-note @+1 {{each rank has a part of this value: reduce it first}}
  %0 = nn.reduce max %x {dist.layouts = [#dist.layout<max over [tp]>]} : <[B 4, F 8], f32> -> <[B 4], f32>
  // expected-error @+1 {{not linear in operand 1, where a maximum is pending over tp}}
  %1 = nn.sub %x, %0 {dist.layouts = [#dist.layout<F over [tp]>]} : (<[B 4, F 8], f32>, <[B 4], f32>) -> <[B 4, F 8], f32>
  nn.return %1 : !nn.tensor<[B 4, F 8], f32>
}
}

// -----

// A maximum leaves, even as a loss.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
// expected-error @+2 {{pending where it must be made: result loss main of f, a maximum over tp}}
// expected-note @+1 {{reduce it before}}
nn.layer @f(%x: !nn.tensor<[F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}) -> (!nn.tensor<[], f32> {nn.role = "loss", nn.name = "main", dist.layout = #dist.layout<max over [tp]>}) {
  %0 = nn.reduce max %x {dist.layouts = [#dist.layout<max over [tp]>]} : <[F 8], f32> -> <[], f32>
  nn.return %0 : !nn.tensor<[], f32>
}
}

// -----

// One that a state is made of waits, too, but not beyond what reads it.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %before: !nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most", dist.layout = #dist.layout<max over [tp]>})
    -> (!nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most", dist.layout = #dist.layout<max over [tp]>}) {
  %0 = nn.reduce max %x {dist.layouts = [#dist.layout<max over [tp]>]} : <[F 8], f32> -> <[], f32>
  %1 = nn.max %before, %0 {dist.layouts = [#dist.layout<max over [tp]>]} : (<[], f32>, <[], f32>) -> <[], f32>
  nn.return %1 : !nn.tensor<[], f32>
}
// expected-error @+2 {{pending where it must be made: argument contribution most of f.S, a maximum over tp}}
// expected-note @+1 {{reduce it before}}
nn.layer @f.S(%most: !nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most", dist.layout = #dist.layout<max over [tp]>}) -> () attributes {layer = @f, part = #nn.part<states>} {
  nn.return
}
}

// -----

// The sum of two maxima is not the largest sum.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[F 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64, dist.layout = #dist.layout<F over [tp]>}, %before: !nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most", dist.layout = #dist.layout<max over [tp]>})
    -> (!nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most", dist.layout = #dist.layout<max over [tp]>}) {
  // expected-note @+1 {{each rank has a part of this value: reduce it first}}
  %0 = nn.reduce sum %x {dist.layouts = [#dist.layout<sum over [tp]>]} : <[F 8], f32> -> <[], f32>
  // expected-error @+1 {{not linear in operand 1, where a sum is pending over tp}}
  %1 = nn.max %before, %0 {dist.layouts = [#dist.layout<max over [tp]>]} : (<[], f32>, <[], f32>) -> <[], f32>
  nn.return %1 : !nn.tensor<[], f32>
}
}

// -----

// Nothing makes a maximum pending.
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
nn.layer @f(%x: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<>}, %y: !nn.tensor<[B 4, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<>}) {
  // expected-error @+1 {{no change of layout leaves a maximum pending, found #dist.layout<max over [tp]>}}
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<max over [tp]>]} : <[B 4, D 8], f32>
  nn.return
}
}
