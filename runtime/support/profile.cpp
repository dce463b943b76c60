//===- profile.cpp - what the calls of generated code cost ----------------===//

#include "runtime/support/profile.h"

#include <algorithm>
#include <cinttypes>
#include <ctime>
#include <map>
#include <string>
#include <tuple>

using namespace tplan::runtime;

namespace {

constexpr size_t tableSize = size_t(1) << 14; // distinct calls of a program: hundreds
const char *const categoryNames[TP_CATEGORIES] = {"kernel",    "gemm", "attention",
                                                  "optimizer", "copy", "collective"};

int categoryOf(const tp_call &call) {
  return call.category >= 0 && call.category < TP_CATEGORIES ? call.category : TP_KERNEL;
}

void add(Profile::Entry &to, const tp_call &call, double seconds, int64_t times) {
  ++to.count;
  to.flops += (double)times * (double)call.flops;
  to.bytes += (double)times * (double)call.bytes;
  to.seconds += seconds;
}

void add(Profile::Entry &to, const Profile::Entry &entry) {
  to.count += entry.count;
  to.flops += entry.flops;
  to.bytes += entry.bytes;
  to.seconds += entry.seconds;
}

void printRow(FILE *to, const char *name, const Profile::Entry &entry, double wall) {
  double s = std::max(entry.seconds, 1e-12);
  fprintf(to, "%-36.36s %10" PRId64 " %10.4f %6.1f%% %10.1f %10.1f", name, entry.count,
          entry.seconds, 100 * entry.seconds / std::max(wall, 1e-12), entry.flops / s * 1e-9,
          entry.bytes / s * 1e-9);
}

} // namespace

double tplan::runtime::monotonicSeconds() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

void Profile::enable() { table.resize(tableSize); }

void Profile::restart() {
  std::fill(table.begin(), table.end(), Entry());
  std::fill(std::begin(overflow), std::end(overflow), Entry());
  used = 0;
}

void Profile::count(const tp_call &call, double seconds, int64_t times) {
  if (paused)
    return;
  add(totals[categoryOf(call)], call, seconds, times);
  if (table.empty())
    return;
  Entry &entry = entryOf(call);
  if (!entry.call) {
    if (used == (int64_t)tableSize / 2)
      return add(overflow[categoryOf(call)], call, seconds, times);
    ++used;
    entry.call = &call;
  }
  add(entry, call, seconds, times);
}

/// Where a call is in the table, or would be.
Profile::Entry &Profile::entryOf(const tp_call &call) {
  size_t slot = ((size_t)&call * 0x9E3779B97F4A7C15ull) >> 50;
  while (table[slot].call && table[slot].call != &call)
    slot = (slot + 1) % tableSize;
  return table[slot];
}

Profile::Totals Profile::totalsNow() const {
  Totals now;
  std::copy(std::begin(totals), std::end(totals), now.of);
  return now;
}

void Profile::restore(const Totals &before) {
  for (int category = 0; category < TP_CATEGORIES; ++category)
    totals[category] = before.of[category];
}

void Profile::repeat(const Totals &before, const Totals &after) {
  for (int category = 0; category < TP_CATEGORIES; ++category) {
    totals[category].count += after.of[category].count - before.of[category].count;
    totals[category].flops += after.of[category].flops - before.of[category].flops;
    totals[category].bytes += after.of[category].bytes - before.of[category].bytes;
  }
}

void Profile::addTime(const tp_call &call, double seconds) {
  if (table.empty())
    return;
  Entry &entry = entryOf(call);
  (entry.call ? entry : overflow[categoryOf(call)]).seconds += seconds;
}

void Profile::print(FILE *to, double wall) const {
  fprintf(to, "%-36s %10s %10s %7s %10s %10s\n", "category", "calls", "seconds", "share", "GFLOP/s",
          "GB/s");
  // The same kernel called from several places is one row, under its first line.
  std::map<std::string, Entry> byName;
  Entry all, byCategory[TP_CATEGORIES];
  for (const Entry &entry : table) {
    if (!entry.call)
      continue;
    Entry &row = byName[entry.call->name];
    if (!row.call)
      row.call = entry.call;
    add(row, entry);
    add(byCategory[categoryOf(*entry.call)], entry);
  }
  for (int category = 0; category < TP_CATEGORIES; ++category) {
    if (overflow[category].count)
      add(byName["(further calls)"], overflow[category]);
    add(byCategory[category], overflow[category]);
    if (!byCategory[category].count)
      continue;
    printRow(to, categoryNames[category], byCategory[category], wall);
    fputc('\n', to);
    add(all, byCategory[category]);
  }
  printRow(to, "all calls", all, wall);
  fprintf(to, "\n\n");

  std::vector<std::pair<std::string, Entry>> rows(byName.begin(), byName.end());
  std::sort(rows.begin(), rows.end(), [](auto &a, auto &b) {
    return std::tie(b.second.seconds, a.first) < std::tie(a.second.seconds, b.first);
  });
  fprintf(to, "%-36s %10s %10s %7s %10s %10s  %s\n", "call", "calls", "seconds", "share", "GFLOP/s",
          "GB/s", "first line");
  for (auto &[name, entry] : rows) {
    printRow(to, name.c_str(), entry, wall);
    if (entry.call && entry.call->file)
      fprintf(to, "  %s:%d", entry.call->file, entry.call->line);
    fputc('\n', to);
  }
}

void Profile::printTotals(FILE *to, int64_t steps) const {
  double flops = 0, bytes = 0;
  for (const Entry &entry : totals) {
    flops += entry.flops;
    bytes += entry.bytes;
  }
  fprintf(to, "counted: %.0f FLOPs and %.0f bytes in %" PRId64 " steps\n", flops, bytes, steps);
}
