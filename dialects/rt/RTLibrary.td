//===- RTLibrary.td - attention by a library --------------------------------===//
//
// Ops in RT.td are code of ours, or GEMMs; this one is attention as cuDNN computes it. One
// function, `matchLibraryAttention`, says what the library takes: `choose-attention` decides by it,
// and the verifier checks the op with it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RT_LIBRARY
#define TPLAN_RT_LIBRARY

def RT_AttentionOp : RT_Op<"attention", [DeclareOpInterfaceMethods<RT_Call, ["getWorkspace"]>]> {
  let summary = "library attention, forward or backward";
  let description = [{
    Made by `form-kernels` where `choose-attention` says so. Operands and results, in this order:
    - forward: q, k, v -> out, lse.
    - backward: q, k, v, out, d_out, lse -> d_q, d_k, d_v.
    They mean what those of `rt.tile` mean: lse is the natural log-sum-exp of the scaled scores,
    so the passes of one attention may be computed one by the library, one by a kernel. All rows of
    a bounded outermost dimension are computed, in use or not.

    Rounding is the library's: it multiplies in the element type and adds in f32; probabilities and
    their gradients are rounded to the element type before they are multiplied again.

    In the backward, the library keeps a gradient of scores for each pair of a query and a key,
    because so it adds in one order; that is most of the workspace. So not all heads are computed at
    once, but a chunk of them, or of batches of them, as large as `chunk` bytes of workspace allow;
    without the attribute 2 GiB (`LibraryLimits`).

    In an object it is a tp_attention; none is left after `lower`.

    (C1) as many operands and results as the pass has. (C2) q, k and v are such that the library
    takes them. (C3) the other tensors have the type of q or k; lse has q's dimensions without the
    width, queries last, in f32.
  }];
  let arguments = (ins RT_AttentionPass:$pass, Variadic<NN_AnyTensor>:$args,
                       NN_AttentionAttr:$spec, OptionalAttr<I64Attr>:$chunk);
  let results = (outs Variadic<NN_AnyTensor>:$results);
  let assemblyFormat = [{
    $pass $args $spec attr-dict `:` functional-type($args, results)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    LibraryAttention getShape();
  }];
}

#endif // TPLAN_RT_LIBRARY
