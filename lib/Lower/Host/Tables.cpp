//===- Host/Tables.cpp - a tp_program and its tables ----------------------===//
#include "lib/Lower/Host/Tables.h"
#include "dialects/nn/Scalars.h"
#include "lib/Lower/Gpu/Names.h"
#include "lib/Lower/Host/Arena.h"
#include "lib/Lower/Host/Functions.h"
#include "lib/Lower/Host/Recipe.h"
#include "lib/Schedule/StepKernels.h"
#include "lib/Schedule/Values.h"
#include "llvm/ADT/StringSwitch.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::KeyAttr;
using sched::Owner;
using sched::ValueKind;
using sched::ValueOp;

namespace {

tp_tensor_role roleOf(Owner owner) {
  return owner == Owner::Parameter ? TP_WEIGHT
         : owner == Owner::State   ? TP_OPTIMIZER_STATE
         : owner == Owner::Copy    ? TP_WORKING_COPY
         : owner == Owner::Error   ? TP_GRADIENT_ERROR
                                   : TP_GRADIENT;
}

/// The attribute of a parameter that says how ranks share a tensor.
StringRef layoutName(tp_tensor_role role) {
  switch (role) {
  case TP_OPTIMIZER_STATE:
    return dist::kState;
  case TP_GRADIENT:
    return dist::kGradient;
  case TP_GRADIENT_ERROR:
    return dist::kError;
  default:
    return dist::kWeight;
  }
}

dist::Axes axesOf(ArrayAttr axes) { return axes ? dist::axesOf(axes) : dist::Axes(); }

} // namespace

StringRef lower::stateName(KeyAttr key) {
  if (key.getKind() == ValueKind::Gradient)
    return "grad";
  return key.getName() ? key.getName().getValue() : "";
}

std::vector<Record<tp_tensor>> TableEmitter::tensors() {
  std::vector<Record<tp_tensor>> table;
  for (ValueOp value : valuesInPlace(program)) {
    FlatSymbolRefAttr symbol = value.getKey().getOf();
    if (!symbol || value.getKey().getKind() == ValueKind::GradientPart)
      continue;
    auto param = common.params.lookup<nn::ParamOp>(symbol.getValue());
    tp_tensor_role role = roleOf(value.getOwner());
    nn::Tensor type = value.getTensor(), logical = type;
    dist::LayoutAttr layout;
    bool isError = role == TP_GRADIENT_ERROR;
    if (auto global = param->getAttrOfType<TypeAttr>(isError ? dist::kErrorType : dist::kGlobal)) {
      logical = cast<nn::Tensor>(global.getValue());
      layout = param->getAttrOfType<dist::LayoutAttr>(layoutName(role));
    }
    dist::RowsAttr rows = layout ? layout.getRows() : dist::RowsAttr();
    std::vector<Cell<int64_t>> shape, whole;
    std::vector<Cell<int32_t>> cuts;
    int64_t rowLength = 1;
    for (nn::DimAttr dim : logical.getDims()) {
      ArrayRef<StringAttr> axes = layout ? layout.axesOf(dim.getName()) : ArrayRef<StringAttr>();
      int64_t size = groups.mesh.blockOf(dim, axes);
      whole.emplace_back(dim.getSize());
      shape.emplace_back(size);
      cuts.emplace_back(groups.numberOf(axes));
      if (rows && llvm::none_of(rows.getDims(), [&](StringAttr d) { return d == dim.getName(); }))
        rowLength *= size;
    }
    nn::InitAttr init = param.getInit();
    // Only weights start at random. The model's own states start at their value, everything else at
    // zero.
    bool normal = role == TP_WEIGHT && init.getKind() == "normal";
    bool own = role == TP_WEIGHT || param.isState();
    double start = own ? init.getValue().getValueAsDouble() : 0;
    int64_t offset = *value.getAt();
    for (sched::InstanceRange range : value.getInstances()) {
      table.push_back(
          {.path = param.getPath(),
           .slot = stateName(value.getKey()),
           .shape = host.array<int64_t>("shape", shape),
           .whole = host.array<int64_t>("whole", whole),
           .dim_groups = host.array<int32_t>("groups", cuts),
           .role = role,
           .type = runtimeType(type.getElementType()),
           .rank = logical.getRank(),
           .count = range.count,
           .first = param.getFirst() + range.first * static_cast<int64_t>(param.getStep()),
           .step = param.getStep(),
           .offset = offset,
           .stride = value.getStride(),
           .id = param.getId() + range.first * static_cast<int64_t>(param.getIdStep()),
           .id_step = param.getIdStep(),
           .init = normal ? TP_NORMAL : TP_CONSTANT,
           .init_value = start,
           .chunk = rows ? rows.getBlock() * rowLength : 0,
           .chunk_group = rows ? groups.numberOf(rows.getAxes()) : -1,
           .in_whole = rows && rows.getInWhole(),
           .memory = value.getBytes()});
      offset += range.count * value.getStride();
    }
  }
  return table;
}

std::vector<Record<tp_input>> TableEmitter::inputs() {
  std::vector<Record<tp_input>> table;
  for (ValueOp value : valuesInPlace(program))
    if (std::optional<sched::RowsAttr> rows = value.getRows())
      table.push_back({.source = value.getKey().getName().getValue(),
                       .offset = *value.getAt(),
                       .rows = rows->getRows(),
                       .length = rows->getLength(),
                       .positions = rows->getPositions(),
                       .vocabulary = rows->getVocabulary(),
                       .group = groups.numberOf(axesOf(rows->getAxes()))});
  return table;
}

/// How the runtime makes a scalar.
static tp_scalar_kind scalarKind(StringRef name) {
  auto kind = llvm::StringSwitch<std::optional<tp_scalar_kind>>(name)
                  .Case(nn::kSeed, TP_SEED)
                  .Case(nn::kStepNumber, TP_STEP)
                  .Case(nn::kLearningRate, TP_LR)
                  .Cases({nn::kBeta1Power, nn::kBeta2Power}, TP_POWER)
                  .Cases({nn::kLayerScalar, nn::kOffsetScalar}, TP_INDEX)
                  .Default(std::nullopt);
  if (!kind)
    llvm::reportFatalInternalError("the runtime makes no scalar " + name);
  return *kind;
}

/// The scalars that the runtime sets.
std::vector<Record<tp_scalar>> TableEmitter::scalars() {
  std::vector<Record<tp_scalar>> table;
  auto add = [&](ValueOp value, tp_scalar_kind kind, double base) {
    int64_t offset = value ? places.offsetOf(value) : 0;
    for (sched::InstanceRange range :
         value ? value.getInstances() : SmallVector<sched::InstanceRange, 2>()) {
      table.push_back({.kind = kind,
                       .type = runtimeType(value.getTensor().getElementType()),
                       .offset = offset,
                       .value = base,
                       .count = range.count,
                       .first = range.first});
      offset += range.count * value.getStride();
    }
  };
  const lang::Optimizer optimizer = settings.recipe.optimizer.value_or(lang::Optimizer());
  for (const nn::ScalarFacts &scalar : nn::kScalars)
    if (scalar.source != nn::ScalarSource::Step)
      add(places.find(ValueKind::Scalar, scalar.name), scalarKind(scalar.name),
          scalar.name == nn::kBeta1Power            ? optimizer.beta1
          : scalar.name == nn::kBeta2Power          ? optimizer.beta2
          : scalar.per == nn::ScalarPer::Microbatch ? static_cast<double>(microbatch())
                                                    : 1);
  for (auto value : program.getBody().getOps<ValueOp>())
    if (value.getRows()) {
      add(places.find(ValueKind::InUse, value.getTensor().getDims().front().getName()), TP_ROWS, 1);
      break; // all inputs have the rows of the batch
    }
  for (ValueOp value : valuesInPlace(program))
    if (value.getKey().getKind() == ValueKind::Member)
      table.push_back(
          {.kind = TP_MEMBER,
           .type = TP_I32,
           .offset = places.offsetOf(value),
           .value = static_cast<double>(groups.numberOf(axesOf(value.getKey().getAxes()))),
           .count = 1,
           .first = 0});
  return table;
}

/// Sequences that all ranks have in a microbatch.
int64_t TableEmitter::microbatch() { return settings.dataRanks() * settings.microbatch(); }

/// Losses come first, the main one before the others. A single loss is called `loss`; of several
/// the runtime also adds up the total.
std::vector<Record<tp_metric>> TableEmitter::metrics() {
  std::vector<Record<tp_metric>> table;
  DictionaryAttr losses = program.getLossesAttr();
  auto add = [&](StringRef loss) {
    auto factor = losses ? losses.getAs<FloatAttr>(loss) : FloatAttr();
    ValueOp value = places.find(ValueKind::Loss, loss);
    ValueOp count = places.find(ValueKind::Count, loss);
    if (value)
      table.push_back({.name = factor && losses.size() == 1 ? "loss" : loss,
                       .type = runtimeType(value.getTensor().getElementType()),
                       .offset = places.offsetOf(value),
                       .count_offset = count ? places.offsetOf(count) : -1,
                       .group = groups.numberOf(axesOf(value.getPendingAttr())),
                       .count_group = count ? groups.numberOf(axesOf(count.getPendingAttr())) : -1,
                       .unbounded = false,
                       .is_loss = factor != nullptr,
                       .factor = factor ? factor.getValueAsDouble() : 0.0,
                       .parts = value.getCount(),
                       .count_parts = count ? static_cast<int64_t>(count.getCount()) : 1});
  };
  if (losses && losses.get("main"))
    add("main");
  for (NamedAttribute loss : losses ? losses.getValue() : ArrayRef<NamedAttribute>())
    if (loss.getName() != "main")
      add(loss.getName());
  for (auto value : program.getBody().getOps<ValueOp>())
    if (StringAttr name = value.getKey().getName();
        value.getKey().getKind() == ValueKind::Loss && !(losses && losses.contains(name)))
      add(name);
  // With a scaled loss the norm may be infinite, because such a step is skipped.
  for (auto value : program.getBody().getOps<ValueOp>())
    if (value.getKey().getKind() == ValueKind::StepNumber) {
      table.push_back({.name = value.getKey().getName().getValue(),
                       .type = TP_F64,
                       .offset = places.offsetOf(value),
                       .count_offset = -1,
                       .group = -1,
                       .count_group = -1,
                       .unbounded = settings.plan.lossScale.has_value(),
                       .is_loss = false,
                       .factor = 0.0,
                       .parts = 1,
                       .count_parts = 1});
      if (value.getKey().getName() == schedule::kSkipped)
        skippedMetric = table.size();
    }
  return table;
}

/// For each stream except the first, the scratch of its group: offset and bytes. Channels need
/// none.
std::pair<Table<int64_t>, Table<int64_t>> TableEmitter::scratchOfStreams() {
  SmallVector<int64_t> offsets(1, 0), bytes(1, 0);
  for (sched::StreamAttr stream : calls.streamsOfCollectives()) {
    ValueOp scratch; // a message moves bytes and adds nothing up
    if (!stream.isChannel())
      scratch = places.find(
          KeyAttr::get(module.getContext(), ValueKind::Scratch, {}, {}, stream.getAxes()));
    offsets.push_back(scratch ? places.offsetOf(scratch) : 0);
    bytes.push_back(scratch ? static_cast<int64_t>(scratch.getBytes()) : 0);
  }
  return {host.numbers("scratch", offsets), host.numbers("scratch_bytes", bytes)};
}

/// The group whose collectives each stream has; -1: the rank's own work, or messages.
Table<int32_t> TableEmitter::groupsOfStreams() {
  SmallVector<int32_t> numbers(1, -1);
  for (sched::StreamAttr stream : calls.streamsOfCollectives())
    numbers.push_back(stream.isChannel() ? -1 : groups.numberOf(dist::axesOf(stream.getAxes())));
  return host.numbers("stream_groups", numbers);
}

/// Where the events begin that are values, and how many there are; they follow each other.
static std::pair<int64_t, int64_t> placedEvents(sched::ProgramOp program) {
  int64_t begin = std::numeric_limits<int64_t>::max(), bytes = 0;
  for (auto value : program.getBody().getOps<ValueOp>())
    if (value.getOwner() == sched::Owner::Event) {
      begin = std::min(begin, static_cast<int64_t>(*value.getAt()));
      bytes += value.getTotal();
    }
  return {bytes ? begin : 0, bytes / sched::kAlign};
}

/// What only a device has. The text of the kernels is filled in when it is written, in `emit`.
Address<tp_device> TableEmitter::device() {
  if (!calls.onDevice())
    return {};
  ValueOp staging = places.find(ValueKind::Staging), workspace = places.find(ValueKind::Workspace);
  auto ptx = host.external<tp_image>(kPtx), cubin = host.external<tp_image>(kCubin);
  auto [scratch, scratchBytes] = scratchOfStreams();
  auto [begin, end] = givenPiece(program);
  return host.record<tp_device>(
      "device", {.arch = target.arch,
                 .ptx = ptx,
                 .cubin = cubin,
                 .kernels = common.kernels,
                 .num_kernels = common.kernels.size,
                 .sums = common.sums,
                 .num_sums = common.sums.size,
                 .scratch_offsets = scratch,
                 .scratch_bytes = scratchBytes,
                 .given_offset = begin,
                 .given_bytes = end - begin,
                 .staging_offset = staging ? places.offsetOf(staging) : 0,
                 .workspace_offset = workspace ? places.offsetOf(workspace) : 0,
                 .workspace_bytes = workspace ? static_cast<int64_t>(workspace.getBytes()) : 0,
                 .native_sums = settings.plan.reduce == lang::Reduce::Native,
                 .channels = static_cast<int32_t>(settings.plan.channels.value_or(0)),
                 .num_graphs = graphs.graphs,
                 .graph_calls = graphs.calls});
}

void TableEmitter::emitTables() {
  host.loc = program.getLoc();
  tables.tensors = host.table<tp_tensor>("tensors", tensors());
  tables.inputs = host.table<tp_input>("inputs", inputs());
  tables.scalars = host.table<tp_scalar>("scalars", scalars());
  tables.metrics = host.table<tp_metric>("metrics", metrics());
  tables.slots = arenaTables(host, program, places, calls, common.names);
}

Address<tp_program> TableEmitter::emit(StringRef symbol) {
  host.loc = program.getLoc();
  auto entry = [&](tp_entry_kind kind, StringRef function) {
    return Address<int(tp_rank *, char *)>{entries.has[kind] ? function.str() : ""};
  };
  ValueOp logitsValue = places.find(ValueKind::Output, "logits");
  std::optional<nn::Tensor> logits =
      logitsValue ? std::optional(logitsValue.getTensor()) : std::nullopt;
  std::optional<lang::LossScale> scale = settings.plan.lossScale;
  ValueOp moving = places.find(schedule::stepValues(module).factor);
  const lang::Recipe &recipe = settings.recipe;
  const lang::Evaluation eval = recipe.eval.value_or(lang::Evaluation());
  const lang::Saving save = recipe.save.value_or(lang::Saving());
  std::pair<int64_t, int64_t> events = placedEvents(program);
  int64_t axis = groups.mesh.getStages() ? groups.mesh.find(groups.mesh.getStages()) : 0;
  return host.record<tp_program>(
      "program",
      {.abi_version = TP_ABI_VERSION,
       .plan = settings.planName,
       .fingerprint = common.fingerprint,
       .cpu = target.needs,
       .arena_bytes = *program.getArena(),
       .microbatches = program.getMicrobatches(),
       .tokens_per_step = recipe.batch * recipe.sequence,
       .steps = recipe.steps,
       .data = common.data,
       .num_data = common.data.size,
       .eval = common.eval,
       .eval_tokens = eval.tokens,
       .save = saveFolder(settings),
       .eval_every = eval.every,
       .save_every = save.every,
       .save_keep = save.keep,
       .tensors = tables.tensors,
       .num_tensors = tables.tensors.size,
       .inputs = tables.inputs,
       .num_inputs = tables.inputs.size,
       .scalars = tables.scalars,
       .num_scalars = tables.scalars.size,
       .lr = common.rates,
       .num_lr = common.rates.size,
       .metrics = tables.metrics,
       .num_metrics = tables.metrics.size,
       .skipped_metric = skippedMetric,
       .slots = tables.slots.slots,
       .num_slots = tables.slots.count,
       .slot_names = common.slotNames,
       .slot_bases = tables.slots.bases,
       .axes = common.axes,
       .num_axes = common.axes.size,
       .groups = common.groups,
       .num_groups = common.groups.size,
       .num_streams = calls.countStreams(),
       .num_events = calls.countEvents() + events.second,
       .first_placed = calls.countEvents(),
       .events_offset = events.first,
       .stream_groups = groupsOfStreams(),
       .read_first = settings.plan.read == lang::Read::First,
       .audits_scales = calls.recordsValues(),
       .prepare = entry(TP_PREPARE, "tp_prepare"),
       .step = entry(TP_TRAIN, "tp_train"),
       .early_step = entry(TP_TRAIN_EARLY, "tp_train_early"),
       .early_steps = entries.has[TP_TRAIN_EARLY] ? settings.plan.compress->start : 0,
       .evaluate = entry(TP_EVALUATE, "tp_evaluate"),
       .predict = entry(TP_PREDICT, "tp_predict"),
       .entries = entries.table,
       .logits_offset = logits              ? places.offsetOf(logitsValue)
                        : program.getRank() ? -1
                                            : 0,
       .logits_vocabulary = logits ? logits->getDims().back().getSize() : 0,
       .logits_type = logits ? runtimeType(logits->getElementType()) : 0,
       .device = device(),
       .scale_offset = moving ? places.offsetOf(moving) : -1,
       .scale = scale ? scale->start : 0.0,
       .disk = common.disk,
       .programs = common.programs,
       .num_programs = common.programs.size,
       .programs_axis = axis},
      symbol);
}
