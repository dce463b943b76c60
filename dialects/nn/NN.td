//===- NN.td - tensors with named dimensions, and the training step on them ===//
//
// The serial meaning of a model, from `model` to `recompute`. Operands meet by
// the *names* of their dimensions: broadcast, contraction and reduction go by
// name, never by position. The listed order of a type's dimensions says nothing
// about meaning until `fuse`, from where on it is the order in memory.
//
// One decision: composites (norms, activations, losses) are not ops. They are
// written in primitives by `model`, so that differentiation, sharding rules and
// fusion have few ops to know. Attention and table lookups stay whole because
// their kernels are algorithms, not compositions.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_NN
#define TPLAN_NN

include "mlir/IR/OpBase.td"
include "mlir/IR/AttrTypeBase.td"
include "mlir/IR/EnumAttr.td"
include "mlir/IR/BuiltinAttributes.td"
include "mlir/IR/SymbolInterfaces.td"
include "mlir/IR/RegionKindInterface.td"
include "mlir/Interfaces/FunctionInterfaces.td"
include "mlir/Interfaces/CallInterfaces.td"
include "mlir/Interfaces/InferTypeOpInterface.td"
include "mlir/Interfaces/SideEffectInterfaces.td"
include "dialects/nn/Parts.td"

def NN_Dialect : Dialect {
  let name = "nn";
  let cppNamespace = "::tplan::nn";
  let summary = "models and training steps on tensors with named dimensions";
  let useDefaultTypePrinterParser = 1;
  let useDefaultAttributePrinterParser = 1;
}

//===----------------------------------------------------------------------===//
// Types and attributes
//===----------------------------------------------------------------------===//

class NN_Attr<string name, string mnem> : AttrDef<NN_Dialect, name> {
  let mnemonic = mnem;
}

/// A field of an attribute that is a number in f64, printed without its type. A field with a
/// default `value`, such as `::mlir::FloatAttr()` for none, may be left out.
class NN_Number<string desc, string value = ""> : AttrOrTypeParameter<"::mlir::FloatAttr", desc> {
  let parser = "::tplan::nn::parseNumber($_parser)";
  let printer = "$_printer.printAttributeWithoutType($_self)";
  let defaultValue = value;
}

def NN_DimAttr : NN_Attr<"Dim", "dim"> {
  let summary = "a named dimension: name, size, and whether size is a bound";
  let description = [{
    `B 8` has eight elements along B; `T max 64` has at most 64, and the count
    comes with the data at run time.
  }];
  let parameters = (ins StringRefParameter<"name">:$name, "int64_t":$size,
                        DefaultValuedParameter<"bool", "false">:$bounded);
  let assemblyFormat = "`<` $name `,` $size (`,` $bounded^)? `>`";
}

def NN_Tensor : TypeDef<NN_Dialect, "Tensor"> {
  let mnemonic = "tensor";
  let cppClassName = "Tensor";
  let summary = "a tensor whose dimensions have names";
  let description = [{
    `!nn.tensor<[B 8, S 64, D 32], f32>`; a scalar is `!nn.tensor<[], f32>`.
    Names are distinct. Sizes are elements, never bytes.
  }];
  let parameters = (ins ArrayRefParameter<"DimAttr">:$dims,
                        "::mlir::Type":$elementType);
  let hasCustomAssemblyFormat = 1;
  let genVerifyDecl = 1;
  let extraClassDeclaration = [{
    int64_t getRank() const { return getDims().size(); }
    /// Product of the sizes (bounds for bounded dimensions).
    int64_t getNumElements() const;
    /// Bytes without padding; i1 counts one byte.
    int64_t getBytes() const;
    /// Position of a dimension, or -1.
    int64_t find(::llvm::StringRef name) const;
    bool has(::llvm::StringRef name) const { return find(name) >= 0; }
    bool isScalar() const { return getDims().empty(); }
    Tensor withElement(::mlir::Type element) const;
    Tensor withDims(::llvm::ArrayRef<DimAttr> dims) const;
    /// Without the named dimensions, the others in order.
    Tensor without(::llvm::ArrayRef<::llvm::StringRef> names) const;
  }];
}

def NN_MaskKind : I32EnumAttr<"MaskKind", "which keys a query sees", [
    I32EnumAttrCase<"All", 0, "all">,
    I32EnumAttrCase<"Causal", 1, "causal">, // none after it
    I32EnumAttrCase<"Window", 2, "window">, // the last n up to it, and all after it
    I32EnumAttrCase<"Prefix", 3, "prefix">, // the first n
    I32EnumAttrCase<"And", 4, "and">,
    I32EnumAttrCase<"Or", 5, "or">
  ]> {
  let cppNamespace = "::tplan::nn";
}

def NN_MaskAttr : NN_Attr<"Mask", "mask"> {
  let summary = "which keys a query sees, as an expression on logical positions";
  let description = [{
    An expression tree in prefix form on the query position q and key position k:
    `all`, `causal` (k <= q), `window` n (q - n < k), `prefix` n (k < n),
    `and` a b, `or` a b. In text: `#nn.mask<and(causal, window(4096))>`.
    The masks `same` and `valid` of the language, which read data, are no leaves yet:
    `parse` refuses them.
  }];
  let parameters = (ins EnumParameter<NN_MaskKind>:$kind,
                        "int64_t":$n, ArrayRefParameter<"MaskAttr">:$terms);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    static MaskAttr getLeaf(::mlir::MLIRContext *ctx, MaskKind kind, int64_t n = 0) {
      return get(ctx, kind, n, {});
    }
    bool sees(int64_t q, int64_t k) const;
  }];
}

def NN_AttentionAttr : NN_Attr<"Attention", "attention"> {
  let summary = "what attention computes: the names of its dimensions, and how a score is made";
  let description = [{
    `#nn.attention<query = "S", key = "T", heads = "H", groups = "G", scale = 1.250000e-01,
    mask = <causal>>`. Made by `parse`; carried unchanged by `nn.attention`, `nn.attention_grad`,
    `rt.tile` and `rt.attention`, until `lower`. A new field needs a default, so that attention
    without it prints and computes what it did.

    A score is scale * (q . k), and -infinity where the mask hides the key from the query. How a
    score is made, and its derivative, stands once for all targets: lib/Lower/Attention/Score.cpp.
  }];
  let parameters = (ins StringRefParameter<"dimension of the queries">:$query,
                        StringRefParameter<"dimension of the keys">:$key,
                        StringRefParameter<"dimension of the heads of q">:$heads,
                        StringRefParameter<"dimension of the heads of k and v">:$groups,
                        NN_Number<"factor of the scores">:$scale,
                        DefaultValuedParameter<"MaskAttr", "MaskAttr::getLeaf($_ctxt, MaskKind::All)",
                                               "the keys that a query sees">:$mask);
  let assemblyFormat = "`<` struct(params) `>`";
}

def NN_InitAttr : NN_Attr<"Init", "init"> {
  let summary = "initial value of a parameter: constant c, or normal with deviation c";
  let parameters = (ins StringRefParameter<"constant|normal">:$kind, "::mlir::FloatAttr":$value);
  let assemblyFormat = "`<` $kind `,` $value `>`";
}

def NN_SlotAttr : NN_Attr<"Slot", "slot"> {
  let summary = "which state of an optimizer, and of which parameter";
  let description = [{
    `#nn.slot<"m" of "q.weight">`: m of the parameter that the layer calls q.weight. A state of
    the model's own belongs to no parameter and has none.
  }];
  let parameters = (ins StringRefParameter<"m, v">:$name, StringRefParameter<"parameter">:$param);
  let assemblyFormat = "`<` $name `of` $param `>`";
}

def NN_PartAttr : EnumAttr<NN_Dialect, NN_Part, "part"> {
  let assemblyFormat = "`<` $value `>`";
}

def NN_AnyTensor : Type<CPred<"::llvm::isa<::tplan::nn::Tensor>($_self)">, "nn tensor",
                        "::tplan::nn::Tensor">;
def NN_Scalar : Type<CPred<"::llvm::isa<::tplan::nn::Tensor>($_self) && "
                           "::llvm::cast<::tplan::nn::Tensor>($_self).isScalar()">,
                     "nn scalar", "::tplan::nn::Tensor">;

/// A logical position that is known when a step runs: where a piece of a dimension begins.
def NN_Start : Type<CPred<"::tplan::nn::isStart($_self)">, "i32 nn scalar", "::tplan::nn::Tensor">,
               BuildableType<"::tplan::nn::Tensor::get($_builder.getContext(), {}, "
                             "$_builder.getI32Type())">;
def NN_PiecesArray : TypedArrayAttrBase<DenseI64ArrayAttr, "sizes of pieces, a dimension each">;

//===----------------------------------------------------------------------===//
// Roles: what a value of a layer function is
//===----------------------------------------------------------------------===//

def NN_Role : I32EnumAttr<"Role", "what an argument or result of a layer function is", [
    I32EnumAttrCase<"Carried", 0, "carried">,          // handed from layer to layer
    I32EnumAttrCase<"Invariant", 1, "invariant">,      // the same for every layer of a run; also data
    I32EnumAttrCase<"Param", 2, "param">,              // this layer's parameter
    I32EnumAttrCase<"State", 3, "state">,              // not differentiated, updated once a step
    I32EnumAttrCase<"Scalar", 4, "scalar">,            // step scalar: step, seed, lr, layer, offset, count.B ...
    I32EnumAttrCase<"Loss", 5, "loss">,                // emitted sum, added over layers and microbatches
    I32EnumAttrCase<"Metric", 6, "metric">,            // emitted, no cotangent
    I32EnumAttrCase<"Contribution", 7, "contribution">,// to a state's update: a sum or maximum over microbatches
    I32EnumAttrCase<"Output", 8, "output">,            // read by the runtime: logits when sampling
    I32EnumAttrCase<"CotCarried", 9, "cot_carried">,   // cotangent of a carried value
    I32EnumAttrCase<"CotInvariant", 10, "cot_invariant">, // added over the layers of a run
    I32EnumAttrCase<"CotParam", 11, "cot_param">,      // added over microbatches
    I32EnumAttrCase<"CotLoss", 12, "cot_loss">,        // where the backward begins: weight / count
    I32EnumAttrCase<"ResFI", 13, "res_fi">,            // residual kept from F to I
    I32EnumAttrCase<"ResFW", 14, "res_fw">,            // residual kept from F to W (and I)
    I32EnumAttrCase<"ResIW", 15, "res_iw">,            // residual kept from I to W
    I32EnumAttrCase<"InFlight", 16, "in_flight">       // a gathered weight; a gradient before or after its sum
  ]> {
  let cppNamespace = "::tplan::nn";
}

//===----------------------------------------------------------------------===//
// Structure
//===----------------------------------------------------------------------===//

class NN_Op<string mnemonic, list<Trait> traits = []> : Op<NN_Dialect, mnemonic, traits>;

def NN_ParamKind : I32EnumAttr<"ParamKind", "what a parameter is", [
    I32EnumAttrCase<"Linear", 0, "linear">, // this one to `other` are what selectors match
    I32EnumAttrCase<"Norm", 1, "norm">,
    I32EnumAttrCase<"Bias", 2, "bias">,
    I32EnumAttrCase<"Embedding", 3, "embedding">,
    I32EnumAttrCase<"Other", 4, "other">,
    I32EnumAttrCase<"State", 5, "state">, // not trained
    I32EnumAttrCase<"Copy", 6, "copy">    // of a weight, in another type: made by `precision`
  ]> {
  let cppNamespace = "::tplan::nn";
}

def NN_ParamOp : NN_Op<"param", [Symbol]> {
  let summary = "a parameter, or one parameter of each layer of a run";
  let description = [{
    Made by `model`, read by every later phase, gone after `lower` (the binary's
    tensor table). `count` instances share type and stand in one constant-stride
    array; instance i is called `path` with `{i}` replaced by `first + i * step`.
    `id` and `id_step` number the tensors of the whole model layer by layer: they
    key initial values, so two spellings of the same layers start equal.

    `kind` is what selectors match: linear, norm, bias, embedding, other; `state` is not
    trained, `copy` a working copy of a weight in another type (made by `precision`).
    (C1) count >= 1. (C2) a copy, and nothing else, says in `copy_of` of which weight it is one.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<NN_AnyTensor>:$type,
                       I64Attr:$count, StrAttr:$path, I64Attr:$first, I64Attr:$step,
                       I64Attr:$id, I64Attr:$id_step, NN_InitAttr:$init,
                       NN_ParamKind:$kind, OptionalAttr<FlatSymbolRefAttr>:$copy_of);
  let assemblyFormat = [{
    $sym_name `:` $type `x` $count `path` $path `first` $first `step` $step
    `id` $id `by` $id_step $init custom<ParamKind>($kind) (`copy_of` $copy_of^)? attr-dict
  }];
  let extraClassDeclaration = [{
    bool isState() { return getKind() == ParamKind::State; }
    bool isCopy() { return getCopyOfAttr() != nullptr; }
  }];
  let hasVerifier = 1;
}

// Accessors of what arguments and results are, by number and the other way round.
def NN_Labelled : NativeOpTrait<"Labelled"> {
  let cppNamespace = "::tplan::nn";
}

def NN_LayerOp : NN_Op<"layer", [IsolatedFromAbove, FunctionOpInterface, Symbol, NN_Labelled,
                                 DeclareOpInterfaceMethods<SymbolUserOpInterface>,
                                 AutomaticAllocationScope]> {
  let summary = "a function of one distinct layer";
  let description = [{
    Made by `model` (the forward function), replaced by `differentiate` (the joint
    function: forward and backward in one graph) and by `recompute` (the parts `forward`,
    `backward`, `backward_inputs`, `backward_weights` and `evaluate`). The parts `norm` and
    `update` come from `differentiate`, `prepare` from `precision`, `states` from `model`,
    `reduce`, `cut` and `gather` from `shard`; docs/architecture.md, "Parts", says what each does. Consumed by `fuse`.
    A part names in `layer` the layer that runs call, which is gone once `recompute` has cut it.
    Every argument and result carries `nn.role` and `nn.name`.

    (C1) every argument and result has a role and a name.
    (C2) the body is one block that ends in `nn.return` of the results' types.
    (C3) the parts `forward` and `evaluate` take no cotangent: it is not known yet.
    (C4) `part` and `layer` come together: a part says whose part it is.
    (C5) a layer has one function for each of its parts.
    (C6) `nn.position` is the number of the run's operand or result, of the roles carried,
    invariant and their cotangents alone, and no two arguments, or results, of a role share one.
    (C7) `nn.slot` stands on states alone, the argument and the result of one name alike.
    (C8) `nn.counts` (a loss, a metric or a dimension) stands on losses, metrics and scalars alone,
    `nn.member` (the axes of a group) on scalars alone.
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
    ReturnOp getReturn();
    /// The layer that this is, or that this is a part of.
    ::mlir::FlatSymbolRefAttr getWholeLayer();
    /// Whether result `result` is the memory of argument `arg`, updated.
    bool isInPlace(unsigned arg, unsigned result);
    ::mlir::Block &getBlock() { return getBody().front(); }
    /// Appends an argument or result with what it is.
    ::mlir::BlockArgument addArg(const Label &label, ::mlir::Type type, ::mlir::Location loc);
    ::mlir::BlockArgument addArg(Role role, ::llvm::StringRef name, ::mlir::Type type,
                                 ::mlir::Location loc);
    void addResult(const Label &label, ::mlir::Value value);
    void addResult(Role role, ::llvm::StringRef name, ::mlir::Value value);
  }];
}

def NN_ReturnOp : NN_Op<"return", [Terminator, Pure, HasParent<"LayerOp">]> {
  let summary = "results of a layer function";
  let description = [{
    Made with each layer function, becomes `rt.return` in `form-kernels`.
  }];
  let arguments = (ins Variadic<NN_AnyTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def NN_ChainOp : NN_Op<"chain", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol]> {
  let summary = "the model as inputs and runs of layers, in order";
  let description = [{
    Made by `model`, moved into the `sched.program` by `schedule`, which cuts its
    runs into stages and makes sections of them (`form-program`), and the chain is
    gone. The body holds
    `nn.input` and `nn.run` ops only; its length does not depend on the depth of
    the model. Repeated layers are one run with a count. `losses` maps the names
    of the emitted losses to their weights (f64).
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<DictionaryAttr>:$losses);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name (`losses` $losses^)? attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The dimension of the batch: the first of any input; null without one.
    DimAttr getBatch();
  }];
}

def NN_InputOp : NN_Op<"input", [Pure, HasParent<"ChainOp">]> {
  let summary = "one microbatch of data";
  let description = [{
    Made by `outline-layers` of `tplan.input`, becomes `sched.unpack` in `form-program`.
    `source` names the stream of the data loader, `shift` how many positions
    later in the row the values begin: the targets of a language model are the
    tokens shifted by one. Ids are below `vocabulary`, checked when read.
  }];
  let arguments = (ins StrAttr:$source, I64Attr:$shift, I64Attr:$vocabulary);
  let results = (outs NN_AnyTensor:$value);
  let assemblyFormat = "$source `shift` $shift `vocabulary` $vocabulary attr-dict `:` type($value)";
}

def NN_RunOp : NN_Op<"run", [HasParent<"ChainOp">, AttrSizedOperandSegments]> {
  let summary = "layers run one after the other";
  let description = [{
    Made by `outline-layers`; `form-program` makes a `sched.run` of it in each section that
    executes a part of its layers.
    Calls each of `callees` in turn, `times` over: layer t * n + j of the run is
    callee j of n. What a layer carries out the next one carries in; invariants
    are the same for all. `params[j]` is a dictionary that binds the parameter
    arguments of callee j by name to `nn.param` symbols,
    instance first_instance + t of each. `first_layer` numbers the layers of the whole model, for
    random numbers. Results are what the last layer carries out. `split-stages` cuts
    runs at stage borders and sets `stage`. One layer of a list has the attribute `nn.list`.
    `cut-messages` sets `messages`: for each result the layer whose parts `cut` and `gather` make a
    message to a later stage of it, or `unit` where it is sent whole.

    (C1) a callee's carried arguments and results have the types of the run's (checked by `order-tasks`).
    (C2) `params[j]` binds every param argument of callee j to a param of its type
    with at least first_instance + times instances, or 1, shared by all (checked by `order-tasks`
    and `form-program`).
    (C3) with times * n > 1 the carried types in and out agree.
    (C4) `messages` says how each result is sent; its layers have the parts `cut` and `gather`
    (checked by `order-tasks` and `form-program`).
  }];
  let arguments = (ins FlatSymbolRefArrayAttr:$callees, I64Attr:$times, I64Attr:$first_layer,
                       Variadic<NN_AnyTensor>:$carried, Variadic<NN_AnyTensor>:$invariants,
                       ArrayAttr:$params, DefaultValuedAttr<I64Attr, "0">:$first_instance,
                       OptionalAttr<I64Attr>:$stage, OptionalAttr<ArrayAttr>:$messages);
  let results = (outs Variadic<NN_AnyTensor>:$results);
  let assemblyFormat = [{
    $callees `x` $times `layer` $first_layer `carried` `(` $carried `)`
    `invariant` `(` $invariants `)` `params` $params attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_Elemental : OpInterface<"Elemental"> {
  let cppNamespace = "::tplan::nn";
  let description = [{
    An op that computes each element of its result from the elements of its
    operands at the same named position; missing names broadcast.
  }];
}

include "dialects/nn/NNElemental.td"

//===----------------------------------------------------------------------===//
// Structured primitives
//===----------------------------------------------------------------------===//

def NN_ReduceKind : I32EnumAttr<"ReduceKind", "reduction", [
    I32EnumAttrCase<"sum", 0>, I32EnumAttrCase<"max", 1>]> {
  let cppNamespace = "::tplan::nn";
}

def NN_ReduceOp : NN_Op<"reduce", [Pure]> {
  let summary = "sum or maximum over the dimensions that the result lacks";
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`; `prepare-fusion` puts
    it along rows or columns, and `form-kernels` makes an `rt.row_reduce` or `rt.col_reduce` of
    it.
    The order of additions is fixed by the shape alone (`rt.kernel`). A `detached`
    maximum is a shift that cancels, as in softmax: it gets no cotangent.
    (C1) the result's dimensions are among the operand's.
  }];
  let arguments = (ins NN_ReduceKind:$kind, NN_AnyTensor:$x, UnitAttr:$detached);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$kind $x (`detached` $detached^)? attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_BroadcastOp : NN_Op<"broadcast", [Pure, NN_Elemental]> {
  let summary = "repeats along the dimensions that the operand lacks";
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`; a kernel in
    `form-kernels` reads its operand at each position. With the operand's dimensions in another
    order it changes the order in memory, for `prepare-fusion`.
  }];
  let arguments = (ins NN_AnyTensor:$x);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x attr-dict `:` type($x) `->` type($result)";
}

def NN_SplitOp : NN_Op<"split", [Pure]> {
  let summary = "a dimension as two: blocks of `by`, and the place in a block";
  let description = [{
    Made by `quantise-gemms`, so that a scale has the dimension of the blocks alone, and by
    `split-dimensions` where a value in memory is read in blocks; `prepare-fusion` makes a view of it.
    `nn.split %x "D" by 128` of [.., D 512, ..] has [.., D 4, in.D 128, ..]: blocks keep the name,
    so that axes which cut D cut between blocks.
    (C1) the dimension has no bound, and its size is a multiple of `by`, which is 1 at least.
    (C2) the result has the two in its place.
  }];
  let arguments = (ins NN_AnyTensor:$x, StrAttr:$dim, I64Attr:$by);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x $dim `by` $by attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_MergeOp : NN_Op<"merge", [Pure]> {
  let summary = "a dimension of blocks and the place in a block as one: the inverse of `nn.split`";
  let description = [{
    Made by `quantise-gemms`, and by `split-dimensions` where a value that is computed in blocks goes
    to memory whole; `prepare-fusion` makes a view of it.
    (C1) x is what `nn.split` makes of the result.
  }];
  let arguments = (ins NN_AnyTensor:$x, StrAttr:$dim);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$x $dim attr-dict `:` type($x) `->` type($result)";
  let hasVerifier = 1;
}

def NN_AuditOp : NN_Op<"audit", [Pure, AttrSizedOperandSegments, AllTypesMatch<["x", "result"]>]> {
  let summary = "x, which the program also records, by logical positions";
  let description = [{
    Made by `audit-scales`, where `tplanc --audit-scales` asks for it; `form-kernels` makes an
    `rt.audit` of it. `what` names the value in the layer whose number is `layer`, in the step of
    number `step`, or without one before the first. With `offset` the dimension `along` is counted from
    that position, as one of the global batch is. `localize` adds the logical size of each dimension and the
    axes that cut it. Part E, which records nothing, has x in its place.
    (C1) with `whole`, and only then, there are axes, an entry for each dimension.
  }];
  let arguments = (ins NN_AnyTensor:$x, NN_Start:$layer, Optional<NN_Start>:$step,
                       Optional<NN_Start>:$offset, StrAttr:$what,
                       OptionalAttr<StrAttr>:$along, OptionalAttr<DenseI64ArrayAttr>:$whole, OptionalAttr<ArrayAttr>:$axes);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    $x $what `layer` $layer (`step` $step^)? (`offset` $offset^ `along` $along)? (`of` $whole^ `axes` $axes)?
    attr-dict `:` type($x)
  }];
  let hasVerifier = 1;
}

def NN_ContractOp : NN_Op<"contract", [Pure, AttrSizedOperandSegments]> {
  let summary = "sum of products over the dimensions that both operands have and the result lacks";
  let description = [{
    Made by `expand-builtins` and the adjoints of `differentiate-layers`; `prepare-fusion` makes
    a GEMM of it, and `form-kernels` an `rt.matmul`.
    Einsum by name. A dimension of both operands and the result is a batch.
    Accumulates in f32 (f64 for f64), rounded once to the result's type.
    (C1) each dimension of the result is in an operand.
    (C2) a dimension of only one operand is in the result.

    *Scales.* An operand in f8 has a scale: an element is worth the product of the two. Contracted
    dimensions that the scales lack make a panel. Products of codes are summed in f32 over a panel;
    the sum, times the product of the scales, is added to those of the panels before it in f32, in
    order, by one fused multiply-add. So 1x128 data cannot be read along its other dimension.
    (C3) operands in f8 have scales, both or none, in f32; no other operand has one.
    (C4) a scale's dimensions are among its operand's.
    (C5) contracted dimensions that one scale lacks the other lacks, too. There is one at least, and
    they are the last ones of those that are contracted.
    (C6) with scales there are no batches.

    With `folded` all scales are powers of two, and products of codes and scales are summed in f32 over
    all that is contracted, as tensor cores do with microscaling. (C7) there are scales.
  }];
  let arguments = (ins NN_AnyTensor:$lhs, NN_AnyTensor:$rhs, Optional<NN_AnyTensor>:$lhs_scale,
                       Optional<NN_AnyTensor>:$rhs_scale, UnitAttr:$folded);
  let results = (outs NN_AnyTensor:$result);
  let builders = [OpBuilder<(ins "::mlir::Type":$type, "::mlir::Value":$lhs, "::mlir::Value":$rhs), [{
    build($_builder, $_state, type, lhs, rhs, {}, {}, false);
  }]>];
  let assemblyFormat = [{
    $lhs `,` $rhs (`scaled` $lhs_scale^ `,` $rhs_scale)? (`folded` $folded^)? attr-dict
    `:` `(` type($lhs) `,` type($rhs) (`,` type($lhs_scale)^ `,` type($rhs_scale))? `)`
    `->` type($result)
  }];
  let hasVerifier = 1;
}

def NN_RopeOp : NN_Op<"rope", [Pure, AllTypesMatch<["x", "result"]>]> {
  let summary = "rotary embedding in the half-split order, from tables of cosines and sines";
  let description = [{
    Made by `expand-builtins` and its adjoint; becomes arithmetic of a kernel's body in
    `form-kernels`, on elements that the kernel reads from memory, some of them rotated.
    With n = size of `dim` / 2 and r[i] = -x[i + n] for i < n, x[i - n] else:
    result[i] = x[i] * cos[i mod n] + r[i] * sin[i mod n], computed in the tables' type and
    rounded once to x's. `inverse` takes -r, and is the adjoint. Operands are read from memory.

    (C1) x has `dim`, of even static size 2n, as its last dimension.
    (C2) a table has a dimension of its own, of size n, as its last one; the others are among x's.
    The tables are of one type, of floats.
    Source: Su et al., "RoFormer", 2021.
  }];
  let arguments = (ins NN_AnyTensor:$x, NN_AnyTensor:$cos, NN_AnyTensor:$sin, StrAttr:$dim,
                       UnitAttr:$inverse);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = [{
    $x `,` $cos `,` $sin `over` $dim (`inverse` $inverse^)? attr-dict
    `:` type($x) `,` type($cos) `,` type($sin)
  }];
  let hasVerifier = 1;
}

def NN_LookupOp : NN_Op<"lookup", [Pure]> {
  let summary = "rows of a table: result[ids.., d..] = table[ids[..], d..]";
  let description = [{
    Made by `expand-builtins`; becomes an operand that a kernel gathers in `form-kernels`.
    (C1) the table has dimension `dim`; ids are i32; the result has the dims of
    ids, then those of the table without `dim`.
    An id below zero is padding: its row is zero, and its cotangent goes nowhere.
    Ids beyond the table are refused when the data is read, not here.
  }];
  let arguments = (ins NN_AnyTensor:$table, NN_AnyTensor:$ids, StrAttr:$dim);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$table `[` $dim `=` $ids `]` attr-dict `:` `(` type($table) `,` type($ids) `)` `->` type($result)";
  let hasVerifier = 1;
}

def NN_LookupGradOp : NN_Op<"lookup_grad", [Pure]> {
  let summary = "adds the rows of a cotangent into a table's, in the order of the ids";
  let description = [{
    Made by the adjoints of `differentiate-layers`; becomes a kernel that scatters in
    `form-kernels`.
    The adjoint of `nn.lookup`; each element adds its rows in ascending position.
  }];
  let arguments = (ins NN_AnyTensor:$cotangent, NN_AnyTensor:$ids, StrAttr:$dim);
  let results = (outs NN_AnyTensor:$result);
  let assemblyFormat = "$cotangent `[` $dim `=` $ids `]` attr-dict `:` `(` type($cotangent) `,` type($ids) `)` `->` type($result)";
}

//===----------------------------------------------------------------------===//
// Attention
//===----------------------------------------------------------------------===//

def NN_AttentionOp : NN_Op<"attention", [Pure, AttrSizedOperandSegments]> {
  let summary = "softmax(scale * q k^T + mask) v, row by row online";
  let description = [{
    Made by `expand-builtins`; becomes `rt.attention`, or a launch of an `rt.tile`, in
    `form-kernels`.
    q [B.., S, H, K], k [B.., T, G, K], v [B.., T, G, K] -> out [B.., S, H, K],
    lse [B.., H, S] (natural log-sum-exp of the scaled scores, f32, or f64 for
    f64). `spec` names S, T, H and G, and says how a score is made; query
    head h reads key head h / (H / G). A row that sees no key yields 0 and
    lse = -inf. Never a buffer of S x T.
    For the mask, queries and keys lie at logical positions: their own, or those of starts and
    pieces as of `nn.index`. No phase makes these yet: `shard` keeps queries and keys whole.

    (C1) H is a multiple of G. (C2) k and v agree; K is that of q. (C3) for queries and for keys,
    there is a start for each piece, and the pieces cover the dimension.
    Source: Dao, "FlashAttention-2", 2023.
  }];
  let arguments = (ins NN_AnyTensor:$q, NN_AnyTensor:$k, NN_AnyTensor:$v,
                       Variadic<NN_Start>:$q_starts, Variadic<NN_Start>:$k_starts,
                       NN_AttentionAttr:$spec, OptionalAttr<DenseI64ArrayAttr>:$q_pieces,
                       OptionalAttr<DenseI64ArrayAttr>:$k_pieces);
  let results = (outs NN_AnyTensor:$out, NN_AnyTensor:$lse);
  let assemblyFormat = [{
    $q `,` $k `,` $v (`queries` `from` $q_starts^ `pieces` $q_pieces)?
    (`keys` `from` $k_starts^ `pieces` $k_pieces)? $spec attr-dict `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

def NN_AttentionGradOp : NN_Op<"attention_grad", [Pure, AttrSizedOperandSegments]> {
  let summary = "cotangents of q, k and v from those of out and lse";
  let description = [{
    Scores are computed again from q, k and lse, tile by tile. `d_lse` is zero
    unless the result was merged. Made by `differentiate`, with the spec, starts and pieces of the
    `nn.attention`.
    (C1) for queries and for keys, there is a start for each piece, and the pieces cover the
    dimension.
  }];
  let arguments = (ins NN_AnyTensor:$q, NN_AnyTensor:$k, NN_AnyTensor:$v, NN_AnyTensor:$out,
                       NN_AnyTensor:$lse, NN_AnyTensor:$d_out, Optional<NN_AnyTensor>:$d_lse,
                       Variadic<NN_Start>:$q_starts, Variadic<NN_Start>:$k_starts,
                       NN_AttentionAttr:$spec, OptionalAttr<DenseI64ArrayAttr>:$q_pieces,
                       OptionalAttr<DenseI64ArrayAttr>:$k_pieces);
  let results = (outs NN_AnyTensor:$d_q, NN_AnyTensor:$d_k, NN_AnyTensor:$d_v);
  let assemblyFormat = [{
    $q `,` $k `,` $v `,` $out `,` $lse `,` $d_out (`,` $d_lse^)?
    (`queries` `from` $q_starts^ `pieces` $q_pieces)?
    (`keys` `from` $k_starts^ `pieces` $k_pieces)? $spec attr-dict
    `:` functional-type(operands, results)
  }];
  let hasVerifier = 1;
}

#endif // TPLAN_NN
