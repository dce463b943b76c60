//===- Units.cpp - quantities, and entries of settings -----------------------===//
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Settings.h"
#include "lib/Parse/Spelling.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::StringRef;

namespace {
struct UnitRow {
  StringRef word;
  Unit unit;
  double factor;
};
const UnitRow kUnits[] = {
#define UNIT(word, quantity, factor) {word, Unit::quantity, factor},
#include "lib/Parse/Units.def"
};
struct AmbiguousRow {
  StringRef word, one, other;
};
const AmbiguousRow kAmbiguous[] = {
#define AMBIGUOUS(word, one, other) {word, one, other},
#include "lib/Parse/Units.def"
};

/// The units of one quantity, in words: sequences or tokens.
std::string words(ArrayRef<Unit> allowed) {
  static constexpr StringRef names[] = {"sequences", "tokens",          "steps",
                                        "nodes",     "bytes (GiB, GB)", "Gb/s or GB/s",
                                        "TFLOP/s",   "us or ns",        "units"};
  std::string text;
  for (auto [i, unit] : llvm::enumerate(allowed))
    text += (i ? " or " : "") + names[static_cast<size_t>(unit)].str();
  return text;
}
/// What counts nothing but itself.
bool needsUnit(Unit unit) {
  return unit == Unit::Bytes || unit == Unit::Rate || unit == Unit::Work || unit == Unit::Time;
}
} // namespace

std::optional<Amount> tplan::parse::amount(Report &report, const Quantity &quantity,
                                           ArrayRef<Unit> allowed, StringRef what) {
  const Number &n = quantity.number;
  double factor = 1;
  Unit unit = allowed.front();
  StringRef word = quantity.unit.text;
  if (word.empty()) {
    if (allowed.size() > 1 || needsUnit(unit)) {
      auto error = report.error(quantity.loc, "{0} needs a unit: {1} of {2}", what, spell(n),
                                words(allowed));
      for (const UnitRow &row : kUnits)
        if (llvm::is_contained(allowed, row.unit) && row.word.ends_with("s"))
          error.fix({{StringRef(tokenAt(quantity.loc).end(), 0), (" " + row.word).str()}});
      return std::nullopt;
    }
  } else {
    const UnitRow *found =
        llvm::find_if(kUnits, [&](const UnitRow &row) { return row.word == word; });
    if (found == std::end(kUnits)) {
      for (const AmbiguousRow &row : kAmbiguous)
        if (row.word == word) {
          report.error(quantity.unit.loc, "ambiguous unit: {0}; write {1} or {2}", word, row.one,
                       row.other);
          return std::nullopt;
        }
      std::vector<StringRef> names;
      for (const UnitRow &row : kUnits)
        if (llvm::is_contained(allowed, row.unit))
          names.push_back(row.word);
      auto error = report.error(quantity.unit.loc, "unknown unit: {0}", word);
      suggestOurs(error, Habit::Unit, word, names);
      return std::nullopt;
    }
    if (!llvm::is_contained(allowed, found->unit)) {
      report.error(quantity.unit.loc, "{0} is counted in {1}, found {2}", what, words(allowed),
                   word);
      return std::nullopt;
    }
    factor = found->factor;
    unit = found->unit;
  }
  // 3.35 TB/s is a whole number, though not a product of two doubles.
  double value = n.real * factor;
  if (double whole = std::round(value); std::abs(value - whole) <= 1e-12 * whole)
    value = whole;
  if (value < 1 || value > 9e15 || value != std::floor(value)) {
    report.error(quantity.loc, "{0} must be a whole number from 1 to 9e15, found {1}", what,
                 spell(n));
    return std::nullopt;
  }
  return Amount{static_cast<int64_t>(value), unit};
}

void Places::add(StringRef key, llvm::SMLoc at) {
  places.push_back(NameLoc::get(StringAttr::get(&report.context, key), report.at(at)));
}

Location Places::location() const {
  SmallVector<Location> all = {report.at(loc)};
  all.append(places);
  return FusedLoc::get(&report.context, all);
}
