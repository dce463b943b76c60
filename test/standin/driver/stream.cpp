//===- stream.cpp - queues and their threads ------------------------------===//
#include "test/standin/driver/stream.h"
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"

namespace standin {

thread_local Context *currentContext = nullptr;
thread_local bool insideHostFunction = false;

System &system() {
  static auto *all = new System;
  return *all;
}

CUresult enter() {
  System &s = system();
  if (insideHostFunction)
    return refuse(CUDA_ERROR_NOT_PERMITTED, "a host function calls the driver");
  std::lock_guard<std::mutex> lock(s.mutex);
  if (!s.initialised)
    return refuse(CUDA_ERROR_NOT_INITIALIZED, "cuInit has not been called");
  if (!currentContext || !currentContext->retained)
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "the thread has no current context");
  return currentContext->error;
}

CUresult enterStream(CUstream handle, std::shared_ptr<Stream> &stream) {
  if (CUresult r = enter())
    return r;
  if (reinterpret_cast<uintptr_t>(handle) <= 2)
    return refuse(CUDA_ERROR_INVALID_HANDLE, "use of a default stream: %p", (void *)handle);
  System &s = system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.streams.find(handle);
  if (it == s.streams.end())
    return refuse(CUDA_ERROR_INVALID_HANDLE, "unknown stream: %p", (void *)handle);
  stream = it->second;
  if (stream->context != currentContext)
    return refuse(CUDA_ERROR_INVALID_CONTEXT, "stream belongs to another device: s%d",
                  stream->number);
  return CUDA_SUCCESS;
}

uint64_t nextRandom() {
  uint64_t &x = system().random;
  x ^= x << 13, x ^= x >> 7, x ^= x << 17;
  return x;
}

void ask(Stream &stream, uint64_t upTo) {
  if (stream.asked < upTo) {
    stream.asked = upTo;
    stream.wake.notify_one();
  }
}

void relieve() {
  auto limit = Clock::now() - std::chrono::milliseconds(100);
  bool blocked = false;
  for (auto &[handle, stream] : system().streams)
    blocked |= stream->inHost && stream->hostSince < limit;
  if (blocked)
    for (auto &[handle, stream] : system().streams)
      ask(*stream, stream->enqueued);
}

/// At most so long. Meanwhile it may turn out that all streams have to run.
static void waitFor(Lock &lock, Stream &stream, uint64_t upTo,
                    Clock::time_point limit = Clock::time_point::max()) {
  Waiter self = {upTo, {}};
  stream.waiters.push_back(&self);
  for (auto now = Clock::now(); stream.finished < upTo && now < limit; now = Clock::now())
    if (self.ended.wait_until(lock, std::min(limit, now + std::chrono::milliseconds(100))) ==
        std::cv_status::timeout)
      relieve();
  std::erase(stream.waiters, &self);
}

CUresult await(Lock &lock, Context &context, const std::shared_ptr<Mark> &mark) {
  // A stream that is gone has ended all its operations.
  if (auto stream = mark->stream.lock(); stream && !mark->done) {
    ask(*stream, mark->sequence);
    waitFor(lock, *stream, mark->sequence);
  }
  return context.error;
}

bool hasEnded(Lock &lock, const std::shared_ptr<Mark> &mark) {
  auto stream = mark->stream.lock();
  if (!stream || mark->done)
    return true;
  if (stream->asked < mark->sequence)
    ask(*stream, mark->sequence);
  else
    waitFor(lock, *stream, mark->sequence, Clock::now() + std::chrono::milliseconds(2));
  return mark->done;
}

CUresult awaitStream(Lock &lock, Stream &stream) {
  uint64_t upTo = stream.enqueued;
  ask(stream, upTo);
  waitFor(lock, stream, upTo);
  return stream.context->error;
}

CUresult awaitContext(Lock &lock, Context &context, bool onlyBlocking) {
  std::vector<std::pair<std::shared_ptr<Stream>, uint64_t>> all;
  for (auto &[handle, stream] : system().streams)
    if (stream->context == &context && (stream->blocking || !onlyBlocking)) {
      all.push_back({stream, stream->enqueued});
      ask(*stream, stream->enqueued);
    }
  for (auto &[stream, upTo] : all)
    waitFor(lock, *stream, upTo);
  return context.error;
}

static std::shared_ptr<Mark> append(Stream &stream, Operation operation) {
  auto mark = std::make_shared<Mark>();
  mark->stream = stream.weak_from_this();
  mark->sequence = ++stream.enqueued;
  operation.mark = stream.last = mark;
  operation.enqueued = Clock::now();
  stream.queue.push_back(std::move(operation));
  if (environment().order != Order::late)
    ask(stream, stream.enqueued);
  return mark;
}

std::shared_ptr<Mark> push(Stream &stream, Operation operation) {
  auto legacy = stream.context->legacy;
  if (stream.blocking && legacy && legacy.get() != &stream && legacy->finished < legacy->enqueued)
    append(stream, {nullptr, legacy->last, nullptr, nullptr, {}});
  return append(stream, std::move(operation));
}

CUresult enqueue(Stream &stream, std::shared_ptr<Action> action) {
  if (stream.capture) {
    if (stream.capture->invalid)
      return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
    addNode(stream, std::move(action));
    return CUDA_SUCCESS;
  }
  push(stream, {std::move(action), nullptr, nullptr, nullptr, {}});
  return CUDA_SUCCESS;
}

/// One operation, on the thread of its stream.
static CUresult perform(Lock &lock, Stream &stream, const Operation &operation) {
  Context &context = *stream.context;
  if (operation.wait)
    await(lock, context, operation.wait);
  if (context.error || (!operation.action && !operation.graph))
    return context.error;
  uint64_t seed = nextRandom();
  stream.inHost = operation.graph ? operation.graph->hasHost : operation.action->host;
  stream.hostSince = Clock::now();
  lock.unlock();
  if (environment().order == Order::random)
    std::this_thread::sleep_for(std::chrono::microseconds(seed % 300));
  CUresult result;
  if (operation.graph) {
    result = runGraph(*operation.graph, seed);
  } else {
    insideHostFunction = operation.action->host;
    result = operation.action->run();
    insideHostFunction = false;
  }
  lock.lock();
  stream.inHost = false;
  return result;
}

static void work(std::shared_ptr<Stream> stream) {
  System &s = system();
  Lock lock(s.mutex);
  for (;;) {
    stream->wake.wait(lock, [&] {
      return (stream->queue.empty() && stream->destroyed) ||
             (!stream->queue.empty() && stream->finished < stream->asked);
    });
    if (stream->queue.empty())
      return;
    Operation operation = std::move(stream->queue.front());
    stream->queue.pop_front();
    CUresult result = perform(lock, *stream, operation);
    if (result && !stream->context->error) {
      fprintf(stderr, "standin: %s in stream s%d\n", nameOf(result), stream->number);
      stream->context->error = result;
    }
    ++stream->finished;
    operation.mark->done = true, operation.mark->time = Clock::now();
    for (Waiter *waiter : stream->waiters)
      if (waiter->upTo <= stream->finished)
        waiter->ended.notify_one();
  }
}

/// Nothing is late for ever.
static void watch() {
  System &s = system();
  for (;;) {
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
    Lock lock(s.mutex);
    auto limit = Clock::now() - std::chrono::seconds(1);
    for (auto &[handle, stream] : s.streams)
      if (!stream->queue.empty() && stream->queue.front().enqueued < limit)
        ask(*stream, stream->enqueued);
    relieve();
  }
}

void startStream(const std::shared_ptr<Stream> &stream) {
  System &s = system();
  if (!s.watched) {
    s.watched = true;
    std::thread(watch).detach();
  }
  std::thread(work, stream).detach();
}

Stream &legacyStream(Context &context) {
  if (!context.legacy) {
    auto stream = std::make_shared<Stream>();
    stream->context = &context, stream->number = -1, stream->blocking = true;
    system().streams[stream.get()] = context.legacy = stream;
    startStream(stream);
  }
  return *context.legacy;
}

} // namespace standin
