//===- Rates.cpp - the line `lr` of a recipe -------------------------------===//
//
// lr warmup 2000 steps, cosine 3e-4 to 3e-5
//
// One decision: one part may have no length, and gets the steps that the others leave.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Rates.h"
#include "lib/Parse/Doubts.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Settings.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;
using Shape = lang::RateShape;

namespace {

/// A part of the line, as it is written.
struct Part {
  Shape shape = Shape::Flat;
  double from = 0, to = 0;
  int64_t length = 0; // 0: what is left
  bool warmup = false;
};

class RateReader {
public:
  RateReader(Report &report, const Setting &line) : report(report), line(line) {}

  /// False after an error that leaves nothing to lay out.
  bool read();
  std::vector<lang::RatePiece> layOut(int64_t steps, SMLoc length);

private:
  double rate(const Quantity &quantity);
  std::optional<Part> readPart(const Item &item);
  Part readWarmup(const Item &item);
  Part readShape(const Item &item, Shape shape);
  bool endWarmups();
  void refuseLastWarmup();

  Report &report;
  const Setting &line;
  std::vector<Part> parts; // one for each item
};

} // namespace

double RateReader::rate(const Quantity &quantity) {
  if (!quantity.unit.text.empty())
    report.error(quantity.unit.loc, "a learning rate has no unit, found {0}", quantity.unit.text);
  return quantity.number.real;
}

Part RateReader::readWarmup(const Item &item) {
  auto length = amount(report, item.quantity, Unit::Steps, "warmup");
  return {.shape = Shape::Linear, .length = length ? length->value : 1, .warmup = true};
}

Part RateReader::readShape(const Item &item, Shape shape) {
  StringRef name = item.name.text;
  Part part{.shape = shape};
  part.from = part.to = rate(item.quantity);
  bool hasEnd = item.to.loc.isValid();
  if (hasEnd)
    part.to = rate(item.to);
  if (hasEnd && shape == Shape::Flat)
    report.error(item.name.loc, "flat stays at one rate: flat 1e-4");
  if (!hasEnd && shape != Shape::Flat)
    report.error(item.name.loc, "{0} goes from one rate to another: {0} 3e-4 to 3e-5", name);
  if (item.span.loc.isValid())
    if (auto length = amount(report, item.span, Unit::Steps, name))
      part.length = length->value;
  return part;
}

std::optional<Part> RateReader::readPart(const Item &item) {
  StringRef name = item.name.text;
  if (item.hasNumber) {
    double constant = rate(item.quantity);
    return Part{.from = constant, .to = constant};
  }
  if (name == "warmup")
    return readWarmup(item);
  if (std::optional<Shape> shape = lang::symbolizeRateShape(name))
    return readShape(item, *shape);
  report.error(item.name.loc, "unknown shape of the learning rate: {0}", name)
      .suggest(name, ArrayRef<StringRef>{"warmup", "flat", "linear", "cosine"});
  return std::nullopt;
}

bool RateReader::read() {
  const Item *open = nullptr;
  for (const Item &item : line.items) {
    std::optional<Part> part = readPart(item);
    if (!part)
      return false;
    if (!part->length && open) {
      report
          .error(item.loc,
                 "only one part of the learning rate may lack its length: add `for N steps`")
          .note(open->loc, "this one lacks it too");
      return false;
    }
    if (!part->length)
      open = &item;
    parts.push_back(*part);
  }
  return endWarmups();
}

/// The proposed edit puts the warmup before all other parts.
void RateReader::refuseLastWarmup() {
  SMLoc loc = line.items.back().loc;
  auto error = report.error(loc, "warmup needs a part after it: warmup 100 steps, flat 1e-4");
  StringRef last = restOfLine(StringRef(loc.getPointer(), 0));
  const char *begin = line.items.front().loc.getPointer();
  StringRef before = StringRef(begin, last.data() - begin).rtrim(" ,");
  if (line.items.size() > 1)
    error.fix({{StringRef(begin, last.end() - begin), (last + ", " + before).str()}});
}

/// Warmup ends where the next part begins.
bool RateReader::endWarmups() {
  for (auto [i, part] : llvm::enumerate(parts)) {
    if (!part.warmup)
      continue;
    if (i + 1 == parts.size()) {
      refuseLastWarmup();
      return false;
    }
    part.to = parts[i + 1].from;
  }
  return true;
}

std::vector<lang::RatePiece> RateReader::layOut(int64_t steps, SMLoc length) {
  int64_t known = 0, begin = 0;
  for (const Part &part : parts)
    known += part.length;
  std::vector<lang::RatePiece> schedule;
  std::vector<RatePart> described;
  for (auto [part, item] : llvm::zip(parts, line.items)) {
    int64_t end = begin + (part.length ? part.length : std::max<int64_t>(0, steps - known));
    described.push_back({part.warmup ? "warmup" : lang::stringifyRateShape(part.shape), item.loc,
                         begin, end, part.to});
    if (end > begin)
      schedule.push_back({begin, end, part.from, part.to, part.shape});
    begin = end;
  }
  doubtRate(report, described, steps, length);
  return schedule;
}

std::vector<lang::RatePiece> tplan::parse::readRate(Report &report, const Setting &line,
                                                    int64_t steps, SMLoc length) {
  RateReader reader(report, line);
  if (!reader.read())
    return {};
  return reader.layOut(steps, length);
}
