// RUN: tplan-translate --kernels-to-ptx=sm_42 -verify-diagnostics %s

// expected-error @below {{no PTX for this architecture; choose sm_80, sm_86, sm_89, sm_90, sm_100, sm_120: found sm_42}}
module {
  rt.kernel @k map rows [] cols [#nn.dim<"D", 8>] grain 4
      : (!nn.tensor<[D 8], f32>) -> (!nn.tensor<[D 8], f32>)
      access [#rt.access<identity, "", 0>, #rt.access<identity, "", 0>] {
  ^bb0(%a: f32):
    rt.yield %a : f32
  }
}
