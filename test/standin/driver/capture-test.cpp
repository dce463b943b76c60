//===- capture-test.cpp - captures and graphs -----------------------------===//
#include "test/standin/driver/driver-test.h"
#include <set>
#include <thread>

namespace {
class Capture : public Driver {
protected:
  void begin(CUstreamCaptureMode mode = CU_STREAM_CAPTURE_MODE_THREAD_LOCAL) {
    OK(cuStreamBeginCapture_v2(a, mode));
  }
  /// Every stream waits for `to` of what `from` has done.
  void join(CUstream from, CUstream to) {
    CUevent e = newEvent();
    OK(cuEventRecord(e, from));
    OK(cuStreamWaitEvent(to, e, 0));
  }
  CUgraphExec end() {
    CUgraph graph = nullptr;
    CUgraphExec exec = nullptr;
    EXPECT_EQ(cuStreamEndCapture(a, &graph), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), CUDA_SUCCESS);
    EXPECT_EQ(cuGraphDestroy(graph), CUDA_SUCCESS);
    return exec;
  }
  CUresult endError() {
    CUgraph graph = nullptr;
    CUresult result = cuStreamEndCapture(a, &graph);
    EXPECT_EQ(graph, nullptr);
    CUstreamCaptureStatus status;
    EXPECT_EQ(cuStreamIsCapturing(a, &status), CUDA_SUCCESS);
    EXPECT_EQ(status, CU_STREAM_CAPTURE_STATUS_NONE);
    return result;
  }
};

TEST_F(Capture, RunsWhenLaunchedAndOnlyThen) {
  OK(cuMemsetD32Async(data, 1, 1, a));
  OK(cuStreamSynchronize(a));
  begin();
  EXPECT_EQ(load(ptx("")), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED) << "modules are loaded before";
  endError();
  OK(load(ptx("ld.global.b32 %r3, [%rd1];\nadd.s32 %r3, %r3, 1;\nst.global.b32 [%rd1], %r3;")));
  begin();
  OK(launch(a, data, 1, 1));
  OK(launch(a, data, 1, 1));
  CUgraphExec exec = end();
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(read(data), 1);
  OK(cuGraphLaunch(exec, a));
  OK(cuGraphLaunch(exec, b)); // follows the first, though in another stream
  OK(cuStreamSynchronize(b));
  EXPECT_EQ(read(data), 5);
  OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(cuGraphLaunch(exec, a), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Capture, TakesMemoryOfTheDevice) {
  auto free = [] {
    size_t free = 0, total = 0;
    EXPECT_EQ(cuMemGetInfo_v2(&free, &total), CUDA_SUCCESS);
    return free;
  };
  start({{"STANDIN_NODE_BYTES", "1000"}});
  begin();
  OK(cuMemsetD32Async(data, 1, 1, a));
  OK(cuMemsetD32Async(data, 2, 1, a));
  size_t before = free();
  CUgraphExec exec = end();
  EXPECT_EQ(free(), before - 2000);
  EXPECT_EQ(cuGraphUpload(exec, a), CUDA_SUCCESS);
  begin();
  EXPECT_EQ(cuGraphUpload(exec, a), CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  endError();
  OK(cuGraphExecDestroy(exec));
  EXPECT_EQ(free(), before);
  EXPECT_EQ(cuGraphUpload(exec, a), CUDA_ERROR_INVALID_HANDLE);
}

TEST_F(Capture, IsRefusedWhereItIsAskedTo) {
  CUgraph graph = nullptr;
  CUgraphExec exec = nullptr;
  auto refuses = [&](const char *fault, const char *bytes, CUresult ended, CUresult made,
                     CUresult loaded) {
    start({{"STANDIN_GRAPH_FAULT", fault}, {"STANDIN_NODE_BYTES", bytes}});
    begin();
    OK(cuMemsetD32Async(data, 1, 1, a));
    EXPECT_EQ(cuStreamEndCapture(a, &graph), ended);
    EXPECT_EQ(cuGraphInstantiateWithFlags(&exec, graph, 0), made);
    if (made == CUDA_SUCCESS) {
      EXPECT_EQ(cuGraphUpload(exec, a), loaded);
    }
    OK(cuMemsetD32Async(data, 7, 1, a)); // the stream goes on
    OK(cuStreamSynchronize(a));
  };
  constexpr CUresult good = CUDA_SUCCESS, none = CUDA_ERROR_NOT_SUPPORTED;
  refuses("end", "0", none, CUDA_ERROR_INVALID_VALUE, good);
  refuses("instantiate", "0", good, none, good);
  refuses("upload", "0", good, good, none);
  refuses("", "1000000000000", good, CUDA_ERROR_OUT_OF_MEMORY, good);
}

/// Two branches that are joined, and one that lacks a wait: over seeds, both orders occur.
TEST_F(Capture, BranchesRunInAnyOrder) {
  for (bool wait : {true, false}) {
    std::set<int> seen;
    for (int seed = 1; seed <= 16; ++seed) {
      start({{"STANDIN_SEED", std::to_string(seed)}});
      begin();
      join(a, b);
      OK(cuMemsetD32Async(data, 1, 1, a));
      if (wait)
        join(a, b);
      OK(cuMemcpyDtoHAsync_v2(host, data, 4, b));
      join(b, a);
      CUgraphExec exec = end();
      OK(cuMemsetD32Async(data, 0, 1, a));
      OK(cuGraphLaunch(exec, a));
      OK(cuStreamSynchronize(a));
      seen.insert(host[0]);
    }
    EXPECT_EQ(seen, wait ? std::set<int>{1} : (std::set<int>{0, 1}));
  }
}

/// A host function of one branch waits for one of the other.
TEST_F(Capture, BranchesRunTogether) {
  static std::atomic<int> here;
  here = 0;
  auto come = [](void *) {
    ++here;
    while (here < 2)
      std::this_thread::yield();
  };
  begin();
  join(a, b);
  OK(cuLaunchHostFunc(a, come, nullptr));
  OK(cuLaunchHostFunc(b, come, nullptr));
  join(b, a);
  CUgraphExec exec = end();
  OK(cuGraphLaunch(exec, a));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(here, 2);
}

TEST_F(Capture, Unjoined) {
  begin();
  join(a, b);
  OK(cuMemsetD32Async(data, 1, 1, b));
  EXPECT_EQ(endError(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED);
  OK(cuStreamSynchronize(b)); // no longer captured
  begin();
  join(a, b);
  EXPECT_EQ(endError(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED) << "without work too";
  begin();
  join(a, b);
  OK(cuMemsetD32Async(data, 1, 1, b));
  join(b, a);
  OK(cuMemsetD32Async(data, 1, 1, b));
  EXPECT_EQ(endError(), CUDA_ERROR_STREAM_CAPTURE_UNJOINED) << "joined before its last node";
}

TEST_F(Capture, Isolation) {
  CUevent outside = newEvent();
  OK(cuEventRecord(outside, b));
  begin();
  EXPECT_EQ(cuStreamWaitEvent(a, outside, 0), CUDA_ERROR_STREAM_CAPTURE_ISOLATION);
  EXPECT_EQ(cuMemsetD32Async(data, 1, 1, a), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  EXPECT_EQ(endError(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, EventOfACaptureThatEnded) {
  begin();
  CUevent e = newEvent();
  OK(cuEventRecord(e, a));
  end();
  EXPECT_EQ(cuStreamWaitEvent(b, e, 0), CUDA_ERROR_CAPTURED_EVENT);
  OK(cuEventRecord(e, a));
  OK(cuStreamWaitEvent(b, e, 0));
}

TEST_F(Capture, Merge) {
  CUevent e = newEvent();
  begin();
  OK(cuEventRecord(e, a));
  OK(cuStreamBeginCapture_v2(b, CU_STREAM_CAPTURE_MODE_THREAD_LOCAL));
  EXPECT_EQ(cuStreamWaitEvent(b, e, 0), CUDA_ERROR_STREAM_CAPTURE_MERGE);
  EXPECT_EQ(endError(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  CUgraph graph;
  EXPECT_EQ(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
}

TEST_F(Capture, CallsThatEndIt) {
  CUevent inside = newEvent();
  auto check = [&](auto call, CUresult want) {
    begin();
    EXPECT_EQ(cuEventRecord(inside, a), CUDA_SUCCESS);
    EXPECT_EQ(call(), want);
    EXPECT_EQ(endError(), CUDA_ERROR_STREAM_CAPTURE_INVALIDATED);
  };
  check([&] { return cuStreamSynchronize(a); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  check([&] { return cuStreamQuery(a); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  check([&] { return cuEventQuery(inside); }, CUDA_ERROR_CAPTURED_EVENT);
  check([&] { return cuEventSynchronize(inside); }, CUDA_ERROR_CAPTURED_EVENT);
  check([&] { return cuCtxSynchronize(); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUdeviceptr p;
  check([&] { return cuMemAlloc_v2(&p, 4); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  check([&] { return cuMemFree_v2(data); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  int x = 0;
  check([&] { return cuMemcpyHtoD_v2(data, &x, 4); }, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED);
  CUgraph graph;
  EXPECT_EQ(cuStreamEndCapture(a, &graph), CUDA_ERROR_ILLEGAL_STATE);
  begin();
  EXPECT_EQ(cuStreamBeginCapture_v2(a, CU_STREAM_CAPTURE_MODE_RELAXED), CUDA_ERROR_ILLEGAL_STATE);
  endError();
  begin();
  join(a, b);
  EXPECT_EQ(cuStreamEndCapture(b, &graph), CUDA_ERROR_STREAM_CAPTURE_UNMATCHED);
  endError();
}

/// What another thread does matters to captures of mode global only.
TEST_F(Capture, Modes) {
  struct {
    CUstreamCaptureMode mode;
    CUresult here, there;
  } cases[] = {
      {CU_STREAM_CAPTURE_MODE_GLOBAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED,
       CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED},
      {CU_STREAM_CAPTURE_MODE_THREAD_LOCAL, CUDA_ERROR_STREAM_CAPTURE_UNSUPPORTED, CUDA_SUCCESS},
      {CU_STREAM_CAPTURE_MODE_RELAXED, CUDA_SUCCESS, CUDA_SUCCESS},
  };
  auto allocate = [&] {
    CUdeviceptr p;
    cuCtxSetCurrent(context);
    CUresult result = cuMemAlloc_v2(&p, 4);
    return result ? result : cuMemFree_v2(p);
  };
  for (auto &c : cases) {
    begin(c.mode);
    CUresult there = CUDA_ERROR_UNKNOWN;
    std::thread([&] { there = allocate(); }).join();
    EXPECT_EQ(there, c.there) << c.mode;
    EXPECT_EQ(allocate(), c.here) << c.mode;
    CUgraph graph;
    CUresult result = cuStreamEndCapture(a, &graph);
    EXPECT_EQ(result, c.here ? CUDA_ERROR_STREAM_CAPTURE_INVALIDATED : CUDA_SUCCESS) << c.mode;
  }
  begin();
  CUresult result = CUDA_SUCCESS;
  std::thread([&] {
    CUgraph graph;
    cuCtxSetCurrent(context);
    result = cuStreamEndCapture(a, &graph);
  }).join();
  EXPECT_EQ(result, CUDA_ERROR_STREAM_CAPTURE_WRONG_THREAD);
}
} // namespace
