// RUN: tplan-opt --expand-builtins %s | FileCheck %s
// EXAMPLE
// Composites become primitives: softmax subtracts a maximum that gets no cotangent.
!x = !nn.tensor<[S 8, V 5], f32>

// CHECK-LABEL: tplan.model @softmax
// CHECK:         %[[X:.+]] = tplan.input
// CHECK:         %[[M:.+]] = nn.reduce max %[[X]] detached : <[S 8, V 5], f32> -> <[S 8], f32>
// CHECK:         %[[D:.+]] = nn.sub %[[X]], %[[M]]
// CHECK:         %[[E:.+]] = nn.exp %[[D]]
// CHECK:         %[[S:.+]] = nn.reduce sum %[[E]] : <[S 8, V 5], f32> -> <[S 8], f32>
// CHECK:         nn.div %[[E]], %[[S]]
tplan.model @softmax {
  %x = tplan.input "x" shift 0 vocabulary 0 : !x
  %y = tplan.apply "softmax"(%x) {over = "V"} : (!x) -> !x
  tplan.output "y" %y : !x
}
// END
