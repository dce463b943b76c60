//===- Host/Disk.cpp - names and layouts on disk, as tables ---------------===//
//
// A layout becomes strides: where in the tensor on disk the elements of a weight are. So the
// runtime knows nothing of names of dimensions.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Disk.h"
#include "dialects/dist/Dist.h"
#include "dialects/tplan/Tplan.h"
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
  DiskTables(HostBuilder &host, sched::ProgramOp program) : host(host) { readRows(program); }
  Field emit(lang::DiskOp disk);

private:
  void readRows(sched::ProgramOp program);
  void addTensor(lang::StoredOp op, SmallVector<Record> &table);
  Record stored(lang::StoredOp op, const Row &row, int64_t place);
  Record config(lang::ConfigOp op);
  Field constant(Attribute value);
  Field strings(ArrayRef<Attribute> texts);
  void append(Record &to, StringRef name, ArrayRef<Record> table);

  HostBuilder &host;
  std::vector<Row> rows;
};

} // namespace

void DiskTables::readRows(sched::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  int64_t number = 0;
  // As the table of tensors counts.
  for (auto value : program.getBody().getOps<sched::ValueOp>()) {
    auto symbol = value->getAttrOfType<FlatSymbolRefAttr>("param");
    if (!symbol)
      continue;
    int64_t mine = number++;
    if (value.getOwner() != sched::Owner::Parameter)
      continue;
    auto param = module.lookupSymbol<nn::ParamOp>(symbol.getValue());
    auto type = cast<nn::Tensor>(value->getAttrOfType<TypeAttr>("type").getValue());
    if (auto global = param->getAttrOfType<TypeAttr>(dist::kGlobal))
      type = cast<nn::Tensor>(global.getValue());
    rows.push_back({mine, param, type});
  }
}

void DiskTables::append(Record &to, StringRef name, ArrayRef<Record> table) {
  to.push_back(table.empty() ? Field::null() : Field::address(host.recordsSymbol(name, table)));
  to.push_back(Field::i64(table.size()));
}

Field DiskTables::strings(ArrayRef<Attribute> texts) {
  SmallVector<Record> table;
  for (Attribute text : texts)
    table.push_back({Field::string(cast<StringAttr>(text).getValue())});
  return table.empty() ? Field::null() : Field::address(host.recordsSymbol("strings", table));
}

/// Weight number `place` of those in the tensor.
Record DiskTables::stored(lang::StoredOp op, const Row &row, int64_t place) {
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
  auto name = [&](size_t i) {
    return i < names.size() ? Field::string(cast<StringAttr>(names[i]).getValue()) : Field::null();
  };
  auto table = [&](StringRef what, ArrayRef<int64_t> numbers) {
    return numbers.empty() ? Field::null() : Field::address(host.tableSymbol(what, numbers));
  };
  return {Field::i64(row.number),
          name(0),
          name(1),
          Field::i32(shape.size()),
          table("shape", shape),
          Field::i64(first),
          table("strides", strides)};
}

/// The rows of one path are layers of a list that differ: each has tensors of its own on disk.
void DiskTables::addTensor(lang::StoredOp op, SmallVector<Record> &table) {
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

Field DiskTables::constant(Attribute value) {
  Record record = {Field::i32(TP_NULL), Field::i64(0), Field::f64(0), Field::null(), Field::i64(0)};
  auto set = [&](int64_t kind, int64_t integer, double real) {
    record[0] = Field::i32(kind), record[1] = Field::i64(integer), record[2] = Field::f64(real);
  };
  auto list = dyn_cast<ArrayAttr>(value);
  if (auto boolean = dyn_cast<BoolAttr>(value)) {
    set(TP_BOOLEAN, boolean.getValue(), 0);
  } else if (auto integer = dyn_cast<IntegerAttr>(value)) {
    set(TP_INTEGER, integer.getInt(), integer.getInt());
  } else if (auto real = dyn_cast<FloatAttr>(value)) {
    set(TP_REAL, 0, real.getValueAsDouble());
  } else if (list || isa<StringAttr>(value)) {
    set(list ? TP_STRINGS : TP_STRING, 0, 0);
    ArrayRef<Attribute> texts = list ? list.getValue() : ArrayRef(value);
    record[3] = strings(texts), record[4] = Field::i64(texts.size());
  }
  return Field::address(host.recordsSymbol("constant", {record}));
}

Record DiskTables::config(lang::ConfigOp op) {
  return {strings(op.getKeys().getValue()), Field::i64(op.getKeys().size()),
          constant(op.getValue()), op.getAbsent() ? constant(*op.getAbsent()) : Field::null(),
          Field::i32(op.getWritten())};
}

Field DiskTables::emit(lang::DiskOp disk) {
  SmallVector<Record> tensors, configs;
  SmallVector<Attribute> ignored;
  for (Operation &op : disk.getBody().front()) {
    if (auto tensor = dyn_cast<lang::StoredOp>(op))
      addTensor(tensor, tensors);
    else if (auto passed = dyn_cast<lang::IgnoredOp>(op))
      ignored.push_back(passed.getNameAttr());
    else if (auto key = dyn_cast<lang::ConfigOp>(op))
      configs.push_back(config(key));
  }
  Record record;
  append(record, "stored", tensors);
  record.push_back(strings(ignored));
  record.push_back(Field::i64(ignored.size()));
  append(record, "config", configs);
  return Field::address(host.recordsSymbol("disk", {record}));
}

Field lower::diskTable(HostBuilder &host, sched::ProgramOp program) {
  auto module = program->getParentOfType<ModuleOp>();
  auto disks = module.getOps<lang::DiskOp>();
  return disks.empty() ? Field::null() : DiskTables(host, program).emit(*disks.begin());
}
