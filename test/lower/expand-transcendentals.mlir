// RUN: tplan-opt %s -expand-transcendentals | FileCheck %s
// EXAMPLE
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
// END
