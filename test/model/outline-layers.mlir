// RUN: tplan-opt --outline-layers %s | FileCheck %s
// A list is one run, whatever its length; code around it is a layer of its own.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4], f32>
!s = !nn.tensor<[], f32>

// CHECK-LABEL: nn.chain @train losses {main = 1.000000e+00 : f64}
// CHECK:         %[[IN:.+]] = nn.input "x"
// CHECK:         %[[Y:.+]] = nn.run [@blocks] x 3 layer 0 carried(%[[IN]]) {{.*}} params [{gain = @blocks.gain}]
// CHECK:         nn.run [@exit] x 1 layer 3 carried(%[[Y]])
// CHECK:       nn.param @blocks.gain : {{.*}} x 3 path "blocks.{i}.gain" first 0 step 1 id 0 by 1
// CHECK-LABEL: nn.chain @counts
// CHECK-LABEL: nn.layer @blocks
// CHECK:         nn.mul
// CHECK-LABEL: nn.layer @exit
// CHECK:         nn.reduce sum
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %y = tplan.for "blocks" runs [[3 : i64, 0 : i64]] carried(%x) invariant() : (!x) -> !x {
  ^bb0(%c: !x):
    %w = tplan.weight "gain" "norm" <"constant", 1.0 : f64> : !w
    %z = nn.mul %c, %w : (<[B 2, D 4], f32>, <[D 4], f32>) -> <[B 2, D 4], f32>
    tplan.return %z : !x
  }
  %0 = nn.reduce sum %y : <[B 2, D 4], f32> -> <[B 2], f32>
  %1 = nn.reduce sum %0 : <[B 2], f32> -> <[], f32>
  tplan.loss "main" weight 1.0 %1 terms 8 : !s
}
