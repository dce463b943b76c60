//===- stream.h - streams, events and graphs ------------------------------===//
//
// A stream is a queue with a thread of its own. Every wait is for a mark: the end of one operation
// of one stream.
//
// One decision: in the order `late` an operation runs only once somebody asks for it: a
// call that waits, a query, or an operation of another stream that waits for it and has
// been asked for. A program that lacks a wait then reads what was there before, each time.
// Real devices do not wait for ever, so what has been waiting for a second runs anyway,
// and where a host function blocks for a tenth of one, all streams run: it may wait for
// another rank that waits for a stream which nobody asked for.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_STREAM_H
#define TPLAN_TEST_STANDIN_STREAM_H

#include "test/standin/driver/driver.h"
#include "test/standin/driver/memory.h"
#include "test/standin/driver/ptx.h"

#include <chrono>
#include <condition_variable>
#include <deque>
#include <functional>
#include <set>
#include <thread>

namespace standin {

using Clock = std::chrono::steady_clock;
struct Stream;
struct Capture;
struct GraphExec;

/// What an operation does, on the thread of its stream.
struct Action {
  std::function<CUresult()> run;
  bool host = false; ///< a host function, which may block
};

/// The end of an operation of a stream.
struct Mark {
  std::weak_ptr<Stream> stream;
  uint64_t sequence = 0;
  bool done = false;
  Clock::time_point time;
};

struct Operation {
  std::shared_ptr<Action> action;
  std::shared_ptr<Mark> wait, mark; ///< waits for one, ends another
  std::shared_ptr<GraphExec> graph;
  Clock::time_point enqueued;
};

struct Node {
  std::shared_ptr<Action> action; ///< none where branches meet or part
  std::vector<int> after;
  int branch = 0;
};

struct Context {
  int device = 0, retained = 0;
  std::shared_ptr<Stream> legacy; ///< the default stream, once something runs in it
  CUresult error = CUDA_SUCCESS;  ///< of an operation; of every call from then on
};

/// A thread that waits until so many operations of a stream have ended. Each has a condition of its
/// own, because most operations end while others are waited for.
struct Waiter {
  uint64_t upTo;
  std::condition_variable ended;
};

struct Stream : std::enable_shared_from_this<Stream> {
  Context *context = nullptr;
  int number = 0;
  bool blocking = false;
  std::deque<Operation> queue;
  std::shared_ptr<Mark> last; ///< of what was put there last
  uint64_t enqueued = 0, finished = 0, asked = 0;
  bool destroyed = false;
  bool inHost = false;
  Clock::time_point hostSince;
  std::condition_variable wake; ///< of its thread
  std::vector<Waiter *> waiters;
  // While it is captured.
  std::shared_ptr<Capture> capture;
  std::vector<int> after;
  int branch = 0;
};

struct Event {
  Context *context = nullptr;
  int number = 0;
  unsigned flags = 0;
  std::shared_ptr<Mark> mark; ///< of the last record, if that was outside of captures
  std::shared_ptr<Capture> capture;
  std::vector<int> after;
};

struct Capture {
  CUstreamCaptureMode mode;
  std::thread::id thread;
  std::weak_ptr<Stream> origin;
  std::vector<std::weak_ptr<Stream>> streams;
  std::vector<Node> nodes;
  bool invalid = false, ended = false;
};

struct Graph {
  int number = 0;
  std::vector<Node> nodes;
};

/// Launches of one follow each other, in whatever streams.
struct GraphExec {
  int number = 0;
  std::vector<Node> nodes;
  int branches = 1;
  bool hasHost = false;
  std::shared_ptr<Mark> last;
  uint64_t memory = 0; ///< of the device; none where nodes take none
};

struct LoadedModule;
struct Function {
  std::shared_ptr<const Kernel> kernel;
  LoadedModule *module = nullptr;
  uint32_t mostDynamic = 0;
};
struct LoadedModule {
  Context *context = nullptr;
  Module module;
  std::vector<std::unique_ptr<Function>> functions;
};

/// Everything of the process. It is never destroyed, because threads of streams outlive main.
struct System {
  std::mutex mutex; ///< of all below
  Memory memory;    ///< has a mutex of its own
  bool initialised = false, watched = false;
  std::vector<std::unique_ptr<Context>> contexts;
  std::map<void *, std::shared_ptr<Stream>> streams;
  std::map<void *, std::unique_ptr<Event>> events;
  std::map<void *, std::shared_ptr<Graph>> graphs;
  std::map<void *, std::shared_ptr<GraphExec>> execs;
  std::map<void *, std::unique_ptr<LoadedModule>> modules;
  std::set<void *> functions;
  std::vector<std::shared_ptr<Capture>> captures;
  int streamNumber = 0, eventNumber = 0, graphNumber = 0, execNumber = 0;
  uint64_t launches = 0, random = 1;
};
System &system();
using Lock = std::unique_lock<std::mutex>;

extern thread_local Context *currentContext;
extern thread_local bool insideHostFunction;

/// What every call checks first.
CUresult enter();
CUresult enterStream(CUstream handle, std::shared_ptr<Stream> &stream);

// With the mutex held:
uint64_t nextRandom();
void ask(Stream &stream, uint64_t upTo);
/// Until the mark is done; the error of the context, if it has one.
CUresult await(Lock &lock, Context &context, const std::shared_ptr<Mark> &mark);
/// What a query answers. Who asks again waits for 2 ms, because a host that polls would take the
/// time of a core that runs what it polls for.
bool hasEnded(Lock &lock, const std::shared_ptr<Mark> &mark);
CUresult awaitStream(Lock &lock, Stream &stream);
CUresult awaitContext(Lock &lock, Context &context, bool onlyBlocking);
/// Where a host function blocks, all streams run.
void relieve();
std::shared_ptr<Mark> push(Stream &stream, Operation operation);
/// Runs the action in the stream, or makes it a node of what is captured there.
CUresult enqueue(Stream &stream, std::shared_ptr<Action> action);
void startStream(const std::shared_ptr<Stream> &stream);
/// The default stream of the context. Blocking streams and it wait for each other.
Stream &legacyStream(Context &context);

// Captures, with the mutex held:
CUresult invalidate(Capture &capture, CUresult result);
/// Calls that a capture forbids, here or in all threads.
CUresult checkUnsafe(const char *call);
int addNode(Stream &stream, std::shared_ptr<Action> action);
CUresult recordCaptured(Stream &stream, Event &event);
CUresult waitCaptured(Stream &stream, Event &event);

/// Runs the nodes in an order that they allow; on the thread of a stream, without the mutex.
CUresult runGraph(GraphExec &exec, uint64_t seed);

} // namespace standin

#endif // TPLAN_TEST_STANDIN_STREAM_H
