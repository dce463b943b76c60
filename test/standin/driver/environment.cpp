//===- environment.cpp - how the stand-in is asked to behave --------------===//
#include "test/standin/driver/environment.h"

#include "test/standin/driver/memory.h"

#include <climits>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <set>

namespace standin {

static Environment current;

const Environment &environment() { return current; }

namespace {
template <typename T>
bool number(const char *name, T &value, long long least, long long most = LLONG_MAX) {
  const char *text = getenv(name);
  if (!text)
    return true;
  char *end = nullptr;
  long long read = strtoll(text, &end, 10);
  if (!*text || *end || read < least || read > most) {
    fprintf(stderr, "standin: %s is no number from %lld to %lld: %s\n", name, least, most, text);
    return false;
  }
  value = T(read);
  return true;
}
} // namespace

bool readEnvironment() {
  Environment e;
  const char *order = getenv("STANDIN_ORDER");
  if (order && !strcmp(order, "eager"))
    e.order = Order::eager;
  else if (order && !strcmp(order, "random"))
    e.order = Order::random;
  else if (order && strcmp(order, "late")) {
    fprintf(stderr, "standin: STANDIN_ORDER is late, eager or random, not %s\n", order);
    return false;
  }
  if (const char *log = getenv("STANDIN_LOG"))
    e.log = log;
  if (const char *call = getenv("STANDIN_GRAPH_FAULT"))
    e.graphFault = call;
  if (std::set<std::string>{"", "end", "instantiate", "upload"}.count(e.graphFault) == 0) {
    fprintf(stderr, "standin: STANDIN_GRAPH_FAULT is end, instantiate or upload, not %s\n",
            e.graphFault.c_str());
    return false;
  }
  bool good = number("STANDIN_SEED", e.seed, 0) && number("STANDIN_STRICT", e.strict, 0) &&
              number("STANDIN_TOUCH", e.touch, 0) && number("STANDIN_RACES", e.races, 0) &&
              number("STANDIN_DEVICES", e.devices, 0, kMostDevices) &&
              number("STANDIN_PEERS", e.peers, 0) && number("STANDIN_MIXED", e.mixed, 0) &&
              number("STANDIN_ARCH", e.arch, 50) && number("STANDIN_MEMORY", e.memory, 0) &&
              number("STANDIN_NODE_BYTES", e.nodeBytes, 0) &&
              number("STANDIN_DRIVER_VERSION", e.driver, 1000) &&
              number("STANDIN_THREADS", e.threads, 1) && number("STANDIN_FAULT", e.fault, 0);
  if (good)
    current = e;
  return good;
}

} // namespace standin
