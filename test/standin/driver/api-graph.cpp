//===- api-graph.cpp - captures and graphs --------------------------------===//
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"
#include "test/standin/driver/stream.h"

#include <algorithm>

using namespace standin;

namespace {
std::string nameOf(const Stream &s) { return "s" + std::to_string(s.number); }

/// The stream whose last node does not come before the end of the origin, or null.
std::shared_ptr<Stream> unjoined(const Capture &capture, const Stream &origin) {
  std::vector<bool> before(capture.nodes.size());
  std::vector<int> todo = origin.after;
  while (!todo.empty()) {
    int node = todo.back();
    todo.pop_back();
    if (before[node])
      continue;
    before[node] = true;
    for (int n : capture.nodes[node].after)
      todo.push_back(n);
  }
  for (const auto &weak : capture.streams)
    if (auto stream = weak.lock())
      for (int node : stream->after)
        if (!before[node])
          return stream;
  return nullptr;
}

void release(Capture &capture) {
  capture.ended = true;
  for (const auto &weak : capture.streams)
    if (auto stream = weak.lock())
      stream->capture = nullptr, stream->after.clear();
  auto &all = standin::system().captures;
  all.erase(std::find_if(all.begin(), all.end(), [&](auto &c) { return c.get() == &capture; }));
}
} // namespace

CUresult cuStreamBeginCapture_v2(CUstream handle, CUstreamCaptureMode mode) {
  Line line("begin");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream)).number("mode", mode);
  if (mode < 0 || mode > 2)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  if (stream->capture)
    return line.end(refuse(invalidate(*stream->capture, CUDA_ERROR_ILLEGAL_STATE),
                           "stream is captured already: s%d", stream->number));
  auto capture = std::make_shared<Capture>();
  capture->mode = mode, capture->thread = std::this_thread::get_id();
  capture->origin = stream, capture->streams.push_back(stream);
  stream->capture = capture, stream->after.clear(), stream->branch = 0;
  s.captures.push_back(capture);
  return line.end(CUDA_SUCCESS);
}

CUresult cuStreamEndCapture(CUstream handle, CUgraph *graph) {
  Line line("end");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  if (!graph)
    return line.end(CUDA_ERROR_INVALID_VALUE);
  *graph = nullptr;
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  std::shared_ptr<Capture> capture = stream->capture;
  if (!capture)
    return line.end(
        refuse(CUDA_ERROR_ILLEGAL_STATE, "stream is not captured: s%d", stream->number));
  if (capture->mode != CU_STREAM_CAPTURE_MODE_RELAXED &&
      capture->thread != std::this_thread::get_id())
    return line.end(refuse(CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD,
                           "capture ends in another thread than it began: s%d", stream->number));
  if (capture->origin.lock() != stream)
    return line.end(refuse(invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNMATCHED),
                           "capture did not begin in stream s%d", stream->number));
  std::shared_ptr<Stream> left = unjoined(*capture, *stream);
  release(*capture);
  if (capture->invalid)
    return line.end(CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  if (left)
    return line.end(refuse(CUDA_ERROR_STREAM_CAPTURE_UNJOINED,
                           "capture ends before stream s%d has been joined", left->number));
  if (environment().graphFault == "end")
    return line.end(CUDA_ERROR_NOT_SUPPORTED);
  auto made = std::make_shared<Graph>();
  made->number = s.graphNumber++, made->nodes = std::move(capture->nodes);
  line.text("g", "g" + std::to_string(made->number)).number("nodes", made->nodes.size());
  *graph = reinterpret_cast<CUgraph>(made.get());
  s.graphs[made.get()] = made;
  return line.end(CUDA_SUCCESS);
}

CUresult cuStreamIsCapturing(CUstream handle, CUstreamCaptureStatus *status) {
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(handle, stream))
    return r;
  if (!status)
    return CUDA_ERROR_INVALID_VALUE;
  std::lock_guard<std::mutex> lock(standin::system().mutex);
  *status = !stream->capture           ? CU_STREAM_CAPTURE_STATUS_NONE
            : stream->capture->invalid ? CU_STREAM_CAPTURE_STATUS_INVALIDATED
                                       : CU_STREAM_CAPTURE_STATUS_ACTIVE;
  return CUDA_SUCCESS;
}

CUresult cuGraphInstantiateWithFlags(CUgraphExec *handle, CUgraph graph, unsigned long long flags) {
  Line line("instantiate");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.graphs.find(graph);
  // Priorities change no values.
  if (!handle || flags & ~CUDA_GRAPH_INSTANTIATE_FLAG_USE_NODE_PRIORITY || it == s.graphs.end())
    return line.end(
        refuse(CUDA_ERROR_INVALID_VALUE, "unknown graph or flags: %p, %llu", (void *)graph, flags));
  if (environment().graphFault == "instantiate")
    return line.end(CUDA_ERROR_NOT_SUPPORTED);
  auto exec = std::make_shared<GraphExec>();
  if (size_t bytes = it->second->nodes.size() * environment().nodeBytes) {
    exec->memory = s.memory.allocate(bytes, currentContext->device, environment().memory);
    if (!exec->memory)
      return line.end(CUDA_ERROR_OUT_OF_MEMORY);
  }
  exec->number = s.execNumber++, exec->nodes = it->second->nodes;
  for (const Node &n : exec->nodes) {
    exec->branches = std::max(exec->branches, n.branch + 1);
    exec->hasHost |= n.action && n.action->host;
  }
  line.text("g", "g" + std::to_string(it->second->number));
  line.text("x", "x" + std::to_string(exec->number));
  *handle = reinterpret_cast<CUgraphExec>(exec.get());
  s.execs[exec.get()] = exec;
  return line.end(CUDA_SUCCESS);
}

CUresult cuGraphUpload(CUgraphExec handle, CUstream streamHandle) {
  Line line("upload");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(streamHandle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.execs.find(handle);
  if (it == s.execs.end())
    return line.end(refuse(CUDA_ERROR_INVALID_HANDLE, "unknown graph: %p", (void *)handle));
  line.text("x", "x" + std::to_string(it->second->number));
  if (stream->capture)
    return line.end(refuse(invalidate(*stream->capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED),
                           "the upload of a graph during a capture: s%d", stream->number));
  return line.end(environment().graphFault == "upload" ? CUDA_ERROR_NOT_SUPPORTED : CUDA_SUCCESS);
}

CUresult cuGraphLaunch(CUgraphExec handle, CUstream streamHandle) {
  Line line("graphlaunch");
  std::shared_ptr<Stream> stream;
  if (CUresult r = enterStream(streamHandle, stream))
    return line.end(r);
  line.text("s", nameOf(*stream));
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.execs.find(handle);
  if (it == s.execs.end())
    return line.end(refuse(CUDA_ERROR_INVALID_HANDLE, "unknown graph: %p", (void *)handle));
  line.text("x", "x" + std::to_string(it->second->number));
  if (stream->capture)
    return line.end(refuse(invalidate(*stream->capture, CUDA_ERROR_NOT_SUPPORTED),
                           "the stand-in captures no launch of a graph: s%d", stream->number));
  auto exec = it->second;
  exec->last = push(*stream, {nullptr, exec->last, nullptr, exec, {}});
  return line.end(CUDA_SUCCESS);
}

CUresult cuGraphExecDestroy(CUgraphExec handle) {
  Line line("execdestroy");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.execs.find(handle);
  if (it == s.execs.end())
    return line.end(refuse(CUDA_ERROR_INVALID_VALUE, "unknown graph: %p", (void *)handle));
  line.text("x", "x" + std::to_string(it->second->number));
  if (it->second->memory)
    s.memory.free(it->second->memory);
  s.execs.erase(it);
  return line.end(CUDA_SUCCESS);
}

CUresult cuGraphDestroy(CUgraph handle) {
  Line line("graphdestroy");
  if (CUresult r = enter())
    return line.end(r);
  System &s = standin::system();
  std::lock_guard<std::mutex> lock(s.mutex);
  auto it = s.graphs.find(handle);
  if (it == s.graphs.end())
    return line.end(refuse(CUDA_ERROR_INVALID_VALUE, "unknown graph: %p", (void *)handle));
  line.text("g", "g" + std::to_string(it->second->number));
  s.graphs.erase(it);
  return line.end(CUDA_SUCCESS);
}
