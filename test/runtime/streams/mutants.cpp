//===- mutants.cpp - traces of streams with an event dropped or moved --------===//
//
// stream-mutants TRACE MOST: reads what --trace-streams wrote, for each rank. Each event, or MOST
// of a rank, is dropped, recorded one call too early, and waited for one call too late. Two judges
// say whether an access lost its order: the runtime's clocks (stream_order.h), and a search here
// that shares nothing with them: for each call the set of all that precedes it, and all pairs of
// calls that touch the same bytes. Prints "N mutants, N harmful, N unlike" and fails where the
// judges differ.
//
//===----------------------------------------------------------------------===//
#include "runtime/step/stream_order.h"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <fstream>
#include <sstream>

using namespace tplan::runtime;

namespace {

/// The trace of one rank.
struct Trace {
  int64_t streams = 0, events = 0;
  std::vector<StreamEvent> items;
};

std::deque<std::string> names; // that titles point to

bool parse(const std::string &line, Trace &trace) {
  static const char *const words[] = {"work", "record", "wait", "sync"};
  std::istringstream fields(line);
  std::string word;
  StreamEvent it{};
  fields >> word >> it.stream >> it.event;
  auto kind = std::find(std::begin(words), std::end(words), word);
  if (!fields || kind == std::end(words))
    return false;
  it.kind = StreamEvent::Kind(kind - std::begin(words));
  while (fields >> word) {
    long long begin, end;
    char letter;
    if (sscanf(word.c_str(), "%c%lld-%lld", &letter, &begin, &end) != 3)
      break;
    (letter == 'r' ? it.reads : it.writes).push_back({begin, end});
  }
  names.push_back(word);
  it.title.name = names.back().c_str();
  trace.items.push_back(std::move(it));
  return true;
}

std::vector<Trace> readTraces(const char *path) {
  std::vector<Trace> traces;
  std::ifstream file(path);
  std::string line;
  while (std::getline(file, line)) {
    long long rank, streams, events;
    if (line.starts_with("slot ") || line.starts_with("kernel "))
      continue;
    if (sscanf(line.c_str(), "rank %lld %lld %lld", &rank, &streams, &events) == 3) {
      traces.push_back({streams, events, {}});
    } else if (traces.empty() || !parse(line, traces.back())) {
      fprintf(stderr, "%s: no trace: '%s'\n", path, line.c_str());
      exit(2);
    }
  }
  return traces;
}

bool clocksFind(const Trace &trace) {
  StreamOrder order(trace.streams, trace.events);
  for (const StreamEvent &it : trace.items)
    if (!order.add(it).ok())
      return true;
  return false;
}

bool overlap(const std::vector<Extent> &a, const std::vector<Extent> &b) {
  for (Extent x : a)
    for (Extent y : b)
      if (x.begin < y.end && y.begin < x.end)
        return true;
  return false;
}

/// Pairs of works, by number, in different streams of which one writes what the other touches.
std::vector<std::pair<int, int>> conflicts(const Trace &trace) {
  std::vector<const StreamEvent *> works;
  for (const StreamEvent &it : trace.items)
    if (it.kind == StreamEvent::work)
      works.push_back(&it);
  std::vector<std::pair<int, int>> pairs;
  for (size_t j = 0; j < works.size(); ++j)
    for (size_t i = 0; i < j; ++i)
      if (const StreamEvent &a = *works[i], &b = *works[j];
          a.stream != b.stream &&
          (overlap(a.writes, b.writes) || overlap(a.writes, b.reads) || overlap(a.reads, b.writes)))
        pairs.push_back({int(i), int(j)});
  return pairs;
}

/// The set of works that are done when each work begins, by walking the items once.
class Search {
public:
  explicit Search(const Trace &trace) : words(trace.items.size() / 64 + 1) {
    std::vector<Set> ofStream(trace.streams, Set(words)), ofEvent(trace.events, Set(words));
    for (const StreamEvent &it : trace.items) {
      Set &mine = ofStream[it.stream];
      if (it.kind == StreamEvent::record) {
        ofEvent[it.event] = mine;
      } else if (it.kind == StreamEvent::wait) {
        merge(mine, ofEvent[it.event]);
      } else if (it.kind == StreamEvent::sync) {
        Set all(words);
        for (const Set &set : ofStream)
          merge(all, set);
        std::fill(ofStream.begin(), ofStream.end(), all);
      } else {
        before.push_back(mine);
        size_t number = before.size() - 1;
        mine[number / 64] |= uint64_t(1) << number % 64;
      }
    }
  }
  bool follows(int later, int earlier) const {
    return before[later][earlier / 64] >> earlier % 64 & 1;
  }

private:
  using Set = std::vector<uint64_t>;
  static void merge(Set &into, const Set &other) {
    for (size_t i = 0; i < into.size(); ++i)
      into[i] |= other[i];
  }
  size_t words;
  std::vector<Set> before; // of each work
};

bool searchFinds(const Trace &trace, const std::vector<std::pair<int, int>> &pairs) {
  Search search(trace);
  return std::any_of(pairs.begin(), pairs.end(),
                     [&](auto pair) { return !search.follows(pair.second, pair.first); });
}

/// The next work of the same stream before (-1) or after (1) an item, or -1.
int neighbour(const Trace &trace, int item, int step) {
  for (int i = item + step; i >= 0 && i < (int)trace.items.size(); i += step)
    if (trace.items[i].stream == trace.items[item].stream &&
        trace.items[i].kind == StreamEvent::work)
      return i;
  return -1;
}

std::vector<Trace> mutantsOf(const Trace &trace) {
  std::vector<Trace> mutants;
  for (int i = 0; i < (int)trace.items.size(); ++i) {
    StreamEvent::Kind kind = trace.items[i].kind;
    if (kind != StreamEvent::record && kind != StreamEvent::wait)
      continue;
    Trace dropped = trace;
    dropped.items.erase(dropped.items.begin() + i);
    mutants.push_back(std::move(dropped));
    // A record too early, a wait too late.
    int to = neighbour(trace, i, kind == StreamEvent::record ? -1 : 1);
    if (to < 0)
      continue;
    Trace moved = trace;
    StreamEvent item = moved.items[i];
    moved.items.erase(moved.items.begin() + i);
    moved.items.insert(moved.items.begin() + to, item);
    mutants.push_back(std::move(moved));
  }
  return mutants;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 3) {
    fprintf(stderr, "usage: stream-mutants TRACE MOST\n");
    return 2;
  }
  long count = 0, harmful = 0, unlike = 0, most = atol(argv[2]);
  for (const Trace &trace : readTraces(argv[1])) {
    auto pairs = conflicts(trace);
    if (clocksFind(trace) || searchFinds(trace, pairs)) {
      fprintf(stderr, "the trace itself is not in order\n");
      return 1;
    }
    std::vector<Trace> mutants = mutantsOf(trace);
    size_t stride = std::max<size_t>(1, mutants.size() / most);
    for (size_t i = 0; i < mutants.size(); i += stride) {
      bool found = clocksFind(mutants[i]), wrong = searchFinds(mutants[i], pairs);
      ++count, harmful += wrong, unlike += found != wrong;
    }
  }
  printf("%ld mutants, %ld harmful, %ld unlike\n", count, harmful, unlike);
  return unlike ? 1 : 0;
}
