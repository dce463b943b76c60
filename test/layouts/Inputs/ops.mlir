// Each op of nn that computes, alone in a layer: layouts-test cuts it in every way that its rule admits.
//
// Sizes divide by neither 2 nor 4 where the rule allows padding, and B has blocks that are empty.
// `test.values`: "positive", or the number below which ids lie; else they are around zero.

nn.layer @neg(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.neg %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @exp(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.exp %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @log(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x", test.values = "positive"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.log %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @tanh(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.tanh %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @erf(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.erf %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @sin(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.sin %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @cos(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.cos %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @rsqrt(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x", test.values = "positive"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.rsqrt %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @sqrt(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x", test.values = "positive"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.sqrt %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @add(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.add %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @add_row(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.add %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @sub(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.sub %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @sub_row(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.sub %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @mul(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.mul %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @mul_row(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.mul %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @div(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y", test.values = "positive"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.div %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @div_row(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y", test.values = "positive"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.div %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @max(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.max %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @max_row(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.max %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @min(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.min %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @min_row(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.min %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @sub_left(%x: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.sub %x, %y : (<[D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @cmp(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], i1> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.cmp lt %x, %y : (<[B 5, S 6, D 7], f64>, <[S 6, D 7], f64>) -> <[B 5, S 6, D 7], i1>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], i1>
}

nn.layer @select(%c: !nn.tensor<[S 6, D 7], i1> {nn.role = "invariant", nn.name = "c"},
    %x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.select %c, %x, %y : (<[S 6, D 7], i1>, <[B 5, S 6, D 7], f64>, <[B 5, S 6, D 7], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @select_row(%c: !nn.tensor<[B 5, S 6, D 7], i1> {nn.role = "invariant", nn.name = "c"},
    %x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.select %c, %x, %y : (<[B 5, S 6, D 7], i1>, <[B 5, S 6, D 7], f64>, <[], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @cast_narrow(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f32> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.cast %x : <[B 5, S 6, D 7], f64> -> <[B 5, S 6, D 7], f32>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f32>
}

nn.layer @cast_wide(%x: !nn.tensor<[B 5, S 6, D 7], f32> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.cast %x : <[B 5, S 6, D 7], f32> -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @cast_ids(%x: !nn.tensor<[B 5, S 6], i32> {nn.role = "invariant", nn.name = "x", test.values = "9"})
    -> (!nn.tensor<[B 5, S 6], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.cast %x : <[B 5, S 6], i32> -> <[B 5, S 6], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6], f64>
}

nn.layer @round(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.round %x as bf16 : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @constant()
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.constant 2.5 : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @index()
    -> (!nn.tensor<[S 7], i32> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.index : <[S 7], i32>
  nn.return %0 : !nn.tensor<[S 7], i32>
}

nn.layer @dropout_mask(%seed: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "seed", test.values = "9"},
    %step: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "step", test.values = "9"},
    %layer: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "layer", test.values = "9"},
    %offset: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "offset", test.values = "9"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.dropout_mask %seed, %step, %layer, %offset site 3 rate 0.3 : (!nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>, !nn.tensor<[], i32>) -> !nn.tensor<[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @audit(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %layer: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "layer", test.values = "9"},
    %step: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "step", test.values = "9"},
    %offset: !nn.tensor<[], i32> {nn.role = "scalar", nn.name = "offset", test.values = "9"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.audit %x "x" layer %layer step %step offset %offset along "B" : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @reduce_sum(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce sum %x : <[B 5, S 6, D 7], f64> -> <[B 5, S 6], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6], f64>
}

nn.layer @reduce_sum_column(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce sum %x : <[B 5, S 6, D 7], f64> -> <[D 7], f64>
  nn.return %0 : !nn.tensor<[D 7], f64>
}

nn.layer @reduce_sum_outer(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce sum %x : <[B 5, S 6, D 7], f64> -> <[B 5, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, D 7], f64>
}

nn.layer @reduce_sum_all(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce sum %x : <[B 5, S 6, D 7], f64> -> <[], f64>
  nn.return %0 : !nn.tensor<[], f64>
}

nn.layer @reduce_max_of(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce max %x : <[B 5, S 6, D 7], f64> -> <[B 5, S 6], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6], f64>
}

nn.layer @reduce_max_column(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce max %x : <[B 5, S 6, D 7], f64> -> <[S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[S 6, D 7], f64>
}

nn.layer @reduce_max_all(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.reduce max %x : <[B 5, S 6, D 7], f64> -> <[], f64>
  nn.return %0 : !nn.tensor<[], f64>
}

nn.layer @broadcast(%x: !nn.tensor<[S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.broadcast %x : <[S 6, D 7], f64> -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @broadcast_number(%x: !nn.tensor<[], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.broadcast %x : <[], f64> -> <[S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[S 6, D 7], f64>
}

nn.layer @floor_pow2(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x", test.values = "positive"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.floor_pow2 %x : <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @split(%x: !nn.tensor<[B 5, S 12, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 4, in.S 3, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.split %x "S" by 3 : <[B 5, S 12, D 7], f64> -> <[B 5, S 4, in.S 3, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 4, in.S 3, D 7], f64>
}

nn.layer @merge(%x: !nn.tensor<[B 5, S 4, in.S 3, D 7], f64> {nn.role = "invariant", nn.name = "x"})
    -> (!nn.tensor<[B 5, S 12, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.merge %x "S" : <[B 5, S 4, in.S 3, D 7], f64> -> <[B 5, S 12, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 12, D 7], f64>
}

nn.layer @contract_linear(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7, H 6, K 5], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, H 6, K 5], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.contract %x, %y : (<[B 5, S 6, D 7], f64>, <[D 7, H 6, K 5], f64>) -> <[B 5, S 6, H 6, K 5], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, H 6, K 5], f64>
}

nn.layer @contract_back(%x: !nn.tensor<[B 5, S 6, H 6, K 5], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7, H 6, K 5], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.contract %x, %y : (<[B 5, S 6, H 6, K 5], f64>, <[D 7, H 6, K 5], f64>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @contract_weight(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, S 6, H 6, K 5], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[D 7, H 6, K 5], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.contract %x, %y : (<[B 5, S 6, D 7], f64>, <[B 5, S 6, H 6, K 5], f64>) -> <[D 7, H 6, K 5], f64>
  nn.return %0 : !nn.tensor<[D 7, H 6, K 5], f64>
}

nn.layer @contract_batched(%x: !nn.tensor<[B 5, S 6, K 5], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[B 5, T 7, K 5], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[B 5, S 6, T 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.contract %x, %y : (<[B 5, S 6, K 5], f64>, <[B 5, T 7, K 5], f64>) -> <[B 5, S 6, T 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, T 7], f64>
}

nn.layer @contract_dot(%x: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %y: !nn.tensor<[D 7], f64> {nn.role = "invariant", nn.name = "y"})
    -> (!nn.tensor<[], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.contract %x, %y : (<[D 7], f64>, <[D 7], f64>) -> <[], f64>
  nn.return %0 : !nn.tensor<[], f64>
}

nn.layer @rope(%x: !nn.tensor<[B 5, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "x"},
    %cos: !nn.tensor<[S 6, half.K 2], f64> {nn.role = "invariant", nn.name = "cos"},
    %sin: !nn.tensor<[S 6, half.K 2], f64> {nn.role = "invariant", nn.name = "sin"})
    -> (!nn.tensor<[B 5, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.rope %x, %cos, %sin over "K" : <[B 5, S 6, H 8, K 4], f64>, <[S 6, half.K 2], f64>, <[S 6, half.K 2], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, H 8, K 4], f64>
}

nn.layer @rope_inverse(%x: !nn.tensor<[B 5, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "x"},
    %cos: !nn.tensor<[S 6, half.K 2], f64> {nn.role = "invariant", nn.name = "cos"},
    %sin: !nn.tensor<[S 6, half.K 2], f64> {nn.role = "invariant", nn.name = "sin"})
    -> (!nn.tensor<[B 5, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.rope %x, %cos, %sin over "K" inverse : <[B 5, S 6, H 8, K 4], f64>, <[S 6, half.K 2], f64>, <[S 6, half.K 2], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, H 8, K 4], f64>
}

nn.layer @lookup(%t: !nn.tensor<[V 10, D 7], f64> {nn.role = "invariant", nn.name = "t"},
    %ids: !nn.tensor<[B 5, S 6], i32> {nn.role = "invariant", nn.name = "ids", test.values = "10"})
    -> (!nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.lookup %t["V" = %ids] : (<[V 10, D 7], f64>, <[B 5, S 6], i32>) -> <[B 5, S 6, D 7], f64>
  nn.return %0 : !nn.tensor<[B 5, S 6, D 7], f64>
}

nn.layer @lookup_grad(%x: !nn.tensor<[B 5, S 6, D 7], f64> {nn.role = "invariant", nn.name = "x"},
    %ids: !nn.tensor<[B 5, S 6], i32> {nn.role = "invariant", nn.name = "ids", test.values = "10"})
    -> (!nn.tensor<[V 10, D 7], f64> {nn.role = "carried", nn.name = "y0"}) {
  %0 = nn.lookup_grad %x["V" = %ids] : (<[B 5, S 6, D 7], f64>, <[B 5, S 6], i32>) -> <[V 10, D 7], f64>
  nn.return %0 : !nn.tensor<[V 10, D 7], f64>
}

nn.layer @attention(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "v"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "carried", nn.name = "y1"}) {
  %0, %1 = nn.attention %q, %k, %v <query = "S", key = "T", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>)
  nn.return %0, %1 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>
}

nn.layer @attention_grad(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "v"},
    %out: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "out"},
    %lse: !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "invariant", nn.name = "lse", test.values = "positive"},
    %dout: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "dout"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, T 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y1"}, !nn.tensor<[B 3, T 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y2"}) {
  %0, %1, %2 = nn.attention_grad %q, %k, %v, %out, %lse, %dout <query = "S", key = "T", heads = "H", groups = "H", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>)
  nn.return %0, %1, %2 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, H 8, K 4], f64>
}

nn.layer @attention_groups(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, G 4, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, G 4, K 4], f64> {nn.role = "invariant", nn.name = "v"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "carried", nn.name = "y1"}) {
  %0, %1 = nn.attention %q, %k, %v <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>)
  nn.return %0, %1 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>
}

nn.layer @attention_grad_groups(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, G 4, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, G 4, K 4], f64> {nn.role = "invariant", nn.name = "v"},
    %out: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "out"},
    %lse: !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "invariant", nn.name = "lse", test.values = "positive"},
    %dout: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "dout"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, T 6, G 4, K 4], f64> {nn.role = "carried", nn.name = "y1"}, !nn.tensor<[B 3, T 6, G 4, K 4], f64> {nn.role = "carried", nn.name = "y2"}) {
  %0, %1, %2 = nn.attention_grad %q, %k, %v, %out, %lse, %dout <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>)
  nn.return %0, %1, %2 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>, !nn.tensor<[B 3, T 6, G 4, K 4], f64>
}

nn.layer @attention_two(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, G 2, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, G 2, K 4], f64> {nn.role = "invariant", nn.name = "v"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "carried", nn.name = "y1"}) {
  %0, %1 = nn.attention %q, %k, %v <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>)
  nn.return %0, %1 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>
}

nn.layer @attention_grad_two(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, G 2, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, G 2, K 4], f64> {nn.role = "invariant", nn.name = "v"},
    %out: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "out"},
    %lse: !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "invariant", nn.name = "lse", test.values = "positive"},
    %dout: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "dout"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, T 6, G 2, K 4], f64> {nn.role = "carried", nn.name = "y1"}, !nn.tensor<[B 3, T 6, G 2, K 4], f64> {nn.role = "carried", nn.name = "y2"}) {
  %0, %1, %2 = nn.attention_grad %q, %k, %v, %out, %lse, %dout <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>)
  nn.return %0, %1, %2 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>, !nn.tensor<[B 3, T 6, G 2, K 4], f64>
}

nn.layer @attention_one(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, G 1, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, G 1, K 4], f64> {nn.role = "invariant", nn.name = "v"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "carried", nn.name = "y1"}) {
  %0, %1 = nn.attention %q, %k, %v <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>)
  nn.return %0, %1 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>
}

nn.layer @attention_grad_one(%q: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "q"},
    %k: !nn.tensor<[B 3, T 6, G 1, K 4], f64> {nn.role = "invariant", nn.name = "k"},
    %v: !nn.tensor<[B 3, T 6, G 1, K 4], f64> {nn.role = "invariant", nn.name = "v"},
    %out: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "out"},
    %lse: !nn.tensor<[B 3, S 6, H 8], f64> {nn.role = "invariant", nn.name = "lse", test.values = "positive"},
    %dout: !nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "invariant", nn.name = "dout"})
    -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64> {nn.role = "carried", nn.name = "y0"}, !nn.tensor<[B 3, T 6, G 1, K 4], f64> {nn.role = "carried", nn.name = "y1"}, !nn.tensor<[B 3, T 6, G 1, K 4], f64> {nn.role = "carried", nn.name = "y2"}) {
  %0, %1, %2 = nn.attention_grad %q, %k, %v, %out, %lse, %dout <query = "S", key = "T", heads = "H", groups = "G", scale = 0.5, mask = <causal>> : (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, S 6, H 8], f64>, !nn.tensor<[B 3, S 6, H 8, K 4], f64>) -> (!nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>)
  nn.return %0, %1, %2 : !nn.tensor<[B 3, S 6, H 8, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>, !nn.tensor<[B 3, T 6, G 1, K 4], f64>
}
