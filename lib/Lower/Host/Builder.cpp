//===- Host/Builder.cpp - host code in the LLVM dialect, in few words -----===//
#include "lib/Lower/Host/Builder.h"
#include "llvm/ADT/bit.h"

using namespace mlir;
using namespace tplan::lower;
using LLVM::GEPArg;

HostBuilder::HostBuilder(ModuleOp module)
    : b(module.getContext()), loc(module.getLoc()),
      ptr(LLVM::LLVMPointerType::get(module.getContext())), i32(b.getI32Type()),
      i64(b.getI64Type()), f64(b.getF64Type()), module(module) {
  b.setInsertionPointToEnd(module.getBody());
}

//===----------------------------------------------------------------------===//
// Functions
//===----------------------------------------------------------------------===//

LLVM::LLVMFuncOp HostBuilder::begin(StringRef name, ArrayRef<Type> arguments, bool exported) {
  b.setInsertionPointToEnd(module.getBody());
  auto type = LLVM::LLVMFunctionType::get(i32, arguments);
  auto linkage = exported ? LLVM::Linkage::External : LLVM::Linkage::Internal;
  function = LLVM::LLVMFuncOp::create(b, loc, name, type, linkage);
  // It calls kernels and libraries: to optimize it takes longer than a training would gain.
  function.setOptimizeNone(true);
  function.setNoInline(true);
  Block *entry = function.addEntryBlock(b);
  failed = new Block;
  function.getBody().push_back(failed);
  Value status = failed->addArgument(i32, loc);
  b.setInsertionPointToEnd(failed);
  LLVM::ReturnOp::create(b, loc, status);
  b.setInsertionPointToEnd(entry);
  return function;
}

void HostBuilder::end() {
  LLVM::ReturnOp::create(b, loc, number32(0));
  if (failed->hasNoPredecessors())
    failed->erase();
  failed = nullptr;
}

void HostBuilder::declare(StringRef name, ArrayRef<Type> arguments, Type result) {
  if (module.lookupSymbol(name))
    return;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  LLVM::LLVMFuncOp::create(b, loc, name,
                           LLVM::LLVMFunctionType::get(result ? result : i32, arguments));
}

void HostBuilder::call(StringRef callee, ArrayRef<Value> arguments) {
  leaveUnlessZero(LLVM::CallOp::create(b, loc, TypeRange{i32},
                                       FlatSymbolRefAttr::get(b.getContext(), callee), arguments)
                      .getResult());
}

HostBuilder::Value HostBuilder::callForNumber(StringRef callee, ArrayRef<Value> arguments) {
  return LLVM::CallOp::create(b, loc, TypeRange{i64},
                              FlatSymbolRefAttr::get(b.getContext(), callee), arguments)
      .getResult();
}

void HostBuilder::leaveUnlessZero(Value status) {
  Value bad = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::ne, status, number32(0));
  Block *next = new Block;
  next->insertBefore(failed);
  LLVM::CondBrOp::create(b, loc, bad, failed, ValueRange{status}, next, ValueRange{});
  b.setInsertionPointToEnd(next);
}

HostBuilder::Value HostBuilder::pointers(int64_t n) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(&function.getBody().front());
  return LLVM::AllocaOp::create(b, loc, ptr, ptr, number(std::max<int64_t>(1, n)), 0);
}

//===----------------------------------------------------------------------===//
// Control
//===----------------------------------------------------------------------===//

void HostBuilder::loop(int64_t count, Body body, bool backwards) {
  if (count <= 1) {
    if (count == 1)
      body(number(0));
    return;
  }
  loop(number(count), body, backwards);
}

void HostBuilder::loop(Value count, Body body, bool backwards) {
  Value first = number(0), step = number(1);
  Block *header = new Block, *inside = new Block, *after = new Block;
  for (Block *block : {header, inside, after})
    block->insertBefore(failed);
  Value i = header->addArgument(i64, loc);
  LLVM::BrOp::create(b, loc, ValueRange{first}, header);
  b.setInsertionPointToEnd(header);
  Value more = LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::slt, i, count);
  LLVM::CondBrOp::create(b, loc, more, inside, ValueRange{}, after, ValueRange{});
  b.setInsertionPointToEnd(inside);
  Value last = backwards ? LLVM::SubOp::create(b, loc, count, step).getResult() : Value();
  body(backwards ? LLVM::SubOp::create(b, loc, last, i).getResult() : i);
  LLVM::BrOp::create(b, loc, ValueRange{LLVM::AddOp::create(b, loc, i, step)}, header);
  // `after` follows what the body has added.
  after->moveBefore(failed);
  b.setInsertionPointToEnd(after);
}

//===----------------------------------------------------------------------===//
// Values
//===----------------------------------------------------------------------===//

std::optional<int64_t> HostBuilder::constantOf(Value v) {
  auto constant = v.getDefiningOp<LLVM::ConstantOp>();
  auto attr = constant ? dyn_cast<IntegerAttr>(constant.getValue()) : IntegerAttr();
  return attr ? std::optional(attr.getInt()) : std::nullopt;
}

HostBuilder::Value HostBuilder::number(int64_t v) {
  return LLVM::ConstantOp::create(b, loc, i64, b.getI64IntegerAttr(v));
}
HostBuilder::Value HostBuilder::number32(int64_t v) {
  return LLVM::ConstantOp::create(b, loc, i32, b.getI32IntegerAttr(v));
}
HostBuilder::Value HostBuilder::real(double v) {
  return LLVM::ConstantOp::create(b, loc, f64, b.getF64FloatAttr(v));
}
HostBuilder::Value HostBuilder::null() { return LLVM::ZeroOp::create(b, loc, ptr); }

HostBuilder::Value HostBuilder::address(StringRef symbol) {
  return LLVM::AddressOfOp::create(b, loc, ptr, symbol);
}

HostBuilder::Value HostBuilder::offset(Value base, Value bytes) {
  if (constantOf(bytes) == 0)
    return base;
  return LLVM::GEPOp::create(b, loc, ptr, b.getI8Type(), base, ArrayRef<GEPArg>{bytes});
}
HostBuilder::Value HostBuilder::offset(Value base, int64_t bytes) {
  return bytes == 0 ? base : offset(base, number(bytes));
}

HostBuilder::Value HostBuilder::multiplyAdd(Value a, Value x, int64_t c) {
  std::optional<int64_t> ka = constantOf(a), kx = constantOf(x);
  if (c == 0 || kx == 0)
    return a;
  if (ka && kx)
    return number(*ka + *kx * c);
  Value product = c == 1 ? x : LLVM::MulOp::create(b, loc, x, number(c)).getResult();
  return ka == 0 ? product : LLVM::AddOp::create(b, loc, a, product).getResult();
}

HostBuilder::Value HostBuilder::load(Type type, Value from) {
  return LLVM::LoadOp::create(b, loc, type, from);
}
void HostBuilder::store(Value v, Value to) { LLVM::StoreOp::create(b, loc, v, to); }

void HostBuilder::storePointer(Value pointer, Value table, int64_t index) {
  Value place =
      LLVM::GEPOp::create(b, loc, ptr, ptr, table, ArrayRef<GEPArg>{static_cast<int32_t>(index)});
  store(pointer, place);
}
HostBuilder::Value HostBuilder::loadPointer(Value table, int64_t index) {
  Value place =
      LLVM::GEPOp::create(b, loc, ptr, ptr, table, ArrayRef<GEPArg>{static_cast<int32_t>(index)});
  return load(ptr, place);
}

HostBuilder::Value HostBuilder::addModulo(Value a, int64_t x, int64_t n) {
  if (x == 0)
    return a;
  Value sum = LLVM::AddOp::create(b, loc, a, number(x));
  return LLVM::URemOp::create(b, loc, sum, number(n));
}
HostBuilder::Value HostBuilder::equal(Value a, int64_t c) { return equal(a, number(c)); }
HostBuilder::Value HostBuilder::equal(Value x, Value y) {
  return LLVM::ICmpOp::create(b, loc, LLVM::ICmpPredicate::eq, x, y);
}
HostBuilder::Value HostBuilder::select(Value condition, Value yes, Value no) {
  return LLVM::SelectOp::create(b, loc, condition, yes, no);
}

//===----------------------------------------------------------------------===//
// Globals
//===----------------------------------------------------------------------===//

std::string HostBuilder::fresh(StringRef name) {
  return ("tplan." + name + "." + Twine(numbered++)).str();
}

std::string HostBuilder::stringSymbol(StringRef text) {
  std::string &symbol = strings[text];
  if (!symbol.empty())
    return symbol;
  symbol = fresh("text");
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  std::string terminated = text.str() + '\0';
  auto type = LLVM::LLVMArrayType::get(b.getI8Type(), terminated.size());
  LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Private, symbol,
                         b.getStringAttr(terminated));
  return symbol;
}

Table<int32_t> HostBuilder::numbers(StringRef name, ArrayRef<int32_t> values) {
  return {{numbersSymbol(name, b.getI32TensorAttr(values))}, static_cast<int64_t>(values.size())};
}

Table<int64_t> HostBuilder::numbers(StringRef name, ArrayRef<int64_t> values) {
  return {{numbersSymbol(name, b.getI64TensorAttr(values))}, static_cast<int64_t>(values.size())};
}

std::string HostBuilder::numbersSymbol(StringRef name, DenseIntElementsAttr values) {
  std::string &symbol = knownNumbers[values];
  if (!symbol.empty())
    return symbol;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  symbol = fresh(name);
  auto type = LLVM::LLVMArrayType::get(values.getElementType(), values.getNumElements());
  LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, LLVM::Linkage::Private, symbol, values);
  return symbol;
}

//===----------------------------------------------------------------------===//
// Structs
//===----------------------------------------------------------------------===//

static bool isNumber(const Field &field) {
  return field.kind == Field::I32 || field.kind == Field::I64 || field.kind == Field::F64;
}

/// Fields that are numbers and follow each other become one constant: a constant of several costs
/// as much as a constant of one, and tables are large. The layout is the same as one by one,
/// because what follows is an address, which is aligned as the struct is, or the end.
static SmallVector<size_t> endsOfParts(ArrayRef<Field> fields) {
  SmallVector<size_t> ends;
  for (size_t i = 1; i <= fields.size(); ++i)
    if (i == fields.size() || !isNumber(fields[i - 1]) || !isNumber(fields[i]))
      ends.push_back(i);
  return ends;
}

Type HostBuilder::typeOf(ArrayRef<Field> part) {
  auto types = llvm::map_to_vector(part, [&](const Field &field) -> Type {
    return field.kind == Field::I32 ? i32 : field.kind == Field::I64 ? i64 : f64;
  });
  if (!isNumber(part.front()))
    return ptr;
  return part.size() == 1 ? types.front() : LLVM::LLVMStructType::getLiteral(b.getContext(), types);
}

HostBuilder::Value HostBuilder::constant(OpBuilder &at, ArrayRef<Field> part) {
  const Field &field = part.front();
  if (field.kind == Field::Address)
    return LLVM::AddressOfOp::create(at, loc, ptr, field.text);
  if (field.kind == Field::String)
    return LLVM::AddressOfOp::create(at, loc, ptr, stringSymbol(field.text));
  if (field.kind == Field::Null)
    return LLVM::ZeroOp::create(at, loc, ptr);
  auto numbers = llvm::map_to_vector(part, [&](const Field &number) -> Attribute {
    if (number.kind == Field::F64)
      return b.getF64FloatAttr(number.real);
    return b.getIntegerAttr(number.kind == Field::I32 ? i32 : i64, number.integer);
  });
  Attribute value = part.size() == 1 ? numbers.front() : b.getArrayAttr(numbers);
  return LLVM::ConstantOp::create(at, loc, typeOf(part), value);
}

std::string HostBuilder::externalSymbol(StringRef symbol) {
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  if (!module.lookupSymbol(symbol))
    LLVM::GlobalOp::create(b, loc, LLVM::LLVMArrayType::get(b.getI8Type(), 0), /*isConstant=*/true,
                           LLVM::Linkage::External, symbol, Attribute());
  return symbol.str();
}

/// What rows hold, as a key: bytes, because printing takes longer than all else here.
static std::string spell(ArrayRef<Fields> rows) {
  std::string key;
  auto write = [&](auto number) {
    key.append(reinterpret_cast<const char *>(&number), sizeof number);
  };
  for (const Fields &fields : rows)
    for (const Field &field : fields) {
      write(field.kind);
      write(field.integer);
      write(field.real);
      write(field.text.size());
      key += field.text;
    }
  write(rows.size());
  return key;
}

std::string HostBuilder::structs(StringRef name, ArrayRef<Fields> rows, StringRef exported) {
  if (rows.empty())
    return "";
  std::string *known = exported.empty() ? &knownStructs[spell(rows)] : nullptr;
  if (known && !known->empty())
    return *known;
  OpBuilder::InsertionGuard guard(b);
  b.setInsertionPointToStart(module.getBody());
  SmallVector<Type> parts;
  SmallVector<size_t> ends = endsOfParts(rows.front());
  for (size_t begin = 0; size_t end : ends) {
    parts.push_back(typeOf(ArrayRef(rows.front()).slice(begin, end - begin)));
    begin = end;
  }
  auto record = LLVM::LLVMStructType::getLiteral(b.getContext(), parts);
  auto type = LLVM::LLVMArrayType::get(record, rows.size());
  std::string symbol = exported.empty() ? fresh(name) : exported.str();
  auto linkage = exported.empty() ? LLVM::Linkage::Private : LLVM::Linkage::External;
  auto global =
      LLVM::GlobalOp::create(b, loc, type, /*isConstant=*/true, linkage, symbol, Attribute());
  OpBuilder at(b.getContext());
  at.createBlock(&global.getInitializerRegion());
  Value all = LLVM::UndefOp::create(at, loc, type);
  for (auto [i, fields] : llvm::enumerate(rows)) {
    Value one = LLVM::UndefOp::create(at, loc, record);
    size_t begin = 0;
    for (auto [k, end] : llvm::enumerate(ends)) {
      Value part = constant(at, ArrayRef(fields).slice(begin, end - begin));
      one = LLVM::InsertValueOp::create(at, loc, one, part,
                                        ArrayRef<int64_t>{static_cast<int64_t>(k)});
      begin = end;
    }
    all =
        LLVM::InsertValueOp::create(at, loc, all, one, ArrayRef<int64_t>{static_cast<int64_t>(i)});
  }
  LLVM::ReturnOp::create(at, loc, all);
  if (known)
    *known = symbol;
  return symbol;
}
