//===- NNElemental.td - element-wise primitives -----------------------------===//
//
// Part of NN.td: ops that compute each element of their result from those of their operands at the
// same named position.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_NN_ELEMENTAL
#define TPLAN_NN_ELEMENTAL

class NN_Unary<string mnemonic, string what> : NN_Op<mnemonic, [Pure, SameOperandsAndResultType,
      NN_Elemental]> {
  let summary = what;
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`; becomes an op of the
    scalar body of a kernel in `form-kernels`.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

class NN_Binary<string mnemonic, string what> : NN_Op<mnemonic, [Pure,
      NN_Elemental]> {
  let summary = what;
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`; becomes an op of the
    scalar body of a kernel in `form-kernels`. Operands are broadcast by the names of their
    dimensions.
    (C1) the result has every dimension of the operands and no other.
    (C2) operands and result have one element type.
  }];
  let arguments = (ins NN_AnyTensor:$lhs, NN_AnyTensor:$rhs);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)";
  let builders = [OpBuilder<(ins "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state,
          broadcastType(::llvm::cast<Tensor>(lhs.getType()), ::llvm::cast<Tensor>(rhs.getType())),
          lhs, rhs);
  }]>];
  let hasVerifier = 1;
}

def NN_NegOp : NN_Unary<"neg", "-x">;
def NN_ExpOp : NN_Unary<"exp", "e to the x">;
def NN_LogOp : NN_Unary<"log", "natural logarithm">;
def NN_TanhOp : NN_Unary<"tanh", "hyperbolic tangent">;
def NN_ErfOp : NN_Unary<"erf", "Gauss error function">;
def NN_SinOp : NN_Unary<"sin", "sine, x in radians">;
def NN_CosOp : NN_Unary<"cos", "cosine, x in radians">;
def NN_RsqrtOp : NN_Unary<"rsqrt", "1 / sqrt(x)">;
def NN_SqrtOp : NN_Unary<"sqrt", "square root">;
def NN_FloorPow2Op : NN_Unary<"floor_pow2",
    "the largest power of two that is at most x > 0: the bits of its significand are cleared">;

def NN_AddOp : NN_Binary<"add", "sum">;
def NN_SubOp : NN_Binary<"sub", "difference">;
def NN_MulOp : NN_Binary<"mul", "product">;
def NN_DivOp : NN_Binary<"div", "quotient">;
def NN_MaxOp : NN_Binary<"max", "the larger; the cotangent of a tie goes to lhs">;
def NN_MinOp : NN_Binary<"min", "the smaller; the cotangent of a tie goes to lhs">;

def NN_CmpKind : I32EnumAttr<"CmpKind", "comparison", [
    I32EnumAttrCase<"eq", 0>, I32EnumAttrCase<"ne", 1>, I32EnumAttrCase<"lt", 2>,
    I32EnumAttrCase<"le", 3>, I32EnumAttrCase<"gt", 4>, I32EnumAttrCase<"ge", 5>]> {
  let cppNamespace = "::tplan::nn";
}

def NN_CmpOp : NN_Op<"cmp", [Pure, NN_Elemental]> {
  let summary = "comparison, as i1; ordered, so false where an operand is NaN";
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`, and by `localize`
    where padding is masked; becomes `arith.cmpf` or `arith.cmpi` of a kernel's body in
    `form-kernels`.
  }];
  let arguments = (ins NN_CmpKind:$kind, NN_AnyTensor:$lhs, NN_AnyTensor:$rhs);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$kind $lhs `,` $rhs attr-dict `:` `(` type($lhs) `,` type($rhs) `)` `->` type($result)";
}

def NN_SelectOp : NN_Op<"select", [Pure, NN_Elemental]> {
  let summary = "on_true where condition, else on_false; broadcasts by name";
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`, and by `localize`
    where padding is masked; becomes `arith.select` of a kernel's body in `form-kernels`.
  }];
  let arguments = (ins NN_AnyTensor:$condition, NN_AnyTensor:$on_true, NN_AnyTensor:$on_false);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    $condition `,` $on_true `,` $on_false attr-dict
    `:` `(` type($condition) `,` type($on_true) `,` type($on_false) `)` `->` type($result)
  }];
}

def NN_CastOp : NN_Op<"cast", [Pure, NN_Elemental]> {
  let summary = "another element type, rounded to nearest even";
  let description = [{
    Made by `expand-builtins` and by the phase `precision`; becomes conversions of a kernel's
    body in `form-kernels`. What is too large for f8 becomes its largest number, with its sign; a
    NaN stays NaN. A float becomes an i8 by rounding to nearest even, if it is within
    127.5 of zero; i32 and i64 by leaving out the fraction.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def NN_RoundOp : NN_Op<"round", [Pure, SameOperandsAndResultType,
                                 NN_Elemental]> {
  let summary = "rounds to the values of a narrower type without changing the type";
  let description = [{
    For the oracle of a bf16 plan, an f64 program that rounds where the plan does. Made by
    `precision` (widen-roundings), consumed by `fuse` as a cast there and back, each rounded once.
  }];
  let arguments = (ins NN_AnyTensor:$x, TypeAttr:$as);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x `as` $as attr-dict `:` type($result)";
}

def NN_PackOp : NN_Op<"pack", [Pure, NN_Elemental]> {
  let summary = "the low four bits of eight bytes as four bytes";
  let description = [{
    Made by `compress-gradients`; becomes integer arithmetic of a kernel's body in `form-kernels`.
    Byte k of x, an i64, gives bits 4k to 4k + 3 of the result, an i32; byte 0 is the lowest. The
    high four bits of each byte are zero.
    (C1) x has elements i64, the result i32, and the same dimensions.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_UnpackOp : NN_Op<"unpack", [Pure, NN_Elemental]> {
  let summary = "four bytes as eight bytes of four bits each";
  let description = [{
    Made by `compress-gradients`, the inverse of `nn.pack`.
    (C1) x has elements i32, the result i64, and the same dimensions.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_ConstantOp : NN_Op<"constant", [Pure, NN_Elemental]> {
  let summary = "one number in every element";
  let description = [{
    Made wherever a formula has a number; becomes `arith.constant` of a kernel's body in
    `form-kernels`.
  }];
  let arguments = (ins F64Attr:$value);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$value attr-dict `:` type($result)";
}

def NN_IndexOp : NN_Op<"index", [Pure, NN_Elemental]> {
  let summary = "the logical position along the result's only dimension, as i32";
  let description = [{
    Made by `model` without starts: local positions are the logical ones. `localize` adds the start
    of the rank's block where axes cut the dimension. `fuse` makes an `rt.position` of it.

    *Starts and pieces*, here and on every op that reads positions: a rank has a dimension as
    pieces, one after the other, of the static sizes `pieces`. Piece i begins at the logical position
    `starts[i]`, which a step computes, so that one function serves all ranks. A block is one piece;
    zig-zag order is two. Pieces may be in any order. Without starts there are no pieces.

    (C1) the result has one dimension and element type i32.
    (C2) there is a start for each piece, and the pieces, of at least one element each, cover the
    dimension.
  }];
  let arguments = (ins Variadic<NN_Start>:$starts, OptionalAttr<DenseI64ArrayAttr>:$pieces);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "(`from` $starts^ `pieces` $pieces)? attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def NN_ScalarOp : NN_Op<"scalar", [Pure]> {
  let summary = "a step scalar by name; an argument of role scalar once the layer is outlined";
  let description = [{
    Made by `model` inside `tplan` bodies, gone after it. Names and types:
    docs/architecture.md, Scalars.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs NN_Scalar:$result);
  let assemblyFormat = "$name attr-dict `:` type($result)";
}

def NN_DropoutMaskOp : NN_Op<"dropout_mask", [Pure, NN_Elemental]> {
  let summary = "0 with probability `rate`, else 1 / (1 - rate), a function of logical indices alone";
  let description = [{
    Made by `expand-builtins`, and by `add-probes`; becomes integer arithmetic of a kernel's
    body in `form-kernels`.
    Element e is kept where the 32-bit number of e is at least rate * 2^32. That number is word
    e mod 4 of Philox 4x32-10 with key (seed, layer * 65536 + site) and counter (e / 4 low, e / 4 high,
    step, 0), where e is the linear index of the element in the result's type, with `offset` added to
    the position along the first dimension: its place in the global batch. On a rank that has parts of
    the dimensions, `whole` are their logical sizes, which count instead of those of the type, and
    each dimension has `pieces` and their `starts`, as those of `nn.index`, dimension after
    dimension. `localize` adds the three. Equal under every plan, and
    computed again rather than kept. Part E has a constant 1 in its place.
    Source: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011.

    (C1) with starts, and only then, there are `whole` and `pieces`, an entry for each dimension.
    (C2) there is a start for each piece, and the pieces of a dimension cover it.
  }];
  let arguments = (ins NN_Scalar:$seed, NN_Scalar:$step, NN_Scalar:$layer, NN_Scalar:$offset,
                       I64Attr:$site, F64Attr:$rate, Variadic<NN_Start>:$starts,
                       OptionalAttr<DenseI64ArrayAttr>:$whole, OptionalAttr<NN_PiecesArray>:$pieces);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    $seed `,` $step `,` $layer `,` $offset `site` $site `rate` $rate
    (`of` $whole^ `from` $starts `pieces` $pieces)? attr-dict
    `:` functional-type(operands, $result)
  }];
  let hasVerifier = 1;
}

#endif // TPLAN_NN_ELEMENTAL
