//===- capture.cpp - from calls to graphs, and graphs at work -------------===//
#include "test/standin/driver/environment.h"
#include "test/standin/driver/log.h"
#include "test/standin/driver/stream.h"

#include <algorithm>

namespace standin {

CUresult invalidate(Capture &capture, CUresult result) {
  capture.invalid = true;
  return result;
}

CUresult checkUnsafe(const char *call) {
  CUresult result = CUDA_SUCCESS;
  for (auto &capture : system().captures) {
    bool mine = capture->thread == std::this_thread::get_id();
    if (capture->mode == CU_STREAM_CAPTURE_MODE_GLOBAL ||
        (capture->mode == CU_STREAM_CAPTURE_MODE_THREAD_LOCAL && mine))
      result = invalidate(*capture, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  }
  return result ? refuse(result, "%s during a capture", call) : result;
}

int addNode(Stream &stream, std::shared_ptr<Action> action) {
  Capture &capture = *stream.capture;
  capture.nodes.push_back({std::move(action), stream.after, stream.branch});
  stream.after.assign(1, capture.nodes.size() - 1);
  return stream.after[0];
}

CUresult recordCaptured(Stream &stream, Event &event) {
  if (stream.capture->invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  event.mark = nullptr;
  event.capture = stream.capture, event.after = stream.after;
  return CUDA_SUCCESS;
}

/// A stream joins by waiting for an event of the capture. Its branch begins with a node of
/// its own, so that one which is never joined again is found even if it is empty.
CUresult waitCaptured(Stream &stream, Event &event) {
  if (!event.capture)
    return refuse(invalidate(*stream.capture, CUDA_ERROR_STREAM_CAPTURE_ISOLATION),
                  "captured stream s%d waits for event e%d, recorded outside", stream.number,
                  event.number);
  Capture &capture = *event.capture;
  if (capture.ended)
    return refuse(CUDA_ERROR_CAPTURED_EVENT, "event of a capture that has ended: e%d",
                  event.number);
  if (capture.invalid)
    return CUDA_ERROR_STREAM_CAPTURE_INVALIDATED;
  if (stream.capture && stream.capture != event.capture) {
    stream.capture->invalid = true;
    return refuse(invalidate(capture, CUDA_ERROR_STREAM_CAPTURE_MERGE),
                  "two captures meet in stream s%d", stream.number);
  }
  bool joins = !stream.capture;
  if (joins) {
    stream.capture = event.capture;
    stream.branch = capture.streams.size();
    capture.streams.push_back(stream.weak_from_this());
    stream.after.clear();
  }
  for (int node : event.after)
    if (std::find(stream.after.begin(), stream.after.end(), node) == stream.after.end())
      stream.after.push_back(node);
  if (joins)
    addNode(stream, nullptr);
  return CUDA_SUCCESS;
}

namespace {

/// Host functions run on a thread of their branch, because they may block until another branch has
/// come to something.
class GraphRun {
public:
  GraphRun(GraphExec &exec, uint64_t seed)
      : exec(exec), seed(seed | 1), missing(exec.nodes.size()), followers(exec.nodes.size()),
        lanes(exec.branches) {}
  CUresult run();

private:
  struct Lane {
    std::thread thread;
    std::deque<int> nodes;
  };
  void finish(int node);
  void lane(int branch);
  size_t choose();

  GraphExec &exec;
  uint64_t seed;
  std::mutex mutex;
  std::condition_variable changed;
  std::vector<int> ready, missing;
  std::vector<std::vector<int>> followers;
  std::vector<Lane> lanes;
  size_t left = 0;
  bool over = false;
  CUresult error = CUDA_SUCCESS;
};

void GraphRun::finish(int node) {
  --left;
  for (int follower : followers[node])
    if (!--missing[follower])
      ready.push_back(follower);
  changed.notify_all();
}

void GraphRun::lane(int branch) {
  std::unique_lock<std::mutex> lock(mutex);
  Lane &mine = lanes[branch];
  for (;;) {
    changed.wait(lock, [&] { return over || !mine.nodes.empty(); });
    if (mine.nodes.empty())
      return;
    int node = mine.nodes.front();
    mine.nodes.pop_front();
    lock.unlock();
    insideHostFunction = true;
    CUresult result = exec.nodes[node].action->run();
    insideHostFunction = false;
    lock.lock();
    error = error ? error : result;
    finish(node);
  }
}

size_t GraphRun::choose() {
  if (environment().order == Order::eager)
    return std::min_element(ready.begin(), ready.end()) - ready.begin();
  seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
  return seed % ready.size();
}

CUresult GraphRun::run() {
  left = exec.nodes.size();
  for (size_t i = 0; i < exec.nodes.size(); ++i) {
    missing[i] = exec.nodes[i].after.size();
    for (int before : exec.nodes[i].after)
      followers[before].push_back(i);
    if (!missing[i])
      ready.push_back(i);
  }
  std::unique_lock<std::mutex> lock(mutex);
  while (left) {
    changed.wait(lock, [&] { return !left || !ready.empty(); });
    if (!left)
      break;
    size_t place = choose();
    int node = ready[place];
    ready.erase(ready.begin() + place);
    const Node &n = exec.nodes[node];
    if (!n.action || error) {
      finish(node);
      continue;
    }
    if (n.action->host) {
      Lane &lane = lanes[n.branch];
      lane.nodes.push_back(node);
      if (!lane.thread.joinable())
        lane.thread = std::thread([this, branch = n.branch] { this->lane(branch); });
      changed.notify_all();
      continue;
    }
    lock.unlock();
    if (environment().order == Order::random)
      std::this_thread::sleep_for(std::chrono::microseconds(seed % 100));
    CUresult result = n.action->run();
    lock.lock();
    error = error ? error : result;
    finish(node);
  }
  over = true;
  changed.notify_all();
  lock.unlock();
  for (Lane &lane : lanes)
    if (lane.thread.joinable())
      lane.thread.join();
  return error;
}
} // namespace

CUresult runGraph(GraphExec &exec, uint64_t seed) { return GraphRun(exec, seed).run(); }

} // namespace standin
