// RUN: tplan-opt %s -split-input-file -verify-diagnostics -expand-transcendentals

func.func @unknown(%x: f32) -> f32 {
  // expected-error @below {{is not in the table of transcendentals: exp, log, tanh, erf, sin, cos, rsqrt, sqrt}}
  %0 = math.cbrt %x : f32
  return %0 : f32
}

// -----

func.func @half(%x: f16) -> f16 {
  // expected-error @below {{is computed in f32 or f64, found 'f16'}}
  %0 = math.exp %x : f16
  return %0 : f16
}
