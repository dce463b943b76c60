// RUN: tplan-opt %s -split-input-file -verify-diagnostics -expand-transcendentals | FileCheck %s

// One table for vectors and scalars; nothing of the functions is left.
// CHECK-LABEL: func.func @both(
// CHECK-NOT: math.{{exp|log|tanh|erf|sin|cos|rsqrt}} 
// CHECK: math.fma {{.*}} : vector<16xf32>
// CHECK: math.fma {{.*}} : f64
// CHECK: math.sqrt {{.*}} : f64
func.func @both(%x: vector<16xf32>, %y: f64) -> (vector<16xf32>, f64) {
  %0 = math.exp %x : vector<16xf32>
  %1 = math.tanh %0 : vector<16xf32>
  %2 = math.log %y : f64
  %3 = math.erf %2 : f64
  %4 = math.sin %3 : f64
  %5 = math.cos %4 : f64
  %6 = math.rsqrt %5 : f64
  return %1, %6 : vector<16xf32>, f64
}

// -----

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
