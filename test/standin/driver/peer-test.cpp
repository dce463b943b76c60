//===- peer-test.cpp - memory of other devices ----------------------------===//
#include "test/standin/driver/driver-test.h"

namespace {
/// Two devices; `there` is memory of the second, full of sevens.
class Peers : public Driver {
protected:
  void startTwo(const char *reach) {
    start({{"STANDIN_DEVICES", "2"}, {"STANDIN_PEERS", reach}});
    OK(cuDevicePrimaryCtxRetain(&second, 1));
    OK(cuCtxSetCurrent(second));
    there = device(4096);
    CUstream stream = newStream();
    OK(cuMemsetD8Async(there, 7, 4096, stream));
    OK(cuStreamSynchronize(stream));
    OK(cuCtxSetCurrent(context));
    OK(cuMemsetD8Async(data, 1, 4096, a));
    OK(cuStreamSynchronize(a));
  }
  void SetUp() override { startTwo("1"); }
  CUcontext second = nullptr;
  CUdeviceptr there = 0;
};

TEST_F(Peers, CopiesNeedAccess) {
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(data, there, 64, a), CUDA_ERROR_INVALID_VALUE);
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(there, data, 64, a), CUDA_ERROR_INVALID_VALUE);
  int can = -1;
  OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 1);
  OK(cuCtxEnablePeerAccess(second, 0));
  EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_ALREADY_ENABLED);
  EXPECT_EQ(cuCtxEnablePeerAccess(context, 0), CUDA_ERROR_INVALID_CONTEXT) << "itself";
  OK(cuMemcpyDtoDAsync_v2(data, there, 64, a));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(read(data), 0x07070707);
  EXPECT_EQ(read(data + 64), 0x01010101);
  // The other way round it was not asked for.
  OK(cuCtxSetCurrent(second));
  CUstream stream = newStream();
  EXPECT_EQ(cuMemcpyDtoDAsync_v2(there, data, 64, stream), CUDA_ERROR_INVALID_VALUE);
  OK(cuCtxSetCurrent(context));
}

TEST_F(Peers, KernelsNeedAccess) {
  OK(load(ptx("ld.global.u32 %r3, [%rd2];\nadd.u32 %r3, %r3, 1;\nst.global.u32 [%rd2], %r3;")));
  OK(cuCtxEnablePeerAccess(second, 0));
  OK(launch(a, there));
  OK(cuStreamSynchronize(a));
  EXPECT_EQ(read(there), 0x07070708);
  startTwo("1");
  OK(load(ptx("ld.global.u32 %r3, [%rd2];")));
  OK(launch(a, there));
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Peers, CopiesThatNameBothGoWithout) {
  startTwo("0");
  int can = -1;
  OK(cuDeviceCanAccessPeer(&can, 0, 1));
  EXPECT_EQ(can, 0);
  EXPECT_EQ(cuCtxEnablePeerAccess(second, 0), CUDA_ERROR_PEER_ACCESS_UNSUPPORTED);
  OK(cuMemcpyPeerAsync(data, context, there, second, 64, a));
  EXPECT_EQ(cuMemcpyPeerAsync(data, context, there, context, 64, a), CUDA_ERROR_INVALID_VALUE)
      << "not of that device";
  EXPECT_EQ(cuMemcpyPeerAsync(data, context, there, nullptr, 64, a), CUDA_ERROR_INVALID_CONTEXT);
  // Two rows of 8 bytes, 64 apart, to rows 16 apart.
  CUDA_MEMCPY3D_PEER rows{};
  rows.srcMemoryType = rows.dstMemoryType = CU_MEMORYTYPE_DEVICE;
  rows.srcDevice = there, rows.srcContext = second, rows.srcPitch = 64;
  rows.dstDevice = data + 128, rows.dstContext = context, rows.dstPitch = 16;
  rows.WidthInBytes = 8, rows.Height = 2, rows.Depth = 1;
  OK(cuMemcpy3DPeerAsync(&rows, a));
  rows.dstPitch = 4;
  EXPECT_EQ(cuMemcpy3DPeerAsync(&rows, a), CUDA_ERROR_INVALID_VALUE);
  rows.dstPitch = 16, rows.Depth = 2;
  EXPECT_EQ(cuMemcpy3DPeerAsync(&rows, a), CUDA_ERROR_NOT_SUPPORTED);
  OK(cuStreamSynchronize(a));
  for (auto [at, value] :
       {std::pair(60, 7), {64, 1}, {128, 7}, {132, 7}, {136, 1}, {144, 7}, {152, 1}})
    EXPECT_EQ(read(data + at), value * 0x01010101) << at;
}
} // namespace
