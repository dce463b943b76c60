//===- RT.td - calls with known bytes: fused kernels and library calls -----===//
//
// What `fuse` makes of the functions F, B, I, W and E. From here on the listed
// order of a tensor's dimensions is its order in memory (row-major, packed), and
// every op answers what it costs.
//
// One decision: a kernel is a body on *scalars* with named loops. Operands are
// indexed by the names of their dimensions, so a body carries no index
// arithmetic, and one body serves the CPU's vectors and the GPU's warps.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RT
#define TPLAN_RT

include "dialects/dist/Dist.td"
include "dialects/rt/RTEnums.td"
include "dialects/rt/RTInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def RT_Dialect : Dialect {
  let name = "rt";
  let cppNamespace = "::tplan::rt";
  let summary = "fused kernels and library calls on memory";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
  let dependentDialects = ["::tplan::nn::NNDialect", "::tplan::dist::DistDialect"];
}

class RT_Op<string mnemonic, list<Trait> traits = []> : Op<RT_Dialect, mnemonic, traits>;

def RT_Event : TypeDef<RT_Dialect, "Event">,
               BuildableType<"::tplan::rt::EventType::get($_builder.getContext())"> {
  let mnemonic = "event";
  let summary = "the moment at which a call that was started is complete";
}

//===----------------------------------------------------------------------===//
// Kernels
//===----------------------------------------------------------------------===//

def RT_AccessAttr : AttrDef<RT_Dialect, "Access"> {
  let mnemonic = "access";
  let summary = "how a kernel reads an input, or adds to an output, other than in place";
  let description = [{
    - `identity`: at the loops' position.
    - `rotate` of the last dimension, of size 2n: element i is x[(i + n) mod 2n], negated
      for i < n (`by` = 0) or for i >= n (`by` = 1, the inverse).
    - `repeat` of the last dimension, of size n, along the loop `dim` of 2n: element i is x[i mod n].
    - `gather` along `dim`: at position id, where id is the element of input number `by`
      (i32) at the same place. An id below zero (padding) reads zero.
    - `scatter` along `dim` (outputs of column kernels): the element is added at
      position id of input number `by`; rows in ascending order. The output's old
      content is the first addend. Rows with an id below zero are skipped.
  }];
  let parameters = (ins EnumParameter<RT_AccessKind>:$kind,
                        StringRefParameter<"dimension">:$dim, "int64_t":$by);
  let assemblyFormat = "`<` $kind `,` $dim `,` $by `>`";
}

def RT_CallRecordAttr : AttrDef<RT_Dialect, "CallRecord"> {
  let mnemonic = "call_record";
  let summary = "what the host program and the profile say of a call";
  let description = [{
    Made by `record-calls` as the attribute `tp.call` of each call, read by `lower-host`. `flops` and
    `bytes` (read and written, each operand once) are those of one call.

    `#rt.call_record<gemm, tasks 1, flops 1024, bytes 896>`
  }];
  let parameters = (ins EnumParameter<RT_Category>:$category, "int64_t":$tasks, "int64_t":$flops,
                        "int64_t":$bytes);
  let assemblyFormat = "`<` $category `,` `tasks` $tasks `,` `flops` $flops `,` `bytes` $bytes `>`";
}

def RT_DeviceKernelAttr : AttrDef<RT_Dialect, "DeviceKernel"> {
  let mnemonic = "device_kernel";
  let summary = "how a kernel is launched on a device: blocks, and threads of each";
  let description = [{
    Made by the passes of `lower` that emit code for a device, in the dictionary `tp.launches` of the
    `gpu.module`; read for the host program. A `counted` kernel takes how many rows are in use.
    0 blocks: each launch says how many.

    `#rt.device_kernel<16 x 256>`, `#rt.device_kernel<0 x 256, counted = true>`
  }];
  let parameters = (ins "int64_t":$blocks, "int64_t":$threads,
                        DefaultValuedParameter<"bool", "false">:$counted);
  let assemblyFormat = "`<` $blocks `x` $threads (`,` `counted` `=` $counted^)? `>`";
}

def RT_DimArray : TypedArrayAttrBase<NN_DimAttr, "named loops">;

def RT_KernelOp : RT_Op<"kernel", [IsolatedFromAbove, Symbol, SingleBlock]> {
  let summary = "a fused kernel: named loops around a body on scalars";
  let description = [{
    Made by `fuse` (equal kernels once), and by `chunk-exchanges` for parts; code by `lower`, gone
    after it.

    The loops are `rows` (outer) then `cols` (inner; contiguous in every identity
    operand that has them, except in a transpose kernel). The block has one
    scalar argument per input: its element at the loops' position, by the names
    of its dimensions; missing names broadcast. The body holds `arith` and `math`
    ops on f64, f32, bf16, f16, f8, i32, i64, i1 (conversions to and from types narrower than f32 by
    `arith.extf`, `arith.truncf`, to f8 as `nn.cast` says; all arithmetic in f32 or f64), and

    - `rt.position`: the index along a loop. Logical positions are computed from it and from starts,
      which are inputs;
    - `rt.row_reduce`: over all columns of the row; its result is the same in the
      whole row;
    - `rt.segment_reduce`: over a run of columns; its result is the same in the whole run;
    - `rt.col_reduce`: over the rows of the task, in ascending order.

    It ends in `rt.yield` of one scalar per output. An output whose type has
    columns is written at every position, one without columns once a row. In a
    row kernel a `col_reduce` value goes to an output with the leading dimension
    `task`: one partial sum per task. In a column kernel each task has all rows
    of some columns.

    `grain` is the number of rows (column kernels: columns) of a task; tasks =
    ceil(rows / grain). It depends on shapes alone, so sums do not depend on
    threads. Order of a row reduction: 64 bytes of lanes of its own type
    (16 of f32, 8 of f64) start at +0, or -infinity for a maximum; lane l adds
    elements l, l + lanes, ... ascending; then lanes are folded in halves (the
    upper half onto the lower). Sums over rows start the same way. A maximum is
    NaN where an element is.

    On a GPU the order is another, fixed by the loops too: element i of a row adds to
    class i mod n, ascending; then neighbouring classes are folded, then neighbouring
    pairs, and so on. n is the number of columns rounded up to a power of two, at most
    512 times the power of two, up to 4, that divides it. In a column kernel row r adds
    to slice r mod m, and slices are folded in halves; m is the power of two at most
    rows / 4 and at most 32, and 1 where rows are scattered. Sums over a task's rows
    and everything else are those of the CPU.

    In an object, a kernel is a tp_kernel. `args` are the inputs, then the outputs,
    each packed and beginning at a multiple of 64 bytes. A bounded outermost row loop
    has one argument more: the address of an i64, the count in use; tasks past it do
    nothing but clear their sums.

    On a CPU `lower` may have a map, row or transpose kernel write an output past the
    caches: one of 64 MiB or more, whose vectors are all aligned and whose elements cost
    little to compute. A task with such an output ends in a fence, so that its stores
    are ordered as ordinary ones are. On a GPU all stores are ordinary.

    (C1) one block argument per input with the element type; one yielded value
    per output. (C2) `accesses` has one entry per input and output. (C3) names of
    inputs and outputs other than gathered, scattered, repeated and `each.task` are loops with the
    same size.
    (C4) only row kernels hold `row_reduce` and `segment_reduce`; all segments are of one size, which
    divides the columns. (C5) a transpose has rows and columns of more than one,
    none with a bound, no `col_reduce`, and columns in each output.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, RT_Skeleton:$skeleton, RT_DimArray:$rows,
                       RT_DimArray:$cols, I64Attr:$grain, TypeAttrOf<FunctionType>:$function_type,
                       TypedArrayAttrBase<RT_AccessAttr, "accesses">:$accesses);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name $skeleton `rows` $rows `cols` $cols `grain` $grain `:` $function_type
    `access` $accesses attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    unsigned getNumInputs() { return getFunctionType().getNumInputs(); }
    unsigned getNumOutputs() { return getFunctionType().getNumResults(); }
    int64_t getNumRows();
    int64_t getNumCols();
    int64_t getNumTasks();
    YieldOp getYield();
    ::llvm::LogicalResult verifyTranspose();
  }];
}

def RT_SumOp : RT_Op<"sum", [Symbol]> {
  let summary = "a kernel of a device that adds up what ranks have, or takes the maximum";
  let description = [{
    Made by `form-sums`, code by `sum-kernels-gpu`; `lower-host` lists it in the tables of the
    program, and it is gone after that. Adds element by element the parts of all members of a group,
    in their order, as the runtime does on a CPU; a narrow type is added in f32 and rounded once.
    Sizes are arguments of each launch.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, NN_ReduceKind:$kind, TypeAttr:$element);
  let assemblyFormat = "$sym_name $kind `of` $element attr-dict";
}

def RT_YieldOp : RT_Op<"yield", [Terminator, Pure, HasParent<"KernelOp">]> {
  let summary = "one scalar per output";
  let description = [{
    Made by `form-kernels` at the end of a kernel's body; becomes the stores of the kernel in
    `lower`.
  }];
  let arguments = (ins Variadic<AnyType>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def RT_RowReduceOp : RT_Op<"row_reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "sum or maximum over the columns of the row";
  let description = [{
    Made by `form-kernels` of an `nn.reduce` along rows; becomes a loop over the row in `lower`.
    Its value is the same in the whole row.
  }];
  let arguments = (ins NN_ReduceKind:$kind, AnyFloat:$x);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($result)";
}

def RT_SegmentReduceOp : RT_Op<"segment_reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "maximum over the columns of a segment of the row";
  let description = [{
    Made by `form-kernels` of an `nn.reduce` over the last of a row kernel's columns. Segments are
    runs of `size` columns; the value is the same in a whole one. On a CPU `lower` makes a loop over
    the segment of it, or a fold of a vector that holds one; on a GPU threads side by side exchange
    what their vectors have. (C1) `kind` is max, whose order is free. (C2) `size` is a power of two,
    a CPU's vector of f32 at least (16), and at most what a warp has in vectors of four (128).
  }];
  let arguments = (ins NN_ReduceKind:$kind, AnyFloat:$x, I64Attr:$size);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$kind $x `of` $size attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def RT_ColReduceOp : RT_Op<"col_reduce", [Pure, SameOperandsAndResultType]> {
  let summary = "sum or maximum over the rows of the task, ascending";
  let description = [{
    Made by `form-kernels` of an `nn.reduce` or `rt.partial_reduce` along columns; becomes a loop
    over rows in `lower`.
  }];
  let arguments = (ins NN_ReduceKind:$kind, AnyFloat:$x);
  let results = (outs AnyFloat:$result);
  let assemblyFormat = "$kind $x attr-dict `:` type($result)";
}

def RT_PositionOp : RT_Op<"position", [Pure]> {
  let summary = "index along a loop, as i32";
  let description = [{
    Made by `form-kernels` of an `nn.index`; becomes the counter of a loop in `lower`.
  }];
  let arguments = (ins StrAttr:$dim);
  let results = (outs I32:$result);
  let assemblyFormat = "$dim attr-dict";
}

/// A word of 32 bits, or one for each element of a vector once a kernel computes on vectors.
def RT_Word32 : AnyTypeOf<[I32, VectorOfAnyRankOf<[I32]>], "i32, or a vector of i32">;

def RT_RandomOp : RT_Op<"random", !listconcat([Pure, SameOperandsAndResultType], ElementwiseMappable.traits)> {
  let summary = "a word of Philox 4x32 with ten rounds, of a key and a counter";
  let description = [{
    Made by `form-kernels` of an `nn.dropout_mask`; becomes a loop over the rounds in
    `expand-random`. `word` (0 .. 3) selects one of the four that a counter gives. Source: Salmon et
    al., "Parallel random numbers: as easy as 1, 2, 3", 2011.
  }];
  let arguments = (ins RT_Word32:$key0, RT_Word32:$key1,
                       RT_Word32:$counter0, RT_Word32:$counter1,
                       RT_Word32:$counter2, RT_Word32:$counter3,
                       RT_Word32:$word);
  let results = (outs RT_Word32:$result);
  let assemblyFormat = [{
    $word `of` `(` $counter0 `,` $counter1 `,` $counter2 `,` $counter3 `)` `key` `(` $key0 `,` $key1 `)`
    attr-dict `:` type($result)
  }];
}

def RT_TileOp : RT_Op<"tile", [Symbol]> {
  let summary = "an attention kernel: two contractions around an online row state";
  let description = [{
    The tile skeleton. Made by `fuse` from `nn.attention` and its gradient, code
    by `lower`. Inputs and outputs, in this order:
    - forward: q, k, v, starts -> out, lse. Tasks: (batch, head, block of queries).
    - backward: q, k, v, d_out, lse, delta, starts -> d_q, d_k, d_v, where delta [B, S, H] =
      sum over K of out * d_out, less d_lse. Tasks: (batch, key head). Where q is
      narrower than its sums (bf16), a fourth output has the type of d_q in f32: the
      workspace in which d_q adds up, as d_q is complete only after the last key.
    lse and delta have the type of the sums: f64 for f64, else f32. Starts are i32 scalars, those of
    the pieces of queries, then those of keys (see `nn.index`); there are none where positions are
    the local ones.

    Other scratch is on the stack of the task: tiles, never a row of scores. Tiles
    where the mask is empty are skipped. With starts a task finds out which these are, and the
    FLOPs are those of all pairs of a query and a key, as many as any starts could need. Keys,
    queries and the heads of a group are added in ascending order. On a GPU a pass is one launch,
    of blocks instead of tasks; 16 threads share the sum of a row's exponentials, and neighbours
    are added first; d_q needs no workspace, which is not touched. `spec` is that of the
    `nn.attention`. The width K is innermost; the other dimensions are in any order.

    Rounding: operands are widened to the type of the sums when a tile is packed;
    scores, probabilities and all sums stay in it; each output is rounded once.

    (C1) as many inputs and outputs as the pass has. (C2) q, k, v and the other
    tensors of their shape have one element type, K innermost, and the same other
    dimensions as q or k; lse and delta have q's without K, in the type of the sums.
    (C3) H is a multiple of G. (C4) there is a start for each piece, and the pieces cover
    the dimension. (C5) only the outermost dimension, and no query, key or head, may have a bound.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, RT_AttentionPass:$pass,
                       TypeAttrOf<FunctionType>:$function_type, NN_AttentionAttr:$spec,
                       OptionalAttr<DenseI64ArrayAttr>:$q_pieces,
                       OptionalAttr<DenseI64ArrayAttr>:$k_pieces);
  let assemblyFormat = [{
    $sym_name $pass `:` $function_type (`queries` $q_pieces^)? (`keys` $k_pieces^)?
    $spec attr-dict
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Sizes of the operands and of the tiles.
    AttentionShape getShape();
    int64_t getNumTasks();
    /// How many inputs are tensors: the starts come after them.
    unsigned getNumTensors();
    /// FLOPs of the tiles that are not skipped; with starts, of all tiles.
    int64_t getFlops();
  }];
}

//===----------------------------------------------------------------------===//
// The host program of a function
//===----------------------------------------------------------------------===//

def RT_FuncOp : RT_Op<"func", [IsolatedFromAbove, FunctionOpInterface, Symbol, NN_Labelled,
                               DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "one part of a layer, as a list of calls";
  let description = [{
    Made by `fuse` from `nn.layer`, with the same arguments, results, roles and
    names; `cut-exchanges` takes gathers, sums and additions out of some, into functions that are no part;
    `merge-pairs` makes one of two, and `cut-last-layer` two of one.
    `memory` gives every value a place, `lower` makes host code.

    (C1) `part` and `layer` come together: a part says whose part it is.
    (C2) a layer has one function for each of its parts.
    (C3) arguments and results have `nn.position`, `nn.slot`, `nn.counts` and `nn.member` as those of
    `nn.layer` do.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<FlatSymbolRefAttr>:$layer, OptionalAttr<NN_PartAttr>:$part,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
    ::mlir::Block &getBlock() { return getBody().front(); }
    ReturnOp getReturn();
    /// The argument that result i updates: it has the same role, one that is updated in place
    /// (carried values and their cotangents are not), and the same name.
    std::optional<unsigned> findUpdatedArg(unsigned result);
    /// Appends an argument with a role and a name.
    ::mlir::BlockArgument addArg(const nn::Label &label, ::mlir::Type type,
                                 ::mlir::Location loc);
  }];
}

def RT_ReturnOp : RT_Op<"return", [Terminator, Pure, HasParent<"FuncOp">]> {
  let summary = "results: each is written by its op straight into the caller's memory";
  let description = [{
    Made by `form-kernels`; `plan-frames` gives what it returns the caller's memory, and
    `lower-host` makes the end of the host function of it.
  }];
  let arguments = (ins Variadic<NN_AnyTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def RT_PartialReduceOp : RT_Op<"partial_reduce", [Pure]> {
  let summary = "sums or maxima over blocks of rows: the first half of one over columns";
  let description = [{
    Made and consumed by `fuse`: the result has a leading dimension `task`, one
    entry per `grain` rows (the dimensions of x that the result lacks).
  }];
  let arguments = (ins NN_ReduceKind:$kind, NN_AnyTensor:$x, I64Attr:$grain);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$kind $x `grain` $grain attr-dict `:` type($x) `->` type($result)";
}

def RT_LaunchOp : RT_Op<"launch", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<SymbolUserOpInterface>, DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "runs a kernel";
  let description = [{
    Made by `form-kernels` and `chunk-exchanges`, becomes a call of `tp_launch` or `tp_launch_device`
    in `lower-host`.
    `in_place` pairs (input, output) that may share memory: the kernel reads an
    element before it writes it. `onto` is what a scattering kernel adds to: its
    only result must be that memory. `count` is the number in use of the dimension
    that has a bound, an i64. (C1) types of args and results are the kernel's.
    (C2) where the outermost dimension of one has a bound there is a count. (C3) a kernel that
    scatters, and no other, has `onto`.
  }];
  let arguments = (ins FlatSymbolRefAttr:$kernel, Variadic<NN_AnyTensor>:$args,
                       Optional<NN_AnyTensor>:$onto, Optional<NN_AnyTensor>:$count,
                       DefaultValuedAttr<DenseI64ArrayAttr, "{}">:$in_place);
  let results = (outs Variadic<NN_AnyTensor>:$results);
  let assemblyFormat = [{
    $kernel `(` $args `)` (`onto` `(` $onto^ `:` type($onto) `)`)?
    (`count` `(` $count^ `:` type($count) `)`)? attr-dict
    `:` functional-type($args, results)
  }];
  let hasVerifier = 1;
}

def RT_MatmulOp : RT_Op<"matmul", [AttrSizedOperandSegments, DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "library GEMM: contraction of two operands by name, batched";
  let description = [{
    Made by `form-kernels` of `nn.contract`, becomes a call of `tp_matmul` in `lower-host`.
    Dimensions of both operands and the result are batches; of both and not the
    result are contracted; the others are rows (lhs) and columns (rhs). With `acc`
    the product is added onto it in place; with `bias` each row of it is added to that, and the sum
    rounded once. With `count`, an i64, only so many of the
    result's outermost dimension are computed, or as many more as share their tiles.
    (C1) rows, columns and contracted dimensions are contiguous groups in each operand.
    (C2) with a count, and only then, the outermost dimension of the result has a bound.
    (C3) no contracted dimension has a bound. (C4) a dimension is in two of operands and result at
    least, and of one size. (C5) a bias has the innermost dimensions of the result, which are the
    columns, and its type; there are no batches, no `acc`, and operands and result are of one type,
    f32, bf16 or f16. (C6) with `chunks` there are no batches, and no `acc`.

    With `chunks` no tile has rows of two of so many equal parts of the rows, so that a GEMM of one
    part computes the same bits: that has `part`, and `chunks` is how many it is one of.

    Operands in f8 have scales, as those of `nn.contract`. (C7) a scale has dimensions of its operand:
    the first of the rows or columns, and the first of those that are contracted, each a contiguous
    group. What it lacks of the latter is a panel, the same for both. There are no batches, no bias
    and no chunks. (C8) `folded` is that of `nn.contract`: there are scales.
  }];
  let arguments = (ins NN_AnyTensor:$lhs, NN_AnyTensor:$rhs, Optional<NN_AnyTensor>:$acc,
                       Optional<NN_AnyTensor>:$bias, Optional<NN_AnyTensor>:$count,
                       Optional<NN_AnyTensor>:$lhs_scale, Optional<NN_AnyTensor>:$rhs_scale,
                       OptionalAttr<I64Attr>:$chunks, UnitAttr:$part, UnitAttr:$folded);
  let results = (outs NN_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs,
                                 CArg<"::mlir::Value", "{}">:$acc, CArg<"::mlir::Value", "{}">:$bias),
                            [{
    build($_builder, $_state, type, lhs, rhs, acc, bias, {}, {}, {}, {}, false, false);
  }]>];
  let assemblyFormat = [{
    $lhs `,` $rhs (`onto` $acc^)? (`bias` $bias^)? (`count` $count^)?
    (`scaled` $lhs_scale^ `,` $rhs_scale)? (`folded` $folded^)? (`chunks` $chunks^)? (`part` $part^)? attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def RT_CopyOp : RT_Op<"copy", [DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "a value under a second name in other memory";
  let description = [{ Made where a function returns an argument, or a value twice. }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def RT_AuditOp : RT_Op<"audit", [AttrSizedOperandSegments, AllTypesMatch<["x", "result"]>,
                                 DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "a value under a second name, written to the file of --audit-scales";
  let description = [{
    Made by `form-kernels` of `nn.audit`, whose operands and attributes it has; becomes a call of
    `tp_audit` in `lower-host`. Copies x.
  }];
  let arguments = (ins NN_AnyTensor:$x, NN_Start:$layer, Optional<NN_Start>:$step,
                       Optional<NN_Start>:$offset, StrAttr:$what, OptionalAttr<StrAttr>:$along,
                       OptionalAttr<DenseI64ArrayAttr>:$whole, OptionalAttr<ArrayAttr>:$axes);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    $x $what `layer` $layer (`step` $step^)? (`offset` $offset^ `along` $along)?
    (`of` $whole^ `axes` $axes)? attr-dict `:` type($x)
  }];
}

//===----------------------------------------------------------------------===//
// Ranks
//===----------------------------------------------------------------------===//

def RT_CollectiveOp : RT_Op<"collective", [DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>,
                                           DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "a collective of the ranks along some axes";
  let description = [{
    Made by `form-kernels` of `dist.collective`, with the sizes of one rank, and by
    `chunk-exchanges` with those of a part; gone with `lower-host`,
    which makes `tp_collectives` of those that follow each other. Bytes are those that one rank sends.
    An all-reduce works in place. Where the blocks are contiguous, the result of a reduce-scatter may
    lie at its place in the operand, and the operand of an all-gather in the result.
    With an event (`order-calls`) it is only started here, and complete at the `rt.await` of the
    event: other calls run meanwhile.
    (C1) the axes are of the mesh, each once, and one at least.
    (C2) an event has one await, after the collective; nothing uses the result before that, and no
    call in between adds onto what it reads.
  }];
  let arguments = (ins Dist_CollectiveKind:$kind, NN_AnyTensor:$x, Dist_AxisArray:$axes,
                       NN_ReduceKind:$reduction, OptionalAttr<StrAttr>:$dim, OptionalAttr<StrAttr>:$to,
                       OptionalAttr<DenseI32ArrayAttr>:$sources);
  let results = (outs NN_AnyTensor:$result, Optional<RT_Event>:$event);
  let assemblyFormat = [{
    $kind $reduction $x `over` $axes (`dim` $dim^)? (`to` $to^)? (`sources` $sources^)? attr-dict
    `:` type($x) `->` type($result) (`,` type($event)^)?
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BlockShape getShape();
    /// Bytes that a rank copies into and out of the buffers of MPI.
    int64_t getBytesStaged();
    /// Bytes of the group's scratch that it uses on a device.
    int64_t getBytesOfScratch();
    /// The op at which it is complete: itself, or an await.
    ::mlir::Operation *getCompletion();
  }];
}

def RT_AwaitOp : RT_Op<"await", [HasParent<"FuncOp">]> {
  let summary = "waits until calls that were started are complete";
  let description = [{
    Made by `order-calls` before the first call that reads what they make; gone with `lower-host`
    (`tp_wait`). It has no result: values are used by their names, after it.

    `%1, %e = rt.collective all_gather sum %0 over ["tp"] dim "S" : <..> -> <..>, !rt.event`
    `rt.await %e`
  }];
  let arguments = (ins Variadic<RT_Event>:$events);
  let assemblyFormat = "$events attr-dict";
}

def RT_SliceOp : RT_Op<"slice", [DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "the rank's own block of a value, or the block of a rank after it";
  let description = [{
    Made by `form-kernels` of `dist.slice`, and by `chunk-exchanges`; gone with `lower-host`
    (`tp_slice`). With `view` the result is that part of the operand's memory, and no byte moves:
    blocks are contiguous, and the operand's memory has room for all of them. With a shift it is
    the block of member (own + shift) mod n; a view over no axes is block `shift` on each rank.
    (C1) the axes are of the mesh, each once; without a view there is one at least. (C2) only a view
    has a shift, which is not negative.

    `%1 = rt.slice view %0 over ["tp"] shift 1 : !whole -> !block`
  }];
  let arguments = (ins NN_AnyTensor:$x, Dist_AxisArray:$axes, OptionalAttr<StrAttr>:$dim,
                       DefaultValuedAttr<I64Attr, "0">:$shift, UnitAttr:$view);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    (`view` $view^)? $x `over` $axes (`dim` $dim^)? (`shift` $shift^)? attr-dict
    `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    BlockShape getShape();
  }];
}

def RT_PlaceOp : RT_Op<"place", [DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "x as the rank's own block of memory for all rows";
  let description = [{
    Made by `form-kernels` of `dist.place`; gone with `lower-host`. Copies x there unless `memory` has
    put it there from the start.
    (C1) the axes are of the mesh, each once, and one at least. (C2) the result has the type of
    `whole`.
  }];
  let arguments = (ins NN_AnyTensor:$x, NN_AnyTensor:$whole, Dist_AxisArray:$axes);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x `into` $whole `over` $axes attr-dict `:` type($x) `,` type($whole) `->` type($result)";
  let hasVerifier = 1;
}

def RT_JoinOp : RT_Op<"join", [DeclareOpInterfaceMethods<RT_Call, ["getAlias", "mustAlias"]>]> {
  let summary = "blocks as one value, whose memory they are made in";
  let description = [{
    Made by `chunk-exchanges` of a value that is made in parts; no byte moves, because `plan-frames`
    makes each part at its place in the whole; gone with `lower-host`. Part i is the block of
    member (own + i) mod n along the axes; without axes it is block i.
    (C1) the axes are of the mesh, each once. (C2) parts have one type, of a whole number of the
    result's bytes, and fill the result. (C3) with axes there is a part for each member.

    `%2 = rt.join %0, %1 over ["tp"] : !block, !block -> !whole`
  }];
  let arguments = (ins Variadic<NN_AnyTensor>:$parts, Dist_AxisArray:$axes);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$parts `over` $axes attr-dict `:` type($parts) `->` type($result)";
  let hasVerifier = 1;
}

include "dialects/rt/RTLibrary.td"

#endif // TPLAN_RT
