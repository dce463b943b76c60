//===- ReportText.cpp - the report for people -----------------------------===//
#include "lib/Driver/Report.h"
#include "lib/Driver/Summary.h"

#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"

using llvm::formatv;

namespace tplan {

namespace {

/// "1,234,567": bytes are compared by eye.
std::string grouped(double n) {
  std::string digits = formatv("{0:F0}", n);
  for (int64_t i = static_cast<int64_t>(digits.size()) - 3; i > 0; i -= 3)
    digits.insert(i, ",");
  return digits;
}

/// Bytes of the arena, in all and at the peak, by what they hold.
std::map<sched::Owner, std::pair<int64_t, int64_t>> byOwner(const memory::Report &memory) {
  std::map<sched::Owner, std::pair<int64_t, int64_t>> sums;
  for (const memory::OwnerReport &owner : memory.owners) {
    sums[owner.owner].first += owner.bytes;
    sums[owner.owner].second += owner.atPeak;
  }
  return sums;
}

void printWork(llvm::StringRef title, const std::map<std::string, Work> &rows,
               llvm::raw_ostream &os) {
  if (!title.empty())
    os << formatv("{0,-28} {1,12} {2,24} {3,22}\n", title, "calls", "FLOPs", "bytes moved");
  for (const auto &[name, work] : rows)
    os << formatv("  {0,-26} {1,12} {2,24} {3,22}\n", name, grouped(work.calls),
                  grouped(work.flops), grouped(work.bytes));
}

} // namespace

static void printCollectives(const StepReport &report, llvm::raw_ostream &os) {
  if (report.collectives.empty())
    return;
  int64_t staged = 0;
  bool isPredicted = llvm::any_of(report.collectives,
                                  [](const Collective &row) { return row.predicted.has_value(); });
  os << formatv("\n{0,-20} {1,-10} {2,12} {3,18}{4}  {5}\n", "collectives of a rank", "axes",
                "calls", "bytes sent by each",
                isPredicted ? formatv("{0,12}{1,12}", "ms a step", "not hidden").str() : "", "of");
  for (const Collective &row : report.collectives) {
    bool once = row.in == "preparation";
    staged += once ? 0 : row.calls * row.staged;
    std::string predicted(isPredicted ? 24 : 0, ' ');
    if (row.predicted)
      predicted =
          formatv("{0,12:f3}{1,12:f3}", row.predicted->seconds * 1e3, row.predicted->waited * 1e3)
              .str();
    os << formatv("  {0,-19} {1,-10} {2,12} {3,18}{4}  {5}{6}{7}\n", row.kind, row.axes,
                  grouped(row.calls), grouped(row.bytes), predicted, row.function,
                  row.line ? ", " + row.file + ":" + std::to_string(row.line) : "",
                  once ? ", once" : "");
  }
  os << formatv("  {0,-30} {1,12} {2,18}\n", "sent in a step", "", grouped(sentInStep(report)));
  os << formatv("  {0,-30} {1,12} {2,18}\n", "through buffers, under MPI", "", grouped(staged));
  os << formatv("  {0,-30} {1}\n", "sums (reduce)",
                report.reduce == "native" ? "native: NCCL's where that moves the data, else ordered"
                                          : "ordered: those of members 0, 1, 2 .. everywhere");
  if (report.channels)
    os << formatv("  {0,-30} at most {1}\n", "channels of NCCL", report.channels);
}

static void printCopies(const StepReport &report, llvm::raw_ostream &os) {
  if (report.copies.empty())
    return;
  os << formatv("\n{0,-31} {1,12} {2,18}  {3}\n", "copies of a step", "calls",
                "bytes moved by each", "of");
  for (const Copy &row : report.copies)
    os << formatv("  {0,-30} {1,12} {2,18}  {3}{4}\n",
                  row.kind + (row.isStaging ? ", staging" : ""), grouped(row.calls),
                  grouped(row.bytes), row.function,
                  row.line ? ", " + row.file + ":" + std::to_string(row.line) : "");
}

static std::string spellStages(const std::vector<int64_t> &stages) {
  return llvm::join(llvm::map_range(stages, [](int64_t s) { return std::to_string(s); }), ", ");
}

/// What ranks that hold other stages need, a line each.
static void printStages(const StepReport &report, llvm::raw_ostream &os) {
  if (report.ofStages.empty())
    return;
  os << formatv("{0,-28} {1,20} {2,20} {3,18}\n", "ranks with stage", "bytes of the arena",
                "live at the peak", "sent in a step");
  for (const StepReport &rank : report.ofStages)
    os << formatv("  {0,-26} {1,20} {2,20} {3,18}\n", spellStages(rank.holds),
                  grouped(rank.memory.arena), grouped(rank.memory.live), grouped(sentInStep(rank)));
  os << "\nranks with stage " << spellStages(report.holds) << ", which need most memory:\n\n";
}

void printReport(const StepReport &report, llvm::raw_ostream &os) {
  const memory::Report &memory = report.memory;
  printSummary(report, os);
  os << "\npolicy " << report.policy << ", stages " << report.stages << ", microbatches "
     << report.microbatches << "\n\n";
  printStages(report, os);

  os << formatv("memory of a rank: {0} bytes in one arena, {1} live at the peak ({2:P1})\n",
                grouped(memory.arena), grouped(memory.live),
                memory.arena ? static_cast<double>(memory.live) / memory.arena : 0.0);
  os << "peak: " << memory.peak << "\n";
  os << formatv("{0,-28} {1,20} {2,20}\n", "holds", "bytes", "at the peak");
  for (const auto &[owner, bytes] : byOwner(memory))
    os << formatv("  {0,-26} {1,20} {2,20}\n", sched::stringifyOwner(owner), grouped(bytes.first),
                  grouped(bytes.second));

  os << formatv("\n{0,-42} {1,16} {2,16}\n", "beside the arena, bytes at most", "once", "a thread");
  for (const Beside &row : report.beside)
    os << formatv("  {0,-40} {1,16} {2,16}\n", row.owner + ", " + row.what, grouped(row.once),
                  grouped(row.perThread));

  if (!report.besideGpu.empty())
    os << formatv("\n{0,-42} {1,16}\n", "beside the arena, of the GPU", "bytes");
  for (const BesideGpu &row : report.besideGpu)
    os << formatv("  {0,-40} {1,16}\n",
                  formatv("{0} {1}, {2}", row.library, row.version, row.what).str(),
                  grouped(row.bytes));

  os << "\n";
  printWork("work of a step", report.categories, os);
  printWork("", {{"total", report.total}}, os);
  os << "\n";
  printWork("by function", report.functions, os);
  printCollectives(report, os);
  printCopies(report, os);
  printAttention(report.attention, os);
  printFusedRegions(report.regions, os);
  os << "\ntasks: " << report.tasks << "\n";
}

} // namespace tplan
