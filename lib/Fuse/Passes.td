//===- Fuse/Passes.td - functions of kernels and library calls -------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/fuse.md is written of these
// declarations and of the tests in test/fuse.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_FUSE_PASSES
#define TPLAN_FUSE_PASSES

include "mlir/Pass/PassBase.td"

def ChooseAttentionPass : Pass<"choose-attention", "::mlir::ModuleOp"> {
  let summary = "attention by the library where it takes the operands";
  let description = [{
    Decides for each attention of a GPU whether the library computes it or a kernel of ours
    does, by type, width, mask and the memory that the library would need, and writes the choice
    beside the op. It comes before kernels are formed, because a kernel of ours needs the row
    sums of out * d_out, and the library makes them itself. Attention in bf16 or f16 that is not
    the library's is a warning.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect"];
}

def SplitDimensionsPass : Pass<"split-dimensions", "::mlir::ModuleOp"> {
  let summary = "what kernels compute along a dimension that is split is in its blocks";
  let description = [{
    Where a function has `nn.split` or `nn.merge`, for scales of blocks, element-wise ops and
    reductions along such a dimension work in its blocks, so that they and those which read the
    blocks can be one kernel. Splits are left at arguments and results of library calls, merges at
    operands of these and of the return.
  }];
}

def PrepareFusionPass : Pass<"prepare-fusion", "::mlir::ModuleOp"> {
  let summary = "every op in a form that a kernel or library has";
  let description = [{
    From here on the order of dimensions is the order in memory. Each contraction is made a GEMM
    and each reduction one along rows or columns, by a change of order of its operands where it
    is not one yet. On a GPU operands in f8 get what is summed innermost, and their scales the order
    that libraries read. A maximum over blocks of rows is one that tasks find, with what follows from
    it alone. A sum over columns is cut into sums of blocks of rows, and the sum of
    these, with blocks that depend on the shape alone.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect"];
}

def FoldBiasesPass : Pass<"fold-biases", "::mlir::ModuleOp"> {
  let summary = "a bias is added where its GEMM ends, if the sum is in memory anyway";
  let description = [{
    A GEMM whose product only the addition of a bias reads adds it before it writes, if the sum
    lies in memory anyway. Otherwise the kernel that goes on with the product adds the bias as
    it reads, and nothing would be saved. No value changes.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect"];
}

def FormKernelsPass : Pass<"form-kernels", "::mlir::ModuleOp"> {
  let summary = "functions become kernels and library calls";
  let description = [{
    Each `nn.layer` becomes an `rt.func` of calls in order: GEMMs, attention and collectives as
    library calls, and everything between as fused kernels (`rt.kernel`) with a scalar body.
    Equal kernels are one symbol, over all layers and parts. What a function returns is written
    by its last call into the caller's memory, and a copy is inserted where that cannot be.
  }];
  let dependentDialects = ["::tplan::rt::RTDialect", "::mlir::arith::ArithDialect",
                           "::mlir::math::MathDialect"];
}

def CheckGemmsPass : Pass<"check-gemms", "::mlir::ModuleOp"> {
  let summary = "the library of a GPU multiplies each GEMM in f8";
  let description = [{
    Refuses a GEMM in f8 that the library of a GPU does not have: where what is contracted does not
    lie innermost or is no multiple of 16, a row of the result is no multiple of 16 bytes, both
    operands are E5M2, or the scales are no pair that it takes: one for each operand; one for each row
    of each; or, for 128 elements, of blocks with blocks or squares. What a rank has is known only
    after `shard`, so this is checked here.
  }];
}

def BoundEvaluationPass : Pass<"bound-evaluation", "::mlir::ModuleOp"> {
  let summary = "evaluation computes the rows that it has";
  let description = [{
    A file may end in the middle of a microbatch, and a sample is one row. So in the parts
    `evaluate` the dimension of the batch becomes `at most` its size, and each call takes as an
    operand how many of it are in use. Where the batch is not outermost in some call, all of
    evaluation stays as it is.
  }];
}

#endif // TPLAN_FUSE_PASSES
