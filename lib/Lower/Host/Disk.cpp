//===- Host/Disk.cpp - names and layouts on disk, as tables ---------------===//
//
// A layout becomes strides: where in the tensor on disk the elements of a weight are. So the
// runtime knows nothing of names of dimensions.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Disk.h"
#include "dialects/dist/Dist.h"
#include "dialects/tplan/Tplan.h"
#include "lib/Lower/Host/Places.h"
#include "tplan/runtime.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using llvm::StringRef;

namespace {

/// A weight's row of the tensor table.
struct Row {
  int64_t number;
  nn::ParamOp param;
  nn::Tensor type; // logical
};

class DiskTables {
public:
  DiskTables(HostBuilder &host, ModuleOp module, ArrayRef<sched::ValueOp> values) : host(host) {
    readRows(module, values);
  }
  Address<tp_disk> emit(lang::DiskOp disk);

private:
  void readRows(ModuleOp module, ArrayRef<sched::ValueOp> values);
  void addTensor(lang::StoredOp op, std::vector<Record<tp_stored>> &table);
  Record<tp_stored> stored(lang::StoredOp op, const Row &row, int64_t place);
  Record<tp_config> config(lang::ConfigOp op);
  Address<tp_constant> constant(Attribute value);
  Table<const char *> strings(ArrayRef<Attribute> texts);

  HostBuilder &host;
  std::vector<Row> rows;
};

} // namespace

/// Rows are numbered as the merged list of tensors counts them: a row of several programs is one.
void DiskTables::readRows(ModuleOp module, ArrayRef<sched::ValueOp> values) {
  int64_t number = 0;
  llvm::DenseSet<Attribute> seen;
  for (sched::ValueOp value : values) {
    FlatSymbolRefAttr symbol = value.getKey().getOf();
    if (!symbol || value.getKey().getKind() == sched::ValueKind::GradientPart ||
        !seen.insert(value.getKey()).second)
      continue;
    int64_t mine = number++;
    if (value.getOwner() != sched::Owner::Parameter)
      continue;
    auto param = module.lookupSymbol<nn::ParamOp>(symbol.getValue());
    nn::Tensor type = value.getTensor();
    if (auto global = param->getAttrOfType<TypeAttr>(dist::kGlobal))
      type = cast<nn::Tensor>(global.getValue());
    rows.push_back({mine, param, type});
  }
}

Table<const char *> DiskTables::strings(ArrayRef<Attribute> texts) {
  std::vector<Cell<const char *>> table;
  for (Attribute text : texts)
    table.emplace_back(cast<StringAttr>(text).getValue());
  return host.array<const char *>("strings", table);
}

/// Weight number `place` of those in the tensor.
Record<tp_stored> DiskTables::stored(lang::StoredOp op, const Row &row, int64_t place) {
  int64_t weights = op.getWeights().size(), stride = 1, first = 0;
  auto sizeOf = [&](StringRef dim) { return row.type.getDims()[row.type.find(dim)].getSize(); };
  std::vector<int64_t> strides(row.type.getRank(), 0), shape;
  // From the innermost factor, whose elements are next to each other.
  for (Attribute factors : llvm::reverse(op.getLayout())) {
    int64_t size = 1;
    for (Attribute factor : llvm::reverse(cast<ArrayAttr>(factors))) {
      auto dim = dyn_cast<StringAttr>(factor);
      int64_t here = dim ? sizeOf(dim) : weights;
      if (dim)
        strides[row.type.find(dim)] = stride;
      else
        first = place * stride;
      stride *= here;
      size *= here;
    }
    shape.insert(shape.begin(), size);
  }
  ArrayRef<Attribute> names = op.getNames().getValue();
  auto name = [&](size_t i) -> Cell<const char *> {
    if (i < names.size())
      return cast<StringAttr>(names[i]).getValue();
    return nullptr;
  };
  auto table = [&](StringRef what, ArrayRef<int64_t> numbers) {
    return numbers.empty() ? Table<int64_t>() : host.numbers(what, numbers);
  };
  return {.tensor = row.number,
          .name = name(0),
          .bare = name(1),
          .rank = shape.size(),
          .shape = table("shape", shape),
          .first = first,
          .strides = table("strides", strides)};
}

/// The rows of one path are different layers of a list: each has tensors of its own on disk.
void DiskTables::addTensor(lang::StoredOp op, std::vector<Record<tp_stored>> &table) {
  std::vector<std::vector<const Row *>> all;
  for (Attribute path : op.getWeights()) {
    all.emplace_back();
    for (Row &row : rows)
      if (row.param.getPath() == cast<StringAttr>(path).getValue())
        all.back().push_back(&row);
  }
  for (size_t i = 0; i < all.front().size(); ++i)
    for (size_t place = 0; place < all.size(); ++place)
      table.push_back(stored(op, *all[place][i], place));
}

Address<tp_constant> DiskTables::constant(Attribute value) {
  auto emit = [&](tp_constant_kind kind, int64_t integer, double real,
                  const Table<const char *> &strings = {}) {
    return host.record<tp_constant>("constant", {.kind = kind,
                                                 .integer = integer,
                                                 .real = real,
                                                 .strings = strings,
                                                 .num_strings = strings.size});
  };
  if (auto boolean = dyn_cast<BoolAttr>(value))
    return emit(TP_BOOLEAN, boolean.getValue(), 0);
  if (auto integer = dyn_cast<IntegerAttr>(value))
    return emit(TP_INTEGER, integer.getInt(), integer.getInt());
  if (auto real = dyn_cast<FloatAttr>(value))
    return emit(TP_REAL, 0, real.getValueAsDouble());
  if (auto list = dyn_cast<ArrayAttr>(value))
    return emit(TP_STRINGS, 0, 0, strings(list.getValue()));
  if (isa<StringAttr>(value))
    return emit(TP_STRING, 0, 0, strings(value));
  return emit(TP_NULL, 0, 0);
}

Record<tp_config> DiskTables::config(lang::ConfigOp op) {
  Table<const char *> keys = strings(op.getKeys().getValue());
  return {.keys = keys,
          .num_keys = keys.size,
          .value = constant(op.getValue()),
          .absent = op.getAbsent() ? constant(*op.getAbsent()) : Address<tp_constant>(),
          .only_written = op.getWritten()};
}

Address<tp_disk> DiskTables::emit(lang::DiskOp disk) {
  std::vector<Record<tp_stored>> tensors;
  std::vector<Record<tp_config>> configs;
  SmallVector<Attribute> ignored;
  for (Operation &op : disk.getBody().front()) {
    if (auto tensor = dyn_cast<lang::StoredOp>(op))
      addTensor(tensor, tensors);
    else if (auto passed = dyn_cast<lang::IgnoredOp>(op))
      ignored.push_back(passed.getNameAttr());
    else if (auto key = dyn_cast<lang::ConfigOp>(op))
      configs.push_back(config(key));
  }
  auto storedTable = host.table<tp_stored>("stored", tensors);
  auto ignoredTable = strings(ignored);
  auto configTable = host.table<tp_config>("config", configs);
  return host.record<tp_disk>("disk", {.tensors = storedTable,
                                       .num_tensors = storedTable.size,
                                       .ignored = ignoredTable,
                                       .num_ignored = ignoredTable.size,
                                       .config = configTable,
                                       .num_config = configTable.size});
}

Address<tp_disk> lower::diskTable(HostBuilder &host, ModuleOp module,
                                  ArrayRef<sched::ValueOp> values) {
  auto disks = module.getOps<lang::DiskOp>();
  return disks.empty() ? Address<tp_disk>() : DiskTables(host, module, values).emit(*disks.begin());
}
