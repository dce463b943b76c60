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

/// An instance is linear in the period and the microbatch; a remainder is one of a power of two.
Value HostPlaces::emit(AffineExpr instance, const SectionContext &context) {
  if (auto constant = dyn_cast<AffineConstantExpr>(instance))
    return host.number(constant.getValue());
  if (auto symbol = dyn_cast<AffineSymbolExpr>(instance))
    return symbol.getPosition() == 0 ? context.period : context.microbatch;
  auto binary = cast<AffineBinaryOpExpr>(instance);
  AffineExpr left = binary.getLHS(), right = binary.getRHS();
  if (instance.getKind() == AffineExprKind::Mod) {
    int64_t divisor = cast<AffineConstantExpr>(right).getValue();
    return LLVM::AndOp::create(host.b, host.loc, emit(left, context), host.number(divisor - 1));
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

Value HostPlaces::at(ValueOp value, Value instance, const SectionContext &context) {
  sched::FamilyOp family = familyOf(value);
  if (!family || family.getSlots() == 1 || !context.slots)
    return host.offset(context.arena,
                       host.multiplyAdd(host.number(offsetOf(value)), instance, value.getStride()));
  std::string &table = slotTables[family.getSymNameAttr()]; // by microbatch: where its slot is
  if (table.empty()) {
    auto offsets = llvm::map_to_vector(family.getSlotOf(),
                                       [&](int32_t slot) { return (*family.getAt())[slot]; });
    table = host.numbers("slots", offsets).symbol;
  }
  Value entry =
      host.offset(host.address(table), host.multiplyAdd(host.number(0), context.microbatch, 8));
  Value slot = host.offset(context.arena, host.load(host.i64, entry));
  return host.offset(slot,
                     host.multiplyAdd(host.number(*value.getAt()), instance, value.getStride()));
}

Value HostPlaces::at(const sched::Use &use, const SectionContext &context) {
  Value outer;
  if (use.border)
    outer = at(sched::valueOf(use.outer), host.number(0), context);
  Value inner = at(sched::valueOf(use.value), emit(use.instance.getResult(0), context), context);
  if (!use.border)
    return inner;
  int64_t border = use.border == sched::Border::First ? 0 : context.times - 1;
  return host.select(host.equal(context.period, border), outer, inner);
}
