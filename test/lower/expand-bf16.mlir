// RUN: tplan-opt %s -expand-bf16 | FileCheck %s
// Shifts, and a rounding to nearest even, on every machine the same; what is not converted
// is moved as integers.

// CHECK-NOT: bf16>
// CHECK-LABEL: func.func @halves(
// CHECK-SAME:    %[[X:.+]]: vector<16xi16>, %[[M:.+]]: memref<64xi16>, %[[I:.+]]: index)
// CHECK:         %[[WIDE:.+]] = arith.extui %[[X]] : vector<16xi16> to vector<16xi32>
// CHECK:         %[[SHIFTED:.+]] = arith.shli %[[WIDE]], %{{.+}} : vector<16xi32>
// CHECK:         arith.bitcast %[[SHIFTED]] : vector<16xi32> to vector<16xf32>
// CHECK:         arith.cmpf uno
// CHECK:         arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// CHECK:         arith.constant dense<16256> : vector<16xi16>
// CHECK:         vector.store {{.*}} : memref<64xi16>, vector<16xi16>
// CHECK-NOT: bf16>
func.func @halves(%x: vector<16xbf16>, %m: memref<64xbf16>, %i: index) {
  %0 = arith.extf %x : vector<16xbf16> to vector<16xf32>
  %1 = arith.addf %0, %0 : vector<16xf32>
  %2 = arith.truncf %1 : vector<16xf32> to vector<16xbf16>
  %one = arith.constant dense<1.0> : vector<16xbf16>
  %less = arith.cmpf olt, %1, %0 : vector<16xf32>
  %3 = arith.select %less, %2, %one : vector<16xi1>, vector<16xbf16>
  vector.store %3, %m[%i] : memref<64xbf16>, vector<16xbf16>
  return
}

// From f64 through f32 rounded to odd: rounded once.
// CHECK-LABEL: func.func @once(
// CHECK:         arith.truncf %{{.+}} : f64 to f32
// CHECK:         arith.cmpf one
// CHECK:         arith.trunci {{.*}} : i32 to i16
func.func @once(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}
