// RUN: tplan-opt --split-input-file --verify-diagnostics %s
// What the dist dialect refuses on its own.

// expected-error @+1 {{axis occurs twice in a layout: dp}}
func.func private @f() attributes {l = #dist.layout<B over [dp], sum over [dp]>}

// -----

module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{axis is not of the mesh: "pp"}}
  %0 = dist.collective all_reduce sum %x over ["pp"] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{axis given twice: "dp"}}
  %0 = dist.collective all_reduce sum %x over ["dp", "dp"] : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{the dimension that is cut afterwards belongs to all_to_all alone, found all_gather}}
  %0 = dist.collective all_gather sum %x over ["dp"] dim "B" to "D" : <[B 4], f32> -> <[B 4], f32>
  return
}
}

// -----

module attributes {dist.mesh = #dist.mesh<<"dp", 2>, <"tp", 2>>} {
func.func @f(%x: !nn.tensor<[B 4], f32>) {
  // expected-error @+1 {{sources belong to permute alone, found all_reduce}}
  %0 = dist.collective all_reduce sum %x over ["dp"] sources [0, 1] : <[B 4], f32> -> <[B 4], f32>
  return
}
}
