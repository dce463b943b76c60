// RUN: tplan-opt %s | tplan-opt | FileCheck %s
// RUN: tplan-opt --mlir-print-op-generic %s | tplan-opt | FileCheck %s
// The syntax of the dist dialect, there and back.

// CHECK: func.func private @meshes() attributes {one = #dist.mesh<>, padded = #dist.mesh<<"tp", 2>, granules <"F", 4>, <"V", 8>>, whole = #dist.mesh<granules <"V", 8>>}
func.func private @meshes() attributes {one = #dist.mesh<>, padded = #dist.mesh<<"tp", 2>, granules <"F", 4>, <"V", 8>>, whole = #dist.mesh<granules <"V", 8>>}
// CHECK: module attributes {dist.mesh = #dist.mesh<<"dp", 4>, <"tp.0", 2 of "tp">, <"tp.1", 2 of "tp">>}
module attributes {dist.mesh = #dist.mesh<<"dp", 4>, <"tp.0", 2 of "tp">, <"tp.1", 2 of "tp">>} {
// CHECK: nn.layer @layouts({{.*}}#dist.layout<>{{.*}}#dist.layout<B over [dp], D over [tp.0, tp.1]>
// CHECK-SAME: #dist.layout<D over [tp.0], rows [B, D] by 8 over [dp] in_whole, sum over [tp.1]>
nn.layer @layouts(%x: !nn.tensor<[B 8, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<>},
                  %y: !nn.tensor<[B 8, D 8], f32> {nn.role = "param", nn.name = "y", dist.layout = #dist.layout<D over [tp.0, tp.1], B over [dp]>},
                  %z: !nn.tensor<[B 8, D 8], f32> {nn.role = "param", nn.name = "z",
                    dist.layout = #dist.layout<D over [tp.0], rows [B, D] by 8 over [dp] in_whole, sum over [tp.1]>}) {
  // CHECK: dist.reshard %arg0 {dist.layouts = [#dist.layout<max over [dp, tp.0]>]} : <[B 8, D 8], f32>
  %0 = dist.reshard %x {dist.layouts = [#dist.layout<max over [dp, tp.0]>]} : <[B 8, D 8], f32>
  // CHECK: dist.collective all_reduce max %{{.+}} over ["dp", "tp.0"] : <[B 8, D 8], f32> -> <[B 8, D 8], f32>
  %1 = dist.collective all_reduce max %0 over ["dp", "tp.0"] : <[B 8, D 8], f32> -> <[B 8, D 8], f32>
  // CHECK: dist.collective reduce_scatter sum %arg0 over ["dp"] dim "B" : <[B 8, D 8], f32> -> <[B 2, D 8], f32>
  %2 = dist.collective reduce_scatter sum %x over ["dp"] dim "B" : <[B 8, D 8], f32> -> <[B 2, D 8], f32>
  // CHECK: dist.collective all_to_all sum %{{.+}} over ["dp"] dim "B" to "D" : <[B 2, D 8], f32> -> <[B 8, D 2], f32>
  %3 = dist.collective all_to_all sum %2 over ["dp"] dim "B" to "D" : <[B 2, D 8], f32> -> <[B 8, D 2], f32>
  // CHECK: dist.collective all_gather sum %{{.+}} over ["dp"] dim "D" : <[B 8, D 2], f32> -> <[B 8, D 8], f32>
  %4 = dist.collective all_gather sum %3 over ["dp"] dim "D" : <[B 8, D 2], f32> -> <[B 8, D 8], f32>
  // CHECK: dist.collective permute sum %{{.+}} over ["tp.0", "tp.1"] dim "B" sources [0, 2, 1, 3] : <[B 8, D 8], f32> -> <[B 8, D 8], f32>
  %5 = dist.collective permute sum %4 over ["tp.0", "tp.1"] dim "B" sources [0, 2, 1, 3] : <[B 8, D 8], f32> -> <[B 8, D 8], f32>
  // CHECK: dist.slice %arg0 over ["dp"] dim "B" : <[B 8, D 8], f32> -> <[B 2, D 8], f32>
  %6 = dist.slice %x over ["dp"] dim "B" : <[B 8, D 8], f32> -> <[B 2, D 8], f32>
  // CHECK: dist.slice %arg0 over ["dp"] : <[B 8, D 8], f32> -> <[own.rows 2, D 8], f32>
  %7 = dist.slice %x over ["dp"] : <[B 8, D 8], f32> -> <[own.rows 2, D 8], f32>
  // CHECK: dist.own %arg0 over ["dp"] : <[B 8, D 8], f32>
  %8 = dist.own %x over ["dp"] : <[B 8, D 8], f32>
  // CHECK: dist.place %{{.+}} into %arg1 over ["dp"] : <[own.rows 2, D 8], f32>, <[B 8, D 8], f32> -> <[B 8, D 8], f32>
  %9 = dist.place %7 into %y over ["dp"] : <[own.rows 2, D 8], f32>, <[B 8, D 8], f32> -> <[B 8, D 8], f32>
  // CHECK: dist.reshape %arg0 : <[B 8, D 8], f32> -> <[blocks 4, words 8], i64>
  %10 = dist.reshape %x : <[B 8, D 8], f32> -> <[blocks 4, words 8], i64>
  nn.return
}
// A dimension may have any name.
// CHECK: nn.layer @names({{.*}}#dist.layout<"rows" over [dp], sum over [tp.0]>
nn.layer @names(%x: !nn.tensor<[rows 8, D 8], f32> {nn.role = "param", nn.name = "x", dist.layout = #dist.layout<"rows" over [dp], sum over [tp.0]>}) {
  nn.return
}
}

// CHECK: func.func private @stages() attributes {m = #dist.mesh<<"pp", 2>, <"dp", 4>, stages "pp", granules <"V", 8>>}
func.func private @stages() attributes {m = #dist.mesh<<"pp", 2>, <"dp", 4>, stages "pp", granules <"V", 8>>}
