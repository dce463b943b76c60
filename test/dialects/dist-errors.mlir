// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the dist dialect refuses on its own.

// dist.mesh (C1)
// expected-error @+1 {{axis stands twice in a mesh: dp}}
func.func private @f() attributes {m = #dist.mesh<<"dp", 2>, <"dp", 4>>}

// -----

// dist.mesh (C1)
// expected-error @+1 {{granule stands twice in a mesh: V}}
func.func private @f() attributes {m = #dist.mesh<<"dp", 2>, granules <"V", 2>, <"V", 8>>}

// -----

// dist.mesh (C1)
// expected-error @+1 {{granule must be positive, found 0}}
func.func private @f() attributes {m = #dist.mesh<granules <"V", 0>>}

// -----

// dist.mesh (C2)
// expected-error @+1 {{stages lie along an axis of the mesh, found "pp"}}
func.func private @f() attributes {m = #dist.mesh<<"dp", 2>, stages "pp">}

// -----

// dist.layout (C1)
// expected-error @+1 {{axis occurs twice in a layout: dp}}
func.func private @f() attributes {l = #dist.layout<B over [dp], sum over [dp]>}

// -----

// dist.collective (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{axis is not of the mesh: "pp"}}
  %0 = dist.collective all_reduce sum %x over ["pp"] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{axis given twice: "dp"}}
  %0 = dist.collective all_reduce sum %x over ["dp", "dp"] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{needs an axis of the mesh, found none}}
  %0 = dist.collective all_reduce sum %x over [] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{operand has no such dimension: D}}
  %0 = dist.collective all_gather sum %x over ["dp"] dim "D" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{operand has no such dimension: D}}
  %0 = dist.collective all_to_all sum %x over ["dp"] dim "B" to "D" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{the dimension that is cut afterwards belongs to all_to_all alone, found all_gather}}
  %0 = dist.collective all_gather sum %x over ["dp"] dim "B" to "B" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{needs the dimension that is cut afterwards, found none in all_to_all}}
  %0 = dist.collective all_to_all sum %x over ["dp"] dim "B" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C3)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{sources belong to permute alone, found all_reduce}}
  %0 = dist.collective all_reduce sum %x over ["dp"] sources [0, 1] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C3)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{needs a source for each member, found none in permute}}
  %0 = dist.collective permute sum %x over ["dp"] dim "B" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.own (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{needs an axis of the mesh, found none}}
  %0 = dist.own %x over [] : <[B 4], f32>
  return
}
}

// -----

// dist.slice (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{axis is not of the mesh: "pp"}}
  %0 = dist.slice %x over ["pp"] dim "B" : <[B 4], f32> -> <[B 2], f32>
  return
}
}

// -----

// dist.slice (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{operand has no such dimension: D}}
  %0 = dist.slice %x over ["dp"] dim "D" : <[B 4], f32> -> <[B 2], f32>
  return
}
}

// -----

// dist.collective (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{needs the dimension that is cut, found none in all_to_all}}
  %0 = dist.collective all_to_all sum %x over ["dp"] to "B" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{cuts no dimension, found B}}
  %0 = dist.collective all_reduce sum %x over ["dp"] dim "B" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C3)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{needs a source for each of 2 members, found 3}}
  %0 = dist.collective permute sum %x over ["dp"] dim "B" sources [0, 1, 2] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.collective (C3)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{source is none of 2 members: 7}}
  %0 = dist.collective permute sum %x over ["dp"] dim "B" sources [0, 7] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.place (C1)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{axis is not of the mesh: "pp"}}
  %0 = dist.place %x into %x over ["pp"] : <[B 4], f32>, <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.place (C2)
module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>, %y: !nn.tensor<[D 4], f32>) {
  // expected-error @+1 {{makes all of '!nn.tensor<[D 4], f32>', found '!nn.tensor<[B 4], f32>'}}
  %0 = dist.place %x into %y over ["dp"] : <[B 4], f32>, <[D 4], f32> -> <[B 4], f32>
  return
}
}

// -----

// dist.reshape (C1)
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{has 16 bytes, and makes 12}}
  %0 = dist.reshape %x : <[B 4], f32> -> <[B 3], f32>
  return
}

// -----

// dist.layout (C3)
// expected-error @+1 {{stands twice in a layout: B}}
func.func private @f() attributes {l = #dist.layout<B over [dp], B over [tp]>}
