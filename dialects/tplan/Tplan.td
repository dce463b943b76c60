//===- Tplan.td - the source, as IR ----------------------------------------===//
//
// The output of `parse`: names, sizes and selectors are resolved, every expression is typed, each
// distinct (layer, sizes, sub-layers, argument types) is one function. Composites are still whole:
// one `tplan.apply` per call of a built-in, so that the IR reads like the source.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TPLAN
#define TPLAN_TPLAN

include "dialects/nn/NN.td"

def Tplan_Dialect : Dialect {
  let name = "tplan";
  let cppNamespace = "::tplan::lang";
  let summary = "a .tplan source with names and sizes resolved";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tplan::nn::NNDialect"];
}

// An attribute that holds a struct of C++; its fields and their defaults stand there.
class Tplan_FieldsAttr<string cppName, string mnem, string summaryText>
    : AttrDef<Tplan_Dialect, cppName> {
  let mnemonic = mnem;
  let summary = summaryText;
  let description = "`#tplan." # mnem # "<{...}>`: the fields of `lang::" # cppName # "` as a dictionary.";
  let parameters = (ins AttrParameter<"::tplan::lang::" # cppName, "the fields",
                                      "const ::tplan::lang::" # cppName # " &">:$fields);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = "const " # cppName # " *operator->() const { return &getFields(); }";
}

def Tplan_RecipeAttr : Tplan_FieldsAttr<"Recipe", "recipe", "how a model is trained">;
def Tplan_ClusterAttr : Tplan_FieldsAttr<"Cluster", "cluster", "the machines and their links">;
def Tplan_PlanAttr : Tplan_FieldsAttr<"Plan", "plan", "how a step is laid out and ordered">;
def Tplan_TargetAttr : Tplan_FieldsAttr<"Target", "target", "the machine that a plan is compiled for">;

class Tplan_Op<string mnemonic, list<Trait> traits = []> : Op<Tplan_Dialect, mnemonic, traits>;

//===----------------------------------------------------------------------===//
// What the model is
//===----------------------------------------------------------------------===//

def Tplan_LayerOp : Tplan_Op<"layer", [IsolatedFromAbove, FunctionOpInterface, Symbol]> {
  let summary = "a layer, specialised to sizes, sub-layers and argument types";
  let description = [{
    Made by `parse`, inlined or turned into `nn.layer` by `model`, gone after it.
    Weights are declared in the body with names relative to the layer; a call
    prefixes them with the member's name. Masks are not values: a layer called
    with two masks is two functions.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, TypeAttrOf<FunctionType>:$function_type,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let regions = (region SizedRegion<1>:$body);
  let hasCustomAssemblyFormat = 1;
  let extraClassDeclaration = [{
    ::llvm::ArrayRef<::mlir::Type> getArgumentTypes() { return getFunctionType().getInputs(); }
    ::llvm::ArrayRef<::mlir::Type> getResultTypes() { return getFunctionType().getResults(); }
    ::mlir::Region *getCallableRegion() { return &getBody(); }
  }];
}

def Tplan_ReturnOp : Tplan_Op<"return", [Terminator, Pure]> {
  let summary = "values of a layer or of one iteration of a list";
  let description = [{
    Made by `parse` at the end of a layer and of each region of a `tplan.for`; becomes
    `nn.return` in `outline-layers`.
  }];
  let arguments = (ins Variadic<NN_AnyTensor>:$operands);
  let assemblyFormat = "attr-dict ($operands^ `:` type($operands))?";
}

def Tplan_ModelOp : Tplan_Op<"model", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol]> {
  let summary = "the model of the chosen plan: one per module";
  let description = [{
    Made by `parse`, becomes `nn.chain` and its layers in `model`. The body is
    straight code of `tplan` ops in source order.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$sym_name attr-dict-with-keyword $body";
  let extraClassDeclaration = [{
    /// The dimension of the global batch: the first of any input, else B of size 1.
    nn::DimAttr getBatch();
  }];
}

def Tplan_InputOp : Tplan_Op<"input", [Pure]> {
  let summary = "data of one global batch, or the same moved along the row";
  let description = [{
    Made by `parse`, becomes an `nn.input` of the chain in `outline-layers`.
    `source` is the declared input; `shift(tokens, 1)` in the source is an input
    with shift 1. `vocabulary` bounds the ids: the size of the tables that look
    them up.
  }];
  let arguments = (ins StrAttr:$source, I64Attr:$shift, I64Attr:$vocabulary);
  let results = (outs NN_AnyTensor:$value);
  let assemblyFormat = "$source `shift` $shift `vocabulary` $vocabulary attr-dict `:` type($value)";
}

def Tplan_WeightOp : Tplan_Op<"weight", [Pure]> {
  let summary = "a weight of the enclosing layer or model";
  let description = [{
    Made by `parse`, becomes an `nn.param` and an argument of role param in `outline-layers`.
    `name` is relative to the layer ("q.weight", "gain"). `kind` is linear, norm,
    bias, embedding or other: what selectors match. A weight used twice by one
    name (a tied head) is one weight. One of kind `state` is not trained: its
    `tplan.update` gives it a new value after each step.
  }];
  let arguments = (ins StrAttr:$name, NN_ParamKind:$kind, NN_InitAttr:$init);
  let results = (outs NN_AnyTensor:$value);
  let assemblyFormat = "$name custom<ParamKind>($kind) $init attr-dict `:` type($value)";
  let extraClassDeclaration = [{ bool isState() { return getKind() == nn::ParamKind::State; } }];
}

def Tplan_CallOp : Tplan_Op<"call", [CallOpInterface]> {
  let summary = "calls a layer as the member `member`, which prefixes its weights";
  let description = [{
    Made by `parse`, replaced by the body of the layer in `inline-layers`.
    Two calls of one member share its weights. An empty member adds no prefix.
  }];
  let arguments = (ins FlatSymbolRefAttr:$callee, StrAttr:$member, Variadic<NN_AnyTensor>:$args,
                       OptionalAttr<DictArrayAttr>:$arg_attrs,
                       OptionalAttr<DictArrayAttr>:$res_attrs);
  let results = (outs Variadic<NN_AnyTensor>:$results);
  let assemblyFormat = "$callee `as` $member `(` $args `)` attr-dict `:` functional-type($args, results)";
  let extraClassDeclaration = [{
    ::mlir::CallInterfaceCallable getCallableForCallee() { return getCalleeAttr(); }
    void setCalleeFromCallable(::mlir::CallInterfaceCallable callee) {
      setCalleeAttr(::llvm::cast<::mlir::FlatSymbolRefAttr>(::llvm::cast<::mlir::SymbolRefAttr>(callee)));
    }
    ::mlir::Operation::operand_range getArgOperands() { return getArgs(); }
    ::mlir::MutableOperandRange getArgOperandsMutable() { return getArgsMutable(); }
  }];
}

def Tplan_ForOp : Tplan_Op<"for", [IsolatedFromAbove, AttrSizedOperandSegments]> {
  let summary = "the layers of a list, one after the other";
  let description = [{
    Made by `parse`, becomes an `nn.run` for each run of the list in `outline-layers`.
    `for b in blocks { x = b(x, y) }`: variables assigned in the body and defined
    before it are carried, others read in it are invariant. `member` is the list
    ("blocks"). One region per distinct element kind, with carried then invariant
    values as arguments, ending in `tplan.return` of the carried ones. In a
    region, calls of the element have an empty member: its weights are named
    relative to the element.

    `runs` is the list as run lengths: [[times, kind, kind, ...], ...]; e.g. 3
    dense layers, then 61 pairs of local and global: [[3, 0], [61, 1, 2]].
  }];
  let arguments = (ins StrAttr:$member, ArrayAttr:$runs, Variadic<NN_AnyTensor>:$carried,
                       Variadic<NN_AnyTensor>:$invariants);
  let results = (outs Variadic<NN_AnyTensor>:$results);
  let regions = (region VariadicRegion<SizedRegion<1>>:$kinds);
  let hasCustomAssemblyFormat = 1;
  let hasVerifier = 1;
}

def Tplan_ApplyOp : Tplan_Op<"apply", [Pure]> {
  let summary = "a built-in function: contraction, arithmetic, activation, attention ...";
  let description = [{
    Made by `parse`, replaced by primitives of `nn` in `expand-builtins`.
    `function` is a row of the table of built-ins (lib/Parse/Builtins.def), which
    gives its operands, attributes and shape rule; `model` expands it into nn
    primitives by the table of the same names. Attributes by name: `over` (list
    of dimension names), `value` (f64), `spec` (attention), `rate`, `site` ...
  }];
  let arguments = (ins StrAttr:$function, Variadic<NN_AnyTensor>:$args);
  let results = (outs Variadic<NN_AnyTensor>:$results);
  let assemblyFormat = "$function `(` $args `)` attr-dict `:` functional-type($args, results)";
}

def Tplan_LossOp : Tplan_Op<"loss", []> {
  let summary = "a scalar term of the training loss: weight * sum / count";
  let description = [{
    Made by `parse`, becomes a result of role loss, and its count in the chain `@counts`, in
    `outline-layers`.
    `sum` adds over tokens, so it adds over microbatches and ranks; `count` is
    the number of terms: a value that depends on data alone, or absent where it
    is the product of the sizes that `sum` adds over, given as `terms`.
  }];
  let arguments = (ins StrAttr:$name, F64Attr:$weight, NN_AnyTensor:$sum,
                       Optional<NN_AnyTensor>:$count, I64Attr:$terms);
  let assemblyFormat = [{
    $name `weight` $weight $sum (`count` $count^)? `terms` $terms attr-dict
    `:` type($sum) (`,` type($count)^)?
  }];
}

def Tplan_UpdateOp : Tplan_Op<"update", []> {
  let summary = "the value of a state after the step";
  let description = [{
    Made by `parse`. Until `cut-updates` it stands in the layer, afterwards in a
    `tplan.once`. The value is a function of states and of sums over the global batch.
    (C1) the state is a `tplan.weight` of kind state.
  }];
  let arguments = (ins NN_AnyTensor:$state, NN_AnyTensor:$value);
  let assemblyFormat = "$state `,` $value attr-dict `:` type($state) `,` type($value)";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    ::llvm::StringRef getStateName();
  }];
}

def Tplan_MetricOp : Tplan_Op<"metric", []> {
  let summary = "a number of the step that the runtime writes down";
  let description = [{
    Made by `parse`, becomes a result of role metric of part `states` in `outline-layers`.
    Stands where `tplan.update` does, and reads the same.
  }];
  let arguments = (ins StrAttr:$name, NN_AnyTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

def Tplan_ContributeOp : Tplan_Op<"contribute", []> {
  let summary = "a sum over the batch that updates and metrics read";
  let description = [{ Made by `cut-updates`, becomes a result of role contribution. }];
  let arguments = (ins StrAttr:$name, NN_AnyTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

def Tplan_OnceOp : Tplan_Op<"once", [NoTerminator, SingleBlock, IsolatedFromAbove]> {
  let summary = "what a layer does once a step, when all microbatches are through";
  let description = [{
    Made by `cut-updates`, becomes part `states` of the layer. The body reads states
    (`tplan.weight`) and `tplan.contributed` values.
  }];
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "attr-dict-with-keyword $body";
}

def Tplan_ContributedOp : Tplan_Op<"contributed", [HasParent<"OnceOp">]> {
  let summary = "what all microbatches contributed under a name";
  let description = [{
    Made by `cut-updates`, becomes an argument of role contribution of part `states` in
    `outline-layers`.
  }];
  let arguments = (ins StrAttr:$name);
  let results = (outs NN_AnyTensor:$value);
  let assemblyFormat = "$name attr-dict `:` type($value)";
}

def Tplan_OutputOp : Tplan_Op<"output", []> {
  let summary = "a value that the runtime reads: `logits` of the first cross_entropy";
  let description = [{
    Made by `parse`, becomes a result of role output in `outline-layers`.
  }];
  let arguments = (ins StrAttr:$name, NN_AnyTensor:$value);
  let assemblyFormat = "$name $value attr-dict `:` type($value)";
}

//===----------------------------------------------------------------------===//
// How it is trained and laid out
//===----------------------------------------------------------------------===//

def Tplan_RecipeOp : Tplan_Op<"recipe", [Symbol]> {
  let summary = "how the model is trained";
  let description = [{
    Made by `parse`, read by every phase up to `lower`, which erases it. `settings`
    holds resolved values with SI units removed (tokens, steps, bytes): Recipe.h.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tplan_RecipeAttr:$settings);
  let assemblyFormat = "$sym_name custom<Fields>($settings) attr-dict";
}

def Tplan_ClusterOp : Tplan_Op<"cluster", [Symbol]> {
  let summary = "the machines: nodes, devices, links (bit/s, bytes)";
  let description = [{
    Made by `parse` where the plan names one, read by `shard`, `overlap` and
    `memory`, erased by `lower`. Fields: Cluster.h, with what its device does.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tplan_ClusterAttr:$settings);
  let assemblyFormat = "$sym_name custom<Fields>($settings) attr-dict";
}

def Tplan_PlanOp : Tplan_Op<"plan", [Symbol]> {
  let summary = "how the training step is laid out and ordered";
  let description = [{
    Made by `parse`, read by every phase up to `lower`, which erases it. One per
    module: the chosen plan. Fields: Plan.h; selectors are resolved to numbers of layers.
    (C1) `mesh` names each axis once, with a size from 1, and has at most 65,536 ranks.
    (C2) `shard` and `zero` name axes of the mesh.
    (C3) `stage_axis` is an axis of the mesh, or empty.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Tplan_PlanAttr:$settings);
  let assemblyFormat = "$sym_name custom<Fields>($settings) attr-dict";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Names and layouts on disk
//===----------------------------------------------------------------------===//

def Tplan_DiskOp : Tplan_Op<"disk", [NoTerminator, SingleBlock]> {
  let summary = "how files of other tools lay out the weights, and what they say of the model";
  let description = [{
    Made by `parse` of `weights huggingface { .. }`, read by `lower`. The body holds
    `tplan.stored`, `tplan.ignored` and `tplan.config`. Every weight of the model stands
    in one `tplan.stored`.
  }];
  let arguments = (ins StrAttr:$format);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$format attr-dict-with-keyword $body";
}

def Tplan_StoredOp : Tplan_Op<"stored", [HasParent<"DiskOp">]> {
  let summary = "a tensor of a file, and the weights in it";
  let description = [{
    Made by `parse`, read by `lower-host`, which writes it into the tables of the binary.
    `weights` are paths as those of `nn.param`, with `{i}` where they stand in a list; `names`
    are one or two, the second of files that leave out a part of it. `layout` has for each dimension
    on disk its factors, the first varies slowest: names of dimensions of the weights, and where
    there are several weights their number, which counts through them.
    (C1) one or two names.
    (C2) the number occurs once where there are several weights, and else not.
  }];
  let arguments = (ins StrArrayAttr:$weights, StrArrayAttr:$names, ArrayAttr:$layout);
  let assemblyFormat = "$weights `as` $names `layout` $layout attr-dict";
  let hasVerifier = 1;
}

def Tplan_IgnoredOp : Tplan_Op<"ignored", [HasParent<"DiskOp">]> {
  let summary = "a tensor of a file that is passed over; {i} is any number";
  let description = [{
    Made by `parse`, read by `lower-host`. A file may hold such a tensor, and nothing is read of
    it.
  }];
  let arguments = (ins StrAttr:$name);
  let assemblyFormat = "$name attr-dict";
}

def Tplan_ConfigOp : Tplan_Op<"config", [HasParent<"DiskOp">]> {
  let summary = "what config.json says of the model";
  let description = [{
    Made by `parse`, read by `lower-host`, which writes it into the tables of the binary.
    `keys`, with dots between objects, are spellings of one key: those that a file has have the
    `value`, and where it has none of them `absent` is what it means. Values are i64, f64, bool,
    string, a list of strings, or unit for null. What is `written` alone is not compared.
  }];
  let arguments = (ins StrArrayAttr:$keys, AnyAttr:$value, OptionalAttr<AnyAttr>:$absent,
                       UnitAttr:$written);
  let assemblyFormat = "$keys `is` $value (`absent` $absent^)? (`written` $written^)? attr-dict";
}

#endif // TPLAN_TPLAN
