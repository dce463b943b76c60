//===- Sched.td - the order of a training step, and its memory -------------===//
//
// What `schedule` makes of the chains: tasks in order, and the values that live
// from one task to another. `memory` gives every value its place, `lower` reads
// both. After `schedule` the order is final; after `memory` no byte moves.
//
// One decision: tasks and slots are compact data, not ops. A step of thousands
// of tasks is one array; the IR grows with the runs of the chain alone.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHED
#define TPLAN_SCHED

include "dialects/nn/NN.td"
include "dialects/sched/SchedEnums.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::tplan::sched";
  let summary = "tasks of a training step in order, and where their values live";
  let useDefaultAttributePrinterParser = 1;
  let dependentDialects = ["::tplan::nn::NNDialect"];
}

class Sched_Op<string mnemonic, list<Trait> traits = []> : Op<Sched_Dialect, mnemonic, traits>;

def Sched_PlaceAttr : AttrDef<Sched_Dialect, "Place"> {
  let mnemonic = "place";
  let summary = "memory of a value inside a function";
  let description = [{
    - `#sched.place<frame, n>`: n bytes into the function's frame;
    - `#sched.place<arg, n>`: the memory of argument n, updated;
    - `#sched.place<result, n>`: the caller's memory for result n.
    - `..., block ["dp"] by 4096`: of that memory the rank's own block, 4096 bytes for each member
      before it along these axes.
    `memory` writes one per result of each call as `sched.places`, and on the
    function `sched.frame` (bytes) and `sched.live` (the largest sum of live bytes).
  }];
  let parameters = (ins StringRefParameter<"frame|arg|result">:$kind, "int64_t":$n,
                        OptionalParameter<"::mlir::ArrayAttr">:$axes,
                        DefaultValuedParameter<"int64_t", "0">:$bytes);
  let assemblyFormat = "`<` $kind `,` $n (`,` `block` $axes^ `by` $bytes)? `>`";
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

def Sched_ProgramOp : Sched_Op<"program", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol,
                                           SymbolTable]> {
  let summary = "one training step of this rank";
  let description = [{
    Made by `schedule`, completed by `memory`, turned into host code by `lower`.

    A step is: the chain `counts` for every microbatch; the cotangents of the
    losses, weight / count; `tasks` in order; the parts `reduce` of all runs; the parts `norm`, whose sum
    is the squared gradient norm; the parts `update`; the parts `states`. `tasks` holds (kind, stage,
    microbatch) triples. The body holds the chains `train` and `counts`, whose
    runs lie in one stage each, then `sched.family` and `sched.value` ops.

    ```mlir
    sched.program @step policy "gpipe" stages 1 microbatches 2
        tasks [F 0 0, F 0 1, B 0 0, B 0 1] {
      nn.chain @train { ... }
      sched.family "s0.fw" from F 0 to B 0 slots 2 bytes 4096 slot_of [0, 1] {
        sched.value "r0.0.h" residual bytes 1024 x 4
      }
    }
    ```

    (C1) tasks are triples; kinds, stages and microbatches are in range.
    (C2) each stage does each microbatch once forward, and backward once: B, or I and W.
    (C3) a task follows what it needs: F after F of the stage before, B and I after
    F of their stage and B or I of the stage behind, W after I.
    (C4) the body holds chains, families and values; families have unlike names.
    (C5) with an arena, each family lies inside it.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$policy, I64Attr:$stages,
                       I64Attr:$microbatches, DenseI32ArrayAttr:$tasks,
                       OptionalAttr<I64Attr>:$arena, OptionalAttr<I64Attr>:$live);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `policy` $policy `stages` $stages `microbatches` $microbatches
    `tasks` custom<Tasks>($tasks) (`arena` $arena^ `live` $live)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Number of tasks, and task i as (kind, stage, microbatch).
    int64_t getNumTasks() { return getTasks().size() / 3; }
    Task getTask(int64_t i);
    /// Whether the backward is cut into I and W.
    bool isSplit();
    nn::ChainOp getChain(::llvm::StringRef name);
  }];
}

def Sched_FamilyOp : Sched_Op<"family", [NoTerminator, SingleBlock, HasParent<"ProgramOp">]> {
  let summary = "values with one producer task and one last reader, per microbatch";
  let description = [{
    Microbatch m has its values in slot `slot_of[m]` while it is between producer
    and last reader. `bytes` is one slot. The body lists the values. `at` has the
    offset of each slot in the arena.

    (C1) slots >= 1; slot_of has an entry per microbatch, each below slots.
    (C2) two microbatches that are live at once have unlike slots.
    (C3) the values fill the slot: `bytes` is their sum, each rounded up to 64 bytes.
    (C4) `at` has an entry per slot.
  }];
  let arguments = (ins StrAttr:$name, Sched_TaskKind:$producer, I64Attr:$producer_stage,
                       Sched_TaskKind:$reader, I64Attr:$reader_stage, I64Attr:$slots,
                       I64Attr:$bytes, DenseI32ArrayAttr:$slot_of,
                       OptionalAttr<DenseI64ArrayAttr>:$at);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $name `from` $producer $producer_stage `to` $reader $reader_stage `slots` $slots
    `bytes` $bytes `slot_of` $slot_of (`at` $at^)? attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
}

def Sched_ValueOp : Sched_Op<"value", []> {
  let summary = "a value, or one for each layer of a run at a constant stride";
  let description = [{
    `bytes` is one instance, `count` how many stand one after the other, each
    rounded up to 64 bytes. `at` is the offset in the arena (inside a family: in
    the slot). The key is what `lower` asks for (lib/Schedule/Keys.h).

    (C1) bytes >= 0, count >= 1, `at` a multiple of 64.
  }];
  let arguments = (ins StrAttr:$key, Sched_Owner:$owner, I64Attr:$bytes, I64Attr:$count,
                       OptionalAttr<I64Attr>:$at);
  let assemblyFormat = "$key $owner `bytes` $bytes `x` $count (`at` $at^)? attr-dict";
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes from one instance to the next.
    int64_t getStride() { return (static_cast<int64_t>(getBytes()) + 63) / 64 * 64; }
    int64_t getTotal() { return getStride() * getCount(); }
    /// The type of one instance; `memory` writes it on what lives from step to step.
    nn::Tensor getTensor();
  }];
}

#endif // TPLAN_SCHED
