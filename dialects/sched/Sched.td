//===- Sched.td - the order of a training step, and its memory -------------===//
//
// What `schedule` makes of the chains: sections of work, entries that execute them
// in order, and the values that they read and write. `memory` gives every value its
// place, `lower` reads both. After `schedule` the order is final; after `memory` no
// byte moves.
//
// One decision: what is done is ops, how often it is done is data. The tasks of a step
// are one array and the layers of a run one loop, so the IR grows with the distinct
// code alone.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_SCHED
#define TPLAN_SCHED

include "dialects/nn/NN.td"
include "dialects/sched/SchedEnums.td"
include "dialects/sched/SchedInterfaces.td"
include "mlir/IR/OpAsmInterface.td"

def Sched_Dialect : Dialect {
  let name = "sched";
  let cppNamespace = "::tplan::sched";
  let summary = "tasks of a training step in order, and where their values live";
  let useDefaultAttributePrinterParser = 1;
  let useDefaultTypePrinterParser = 1;
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
      before it along these axes;
    - `..., block ["dp"] by 4096 shift 2`: the block of the second member after it, mod n; over no
      axes block 2.
    `memory` writes one per result of each call as `sched.places`, and on the
    function `sched.frame` (bytes) and `sched.live` (the largest sum of live bytes).
  }];
  let parameters = (ins EnumParameter<Sched_PlaceKind>:$kind, "int64_t":$n,
                        OptionalParameter<"::mlir::ArrayAttr">:$axes,
                        DefaultValuedParameter<"int64_t", "0">:$bytes,
                        DefaultValuedParameter<"int64_t", "0">:$shift);
  let assemblyFormat = "`<` $kind `,` $n (`,` `block` $axes^ `by` $bytes)? (`shift` $shift^)? `>`";
}

def Sched_KeyAttr : AttrDef<Sched_Dialect, "Key"> {
  let mnemonic = "key";
  let summary = "what a value of the program is";
  let description = [{
    A kind with what tells values of this kind apart: a name, the parameter that it belongs to, the
    axes of a group. Two values have unlike keys. `spell` makes the name that people read: "state
    blocks.w.m".

    - `#sched.key<parameter of @blocks.w>`, `#sched.key<state "m" of @blocks.w>`
    - `#sched.key<scalar "lr">`, `#sched.key<scratch over ["dp"]>`
    - `#sched.key<activation "r1.block.0.res_fw.h">`
  }];
  let parameters = (ins EnumParameter<Sched_ValueKind>:$kind,
                        OptionalParameter<"::mlir::StringAttr">:$name,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$of,
                        OptionalParameter<"::mlir::ArrayAttr">:$axes);
  let assemblyFormat = "`<` $kind `` custom<Name>($name) (`of` $of^)? (`over` $axes^)? `>`";
  let extraClassDeclaration = [{
    std::string spell();
    static KeyAttr get(::mlir::MLIRContext *context, ValueKind kind, ::llvm::StringRef name) {
      return get(context, kind, ::mlir::StringAttr::get(context, name), {}, {});
    }
    /// For values of a parameter: its value (name ""), its gradient, a state.
    static KeyAttr get(ValueKind kind, ::mlir::FlatSymbolRefAttr of, ::llvm::StringRef name = "") {
      return get(of.getContext(), kind,
                 name.empty() ? ::mlir::StringAttr() : ::mlir::StringAttr::get(of.getContext(), name),
                 of, {});
    }
  }];
}

def Sched_StreamAttr : AttrDef<Sched_Dialect, "Stream"> {
  let mnemonic = "stream";
  let summary = "what a stream of a device is for";
  let description = [{
    Made by `assign-streams` in `sched.streams` of the module, for streams 1, 2, ...: the collectives of
    a group, or the messages of a channel, whose ends are given by their distance from the rank along
    the axis, so that ranks of all stages number their streams alike.

    `#sched.stream<over ["dp"]>`; `#sched.stream<over ["pp"] from 0 to 1>`: to the next stage;
    `#sched.stream<over ["pp"] from -1 to 0>`: from the one before.
  }];
  let parameters = (ins "::mlir::ArrayAttr":$axes, DefaultValuedParameter<"int64_t", "0">:$from,
                        DefaultValuedParameter<"int64_t", "0">:$to);
  let assemblyFormat = "`<` `over` $axes `` custom<Ends>($from, $to) `>`";
  let extraClassDeclaration = [{
    bool isChannel() { return getFrom() != getTo(); }
  }];
}

def Sched_RowsAttr : AttrDef<Sched_Dialect, "Rows"> {
  let mnemonic = "rows";
  let summary = "rows of tokens that the host gives";
  let description = [{
    A microbatch has `rows` rows of `length` tokens; an input takes `positions` of them from its
    shift on; tokens are below `vocabulary`. `axes` share the rows of the batch.
  }];
  let parameters = (ins "int64_t":$rows, "int64_t":$length, "int64_t":$positions,
                        "int64_t":$vocabulary, OptionalParameter<"::mlir::ArrayAttr">:$axes);
  let assemblyFormat = [{
    `<` $rows `x` $length `positions` $positions `vocabulary` $vocabulary (`over` $axes^)? `>`
  }];
}

def Sched_ExecuteAttr : AttrDef<Sched_Dialect, "Execute"> {
  let mnemonic = "execute";
  let summary = "that an entry executes a section once, or for each microbatch; or all tasks";
  let parameters = (ins EnumParameter<Sched_Times>:$times,
                        OptionalParameter<"::mlir::FlatSymbolRefAttr">:$section);
  let assemblyFormat = "`<` $times `` custom<Section>($section) `>`";
}

def Sched_Memory : TypeDef<Sched_Dialect, "Memory">,
                   BuildableType<"::tplan::sched::MemoryType::get($_builder.getContext())"> {
  let mnemonic = "memory";
  let summary = "what a sched.value is: instances of one type, at a constant stride";
}

//===----------------------------------------------------------------------===//
// The program
//===----------------------------------------------------------------------===//

def Sched_ProgramOp : Sched_Op<"program", [IsolatedFromAbove, NoTerminator, SingleBlock, Symbol,
                                           SymbolTable]> {
  let summary = "what a rank does: entries of sections, and their values";
  let description = [{
    Made by `order-tasks` with the tasks and the chains, which `form-program` turns into values,
    sections and entries; `count-slots` adds families, `memory` places, `lower` translates.

    `tasks` holds (kind, stage, microbatch) triples. The section of a task has its kind and stage.
    Where stages lie on several ranks there is a program for each coordinate along the axis of the
    stages, which the attribute `rank` says, with the tasks of the stages that it `holds`, and
    messages among them: a rank sends in the place of its order where another one receives.

    ```mlir
    sched.program @step policy "gpipe" stages 1 microbatches 2
        tasks [F 0 0, F 0 1, B 0 0, B 0 1] losses {main = 1.0} {
      sched.family @s0.fw from F 0 to B 0 slots 2 bytes 4096 slot_of [0, 1]
      %h = sched.value <activation "r0.a.0.res_fw.h"> residual microbatch bytes 1024 x 4 in @s0.fw
      sched.section @F.0 task F 0 {
        sched.run "forward" "a[0..3]" x 4 {
          sched.call @a.F from(%w[period], ...) to(%h[period], ...) frame %f
        }
      }
      sched.entry step [#sched.execute<once @begin>, #sched.execute<tasks>, ...]
    }
    ```

    With `chains 2` the stages are two copies of a model: the first half of them is one chain, which
    does the first half of the microbatches, the second half the other one.

    (C1) tasks are triples; kinds, stages and microbatches are in range. Where two are done
    together (`F 0 1 with B 0 0`), both are F, B, I or W; bit 8 of the second one's kind says so.
    R has the first microbatch of its stage.
    (C2) each stage that it holds does each microbatch of its chain once forward, and backward once:
    B, or I and W, the same for all microbatches. A message is sent or received once: RF of a stage and RB where
    the neighbour is elsewhere. Where messages are started all are, and each has an await: ASF, ARF,
    ASB, ARB. Where ranks sum up what the backwards of a stage leave, R does, once.
    (C3) a task follows what it needs: F after F of the stage before, or its RF; B and I after F of
    their stage, and B or I of the next stage, or their RB; W after I; SF after F, SB after B or I; R
    after all backwards of its stage. An await follows its message, and what needs a message needs
    its await.
    What is done together needs nothing of each other.
    (C4) the body holds chains, families, values, sections and entries; values have unlike keys.
    (C5) with an arena, each family and value lies inside it.
    (C6) values say which family they are in, or none; they fill its slot: `bytes` of a family is
    the sum of its values', each rounded up to 64.
    (C7) an entry that executes tasks finds a section for each kind and stage of them, and executes
    each section of a task.
    (C8) what it holds are stages, ascending, and all of them where it has no `rank`.
    (C9) chains divide the stages and the microbatches.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, StrAttr:$policy, I64Attr:$stages,
                       DefaultValuedAttr<I64Attr, "1">:$chains, I64Attr:$microbatches,
                       OptionalAttr<I64Attr>:$rank,
                       OptionalAttr<DenseI64ArrayAttr>:$holds, DenseI32ArrayAttr:$tasks,
                       OptionalAttr<DictionaryAttr>:$losses, OptionalAttr<I64Attr>:$arena,
                       OptionalAttr<I64Attr>:$live);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name `policy` $policy `stages` $stages (`chains` $chains^)? `microbatches` $microbatches
    (`rank` $rank^ `holds` $holds)? `tasks` custom<Tasks>($tasks) (`losses` $losses^)? (`arena` $arena^ `live` $live)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;       // tasks, before what counts on them
  let hasRegionVerifier = 1; // what the body says together
  let extraClassDeclaration = [{
    /// Number of tasks, and task i as (kind, stage, microbatch).
    int64_t getNumTasks() { return getTasks().size() / 3; }
    Task getTask(int64_t i) { return taskIn(getTasks(), i); }
    auto getTaskList() {
      return ::llvm::map_range(::llvm::seq(getNumTasks()),
                               [data = getTasks()](int64_t i) { return taskIn(data, i); });
    }
    /// Whether the backward of a stage is cut into I and W.
    bool isSplit(int64_t stage);
    bool holds(int64_t stage) { return !getHolds() || ::llvm::is_contained(*getHolds(), stage); }
    /// Stages of one chain.
    int64_t getChainLength() { return getStages() / getChains(); }
    /// The stages of its chain from which a stage's forward comes and to which it goes, or -1.
    int32_t before(int64_t stage) { return stage % getChainLength() ? stage - 1 : -1; }
    int32_t after(int64_t stage) { return (stage + 1) % getChainLength() ? stage + 1 : -1; }
    /// The microbatches that a stage does, from the first to the end.
    std::pair<int64_t, int64_t> getMicrobatchesOf(int64_t stage) {
      int64_t each = getMicrobatches() / getChains(), chain = stage / getChainLength();
      return {chain * each, (chain + 1) * each};
    }
    /// The attribute that says, among several programs, which belong to one step.
    bool isOfPipeline() { return getRank().has_value(); }
    nn::ChainOp getChain(::llvm::StringRef name);
    /// The section of a kind of task, or null. Other sections, and families, are found by their
    /// symbols.
    SectionOp findSection(TaskKind kind, int64_t stage);
  }];
}

def Sched_FamilyOp : Sched_Op<"family", [Symbol, HasParent<"ProgramOp">]> {
  let summary = "values with one producer task and one last reader, per microbatch";
  let description = [{
    Made by `count-slots`, `gather-ahead` and `keep-gathered`, placed by `plan-arena`, read by `lower-host`.
    Microbatch m has its values in slot `slot_of[m]` while it is between producer and last reader.
    `bytes` is one slot: the values that name the family, in their order. `at` has the offset of
    each slot in the arena.
    On a rank with several stages, families of theirs that are alike take their slots from one pool,
    so that what one stage does not need at a time another one does: slot i is slot `pool_slots`[i]
    of pool `pool`, wherever a family names it.

    (C1) slots >= 1; slot_of has an entry per microbatch, each below slots.
    (C2) two microbatches that are live at once have unlike slots.
    (C3) `at` has an entry per slot.
    (C4) `pool_slots` has an entry per slot; families of a pool have the same bytes, and no two
    microbatches in them that are live at once have one slot of it.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, Sched_TaskKind:$producer, I64Attr:$producer_stage,
                       Sched_TaskKind:$reader, I64Attr:$reader_stage, I64Attr:$slots,
                       I64Attr:$bytes, DenseI32ArrayAttr:$slot_of,
                       OptionalAttr<I64Attr>:$pool, OptionalAttr<DenseI32ArrayAttr>:$pool_slots,
                       OptionalAttr<DenseI64ArrayAttr>:$at);
  let assemblyFormat = [{
    $sym_name `from` $producer $producer_stage `to` $reader $reader_stage `slots` $slots
    `bytes` $bytes `slot_of` $slot_of (`pool` $pool^ $pool_slots)? (`at` $at^)? attr-dict
  }];
  let hasVerifier = 1;
}

def Sched_ValueOp : Sched_Op<"value", [HasParent<"ProgramOp">,
                                       DeclareOpInterfaceMethods<OpAsmOpInterface, ["getAsmResultNames"]>]> {
  let summary = "memory for a value, or for one of each layer of a run at a constant stride";
  let description = [{
    Made by `form-program`, by the passes of `overlap` for events and what is in flight, and for a GPU by
    `plan-arena`, which places each; an address in `lower-host`.
    `bytes` is one instance, `count` how many stand one after the other, each rounded up to 64
    bytes. `at` is the offset in the arena (of a family's value: in the slot). `type` is that of
    one instance; memory that functions share has none. `given`: the host writes it for each step.
    `pending`: axes over which the sum of a loss is pending when an entry has ended; one of several
    instances is the sum of them, in their order. `first`: what instance 0 is of the model's: of a
    weight of a list, its layer there; of the scalar "layer", the number of the layer. A rank that
    holds several stages has a range of them for each: `first 2 x 2, 6 x 2`.

    (C1) bytes >= 0, count >= 1, `at` a multiple of 64.
    (C2) only what lives as long as a microbatch is in a family.
    (C3) ranges ascend, do not overlap, and have `count` instances together.
  }];
  let arguments = (ins Sched_KeyAttr:$key, Sched_Owner:$owner, Sched_Life:$lives, I64Attr:$bytes,
                       I64Attr:$count, OptionalAttr<TypeAttr>:$type,
                       OptionalAttr<DenseI64ArrayAttr>:$ranges,
                       OptionalAttr<FlatSymbolRefAttr>:$family, OptionalAttr<I64Attr>:$at,
                       UnitAttr:$given, OptionalAttr<Sched_RowsAttr>:$rows,
                       OptionalAttr<ArrayAttr>:$pending);
  let results = (outs Sched_Memory:$memory);
  let assemblyFormat = [{
    $key $owner $lives `bytes` $bytes `x` $count `` custom<Ranges>($ranges, ref($count)) (`of` $type^)?
    (`in` $family^)? (`at` $at^)?
    (`given` $given^)? (`rows` $rows^)? (`pending` $pending^)? attr-dict
  }];
  let builders = [OpBuilder<(ins "KeyAttr":$key, "Owner":$owner, "Life":$lives, "int64_t":$bytes,
                                 "int64_t":$count, CArg<"::mlir::Type", "{}">:$type)>];
  let hasVerifier = 1;
  let extraClassDeclaration = [{
    /// Bytes from one instance to the next.
    int64_t getStride() { return alignUp(getBytes()); }
    int64_t getTotal() { return getStride() * getCount(); }
    nn::Tensor getTensor();
    std::string getName() { return getKey().spell(); }
    /// What the instances are of the model's, in their order.
    llvm::SmallVector<InstanceRange, 2> getInstances();
    /// Sets these and their number.
    void setInstances(llvm::ArrayRef<InstanceRange> instances);
    /// The place of an instance of the model among those it has, or -1.
    int64_t indexOf(int64_t instance);
  }];
}

//===----------------------------------------------------------------------===//
// The order
//===----------------------------------------------------------------------===//

def Sched_EntryOp : Sched_Op<"entry", [HasParent<"ProgramOp">]> {
  let summary = "what the runtime calls: sections in order";
  let description = [{
    Made by `form-program`, becomes a function that the runtime calls in `lower-host`.
    `prepare` runs once before the first step, `step` is a training step, `evaluate` one microbatch
    of an evaluation, `predict` one of samples.

    (C1) each item but `tasks` names a section of the program.
    (C2) a program has one entry of a kind.
  }];
  let arguments = (ins Sched_EntryKind:$kind, ArrayAttr:$sections);
  let assemblyFormat = "$kind $sections attr-dict";
  let hasVerifier = 1;
}

def Sched_SectionOp : Sched_Op<"section", [Symbol, NoTerminator, SingleBlock, HasParent<"ProgramOp">]> {
  let summary = "ops that are executed in order, for one microbatch or for the step";
  let description = [{
    Made by `form-program`, and for a pair by `merge-pairs`; becomes a function in `lower-host`.
    The section of a task has its kind and stage: what lives as long as a microbatch is that of the
    microbatch for which it is executed. Other sections use slot 0, because they keep nothing for a
    later one.
    On a GPU the first `head` ops are issued by themselves (`hoist-inputs`, and `assign-streams` for
    what other sections await, or have started, and what is awaited of ops among these), and the others are
    captured: for microbatch m as graph `graph` + `of`[m], without `of` as `graph`
    (`number-graphs`).
    A `first` section stands for the other one of its kind and stage where the first task of these is
    executed (`defer-gathers`), a `last` one for the last task (`start-reductions`), an `early` one in
    entries of kind early_step, where other last ones stand for none.
    A section of a pair (`task F 0 with I 3 shift -2`, `merge-pairs`) stands for two: where F and a
    backward are done together, the backward's microbatch is F's and so many more, and neither task
    has a first or last section. It is executed for the microbatch of F; what it uses of the
    backward's says so: `of microbatch - 2`.

    (C1) the body holds ops with the interface Step, and runs.
    (C2) what lives as long as a section, except a frame, is written in it before it is read.
    (C3) `head` is no more than the body has ops, and `of` has an entry for each microbatch.
    (C4) only a task has a first, a last or an early section, and none is first and last.
    (C5) a pair is F with B, I or W of another microbatch, and its section is no first, last or early one.
    (C6) what a section uses is of its tasks' microbatches.
  }];
  let arguments = (ins SymbolNameAttr:$sym_name, OptionalAttr<Sched_TaskKind>:$kind,
                       OptionalAttr<I64Attr>:$stage, OptionalAttr<Sched_TaskKind>:$with,
                       OptionalAttr<I64Attr>:$with_stage, DefaultValuedAttr<I64Attr, "0">:$shift,
                       UnitAttr:$first, UnitAttr:$last, UnitAttr:$early,
                       DefaultValuedAttr<I64Attr, "0">:$head,
                       OptionalAttr<I64Attr>:$graph, OptionalAttr<DenseI32ArrayAttr>:$graph_of);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = [{
    $sym_name (`task` $kind^ $stage)? (`with` $with^ $with_stage `shift` $shift)? (`first` $first^)? (`last` $last^)? (`early` $early^)? (`head` $head^)? (`graph` $graph^)? (`of` $graph_of^)?
    attr-dict-with-keyword $body
  }];
  let hasVerifier = 1;
  let hasRegionVerifier = 1;
  let builders = [OpBuilder<(ins "::llvm::StringRef":$name, "TaskKindAttr":$kind,
                                 "::mlir::IntegerAttr":$stage)>];
  let extraClassDeclaration = [{
    bool isOfTask() { return getKind().has_value(); }
    bool isOfPair() { return getWith().has_value(); }
    /// Whether it is executed for tasks of this kind and stage, alone or with others.
    bool isOf(TaskKind kind, int64_t stage) {
      return (getKind() == kind && static_cast<int64_t>(*getStage()) == stage) ||
             (getWith() == kind && static_cast<int64_t>(*getWithStage()) == stage);
    }
    /// The ops that are issued by themselves, and the others.
    llvm::iterator_range<::mlir::Block::iterator> getHeadOps();
    llvm::iterator_range<::mlir::Block::iterator> getBodyOps();
    /// How many graphs it has.
    int64_t getNumGraphs();
  }];
}

def Sched_RunOp : Sched_Op<"run", [NoTerminator, SingleBlock, HasParent<"SectionOp">]> {
  let summary = "a loop over the periods of a run of layers";
  let description = [{
    Made by `form-program` of `nn.run`, cut by `gather-ahead`, `rotate-layers` and `cut-last-layer`, and two by two by
    `merge-pairs`; becomes a loop in `lower-host`.
    The body is executed for period 0 to `times` - 1, or descending. `what` (a part) and
    `title` (the layers) are for the report.

    (C1) times >= 1; the body holds ops with the interface Step.
  }];
  let arguments = (ins StrAttr:$what, StrAttr:$title, I64Attr:$times, UnitAttr:$descending);
  let regions = (region SizedRegion<1>:$body);
  let assemblyFormat = "$what $title `x` $times (`descending` $descending^)? attr-dict-with-keyword $body";
  let hasVerifier = 1;
}

//===----------------------------------------------------------------------===//
// Work
//===----------------------------------------------------------------------===//

/// An op with values: it reads or writes an instance of each. The instance is an expression of the
/// period of the run and the microbatch. In the first, or last, period another value may be used
/// instead, the border's: `%kept[period - 1] first %chain`. Its instance is 0.
/// What is kept by microbatches is that of the section's, or, in a section of a pair, of the other
/// task's: `%kept[period] of microbatch - 2`.
///
/// (U1) a use has an operand, and one more where it has a border; `reads` of the uses come first.
/// (U2) an instance has no dimension but period and microbatch, and exists.
class Sched_StepOp<string mnemonic, list<string> methods = [], list<Trait> traits = []>
    : Sched_Op<mnemonic, traits # [DeclareOpInterfaceMethods<Sched_Step, methods>]> {
  dag uses = (ins Variadic<Sched_Memory>:$values, AffineMapArrayAttr:$instances,
                  DenseI32ArrayAttr:$borders, I64Attr:$reads);
  string uses_format = "custom<Uses>($values, $instances, $borders, $reads)";
  let hasVerifier = 1;
}

def Sched_CallOp : Sched_StepOp<"call", ["getTitle", "getCompletion", "getSignal"],
                                [AttrSizedOperandSegments,
                                 DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "calls the function of a layer";
  let description = [{
    Made by `form-program`, and by the passes of `overlap` that cut or start one; becomes a call of the
    function's code with a table of addresses in `lower-host`.
    `from` are the arguments, `to` the results that update no argument; `frame` is the memory of its
    temporaries. With `layers` one call does the work of so many layers, from this instance on.
    `started`, it is complete where the last of its values, an event, is awaited: other work runs
    meanwhile.

    (C1) it has as many values as the function has arguments and such results, and an event if it is
    started, each of their bytes at least.
    (C2) its event has awaits in its section, the last of which completes it, or one in another one.
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$callee, Optional<Sched_Memory>:$frame,
                            DefaultValuedAttr<I64Attr, "1">:$layers, UnitAttr:$started), uses);
  let assemblyFormat = "$callee " # uses_format # " (`frame` $frame^)? (`layers` $layers^)? (`started` $started^)? attr-dict";
  let extraClassDeclaration = [{
    rt::FuncOp getFunction();
  }];
}

def Sched_AwaitOp : Sched_StepOp<"await"> {
  let summary = "waits until what was started is complete";
  let description = [{
    Made by the passes of `overlap` that start something, and by `form-program` for messages that are
    started; becomes a call of `tp_await` in `lower-host`.
    (C1) it reads events, one at least, and writes nothing.
  }];
  let arguments = uses;
  let assemblyFormat = uses_format # " attr-dict";
}

def Sched_ZeroOp : Sched_StepOp<"zero"> {
  let summary = "writes zeros";
  let description = [{
    Made by `form-program` where a sum begins; becomes a call of `tp_zero` in `lower-host`.
  }];
  let arguments = uses;
  let assemblyFormat = uses_format # " attr-dict";
}

def Sched_UnpackOp : Sched_StepOp<"unpack"> {
  let summary = "an input of the model, of the rows that the host gave";
  let description = [{
    Made by `form-program` of `nn.input`, becomes a call of `tp_copy` in `lower-host`.
    Rows in memory are longer than those of a value, by the largest shift. (C1) `from` has `rows`,
    `to` a type.
  }];
  let arguments = !con((ins I64Attr:$shift), uses);
  let assemblyFormat = "`shift` $shift " # uses_format # " attr-dict";
}

def Sched_CopyOp : Sched_StepOp<"copy"> {
  let summary = "copies what a section reads by the number of its microbatch";
  let description = [{
    Made by `hoist-inputs`, becomes a call of `tp_copy` in `lower-host`.
    (C1) from one value to another of as many bytes.
  }];
  let arguments = uses;
  let assemblyFormat = uses_format # " attr-dict";
}

def Sched_AllReduceOp : Sched_StepOp<"all_reduce", ["getResource", "getTitle"], [HasParent<"SectionOp">]> {
  let summary = "the sums of what the ranks of a group have of some numbers";
  let description = [{
    Made by `form-program`, becomes a call of `tp_collectives` in `lower-host`.
    `of` names them in the report: "sum of norm". (C1) of f64s, each from one value to another.
    (C2) it stands in a section and in no run, so that the ranks that meet in it need not count.
  }];
  let arguments = !con((ins ArrayAttr:$axes, StrAttr:$of), uses);
  let assemblyFormat = "$of `over` $axes " # uses_format # " attr-dict";
}

/// Pieces of a message are sent in the order of the uses, as they lie in memory: `to` or `from` is
/// the coordinate of the other rank along the axis of the stages. A message has one channel for each
/// pair of ranks and direction, in which messages come in the order in which they are sent. `started`,
/// it is complete where its event, the last of its values, is awaited.
class Sched_MessageOp<string mnemonic>
    : Sched_StepOp<mnemonic, ["getResource", "getTitle", "getCompletion", "getSignal"],
                   [HasParent<"SectionOp">]> {
  dag message = !con((ins I64Attr:$peer, StrAttr:$of, UnitAttr:$started), uses);
  let extraClassDeclaration = [{
    /// The coordinates of the ranks between which it goes, the sender's first.
    std::pair<int64_t, int64_t> getEnds();
  }];
}

def Sched_SendOp : Sched_MessageOp<"send"> {
  let summary = "sends values to a rank that holds another stage";
  let description = [{
    Made by `form-program` of the tasks SF and SB, becomes a call of `tp_collectives`, or of `tp_start`,
    in `lower-host`.
    `of` names it: "F of stage 1". It is complete when its values may be written again.
    (C1) it reads one value at least and writes none, except its event. (C2) the program is one of
    several, and the peer another rank. (C3) it stands in a section and in no run. (C4) the event of what is
    started has an await.
  }];
  let arguments = message;
  let assemblyFormat = "$of `to` `rank` $peer " # uses_format # " (`started` $started^)? attr-dict";
}

def Sched_ReceiveOp : Sched_MessageOp<"receive"> {
  let summary = "receives values from a rank that holds another stage";
  let description = [{
    Made by `form-program` of the tasks RF and RB, becomes a call of `tp_collectives`, or of `tp_start`,
    in `lower-host`.
    (C1) it writes one value at least and reads none. (C2) the program is one of several, and the
    peer another rank. (C3) it stands in a section and in no run. (C4) the event of what is started has
    an await.
  }];
  let arguments = message;
  let assemblyFormat = "$of `from` `rank` $peer " # uses_format # " (`started` $started^)? attr-dict";
}

def Sched_LaunchOp : Sched_StepOp<"launch", ["getTitle"],
                                  [DeclareOpInterfaceMethods<SymbolUserOpInterface>]> {
  let summary = "launches a kernel of the step itself";
  let description = [{
    Made by `form-program`; `step-kernels` makes its kernel, and `lower-host` a launch.
    On single numbers: those of `from` and `to` are the kernel's inputs and outputs.

    (C1) once it is there, the kernel has as many inputs and outputs, of the same bytes.
  }];
  let arguments = !con((ins FlatSymbolRefAttr:$kernel), uses);
  let assemblyFormat = "$kernel " # uses_format # " attr-dict";
}

def Sched_ReadyOp : Sched_Op<"ready", [DeclareOpInterfaceMethods<Sched_Step>]> {
  let summary = "tells the runtime that the gradients of the step are complete";
  let description = [{
    Made by `form-program`, becomes a call of `tp_gradients_ready` in `lower-host`, where the
    runtime writes gradients for `--dump-gradients`. `update-early` moves it before the first
    update; if sums are still under way there, and there is something to write, the runtime waits for
    them.
  }];
  let assemblyFormat = "attr-dict";
}

#endif // TPLAN_SCHED
