//===- audit.cpp - what collectives of a run have moved ---------------------===//

#include "runtime/ranks/audit.h"

#include "runtime/ranks/collectives.h"
#include "runtime/ranks/member.h"

#include <algorithm>
#include <cstdio>
#include <map>
#include <tuple>
#include <utility>

using namespace tplan::runtime;

namespace {

/// A row of the table: activity, axes, kind.
using Key = std::tuple<std::string, std::string, std::string>;
enum Column { calls, sent, staged, columns };
using Row = std::array<int64_t, columns>;
using Table = std::map<Key, Row>;

/// The log of one rank, added up.
Table tableOf(const tp_program &program, const Recording &log) {
  Table table;
  for (size_t i = 0; i < log.groups.size(); ++i) {
    std::string axes = i ? axesOf(program, (int64_t)i - 1) : log.groups[0].members.name;
    for (const Bucket &bucket : log.groups[i].buckets) {
      Traffic::Bytes times = {};
      for (const Recorded &operation : bucket.operations)
        times[operation.what.kind] += bucket.times;
      for (int kind = 0; kind < TP_COLLECTIVE_KINDS; ++kind) {
        if (!times[kind])
          continue;
        Row &row = table[{bucket.activity, axes, nameOfKind(kind)}];
        row[calls] += times[kind];
        row[sent] += bucket.traffic.sent[kind];
        row[staged] += bucket.traffic.staged[kind];
      }
    }
  }
  return table;
}

/// Compares members of each communicator with its first member.
Status checkOrders(tp_rank &rank, const Recording &log) {
  std::vector<Communicator *> all = {&rank.transport->world()};
  for (auto &group : rank.groups)
    all.push_back(group.get());
  Status first;
  for (size_t i = 0; i < all.size(); ++i) {
    if (!all[i]) // the rank is no member
      continue;
    std::string mine = textOf(log.groups[i]), theirs = mine;
    auto length = (int64_t)theirs.size();
    TP_TRY(all[i]->broadcast(&length, sizeof length, 0));
    theirs.resize(length);
    TP_TRY(all[i]->broadcast(theirs.data(), length, 0));
    Status status =
        checkSameOrder(all[i]->name(), theirs, all[i]->members()[0], mine, rank.peers.rank());
    if (first.ok())
      first = std::move(status);
  }
  return rank.peers.agree(std::move(first));
}

std::string textOf(const Table &table) {
  std::string keys;
  for (auto &[key, row] : table)
    keys += std::get<0>(key) + "\t" + std::get<1>(key) + "\t" + std::get<2>(key) + "\n";
  return keys;
}

/// A table of zeros with the rows of a text.
Table tableOf(const std::string &keys) {
  Table table;
  for (size_t at = 0; at < keys.size();) {
    auto next = [&](char end) {
      size_t begin = std::exchange(at, keys.find(end, at) + 1);
      return keys.substr(begin, at - 1 - begin);
    };
    std::string activity = next('\t'), axes = next('\t');
    table[{activity, axes, next('\n')}] = {};
  }
  return table;
}

/// The largest numbers of any rank of one program: what its ranks have moved, and the bytes of
/// their logs.
struct Most {
  Table table;
  int64_t logs = 0;

  template <typename Function> void forNumbers(Function &&function) {
    function(logs);
    for (auto &[key, row] : table)
      for (int64_t &number : row)
        function(number);
  }
  size_t size() const { return 1 + table.size() * columns; }
};

/// Finds them for each program: all of its ranks must have the rows of the first one.
Status findMost(tp_rank &rank, Most mine, std::vector<Most> &all) {
  const tp_program &program = *rank.program;
  const std::string keys = textOf(mine.table);
  Status status;
  size_t each = 0; // numbers of a rank
  for (int64_t number = 0; number < programCount(program); ++number) {
    std::string wanted = keys;
    auto from = (int)firstRankOf(program, number);
    TP_TRY(rank.peers.broadcast(wanted, from));
    if (number == numberOf(program, rank.peers.rank()) && keys != wanted)
      status = errorf("ranks issued collectives of other kinds; rank %d:\n%srank %d:\n%s", from,
                      wanted.c_str(), rank.peers.rank(), keys.c_str());
    all.push_back({tableOf(wanted)});
    each = std::max(each, all.back().size());
  }
  TP_TRY(rank.peers.agree(std::move(status)));
  // A sum in which each rank has places of its own.
  std::vector<double> numbers(each * rank.peers.size());
  size_t at = each * rank.peers.rank();
  mine.forNumbers([&](int64_t number) { numbers[at++] = (double)number; });
  TP_TRY(rank.peers.sum(numbers.data(), (int64_t)numbers.size()));
  for (int other = 0; other < rank.peers.size(); ++other) {
    at = each * other;
    all[numberOf(program, other)].forNumbers(
        [&](int64_t &number) { number = std::max(number, (int64_t)numbers[at++]); });
  }
  return {};
}

void print(Table &table) {
  printf("  %-14s  %-14s  %-14s  %10s  %14s  %14s\n", "in", "kind", "axes", "calls", "bytes sent",
         "bytes staged");
  for (auto &[key, row] : table)
    printf("  %-14s  %-14s  %-14s  %10lld  %14lld  %14lld\n", std::get<0>(key).c_str(),
           std::get<2>(key).c_str(), std::get<1>(key).c_str(), (long long)row[calls],
           (long long)row[sent], (long long)row[staged]);
}

} // namespace

Status tplan::runtime::auditCollectives(tp_rank &rank, Recording &log) {
  log.closed = true;
  TP_TRY(checkOrders(rank, log));
  TP_TRY(rank.peers.agree(checkBytes(log)));
  std::vector<Most> all;
  TP_TRY(findMost(rank, {tableOf(*rank.program, log), log.bytes()}, all));
  if (!rank.peers.leads())
    return {};
  int64_t logs = 0;
  for (const Most &of : all)
    logs = std::max(logs, of.logs);
  printf("collectives audit: in one order on %d ranks, bytes as their calls say, logs of %lld "
         "bytes; of the rank %sthat has most:\n",
         rank.peers.size(), (long long)logs, all.size() > 1 ? "of each stage " : "");
  for (size_t stage = 0; stage < all.size(); ++stage) {
    if (all.size() > 1)
      printf("stage %zu:\n", stage);
    print(all[stage].table);
  }
  fflush(stdout);
  return {};
}
