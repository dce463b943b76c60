//===- Lower/Passes.td - kernels and host program as LLVM ------------------===//
//
// In which order they run stands in lib/Driver/Phases.def; docs/passes/lower.md is written of these
// declarations and of the tests in test/lower.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_PASSES
#define TPLAN_LOWER_PASSES

include "mlir/Pass/PassBase.td"

def RecordCallsPass : Pass<"record-calls", "::mlir::ModuleOp"> {
  let summary = "tasks, FLOPs and bytes stand beside each call";
  let description = [{
    Writes beside each call what the host code and the profile state of it: tasks, FLOPs, bytes
    and category. They are read off the call and its kernel, before the kernel becomes code. It
    decides nothing.
  }];
}

def LowerAttentionPass : Pass<"lower-attention", "::mlir::ModuleOp"> {
  let summary = "attention kernels as vector code";
  let description = [{
    Each `rt.tile` becomes a function of the same name in vector code, the body of one task: an
    online softmax over tiles of keys, or its backward. How many sums are kept in registers
    follows from the target's vectors; it changes no bit of a result.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::scf::SCFDialect", "::mlir::vector::VectorDialect"];
  let options = [
    Option<"rows", "rows", "int64_t", "0", "rows of sums in registers; 0: as the target allows">,
    Option<"vectors", "vectors", "int64_t", "0", "vectors of sums in a row; 0: as the target allows">
  ];
}

def LowerKernelsPass : Pass<"lower-kernels", "::mlir::ModuleOp"> {
  let summary = "fused kernels as vector code, one function a kernel, the body of a task";
  let description = [{
    Each `rt.kernel` becomes a function of the same name in vector code on flat memory, the body
    of one task: (inputs, outputs, the count of a bounded row loop, task). The kernel's skeleton
    (map, row, column, transpose) chooses the loops, as docs/kernels.md says.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::func::FuncDialect",
                           "::mlir::LLVM::LLVMDialect", "::mlir::math::MathDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerAttentionGpuPass : Pass<"lower-attention-gpu", "::mlir::ModuleOp"> {
  let summary = "attention kernels as gpu and vector code, one function a pass";
  let description = [{
    Each `rt.tile` becomes a `gpu.func` for each pass in the `gpu.module` of the kernels:
    attention that the library does not take (masks, f32, f64, odd widths). It multiplies and
    adds, without tensor cores.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def LowerKernelsGpuPass : Pass<"lower-kernels-gpu", "::mlir::ModuleOp"> {
  let summary = "fused kernels as gpu and vector code, one function a kernel";
  let description = [{
    Each `rt.kernel` becomes a `gpu.func` of the same name in one `gpu.module`, with warps and
    blocks in place of vectors and tasks, on memory in the order of the kernel's operands. Its
    known_block_size and known_grid_size say how it is launched; `sched.strides` makes the
    second number of a block the layer.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::math::MathDialect", "::mlir::memref::MemRefDialect",
                           "::mlir::NVVM::NVVMDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def MergeKernelsPass : Pass<"merge-kernels", "::mlir::ModuleOp"> {
  let summary = "kernels of equal code are one function";
  let description = [{
    `form-kernels` has given equal kernels one symbol. This pass does so for those whose code came out
    equal although they differ in the names of dimensions, their order, or in how many rows there
    are: launches of the later ones launch the first, and their functions are erased. The sizes of a
    function's arguments do not count; how a GPU launches it does.
  }];
}

def SumKernelsGpuPass : Pass<"sum-kernels-gpu", "::mlir::ModuleOp"> {
  let summary = "kernels that add up the parts of ranks";
  let description = [{
    The code of each `rt.sum`: it adds up the parts of ranks in the order of the members, and rounds
    once, as the runtime does on a CPU. Sizes are arguments, so one kernel serves all shapes.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::gpu::GPUDialect",
                           "::mlir::memref::MemRefDialect", "::mlir::scf::SCFDialect"];
}

def ExpandRandomPass : Pass<"expand-random", "::mlir::ModuleOp"> {
  let summary = "random words in arithmetic of integers";
  let description = [{
    `rt.random` becomes a loop over the ten rounds of Philox, on scalars or vectors, and the choice of
    one of its four words. The same bits on every machine.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::scf::SCFDialect",
                           "::mlir::vector::VectorDialect"];
}

def ExpandTranscendentalsPass : Pass<"expand-transcendentals", "::mlir::ModuleOp"> {
  let summary = "exp, log, tanh, erf, sin, cos, rsqrt in arithmetic";
  let description = [{
    Functions of the math dialect become arithmetic without branches, from one table for CPU and
    GPU, scalars and vectors. So the bits of a result depend on the argument alone, wherever it
    is computed.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect"];
}

def ExpandNarrowPass : Pass<"expand-narrow", "::mlir::ModuleOp"> {
  let summary = "conversions from and to narrow types in arithmetic; bf16 and f16 become i16, f8 i8";
  let description = [{
    Conversions from and to bf16, f16 and the two types of f8 become arithmetic of integers, or the
    instructions of a machine that has them; then bf16 and f16 are i16, f8 is i8. To f8 a number is
    rounded to nearest even, and what is too large becomes the largest number. On a CPU LLVM sees no
    bf16, because what it makes of it differs from machine to machine.
  }];
  let dependentDialects = ["::mlir::arith::ArithDialect", "::mlir::math::MathDialect",
                           "::mlir::vector::VectorDialect", "::mlir::LLVM::LLVMDialect"];
}

def VectorsToLLVMPass : Pass<"vectors-to-llvm", "::mlir::ModuleOp"> {
  let summary = "vector, scf, arith, math, memref and func to the LLVM dialect";
  let description = [{
    Converts the functions of kernels from func, scf, vector, arith, math and memref to the LLVM
    dialect, and gives them the form that the runtime calls: (args, task).
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::cf::ControlFlowDialect"];
}

def KernelsToNVVMPass : Pass<"kernels-to-nvvm", "::mlir::ModuleOp"> {
  let summary = "what is in gpu.module to the NVVM dialect";
  let description = [{
    Converts what is in `gpu.module` to the NVVM and LLVM dialects, without the libdevice that
    upstream's pass would call and only the CUDA toolkit has.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect", "::mlir::NVVM::NVVMDialect",
                           "::mlir::cf::ControlFlowDialect"];
}

def LowerHostPass : Pass<"lower-host", "::mlir::ModuleOp"> {
  let summary = "functions, the program and its tables become LLVM";
  let description = [{
    Functions, the program and its tables become LLVM: a function for each `rt.func` and each
    section, a table for each entry point, and the constant `tp_program` that the runtime reads.
    It computes addresses and nothing else. Afterwards the module holds LLVM alone.
  }];
  let dependentDialects = ["::mlir::LLVM::LLVMDialect"];
}

#endif // TPLAN_LOWER_PASSES
