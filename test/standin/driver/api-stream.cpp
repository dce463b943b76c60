//===- api-stream.cpp - streams and events --------------------------------===//
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"
#include "test/standin/driver/stream.h"

using namespace standin;

namespace {
std::string nameOf(const Stream &s) { return "s" + std::to_string(s.number); }
std::string nameOf(const Event &e) { return "e" + std::to_string(e.number); }

/// With the mutex held.
Event *find(CUevent handle) {
  auto &events = standin::system().events;
  auto it = events.find(handle);
  if (it != events.end())
    return it->second.get();
  refuse(CUDA_ERROR_INVALID_HANDLE, "unknown event: %p", (void *)handle);
  return nullptr;
}

/// Calls that look at a stream end its capture.
CUresult notCaptured(Stream &stream, const char *call) {
  if (!stream.capture)
    return CUDA_SUCCESS;
  return refuse(invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
                "%s of captured stream s%d", call, stream.number);
}

CUresult notCaptured(Event &event, const char *call) {
  if (!event.capture)
    return checkUnsafe(call);
  return refuse(invalidate(*event.capture, CUDA_ERROR_CAPTURED_EVENT), "%s of captured event e%d",
                call, event.number);
}

CUresult elapsed(float *milliseconds, CUevent startHandle, CUevent endHandle) {
  Line line("elapsed");
  if (CUresult r = enter())
    return line.end(r);
  Lock lock(standin::system().mutex);
  Event *start = find(startHandle), *end = find(endHandle);
  if (!milliseconds || !start || !end)
    return line.end(milliseconds ? CUDA_ERROR_INVALID_HANDLE : CUDA_ERROR_INVALID_VALUE);
  line.text("e", nameOf(*start)).text("e", nameOf(*end));
  for (Event *e : {start, end}) {
    if (e->flags & CU_EVENT_DISABLE_TIMING || !e->mark)
      return line.end(refuse(CUDA_ERROR_INVALID_HANDLE, "event that has no time: e%d", e->number));
    if (!e->mark->done)
      return line.end(CUDA_ERROR_NOT_READY);
  }
  *milliseconds =
      std::chrono::duration<float, std::milli>(end->mark->time - start->mark->time).count();
  return line.end(CUDA_SUCCESS);
}
} // namespace

CUresult cuStreamCreateWithPriority(CUstream *handle, unsigned flags, int priority) {
  Line line("stream");
  if (CUresult r = enter())
    return line.end(r);
  if (!handle || flags > 1)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto stream = std::make_shared<Stream>();
  stream->context = currentContext, stream->number = s.streamNumber++;
  stream->blocking = flags != CU_STREAM_NON_BLOCKING;
  s.streams[stream.get()] = stream;
  startStream(stream);
  *handle = reinterpret_cast<CUstream>(stream.get());
  line.text("s", nameOf(*stream)).number("flags", flags).number("priority", priority);
  return line.end(CUDA_SUCCESS);
}

CUresult cuStreamDestroy_v2(CUstream handle) {
  Line line("streamdestroy");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (CUresult r = notCaptured(*stream, "cuStreamDestroy"))
    return line.end(r);
  stream->destroyed = true; // its thread ends when all has run
  ask(*stream, stream->enqueued);
  s.streams.erase(handle);
  stream->wake.notify_one();
  return line.end(CUDA_SUCCESS);
}

CUresult cuStreamSynchronize(CUstream handle) {
  Line line("streamsync");
  if (!handle) { // the default stream
    if (CUresult r = enter())
      return line.end(r);
    line.text("s", "-");
    Lock lock(standin::system().mutex);
    if (CUresult r = checkUnsafe("cuStreamSynchronize of the default stream"))
      return line.end(r);
    return line.end(awaitContext(lock, *currentContext, true));
  }
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  Lock lock(standin::system().mutex);
  if (CUresult r = notCaptured(*stream, "cuStreamSynchronize"))
    return line.end(r);
  return line.end(awaitStream(lock, *stream));
}

CUresult cuStreamQuery(CUstream handle) {
  Line line("streamquery");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  Lock lock(standin::system().mutex);
  if (CUresult r = notCaptured(*stream, "cuStreamQuery"))
    return line.end(r);
  bool done = stream->finished == stream->enqueued;
  ask(*stream, stream->enqueued);
  relieve();
  return line.end(done ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuStreamWaitEvent(CUstream handle, CUevent eventHandle, unsigned flags) {
  Line line("wait");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  System &s = standin::system();
  Lock lock(s.mutex);
  Event *event = find(eventHandle);
  if (!event || flags)
    return line.end(event ? CUDA_ERROR_INVALID_VALUE : CUDA_ERROR_INVALID_HANDLE);
  line.text("e", nameOf(*event));
  if (stream->capture && stream->capture->invalid)
    return line.end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (stream->capture || event->capture)
    return line.end(waitCaptured(*stream, *event));
  if (!event->mark) {
    line.text("for", "-");
    if (environment().strict)
      return line.end(refuse(CUDA_ERROR_INVALID_VALUE,
                             "stream s%d waits for an event that was never recorded: e%d",
                             stream->number, event->number));
    return line.end(CUDA_SUCCESS);
  }
  push(*stream, {nullptr, event->mark, nullptr, nullptr, {}});
  return line.end(CUDA_SUCCESS);
}

CUresult cuEventCreate(CUevent *handle, unsigned flags) {
  Line line("event");
  if (CUresult r = enter())
    return line.end(r);
  if (!handle || flags > 7 || (flags & CU_EVENT_INTERPROCESS && !(flags & CU_EVENT_DISABLE_TIMING)))
    return line.end(CUDA_ERROR_INVALID_VALUE);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto event = std::make_unique<Event>();
  event->context = currentContext, event->number = s.eventNumber++, event->flags = flags;
  *handle = reinterpret_cast<CUevent>(event.get());
  line.text("e", nameOf(*event)).number("flags", flags);
  s.events[event.get()] = std::move(event);
  return line.end(CUDA_SUCCESS);
}

CUresult cuEventDestroy_v2(CUevent handle) {
  Line line("eventdestroy");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  Event *event = find(handle);
  if (!event)
    return line.end(CUDA_ERROR_INVALID_HANDLE);
  line.text("e", nameOf(*event));
  s.events.erase(handle);
  return line.end(CUDA_SUCCESS);
}

CUresult cuEventRecord(CUevent handle, CUstream streamHandle) {
  Line line("record");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(streamHandle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  std::lock_guard<std::mutex> lock(standin::system().mutex);
  Event *event = find(handle);
  if (!event)
    return line.end(CUDA_ERROR_INVALID_HANDLE);
  line.text("e", nameOf(*event));
  if (event->context != stream->context)
    return line.end(
        refuse(CUDA_ERROR_INVALID_HANDLE, "event of another device: e%d", event->number));
  if (stream->capture)
    return line.end(recordCaptured(*stream, *event));
  event->capture = nullptr, event->after.clear();
  event->mark = push(*stream, {});
  return line.end(CUDA_SUCCESS);
}

CUresult cuEventQuery(CUevent handle) {
  Line line("eventquery");
  if (CUresult r = enter())
    return line.end(r);
  Lock lock(standin::system().mutex);
  Event *event = find(handle);
  if (!event)
    return line.end(CUDA_ERROR_INVALID_HANDLE);
  line.text("e", nameOf(*event));
  if (CUresult r = notCaptured(*event, "cuEventQuery"))
    return line.end(r);
  std::shared_ptr<Mark> mark = event->mark; // the event may be destroyed meanwhile
  return line.end(!mark || hasEnded(lock, mark) ? CUDA_SUCCESS : CUDA_ERROR_NOT_READY);
}

CUresult cuEventSynchronize(CUevent handle) {
  Line line("eventsync");
  if (CUresult r = enter())
    return line.end(r);
  Lock lock(standin::system().mutex);
  Event *event = find(handle);
  if (!event)
    return line.end(CUDA_ERROR_INVALID_HANDLE);
  line.text("e", nameOf(*event));
  if (CUresult r = notCaptured(*event, "cuEventSynchronize"))
    return line.end(r);
  Context &context = *event->context;
  std::shared_ptr<Mark> mark = event->mark; // the event may be destroyed meanwhile
  return line.end(mark ? await(lock, context, mark) : CUDA_SUCCESS);
}

CUresult cuEventElapsedTime(float *milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
CUresult cuEventElapsedTime_v2(float *milliseconds, CUevent start, CUevent end) {
  return elapsed(milliseconds, start, end);
}
