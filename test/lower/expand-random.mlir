// RUN: tplan-opt %s -expand-random | FileCheck %s
// EXAMPLE
// Ten rounds in a loop; a key that is the same in all lanes stays a scalar. Scalars go the same way.
// CHECK-LABEL: func.func @vectors(
// CHECK-SAME:    %[[SEED:[a-z0-9]+]]: i32, %[[SITE:[a-z0-9]+]]: i32
// CHECK:         %[[TEN:.+]] = arith.constant 10 : index
// CHECK:         %[[WORDS:.+]]:6 = scf.for {{.*}} to %[[TEN]] step {{.*}} iter_args({{.*}} = %[[SEED]], {{.*}} = %[[SITE]]) -> (vector<16xi32>,
// CHECK-COUNT-2:   arith.mului_extended {{.*}} : vector<16xi32>
// CHECK:           scf.yield
// CHECK-COUNT-3: arith.select {{.*}} : vector<16xi1>, vector<16xi32>
// CHECK-NOT:     rt.random
// CHECK-LABEL: func.func @scalars(
// CHECK:         scf.for
// CHECK:         arith.mului_extended {{.*}} : i32
// CHECK-NOT:     rt.random
func.func @vectors(%seed: i32, %site: i32, %low: vector<16xi32>, %word: vector<16xi32>) -> vector<16xi32> {
  %key0 = vector.broadcast %seed : i32 to vector<16xi32>
  %key1 = vector.broadcast %site : i32 to vector<16xi32>
  %zero = arith.constant dense<0> : vector<16xi32>
  %0 = rt.random %word of (%low, %zero, %zero, %zero) key (%key0, %key1) : vector<16xi32>
  return %0 : vector<16xi32>
}
func.func @scalars(%key: i32, %low: i32) -> i32 {
  %zero = arith.constant 0 : i32
  %0 = rt.random %zero of (%low, %zero, %zero, %zero) key (%key, %key) : i32
  return %0 : i32
}
// END
