// RUN: tplan-opt --split-microbatches %s | FileCheck %s
// EXAMPLE
// The size of one name changes, wherever it stands.
tplan.plan @p {microbatch = 2 : i64}

// CHECK: nn.input "tokens" {{.*}} : <[B 2, S 8], i32>
// CHECK: nn.layer @layer(%arg0: !nn.tensor<[B 2, S 8], i32>
// CHECK: nn.cast %arg0 : <[B 2, S 8], i32> -> <[B 2, S 8], f32>
nn.chain @train losses {main = 1.0 : f64} {
  %x = nn.input "tokens" shift 0 vocabulary 9 : <[B 8, S 8], i32>
  nn.run [@layer] x 1 layer 0 carried() invariant(%x) params [{}] : (!nn.tensor<[B 8, S 8], i32>) -> ()
}
nn.layer @layer(%x: !nn.tensor<[B 8, S 8], i32> {nn.role = "invariant", nn.name = "i0", nn.position = 0 : i64})
    -> (!nn.tensor<[B 8, S 8], f32> {nn.role = "output", nn.name = "y"}) {
  %0 = nn.cast %x : <[B 8, S 8], i32> -> <[B 8, S 8], f32>
  nn.return %0 : !nn.tensor<[B 8, S 8], f32>
}
// END

// A loss may be scaled: that adds over microbatches too.
// CHECK: nn.layer @scaled
// CHECK: nn.reduce sum %arg0 : <[B 2], f64> -> <[], f64>
nn.layer @scaled(%x: !nn.tensor<[B 8], f64> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64},
                 %loss: !nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"})
    -> (!nn.tensor<[], f64> {nn.role = "loss", nn.name = "main"}) {
  %0 = nn.reduce sum %x : <[B 8], f64> -> <[], f64>
  %1 = nn.constant 2.0 : <[], f64>
  %2 = nn.mul %0, %1 : (<[], f64>, <[], f64>) -> <[], f64>
  %3 = nn.add %loss, %2 : (<[], f64>, <[], f64>) -> <[], f64>
  nn.return %3 : !nn.tensor<[], f64>
}

// The largest of all sequences is the largest of what microbatches have.
// CHECK: nn.layer @largest
// CHECK: nn.reduce max %arg0 : <[B 2], f32> -> <[], f32>
nn.layer @largest(%x: !nn.tensor<[B 8], f32> {nn.role = "carried", nn.name = "c0", nn.position = 0 : i64},
                  %before: !nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most"})
    -> (!nn.tensor<[], f32> {nn.role = "contribution", nn.name = "most"}) {
  %0 = nn.reduce max %x : <[B 8], f32> -> <[], f32>
  %1 = nn.max %before, %0 : (<[], f32>, <[], f32>) -> <[], f32>
  nn.return %1 : !nn.tensor<[], f32>
}
