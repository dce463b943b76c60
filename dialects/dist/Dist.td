//===- Dist.td - layouts over a mesh, and the collectives that change them ---===//
//
// How the ranks of a mesh share a value, and the operations that turn one layout
// into another. Every collective of a program is the change of a layout.
//
// One decision: a layout is an attribute beside a value, not part of its type. Ops
// of `nn` know nothing of ranks: the same op stands in the serial program, in the
// sharded one with global sizes, and in that with the sizes of one rank.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_DIST
#define TPLAN_DIST

include "dialects/nn/NN.td"
include "dialects/dist/DistEnums.td"

def Dist_Dialect : Dialect {
  let name = "dist";
  let cppNamespace = "::tplan::dist";
  let summary = "layouts of values over the ranks of a mesh, and collectives";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tplan::nn::NNDialect"];
}

class Dist_Attr<string name, string mnem> : AttrDef<Dist_Dialect, name> {
  let mnemonic = mnem;
}

//===----------------------------------------------------------------------===//
// Mesh and layouts
//===----------------------------------------------------------------------===//

def Dist_AxisAttr : Dist_Attr<"Axis", "axis"> {
  let summary = "an axis of the mesh, or a piece of one";
  let description = [{
    `#dist.axis<"dp", 4>`; an axis of the plan that layouts cut in pieces is several here, the first
    varying slowest: `#dist.axis<"tp.0", 2 of "tp">`, `#dist.axis<"tp.1", 4 of "tp">`.
  }];
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size,
                        OptionalParameter<"::mlir::StringAttr">:$plan_axis);
  let assemblyFormat = "`<` $name `,` $size (`of` $plan_axis^)? `>`";
}

def Dist_GranuleAttr : Dist_Attr<"Granule", "granule"> {
  let summary = "blocks of a dimension are multiples of so many positions";
  let parameters = (ins StringRefParameter<"dimension">:$dim, "int64_t":$size);
  let assemblyFormat = "`<` $dim `,` $size `>`";
}

def Dist_UnaskedAttr : Dist_Attr<"Unasked", "unasked"> {
  let summary = "which cut a collective of activations undoes, though no line of the plan asks for it";
  let description = [{
    Made by `derive-collectives` as the attribute `dist.unasked` of a collective, read by
    `warn-waits`. `dim` is cut by the item `line` of the plan; a cut of one of the dimensions
    `instead` would avoid the collective.

    `#dist.unasked<gathers "H", line "shard.0", instead ["F"]>`
  }];
  let parameters = (ins EnumParameter<Dist_Undone>:$how, "::mlir::StringAttr":$dim,
                        "::mlir::StringAttr":$line, "::mlir::ArrayAttr":$instead);
  let assemblyFormat = "`<` $how $dim `,` `line` $line `,` `instead` $instead `>`";
}

def Dist_MeshAttr : Dist_Attr<"Mesh", "mesh"> {
  let summary = "the ranks, as a grid: the first axis varies slowest over them";
  let description = [{
    Made by `assign-layouts` as the attribute `dist.mesh` of the module, read up to `lower`.
    A layout names axes by their names here. Beside them stand the dimensions whose blocks are
    rounded up, cut or not, because rows of memory begin where libraries want them. Along the axis
    `stages` ranks have other layers and not other blocks: no layout names it.

    `#dist.mesh<<"pp", 2>, <"dp", 4>, stages "pp", granules <"V", 8>>`; `#dist.mesh<>` is one rank.

    (C1) an axis, and a dimension with a granule, stands once; a granule is positive.
    (C2) `stages` is an axis.
  }];
  let parameters = (ins ArrayRefParameter<"AxisAttr">:$axes,
                        OptionalArrayRefParameter<"GranuleAttr">:$granules,
                        OptionalParameter<"::mlir::StringAttr">:$stages);
  let builders = [AttrBuilder<(ins CArg<"::llvm::ArrayRef<AxisAttr>", "{}">:$axes), [{
    return $_get($_ctxt, axes, ::llvm::ArrayRef<GranuleAttr>(), ::mlir::StringAttr());
  }]>];
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getNumRanks() const;
    /// Number of an axis, or -1.
    int64_t find(::llvm::StringRef axis) const;
    int64_t sizeOf(::mlir::StringAttr axis) const;
    /// The axis of the plan of which an axis is a piece, or which it is.
    ::llvm::StringRef planAxisOf(::llvm::StringRef axis) const;
    /// Product of the sizes.
    int64_t sizeOf(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    /// Axes over which values of a layer are cut or repeated: all except that of the stages.
    Axes getAxesInStage() const;
    /// Ranks along the axis of the stages; 1 without one.
    int64_t getNumStageRanks() const { return getStages() ? sizeOf(getStages()) : 1; }
    /// In the order of the mesh, each once.
    Axes sorted(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    /// Positions in a block of a dimension that these axes cut, or that none cut: positions that
    /// the last blocks lack are padding.
    int64_t blockOf(nn::DimAttr dim, ::llvm::ArrayRef<::mlir::StringAttr> axes) const;
  }];
}

def Dist_ShardAttr : Dist_Attr<"Shard", "shard"> {
  let summary = "a dimension cut into blocks, one for each coordinate of some axes";
  let description = [{
    `H over [tp]`: block i is with the ranks whose coordinates on the axes, as digits, are i: the
    first axis is the highest digit. Blocks have ceil(size / blocks) elements, rounded up to the
    dimension's granule if the mesh names one; what the last ones lack is padding.
  }];
  let parameters = (ins "::mlir::StringAttr":$dim, ArrayRefParameter<"::mlir::StringAttr">:$axes);
  let hasCustomAssemblyFormat = 1;
}

def Dist_RowsAttr : Dist_Attr<"Rows", "rows"> {
  let summary = "several dimensions read as one, and cut into blocks of so many rows";
  let description = [{
    `rows [H, K] by 8 over [dp]`: the local positions along H and K, as one number, are cut into
    blocks of 8; the last blocks may be shorter or empty. With `in_whole` a rank holds memory
    for all rows, of which its own block is valid: what a reduce-scatter in place leaves.
  }];
  let parameters = (ins ArrayRefParameter<"::mlir::StringAttr">:$dims, "int64_t":$block,
                        ArrayRefParameter<"::mlir::StringAttr">:$axes, "bool":$inWhole);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    RowsAttr withInWhole(bool inWhole) const {
      return get(getContext(), getDims(), getBlock(), getAxes(), inWhole);
    }
  }];
}

def Dist_LayoutAttr : Dist_Attr<"Layout", "layout"> {
  let summary = "how the ranks of the mesh share a value";
  let description = [{
    Along each dimension the axes that cut it; rows that axes cut after that; and the axes over
    which a sum or a maximum is pending: the value is the sum (maximum) of what the ranks along
    them hold. Over all other axes the value is repeated.

    `#dist.layout<B over [dp], H over [tp], sum over [cp]>`; `#dist.layout<>` is whole everywhere.

    (C1) no axis occurs twice. (C2) dimensions and rows are dimensions of the value (checked
    by `check-layouts`). (C3) a dimension, `rows`, `sum` and `max` stand once.
  }];
  let parameters = (ins ArrayRefParameter<"ShardAttr">:$shards, // by name of the dimension
                        OptionalParameter<"RowsAttr">:$rows,
                        ArrayRefParameter<"::mlir::StringAttr">:$sum, // in the order of the mesh
                        ArrayRefParameter<"::mlir::StringAttr">:$max);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    /// Axes that cut a dimension; empty: none.
    ::llvm::ArrayRef<::mlir::StringAttr> axesOf(::llvm::StringRef dim) const;
    bool isPending() const { return !getSum().empty() || !getMax().empty(); }
    /// All axes that occur.
    Axes used() const;
    LayoutAttr withAxes(::mlir::StringAttr dim, ::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    LayoutAttr withRows(RowsAttr rows) const;
    LayoutAttr withSum(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    LayoutAttr withMax(::llvm::ArrayRef<::mlir::StringAttr> axes) const;
    LayoutAttr settled() const { return withSum({}).withMax({}); }
  }];
}

//===----------------------------------------------------------------------===//
// Operations
//===----------------------------------------------------------------------===//

class Dist_Op<string mnemonic, list<Trait> traits = []> : Op<Dist_Dialect, mnemonic, traits>;

def Dist_AxisArray : TypedArrayAttrBase<StrAttr, "names of axes">;

def Dist_ReshardOp : Dist_Op<"reshard", [Pure, SameOperandsAndResultType]> {
  let summary = "the same value in another layout";
  let description = [{
    Made by `assign-layouts` where an op takes a value otherwise than it is made; the layout of
    the result stands in `dist.layouts`. Replaced by `derive-collectives` with the cheapest
    operations below that do it. Sizes are global.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($result)";
}

def Dist_CollectiveOp : Dist_Op<"collective", [Pure]> {
  let summary = "ranks along some axes exchange blocks, or sum what they hold";
  let description = [{
    Made by `derive-collectives`, consumed by `fuse`, which makes `rt.collective` of it.

    What each kind does stands with it, in DistEnums.td. `axes` are in the order of the blocks.
    Until `localize` sizes are global, then those of a rank.
    (C1) the axes are of the mesh, each once, and one at least. (C2) `dim` is a dimension of the
    operand: not given for all_reduce, always for all_to_all, for the others unless rows are meant;
    `to` likewise, for all_to_all alone. (C3) `sources` for permute alone: a member for each member.
    (C4) the layouts of operand and result differ by what the kind does (checked by `check-layouts`).
  }];
  let arguments = (ins Dist_CollectiveKind:$kind, NN_AnyTensor:$x, Dist_AxisArray:$axes,
                       NN_ReduceKind:$reduction, OptionalAttr<StrAttr>:$dim, OptionalAttr<StrAttr>:$to,
                       OptionalAttr<DenseI32ArrayAttr>:$sources);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    $kind $reduction $x `over` $axes (`dim` $dim^)? (`to` $to^)? (`sources` $sources^)? attr-dict
    `:` type($x) `->` type($result)
  }];
  let hasVerifier = 1;
}

def Dist_SliceOp : Dist_Op<"slice", [Pure]> {
  let summary = "the rank's own block of a value that it holds whole";
  let description = [{
    Made by `derive-collectives`, consumed by `fuse`. Blocks of `dim`, or of the rows. No byte
    leaves the rank, and where the blocks are contiguous none moves.
    (C1) the axes are of the mesh, each once, and one at least. (C2) `dim` is a dimension of the
    operand.
  }];
  let arguments = (ins NN_AnyTensor:$x, Dist_AxisArray:$axes, OptionalAttr<StrAttr>:$dim);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x `over` $axes (`dim` $dim^)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def Dist_OwnOp : Dist_Op<"own", [Pure, SameOperandsAndResultType]> {
  let summary = "x on the first rank along the axes, zero on the others: a pending sum of one term";
  let description = [{
    Made by `derive-collectives`, replaced by `localize` with a select on the coordinate.
    (C1) the axes are of the mesh, each once, and one at least.
  }];
  let arguments = (ins NN_AnyTensor:$x, Dist_AxisArray:$axes);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x `over` $axes attr-dict `:` type($result)";
  let hasVerifier = 1;
}

def Dist_PlaceOp : Dist_Op<"place", [Pure]> {
  let summary = "memory for all rows, in which the rank's own block is x";
  let description = [{
    Made by `derive-collectives` where a layout says `in_whole`; `fuse` makes `rt.place` of it. The
    memory is that of the argument that the result updates.
    (C1) the axes are of the mesh, each once, and one at least. (C2) the result has the type of
    `whole`.
  }];
  let arguments = (ins NN_AnyTensor:$x, NN_AnyTensor:$whole, Dist_AxisArray:$axes);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x `into` $whole `over` $axes attr-dict `:` type($x) `,` type($whole) `->` type($result)";
  let hasVerifier = 1;
}

def Dist_ReshapeOp : Dist_Op<"reshape", [Pure]> {
  let summary = "the same bytes as a tensor of other dimensions or elements";
  let description = [{
    Made by `compress-gradients`, so that what ranks exchange has equal blocks in a row of its own;
    consumed by `fuse`, which makes an `rt.slice` that is a view of it, or an `rt.join` where the
    result is returned. No byte moves.
    (C1) both types have as many bytes.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

#endif // TPLAN_DIST
