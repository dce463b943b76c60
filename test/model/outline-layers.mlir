// RUN: tplan-opt --outline-layers -split-input-file %s | FileCheck %s
// EXAMPLE
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
// END

// -----

// A value that a list both carries and reads in every layer has two cotangents, so it
// is copied first. Sums of one name add, each with its own weight; a plain sum (terms 1)
// has no count.
!x = !nn.tensor<[B 2, D 4], f32>
!w = !nn.tensor<[D 4], f32>
!s = !nn.tensor<[], f32>

// CHECK-LABEL: nn.chain @train losses {aux = 5.000000e-01 : f64, main = 1.000000e+00 : f64}
// CHECK:         %[[X:.+]] = nn.run [@entry]
// CHECK:         %[[COPY:.+]]:2 = nn.run [@fork] x 1 layer 1 carried(%[[X]])
// CHECK:         nn.run [@blocks] x 3 layer 2 carried(%[[COPY]]#0) invariant(%[[COPY]]#1)
// CHECK-LABEL: nn.layer @blocks
// CHECK-SAME:    nn.name = "aux", nn.role = "loss"
// CHECK:         %[[ONE:.+]] = nn.cast
// CHECK:         %[[FIRST:.+]] = nn.add %arg{{.}}, %[[ONE]]
// CHECK:         %[[TWO:.+]] = nn.cast
// CHECK:         %[[C:.+]] = nn.constant 4.000000e+00
// CHECK:         %[[SCALED:.+]] = nn.mul %[[TWO]], %[[C]]
// CHECK:         %[[SUM:.+]] = nn.add %[[FIRST]], %[[SCALED]]
// CHECK:         nn.return %[[SUM]], %{{.+}}
// CHECK-LABEL: nn.layer @count_terms
// CHECK-NOT:     count.main
// CHECK-SAME:    count.aux
// CHECK:         %[[EACH:.+]] = nn.constant 4.000000e+00 : <[B 2], f64>
// CHECK:         nn.reduce sum %[[EACH]]
tplan.model @m {
  %in = tplan.input "x" shift 0 vocabulary 0 : !x
  %w = tplan.weight "w" "other" <"constant", 1.0 : f64> : !w
  %x = nn.mul %in, %w : (<[B 2, D 4], f32>, <[D 4], f32>) -> <[B 2, D 4], f32>
  %y = tplan.for "blocks" runs [[3 : i64, 0 : i64]] carried(%x) invariant(%x) : (!x, !x) -> !x {
  ^bb0(%c: !x, %i: !x):
    %z = nn.mul %c, %i : (<[B 2, D 4], f32>, <[B 2, D 4], f32>) -> <[B 2, D 4], f32>
    %1 = nn.reduce sum %z : <[B 2, D 4], f32> -> <[], f32>
    tplan.loss "aux" weight 0.5 %1 terms 8 : !s
    %2 = nn.reduce sum %c : <[B 2, D 4], f32> -> <[], f32>
    tplan.loss "aux" weight 1.0 %2 terms 4 : !s
    tplan.return %z : !x
  }
  %0 = nn.reduce sum %y : <[B 2, D 4], f32> -> <[], f32>
  tplan.loss "main" weight 1.0 %0 terms 1 : !s
}

// -----

// What a layer does once a step is its part `states`. Contributions add in f64, a metric is a
// sum and a count over the layers that have it.
!x = !nn.tensor<[B 2], f32>
!s = !nn.tensor<[], f32>

// CHECK:       nn.run [@entry] x 1 layer 0 {{.*}} params [{n = @n}]
// CHECK:       nn.param @n : {{.*}} "state"
// CHECK-LABEL: nn.layer @entry(
// CHECK:         %[[SUM:.+]] = nn.reduce sum
// CHECK:         %[[WIDE:.+]] = nn.cast %[[SUM]] : <[], f32> -> <[], f64>
// CHECK:         nn.add %arg{{.}}, %[[WIDE]] : (<[], f64>
// CHECK-LABEL: nn.layer @entry.S(
// CHECK-SAME:    nn.name = "s0", nn.role = "contribution"
// CHECK-SAME:    nn.counts = "seen", nn.name = "count.seen", nn.role = "metric"
// CHECK-SAME:    -> ({{.*}}nn.name = "seen", nn.role = "metric"{{.*}}nn.name = "n", nn.role = "state"
tplan.model @m {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %sum = nn.reduce sum %x : <[B 2], f32> -> <[], f32>
  tplan.contribute "s0" %sum : !s
  tplan.once {
    %n = tplan.weight "n" "state" <"constant", 0.0 : f64> : !s
    %total = tplan.contributed "s0" : !s
    %new = nn.add %n, %total : (<[], f32>, <[], f32>) -> <[], f32>
    tplan.metric "seen" %new : !s
    tplan.update %n, %new : !s, !s
  }
  tplan.loss "main" weight 1.0 %sum terms 1 : !s
}

// -----

// A list takes a weight as a copy that a stretch of code gives; a list of one layer is marked as a
// list.
// CHECK:       nn.chain @train
// CHECK:         %[[X:.+]] = nn.input
// CHECK:         %[[G:.+]] = nn.run [@entry] x 1 layer 0 carried() invariant() params [{g = @g}] :
// CHECK:         nn.run [@lone] x 1 layer 1 carried(%[[X]]) invariant(%[[G]]) params [{}] {nn.list} :
// CHECK:         nn.run [@exit] x 1 layer 2 {{.*}} params [{}] :
!x = !nn.tensor<[B 2, S 3, D 4], f32>
tplan.model @gains {
  %x = tplan.input "x" shift 0 vocabulary 0 : <[B 2, S 3, D 4], f32>
  %g = tplan.weight "g" "other" <"constant", 1.0 : f64> : <[D 4], f32>
  %y = tplan.for "lone" runs [[1 : i64, 0 : i64]] carried(%x) invariant(%g) : (!x, !nn.tensor<[D 4], f32>) -> !x {
  ^bb0(%a: !x, %i: !nn.tensor<[D 4], f32>):
    %0 = nn.mul %a, %i : (<[B 2, S 3, D 4], f32>, <[D 4], f32>) -> <[B 2, S 3, D 4], f32>
    tplan.return %0 : !x
  }
  %s = nn.reduce sum %y : <[B 2, S 3, D 4], f32> -> <[], f32>
  tplan.loss "main" weight 1.0 %s terms 24 : !nn.tensor<[], f32>
}
