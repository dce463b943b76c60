//===- TplanEnums.td - words of recipes, plans and targets -----------------===//
// Apart from Tplan.td, which includes the enums of nn, so that each enum is generated once.
#ifndef TPLAN_TPLAN_ENUMS
#define TPLAN_TPLAN_ENUMS

include "mlir/IR/EnumAttr.td"

class Tplan_Enum<string name, string summary, list<I32EnumAttrCase> cases>
    : I32EnumAttr<name, summary, cases> {
  let cppNamespace = "::tplan::lang";
}

//===----------------------------------------------------------------------===//
// Recipes
//===----------------------------------------------------------------------===//

def Tplan_OptimizerKind : Tplan_Enum<"OptimizerKind", "the formula of an update", [
    I32EnumAttrCase<"AdamW", 0, "adamw">,
    I32EnumAttrCase<"Sgd", 1, "sgd">
  ]>;

def Tplan_RateShape : Tplan_Enum<"RateShape", "how a learning rate goes from one value to another", [
    I32EnumAttrCase<"Flat", 0, "flat">,
    I32EnumAttrCase<"Linear", 1, "linear">,
    I32EnumAttrCase<"Cosine", 2, "cosine">
  ]>;

//===----------------------------------------------------------------------===//
// Plans
//===----------------------------------------------------------------------===//

def Tplan_Precision : Tplan_Enum<"Precision", "what values are computed in", [
    I32EnumAttrCase<"F32", 0, "f32">,
    I32EnumAttrCase<"TF32", 1, "tf32">, // f32 in memory, GEMMs on a GPU's tensor cores
    I32EnumAttrCase<"BF16", 2, "bf16">,
    I32EnumAttrCase<"F16", 3, "f16">,
    I32EnumAttrCase<"F64", 4, "f64">
  ]>;

def Tplan_Fp8Recipe : Tplan_Enum<"Fp8Recipe", "how operands of GEMMs are scaled into f8", [
    I32EnumAttrCase<"Blockwise", 0, "blockwise">, // 1 x 128 of values, 128 x 128 of weights
    I32EnumAttrCase<"Rowwise", 1, "rowwise">,     // what is summed into one element
    I32EnumAttrCase<"Current", 2, "current">,     // a sequence, a weight
    I32EnumAttrCase<"MXFP8", 3, "mxfp8">,         // 32 of what is summed
    I32EnumAttrCase<"Delayed", 4, "delayed">      // a tensor, from the maxima of earlier steps
  ]>;

def Tplan_Reduce : Tplan_Enum<"Reduce", "who adds what ranks have", [
    I32EnumAttrCase<"Ordered", 0, "ordered">, // tplan, by coordinate: one order on every transport
    I32EnumAttrCase<"Native", 1, "native">    // NCCL, where it moves the data
  ]>;

def Tplan_Read : Tplan_Enum<"Read", "the ranks that read the files of the data", [
    I32EnumAttrCase<"Every", 0, "every">, // each its own rows
    I32EnumAttrCase<"First", 1, "first">  // the first, which sends them
  ]>;

def Tplan_Accumulate : Tplan_Enum<"Accumulate", "where gradients are added over microbatches", [
    I32EnumAttrCase<"Local", 0, "local">,    // each rank all of them
    I32EnumAttrCase<"Sharded", 1, "sharded"> // each rank its block
  ]>;

def Tplan_Compression : Tplan_Enum<"Compression", "in which form ranks exchange gradients", [
    I32EnumAttrCase<"BF16", 0, "bf16">,
    I32EnumAttrCase<"Int8", 1, "int8">, // a block of them with one scale
    I32EnumAttrCase<"Int4", 2, "int4">,
    I32EnumAttrCase<"PowerSGD", 3, "powersgd"> // two factors of each matrix
  ]>;

def Tplan_Overlap : Tplan_Enum<"Overlap", "communication that runs beside other work", [
    I32EnumAttrCase<"Dp", 0, "dp">,      // sums of gradients, under the last backward
    I32EnumAttrCase<"Zero", 1, "zero">,  // weights and gradients in blocks, within a layer
    I32EnumAttrCase<"Tp", 2, "tp">,      // activations, within a layer
    I32EnumAttrCase<"Pp", 3, "pp">,      // messages of a pipeline
    I32EnumAttrCase<"Pairs", 4, "pairs"> // two microbatches in one function
  ]>;

def Tplan_RecomputePolicy : Tplan_Enum<"RecomputePolicy", "what a backward computes again", [
    I32EnumAttrCase<"None", 0, "none">,
    I32EnumAttrCase<"Full", 1, "full"> // all but the layer's input
  ]>;

//===----------------------------------------------------------------------===//
// Targets
//===----------------------------------------------------------------------===//

def Tplan_AttentionBy : Tplan_Enum<"AttentionBy", "who computes attention", [
    I32EnumAttrCase<"Library", 0, "library">,    // the GPU's, where it takes the shapes
    I32EnumAttrCase<"Generated", 1, "generated"> // kernels of tplan's own
  ]>;

#endif // TPLAN_TPLAN_ENUMS
