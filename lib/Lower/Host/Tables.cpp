//===- Host/Tables.cpp - the constant tp_program, and main ----------------===//
//
// Fields stand in the order of include/tplan/runtime.h, which is the only other
// place that knows it.
//
//===----------------------------------------------------------------------===//
#include "dialects/tplan/LossScale.h"
#include "dialects/tplan/Settings.h"
#include "lib/Lower/Host/Disk.h"
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Host/Program.h"
#include "lib/Lower/Host/Streams.h"
#include "lib/Schedule/Keys.h"
#include "tplan/runtime.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/ADT/StringSwitch.h"
#include "llvm/Support/SHA256.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using namespace tplan::schedule;
using sched::Owner;

namespace {

class TableEmitter {
public:
  TableEmitter(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostPlaces &places,
               sched::ProgramOp program, const Chain &train, const Chain *counts, int64_t stepCalls)
      : host(host), groups(groups), calls(calls), places(places), program(program), train(train),
        counts(counts), stepCalls(stepCalls), module(program->getParentOfType<ModuleOp>()),
        settings(module), target(lang::targetOf(module)) {}

  void emit(const EntryPoints &entries);

private:
  using AddSlot = llvm::function_ref<void(StringRef, int64_t, int64_t, tp_slot_use)>;

  HostBuilder &host;
  HostGroups &groups;
  HostCalls &calls;
  HostPlaces &places;
  sched::ProgramOp program;
  const Chain &train;
  const Chain *counts;
  const int64_t stepCalls;
  ModuleOp module;
  lang::Settings settings;
  const lang::Target &target;

  SmallVector<Record> tensors();
  SmallVector<Record> inputs();
  dist::Axes rowAxes();
  SmallVector<Record> scalars();
  int64_t microbatch();
  SmallVector<Record> rates();
  SmallVector<Record> metrics();
  SmallVector<Record> slots();
  void addFrame(const Chain &chain, const Run &run, Part part, tp_slot_use use, AddSlot add);
  std::string fingerprint();
  SmallVector<Record> data();
  Field evaluated();
  Field saved();
  std::pair<int64_t, int64_t> given();
  Record scratchOfStreams();
  Field device();
  void emitMain(StringRef program);
};

nn::Tensor typeOf(sched::ValueOp value) {
  return cast<nn::Tensor>(value->getAttrOfType<TypeAttr>("type").getValue());
}

/// Address of a table and its length.
void append(HostBuilder &host, Record &to, StringRef name, ArrayRef<Record> table) {
  to.push_back(table.empty() ? Field::null() : Field::address(host.recordsSymbol(name, table)));
  to.push_back(Field::i64(table.size()));
}

} // namespace

SmallVector<Record> TableEmitter::tensors() {
  SmallVector<Record> table;
  for (auto value : program.getBody().getOps<sched::ValueOp>()) {
    auto symbol = value->getAttrOfType<FlatSymbolRefAttr>("param");
    if (!symbol)
      continue;
    auto param = module.lookupSymbol<nn::ParamOp>(symbol.getValue());
    Owner owner = value.getOwner();
    int64_t role = owner == Owner::Parameter ? TP_WEIGHT
                   : owner == Owner::State   ? TP_OPTIMIZER_STATE
                   : owner == Owner::Copy    ? TP_WORKING_COPY
                                             : TP_GRADIENT;
    nn::Tensor type = typeOf(value), logical = type;
    dist::LayoutAttr layout;
    if (auto global = param->getAttrOfType<TypeAttr>(dist::kGlobal)) {
      logical = cast<nn::Tensor>(global.getValue());
      layout = param->getAttrOfType<dist::LayoutAttr>(role == TP_OPTIMIZER_STATE ? dist::kState
                                                      : role == TP_GRADIENT      ? dist::kGradient
                                                                                 : dist::kWeight);
    }
    dist::RowsAttr rows = layout ? layout.getRows() : dist::RowsAttr();
    SmallVector<Record> shape, whole, cuts;
    int64_t rowLength = 1;
    for (nn::DimAttr dim : logical.getDims()) {
      ArrayRef<StringAttr> axes = layout ? layout.axesOf(dim.getName()) : ArrayRef<StringAttr>();
      int64_t size = groups.mesh.blockOf(dim, axes);
      whole.push_back({Field::i64(dim.getSize())});
      shape.push_back({Field::i64(size)});
      cuts.push_back({Field::i32(groups.numberOf(axes))});
      if (rows && llvm::none_of(rows.getDims(), [&](StringAttr d) { return d == dim.getName(); }))
        rowLength *= size;
    }
    auto array = [&](StringRef name, ArrayRef<Record> numbers) {
      return numbers.empty() ? Field::null() : Field::address(host.recordsSymbol(name, numbers));
    };
    nn::InitAttr init = param.getInit();
    // Only weights start at random; everything else at zero, but for what is no weight's.
    bool normal = role == TP_WEIGHT && init.getKind() == "normal";
    bool own = role == TP_WEIGHT || param.isState();
    double start = own ? init.getValue().getValueAsDouble() : 0;
    table.push_back({Field::string(param.getPath()),
                     Field::string(value->getAttrOfType<StringAttr>("slot").getValue()),
                     Field::i32(role),
                     Field::i32(runtimeType(type.getElementType())),
                     Field::i32(logical.getRank()),
                     array("shape", shape),
                     Field::i64(param.getCount()),
                     Field::i64(param.getFirst()),
                     Field::i64(param.getStep()),
                     Field::i64(*value.getAt()),
                     Field::i64(value.getStride()),
                     Field::i64(param.getId()),
                     Field::i64(param.getIdStep()),
                     Field::i32(normal ? TP_NORMAL : TP_CONSTANT),
                     Field::f64(start),
                     array("whole", whole),
                     array("groups", cuts),
                     Field::i64(rows ? rows.getBlock() * rowLength : 0),
                     Field::i32(rows ? groups.numberOf(rows.getAxes()) : -1),
                     Field::i32(rows && rows.getInWhole()),
                     Field::i64(value.getBytes())});
  }
  return table;
}

SmallVector<Record> TableEmitter::inputs() {
  SmallVector<Record> table;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (auto source = value->getAttrOfType<StringAttr>("source")) {
      auto fact = [&](StringRef key) { return value->getAttrOfType<IntegerAttr>(key).getInt(); };
      table.push_back({Field::string(source.getValue()), Field::i64(*value.getAt()),
                       Field::i64(fact("rows")), Field::i64(fact("length")),
                       Field::i64(fact("positions")), Field::i64(fact("vocabulary")),
                       Field::i32(groups.numberOf(rowAxes()))});
    }
  return table;
}

/// Axes that share the rows of the batch.
dist::Axes TableEmitter::rowAxes() {
  if (train.inputs.empty())
    return {};
  nn::InputOp input = train.inputs.front();
  StringRef batch = cast<nn::Tensor>(input.getType()).getDims().front().getName();
  return dist::Axes(dist::layoutOf(input.getValue()).axesOf(batch));
}

/// The scalars that the runtime sets; the squared norm is computed.
SmallVector<Record> TableEmitter::scalars() {
  const std::optional<lang::Optimizer> &optimizer = settings.recipe.optimizer;
  SmallVector<Record> table;
  std::string rows; // of the batch
  if (!train.inputs.empty()) {
    nn::InputOp input = train.inputs.front();
    rows = nn::countOf(cast<nn::Tensor>(input.getType()).getDims().front().getName());
  }
  for (StringRef name :
       {"seed", "step", "lr", rows.c_str(), "beta1_power", "beta2_power", "layer", "offset"}) {
    std::string key = scalarKey(name);
    if (!places.has(key))
      continue;
    int64_t kind = name == rows ? TP_ROWS
                                : llvm::StringSwitch<int64_t>(name)
                                      .Case("seed", TP_SEED)
                                      .Case("step", TP_STEP)
                                      .Case("lr", TP_LR)
                                      .Cases({"layer", "offset"}, TP_INDEX)
                                      .Default(TP_POWER);
    double base = kind == TP_POWER && optimizer
                      ? (name == "beta1_power" ? optimizer->beta1 : optimizer->beta2)
                  : name == "offset" ? microbatch()
                                     : 1;
    sched::ValueOp value = places.find(key);
    table.push_back({Field::i32(kind), Field::i32(runtimeType(typeOf(value).getElementType())),
                     Field::i64(places.offsetOf(key)), Field::f64(base),
                     Field::i64(value.getCount())});
  }
  for (auto value : program.getBody().getOps<sched::ValueOp>()) {
    StringRef key = value.getKey();
    if (!key.consume_front(scalarKey("member.")))
      continue;
    SmallVector<StringRef> names;
    key.split(names, '+');
    dist::Axes axes = llvm::map_to_vector<2>(
        names, [&](StringRef name) { return StringAttr::get(module.getContext(), name); });
    table.push_back({Field::i32(TP_MEMBER), Field::i32(TP_I32),
                     Field::i64(places.offsetOf(value.getKey())), Field::f64(groups.numberOf(axes)),
                     Field::i64(1)});
  }
  return table;
}

/// Sequences that all ranks have in a microbatch.
int64_t TableEmitter::microbatch() { return settings.dataRanks() * settings.microbatch(); }

static int64_t shapeOf(lang::RateShape shape) {
  switch (shape) {
  case lang::RateShape::Flat:
    return TP_FLAT;
  case lang::RateShape::Linear:
    return TP_LINEAR;
  case lang::RateShape::Cosine:
    return TP_COSINE;
  }
  llvm_unreachable("a shape of the learning rate that no case has");
}

SmallVector<Record> TableEmitter::rates() {
  SmallVector<Record> table;
  for (const lang::RatePiece &piece : settings.recipe.lr)
    table.push_back({Field::i64(piece.begin), Field::i64(piece.end), Field::f64(piece.from),
                     Field::f64(piece.to), Field::i32(shapeOf(piece.shape))});
  return table;
}

/// Losses come first, of these the main one. What is the only one is called `loss`; of several the
/// runtime adds up what they are together.
SmallVector<Record> TableEmitter::metrics() {
  SmallVector<Record> table;
  nn::ChainOp chain = train.op;
  DictionaryAttr losses = chain.getLossesAttr();
  auto add = [&](StringRef loss) {
    auto factor = losses ? losses.getAs<FloatAttr>(loss) : FloatAttr();
    std::string key = lossKey(loss), count = lossKey(nn::countOf(loss));
    if (places.has(key))
      table.push_back(
          {Field::string(factor && losses.size() == 1 ? "loss" : loss),
           Field::i32(runtimeType(typeOf(places.find(key)).getElementType())),
           Field::i64(places.offsetOf(key)),
           Field::i64(places.has(count) ? places.offsetOf(count) : -1),
           Field::i32(groups.numberOf(train.pendingAxes(loss))),
           Field::i32(counts ? groups.numberOf(counts->pendingAxes(nn::countOf(loss))) : -1),
           Field::i32(0), Field::i32(factor != nullptr),
           Field::f64(factor ? factor.getValueAsDouble() : 0)});
  };
  if (losses && losses.get("main"))
    add("main");
  for (NamedAttribute loss : losses ? losses.getValue() : ArrayRef<NamedAttribute>())
    if (loss.getName() != "main")
      add(loss.getName());
  forEachMetric(train, add);
  // Of a step with a scaled loss the norm may be infinite, for it is skipped.
  for (StringRef key :
       {StringRef("grad_norm"), StringRef(kLossScaleMetric), StringRef(kSkippedMetric)})
    if (places.has(key))
      table.push_back({Field::string(key), Field::i32(TP_F64), Field::i64(places.offsetOf(key)),
                       Field::i64(-1), Field::i32(-1), Field::i32(-1),
                       Field::i32(places.has(kSkippedMetric)), Field::i32(0), Field::f64(0)});
  return table;
}

/// Every byte that calls touch: values without the padding between them, frames
/// without their holes.
SmallVector<Record> TableEmitter::slots() {
  SmallVector<Record> table;
  auto add = [&](StringRef name, int64_t offset, int64_t bytes, tp_slot_use use) {
    table.push_back({Field::string(name), Field::i64(offset), Field::i64(bytes), Field::i32(use)});
  };
  llvm::StringSet<> evaluation;
  for (const Run &run : train.runs) {
    evaluation.insert(frameKey(train, run, Part::Evaluate));
    for (unsigned k = 0, e = nn::RunOp(run.op).getCarried().size(); k < e; ++k)
      evaluation.insert(handoverKey(train, run, Part::Evaluate, k));
  }
  auto addValue = [&](sched::ValueOp value, int64_t base) {
    bool evaluates = value.getOwner() == Owner::Logits || evaluation.contains(value.getKey());
    tp_slot_use use = evaluates                              ? TP_EVALUATION
                      : value.getOwner() == Owner::Workspace ? TP_OPTIONAL
                                                             : TP_WRITTEN;
    int64_t bytes = value.getBytes(), stride = value.getStride(), count = value.getCount();
    if (bytes == stride)
      return add(value.getKey(), base, bytes * count, use);
    for (int64_t i = 0; i < count; ++i)
      add(value.getKey(), base + i * stride, bytes, use);
  };
  for (Operation &op : program.getBody().front()) {
    auto value = dyn_cast<sched::ValueOp>(op);
    if (value && value.getOwner() != Owner::Frame)
      addValue(value, *value.getAt());
    auto family = dyn_cast<sched::FamilyOp>(op);
    for (int64_t slot = 0, e = family ? family.getSlots() : 0; slot < e; ++slot)
      for (auto member : family.getBody().getOps<sched::ValueOp>())
        addValue(member, (*family.getAt())[slot] + *member.getAt());
  }
  if (auto [begin, end] = given(); calls.onDevice()) // one piece, with what lies between values
    add("given", begin, end - begin, TP_OPTIONAL);
  bool split = program.isSplit();
  for (const Run &run : train.runs)
    for (const nn::PartFacts &facts : nn::kPartFacts)
      if (nn::isOfStep(facts.part) && nn::isRunBy(facts.part, split))
        addFrame(train, run, facts.part, TP_WRITTEN, add);
  if (counts)
    for (const Run &run : counts->runs)
      addFrame(*counts, run, Part::Evaluate, TP_WRITTEN, add);
  for (const Run &run : train.runs)
    addFrame(train, run, Part::Evaluate, TP_EVALUATION, add);
  return table;
}

/// The temporaries of a run's functions, as runs of bytes without holes. One that nothing reads is
/// room to work in, which kernels of a GPU do without: the workspace of attention.
void TableEmitter::addFrame(const Chain &chain, const Run &run, Part part, tp_slot_use use,
                            AddSlot add) {
  std::string key = frameKey(chain, run, part);
  if (!places.has(key))
    return;
  int64_t base = places.offsetOf(key);
  std::vector<std::pair<int64_t, int64_t>> pieces;
  for (const Callee &callee : run.callees)
    if (rt::FuncOp func = callee.part(part))
      for (Operation &op : func.getBlock().without_terminator())
        for (auto [result, attr] :
             llvm::zip(op.getResults(), op.getAttrOfType<ArrayAttr>(sched::kPlaces)))
          if (auto place = cast<sched::PlaceAttr>(attr); place.getKind() == "frame") {
            int64_t begin = place.getN(), bytes = cast<nn::Tensor>(result.getType()).getBytes();
            if (calls.onDevice() && result.use_empty())
              add(key, base + begin, bytes, use == TP_WRITTEN ? TP_OPTIONAL : use);
            else
              pieces.push_back({begin, begin + bytes});
          }
  llvm::sort(pieces);
  for (size_t i = 0; i < pieces.size();) {
    auto [begin, end] = pieces[i];
    for (++i; i < pieces.size() && pieces[i].first <= end; ++i)
      end = std::max(end, pieces[i].second);
    add(key, base + begin, end - begin, use);
  }
}

/// What a checkpoint must agree on: the weights, and how they are trained. Not
/// the layout, nor how long training lasts, nor the order in which a plan has them.
std::string TableEmitter::fingerprint() {
  SmallVector<std::string> lines;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (auto symbol = value->getAttrOfType<FlatSymbolRefAttr>("param");
        symbol && (value.getOwner() == Owner::Parameter || value.getOwner() == Owner::State)) {
      auto param = module.lookupSymbol<nn::ParamOp>(symbol.getValue());
      nn::Tensor type = typeOf(value);
      if (auto global = param->getAttrOfType<TypeAttr>(dist::kGlobal))
        type = type.withDims(cast<nn::Tensor>(global.getValue()).getDims());
      llvm::raw_string_ostream(lines.emplace_back())
          << param.getPath() << " " << value->getAttrOfType<StringAttr>("slot").getValue() << " "
          << type << " " << param.getCount() << " " << param.getFirst() << " " << param.getStep();
    }
  llvm::sort(lines);
  DictionaryAttr recipe = lang::toDictionary(module.getContext(), settings.recipe);
  for (StringRef key : {"batch", "sequence", "optimizer"})
    if (Attribute attr = recipe.get(key))
      llvm::raw_string_ostream(lines.emplace_back()) << key << " " << attr;
  std::string text = llvm::join(lines, "\n");
  auto hash = llvm::SHA256::hash(llvm::arrayRefFromStringRef(text));
  return llvm::toHex(ArrayRef(hash).take_front(16), /*LowerCase=*/true);
}

/// Files of tokens, by an entry of the recipe.
static Record sourceOf(StringRef name, double weight, StringRef stated, StringRef path) {
  static constexpr StringRef formats[] = {
#define FORMAT(name, bytes, hasSign, separator, meaning) name,
#include "include/tplan/token_formats.def"
  };
  const auto *format = llvm::find(formats, stated);
  return {Field::string(name), Field::string(path),
          Field::i32(format == std::end(formats) ? -1 : format - std::begin(formats)),
          Field::f64(weight)};
}

SmallVector<Record> TableEmitter::data() {
  SmallVector<Record> table;
  for (const lang::DataFiles &files : settings.recipe.data)
    table.push_back(sourceOf(files.name, files.weight, files.format, files.path));
  return table;
}

Field TableEmitter::evaluated() {
  const std::optional<lang::Evaluation> &eval = settings.recipe.eval;
  if (!eval || eval->path.empty())
    return Field::null();
  return Field::address(host.recordsSymbol("eval", sourceOf("", 1, eval->format, eval->path)));
}

/// The folder of checkpoints; one that the recipe does not name is called like the plan.
Field TableEmitter::saved() {
  const std::optional<lang::Saving> &save = settings.recipe.save;
  if (!save)
    return Field::null();
  return Field::string(save->path.empty() ? (settings.planName + ".checkpoint").str() : save->path);
}

/// The piece of the arena that the host gives for each step.
std::pair<int64_t, int64_t> TableEmitter::given() {
  int64_t begin = 0, end = 0;
  for (auto value : program.getBody().getOps<sched::ValueOp>())
    if (isGiven(value.getKey())) {
      int64_t at = *value.getAt();
      begin = end ? std::min(begin, at) : at;
      end = std::max(end, at + value.getTotal());
    }
  return {begin, end};
}

/// Of each stream but the first, its group's scratch: offset and bytes.
Record TableEmitter::scratchOfStreams() {
  SmallVector<int64_t> offsets(1, 0), bytes(1, 0);
  for (const dist::Axes &axes : calls.groupsOfStreams()) {
    std::string key = scratchKey(axes);
    offsets.push_back(places.has(key) ? places.offsetOf(key) : 0);
    bytes.push_back(places.has(key) ? places.find(key).getBytes() : 0);
  }
  return {Field::address(host.tableSymbol("scratch", offsets)),
          Field::address(host.tableSymbol("scratch_bytes", bytes))};
}

/// What only a device has. The text of the kernels is written when they are: in `emit`.
Field TableEmitter::device() {
  if (!calls.onDevice())
    return Field::null();
  auto place = [&](StringRef key) { return places.has(key) ? places.offsetOf(key) : 0; };
  auto bytes = [&](StringRef key) { return places.has(key) ? places.find(key).getBytes() : 0; };
  Record record = {Field::string(target.arch)};
  for (StringRef image : {kPtx, kCubin, kCubinBytes})
    record.push_back(Field::address(host.external(image)));
  llvm::append_range(record, calls.deviceFields());
  llvm::append_range(record, scratchOfStreams());
  auto [begin, end] = given();
  for (int64_t number : {begin, end - begin, place(kStagingKey), place(kWorkspaceKey),
                         static_cast<int64_t>(bytes(kWorkspaceKey))})
    record.push_back(Field::i64(number));
  record.push_back(Field::i32(settings.plan.reduce == lang::Reduce::Native));
  record.push_back(Field::i64(stepCalls));
  return Field::address(host.recordsSymbol("device", record));
}

/// The object of the last target has `main`, which names the programs of all.
void TableEmitter::emitMain(StringRef program) {
  if (!target.hasMain || !target.embedAs.empty())
    return;
  SmallVector<Record> programs;
  for (const std::string &name : target.others)
    programs.push_back({Field::address(host.external(name))});
  programs.push_back({Field::address(program)});
  std::string table = host.recordsSymbol("programs", programs);
  host.declare("tp_main", {host.i32, host.ptr, host.ptr, host.i64});
  host.begin("main", {host.i32, host.ptr}, /*exported=*/true);
  host.call("tp_main", {host.argument(0), host.argument(1), host.address(table),
                        host.number(programs.size())});
  host.end();
}

void TableEmitter::emit(const EntryPoints &entries) {
  const lang::Recipe &recipe = settings.recipe;
  Record record = {Field::i32(TP_ABI_VERSION),
                   Field::string(settings.planName),
                   Field::string(fingerprint()),
                   Field::string(target.needs),
                   Field::i64(*program.getArena()),
                   Field::i64(program.getMicrobatches()),
                   Field::i64(recipe.batch * recipe.sequence),
                   Field::i64(recipe.steps)};
  append(host, record, "data", data());
  record.push_back(evaluated());
  const lang::Evaluation eval = recipe.eval.value_or(lang::Evaluation());
  const lang::Saving save = recipe.save.value_or(lang::Saving());
  record.push_back(Field::i64(eval.tokens));
  record.push_back(saved());
  for (int64_t number : {eval.every, save.every, save.keep})
    record.push_back(Field::i64(number));
  append(host, record, "tensors", tensors());
  append(host, record, "inputs", inputs());
  append(host, record, "scalars", scalars());
  append(host, record, "rates", rates());
  append(host, record, "metrics", metrics());
  append(host, record, "places", slots());
  append(host, record, "axes", groups.axes());
  append(host, record, "groups", groups.groups(host)); // the last: others have asked for theirs
  record.push_back(Field::i32(settings.plan.read == lang::Read::First));
  for (StringRef entry : {StringRef(entries.prepare), StringRef(entries.step),
                          StringRef(entries.evaluate), StringRef(entries.predict)})
    record.push_back(entry.empty() ? Field::null() : Field::address(entry));
  std::optional<nn::Tensor> logits = logitsType(train);
  record.push_back(Field::i64(logits ? places.offsetOf(outputKey("logits")) : 0));
  record.push_back(Field::i64(logits ? logits->getDims().back().getSize() : 0));
  record.push_back(Field::i32(logits ? runtimeType(logits->getElementType()) : 0));
  record.push_back(device());
  std::optional<lang::LossScale> scale = settings.plan.lossScale;
  std::string moving = paramKey(lang::kLossScale);
  record.push_back(Field::i64(places.has(moving) ? places.offsetOf(moving) : -1));
  record.push_back(Field::f64(scale ? scale->start : 0));
  record.push_back(diskTable(host, program));
  emitMain(host.recordsSymbol("program", record, target.program()));
}

void lower::emitTables(HostBuilder &host, HostGroups &groups, HostCalls &calls, HostPlaces &places,
                       sched::ProgramOp program, const Chain &train, const Chain *counts,
                       const EntryPoints &entries, int64_t stepCalls) {
  host.loc = program.getLoc();
  TableEmitter(host, groups, calls, places, program, train, counts, stepCalls).emit(entries);
}
