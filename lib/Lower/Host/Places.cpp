//===- Host/Places.cpp - addresses of the values that functions are given -===//
#include "lib/Lower/Host/Places.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
using sched::ValueOp;

SmallVector<ValueOp> lower::valuesInPlace(sched::ProgramOp program) {
  SmallVector<ValueOp> values;
  for (auto value : program.getBody().getOps<ValueOp>())
    if (value.getLives() == sched::Life::Always)
      values.push_back(value);
  llvm::stable_sort(values, [](ValueOp a, ValueOp b) { return *a.getAt() < *b.getAt(); });
  return values;
}

HostPlaces::HostPlaces(HostBuilder &host, sched::ProgramOp program) : host(host), program(program) {
  for (auto value : program.getBody().getOps<ValueOp>())
    values[value.getKey()] = value;
  for (auto family : program.getBody().getOps<sched::FamilyOp>())
    families[family.getSymNameAttr()] = family;
}

ValueOp HostPlaces::find(sched::ValueKind kind, StringRef name) const {
  MLIRContext *context = sched::ProgramOp(program).getContext();
  return find(name.empty() ? sched::KeyAttr::get(context, kind, {}, {}, {})
                           : sched::KeyAttr::get(context, kind, name));
}

sched::FamilyOp HostPlaces::familyOf(ValueOp value) const {
  FlatSymbolRefAttr name = value.getFamilyAttr();
  return name ? families.lookup(name.getAttr()) : sched::FamilyOp();
}

int64_t HostPlaces::offsetOf(ValueOp value) const {
  sched::FamilyOp family = familyOf(value);
  return *value.getAt() + (family ? family.getAt()->front() : 0);
}

/// An instance is linear in the period and the microbatch, or a remainder of that.
Value HostPlaces::emit(AffineExpr instance, const SectionContext &context) {
  if (auto constant = dyn_cast<AffineConstantExpr>(instance))
    return host.number(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(instance))
    return symbol.getPosition() == 0 ? context.period : context.microbatch;
  auto binary = cast<AffineBinaryOpExpr>(instance);
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  if (instance.getKind() == AffineExprKind::Mod) {
    int64_t divisor = cast<AffineConstantExpr>(right).getValue();
    Value whole = emit(left, context);
    if (llvm::isPowerOf2_64(divisor))
      return LLVM::AndOp::create(host.b, host.loc, whole, host.number(divisor - 1));
    auto remainder = [&](Value of) {
      return LLVM::SRemOp::create(host.b, host.loc, of, host.number(divisor));
    };
    return remainder(host.multiplyAdd(host.number(divisor), remainder(whole), 1)); // not negative
  }
  if (instance.getKind() == AffineExprKind::Mul)
    return host.multiplyAdd(host.number(0), emit(left, context),
                            cast<AffineConstantExpr>(right).getValue());
  if (auto product = dyn_cast<AffineBinaryOpExpr>(left);
      product && product.getKind() == AffineExprKind::Mul)
    return host.multiplyAdd(emit(right, context), emit(product.getLHS(), context),
                            cast<AffineConstantExpr>(product.getRHS()).getValue());
  return host.multiplyAdd(emit(right, context), emit(left, context), 1);
}

std::pair<Table<int32_t>, Table<int64_t>> HostPlaces::slotsOf(sched::FamilyOp family) {
  return {host.numbers("slot_of", family.getSlotOf()), host.numbers("slots", *family.getAt())};
}

/// Where the slot of a microbatch is.
Value HostPlaces::slot(Value slotOf, Value slots, const SectionContext &context) {
  Value number = host.load(
      host.i32, host.offset(slotOf, host.multiplyAdd(host.number(0), context.microbatch, 4)));
  Value wide = LLVM::SExtOp::create(host.b, host.loc, host.i64, number);
  Value place = host.offset(slots, host.multiplyAdd(host.number(0), wide, 8));
  return host.offset(context.arena, host.load(host.i64, place));
}

Value HostPlaces::at(ValueOp value, Value instance, const SectionContext &context) {
  sched::FamilyOp family = familyOf(value);
  if (!family || family.getSlots() == 1 || !context.isOfTask)
    return host.offset(context.arena,
                       host.multiplyAdd(host.number(offsetOf(value)), instance, value.getStride()));
  auto [slotOf, slots] = slotsOf(family);
  Value at = slot(host.address(slotOf), host.address(slots), context);
  return host.offset(at,
                     host.multiplyAdd(host.number(*value.getAt()), instance, value.getStride()));
}

SectionContext HostPlaces::shifted(SectionContext context, const sched::Use &use) {
  if (use.shift)
    context.microbatch = host.multiplyAdd(host.number(use.shift), context.microbatch, 1);
  return context;
}

Value HostPlaces::at(const sched::Use &use, const SectionContext &ofSection) {
  SectionContext context = shifted(ofSection, use);
  auto place = [&](Value of, AffineMap instance) -> Value {
    ValueOp value = sched::valueOf(of);
    if (context.tables)
      return fromTables(placeOf(value, use, instance, context.isOfTask), context);
    return at(value, emit(instance.getResult(0), context), context);
  };
  Value outer;
  if (use.border)
    outer = place(use.outer, sched::use(use.outer).instance);
  Value inner = place(use.value, use.instance);
  if (!use.border)
    return inner;
  bool isFirst = use.border == sched::Border::First;
  Value isBorder = !isFirst && context.lastPeriod
                       ? host.equal(context.period, context.lastPeriod)
                       : host.equal(context.period, isFirst ? 0 : context.times - 1);
  return host.select(isBorder, outer, inner);
}

//===----------------------------------------------------------------------===//
// By tables
//===----------------------------------------------------------------------===//

/// What is constant in an instance goes into the table, so that stages which begin at unlike layers
/// of a list have the same code.
PlaceOfUse HostPlaces::placeOf(ValueOp value, const sched::Use &use, AffineMap instance,
                               bool isOfTask) const {
  sched::FamilyOp family = isOfTask ? familyOf(value) : sched::FamilyOp();
  int64_t offset = family ? static_cast<int64_t>(*value.getAt()) : offsetOf(value);
  AffineExpr number = instance.getResult(0);
  auto at = [&](AffineExpr constant) {
    return offset + cast<AffineConstantExpr>(constant).getValue() * value.getStride();
  };
  if (isa<AffineConstantExpr>(number))
    return {value, AffineMap(), at(number), family, use.shift};
  if (auto sum = dyn_cast<AffineBinaryOpExpr>(number);
      sum && number.getKind() == AffineExprKind::Add && isa<AffineConstantExpr>(sum.getRHS()))
    return {value, AffineMap::get(0, 2, sum.getLHS()), at(sum.getRHS()), family, use.shift};
  return {value, instance, offset, family, use.shift};
}

SmallVector<PlaceOfUse> HostPlaces::placesOf(sched::Step step, bool isOfTask) const {
  SmallVector<PlaceOfUse> places;
  for (const sched::Use &use : step.getUses()) {
    if (use.border)
      places.push_back(
          placeOf(sched::valueOf(use.outer), use, sched::use(use.outer).instance, isOfTask));
    places.push_back(placeOf(sched::valueOf(use.value), use, use.instance, isOfTask));
  }
  return places;
}

Value HostPlaces::fromTables(const PlaceOfUse &place, const SectionContext &context) {
  PlaceTables &tables = *context.tables;
  Value at = context.arena;
  if (sched::FamilyOp family = place.family) {
    auto [pointers, isNew] = tables.families.try_emplace(family, tables.nextPointer);
    tables.nextPointer += isNew ? 2 : 0;
    at = slot(host.loadPointer(tables.pointers, pointers->second),
              host.loadPointer(tables.pointers, pointers->second + 1), context);
  }
  Value offset = host.load(host.i64, host.offset(tables.offsets, 8 * tables.nextOffset++));
  if (place.instance)
    offset = host.multiplyAdd(offset, emit(place.instance.getResult(0), context),
                              sched::ValueOp(place.value).getStride());
  return host.offset(at, offset);
}
