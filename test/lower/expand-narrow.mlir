// RUN: tplan-opt %s -expand-narrow --split-input-file | FileCheck %s
// EXAMPLE
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
// END

// From f64 through f32 rounded to odd: rounded once.
// CHECK-LABEL: func.func @once(
// CHECK:         arith.truncf %{{.+}} : f64 to f32
// CHECK:         arith.cmpf one
// CHECK:         arith.trunci {{.*}} : i32 to i16
func.func @once(%x: f64) -> bf16 {
  %0 = arith.truncf %x : f64 to bf16
  return %0 : bf16
}

// -----

// f16 in integers: no instruction of the machine's is meant by what is left.
// CHECK-LABEL: func.func @in_integers(
// CHECK-SAME:    %[[X:.+]]: vector<16xi16>)
// CHECK-NOT:     f16
// CHECK:         arith.extui %[[X]] : vector<16xi16> to vector<16xi32>
// CHECK:         arith.mulf
// CHECK:         arith.addf
// CHECK:         arith.trunci {{.*}} : vector<16xi32> to vector<16xi16>
// CHECK:         return
func.func @in_integers(%x: vector<16xf16>) -> vector<16xf16> {
  %0 = arith.extf %x : vector<16xf16> to vector<16xf32>
  %1 = arith.truncf %0 : vector<16xf32> to vector<16xf16>
  return %1 : vector<16xf16>
}

// -----

// f8 is an i8: what is too large becomes the largest number.
// CHECK-LABEL: func.func @eight_bits(
// CHECK-SAME:    %[[X:.+]]: vector<16xf32>, %[[M:.+]]: memref<64xi8>, %[[I:.+]]: index)
// CHECK-NOT:     f8E4M3FN
// CHECK-DAG:     arith.constant dense<126> : vector<16xi32>
// CHECK-DAG:     arith.constant dense<127> : vector<16xi32>
// CHECK:         arith.trunci {{.*}} : vector<16xi32> to vector<16xi8>
// CHECK:         vector.store {{.*}} : memref<64xi8>, vector<16xi8>
func.func @eight_bits(%x: vector<16xf32>, %m: memref<64xf8E4M3FN>, %i: index) {
  %0 = arith.truncf %x : vector<16xf32> to vector<16xf8E4M3FN>
  vector.store %0, %m[%i] : memref<64xf8E4M3FN>, vector<16xf8E4M3FN>
  return
}

// -----

// A GPU rounds to bf16, from f64 after f32; back is a shift, as everywhere.
module attributes {tplan.target = #tplan.target<{arch = "sm_90"}>} {
gpu.module @kernels {
// CHECK-LABEL: gpu.func @on_a_gpu(
// CHECK-SAME:    %[[X:.+]]: vector<8xf32>, %[[D:.+]]: f64, %[[P:.+]]: memref<8xi16>
// CHECK:         %[[T:.+]] = arith.truncf %[[X]] : vector<8xf32> to vector<8xbf16>
// CHECK-NEXT:    %[[I:.+]] = arith.bitcast %[[T]] : vector<8xbf16> to vector<8xi16>
// CHECK:         arith.truncf %[[D]] : f64 to f32
// CHECK:         %[[N:.+]] = arith.truncf %{{.+}} : f32 to bf16
// CHECK-NEXT:    arith.bitcast %[[N]] : bf16 to i16
// CHECK-NOT:     bf16
// CHECK:         gpu.return
gpu.func @on_a_gpu(%x: vector<8xf32>, %d: f64, %p: memref<8xbf16>) kernel {
  %c0 = arith.constant 0 : index
  %0 = arith.truncf %x : vector<8xf32> to vector<8xbf16>
  %1 = arith.truncf %d : f64 to bf16
  vector.store %0, %p[%c0] : memref<8xbf16>, vector<8xbf16>
  memref.store %1, %p[%c0] : memref<8xbf16>
  gpu.return
}
}
}

// -----

// On a CPU that converts f16, a number is an f16 only between its bits and the conversion; from f64
// it still goes through f32, because that instruction is a call.
module attributes {tplan.target = #tplan.target<{f16c = true}>} {
// CHECK-LABEL: func.func @by_machine(
// CHECK-SAME:    %[[X:.+]]: vector<16xi16>, %[[D:.+]]: f64)
// CHECK:         %[[H:.+]] = arith.bitcast %[[X]] : vector<16xi16> to vector<16xf16>
// CHECK-NEXT:    %[[F:.+]] = arith.extf %[[H]] : vector<16xf16> to vector<16xf32>
// CHECK-NEXT:    %[[T:.+]] = arith.truncf %[[F]] : vector<16xf32> to vector<16xf16>
// CHECK-NEXT:    arith.bitcast %[[T]] : vector<16xf16> to vector<16xi16>
// CHECK:         arith.truncf %[[D]] : f64 to f32
// CHECK:         arith.truncf %{{.+}} : f32 to f16
func.func @by_machine(%x: vector<16xf16>, %d: f64) -> (vector<16xf16>, f16) {
  %0 = arith.extf %x : vector<16xf16> to vector<16xf32>
  %1 = arith.truncf %0 : vector<16xf32> to vector<16xf16>
  %2 = arith.truncf %d : f64 to f16
  return %1, %2 : vector<16xf16>, f16
}
}

// -----

// A GPU that has f8 makes two codes an instruction, the first the lower byte.
module attributes {tplan.target = #tplan.target<{arch = "sm_90", scales = ["tensor", "row", "block"]}>} {
gpu.module @kernels {
// CHECK-LABEL: gpu.func @packed(
// CHECK-SAME:    %[[X:.+]]: vector<4xf32>, %[[Y:.+]]: f32, %[[M:.+]]: memref<64xi8>, %[[N:.+]]: memref<64xi8>
// CHECK:         %[[A:.+]] = vector.extract %[[X]][0]
// CHECK-NEXT:    %[[B:.+]] = vector.extract %[[X]][1]
// CHECK-NEXT:    %[[P:.+]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"(%[[B]], %[[A]])
// CHECK:         %[[Q:.+]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e4m3x2.rn"
// CHECK-NEXT:    %[[V:.+]] = vector.from_elements %[[P]], %[[Q]] : vector<2xi16>
// CHECK-NEXT:    %[[C:.+]] = vector.bitcast %[[V]] : vector<2xi16> to vector<4xi8>
// CHECK-NEXT:    vector.store %[[C]], %[[M]]
// CHECK-NEXT:    %[[S:.+]] = llvm.call_intrinsic "llvm.nvvm.ff.to.e5m2x2.rn"(%[[Y]], %[[Y]])
// CHECK-NEXT:    arith.trunci %[[S]] : i16 to i8
gpu.func @packed(%x: vector<4xf32>, %y: f32, %m: memref<64xf8E4M3FN>, %n: memref<64xf8E5M2>, %i: index) kernel {
  %0 = arith.truncf %x : vector<4xf32> to vector<4xf8E4M3FN>
  vector.store %0, %m[%i] : memref<64xf8E4M3FN>, vector<4xf8E4M3FN>
  %1 = arith.truncf %y : f32 to f8E5M2
  memref.store %1, %n[%i] : memref<64xf8E5M2>
  gpu.return
}
}
}
