//===- cuda-driver-test.cpp - whose fault an error is ---------------------------===//

#include "runtime/libraries/cuda_driver.h"

#include "gtest/gtest.h"

using namespace tplan::runtime;

namespace {

/// The error of a library that fails while the driver answers so to a query.
template <cuda::Result answer> std::string told() {
  CudaDriver driver;
  driver.EventQuery = [](cuda::EventHandle *) { return cuda::Result(answer); };
  driver.GetErrorName = driver.GetErrorString = [](cuda::Result, const char **text) {
    *text = nullptr;
    return cuda::Result(cuda::success);
  };
  return driver.ofLibrary(errorf("the library gives up"), nullptr).message();
}

TEST(CudaDriver, ALibraryIsNotBlamedForAKernel) {
  for (const std::string &text :
       {told<cuda::illegalAddress>(), told<cuda::launchTimeout>(), told<cuda::assertFailed>(),
        told<cuda::launchFailed>(), told<cuda::tensorMemoryLeak>()})
    EXPECT_NE(text.find("; a kernel has failed, whose line --synchronous names"), text.npos)
        << text;
}

TEST(CudaDriver, ALibraryIsNotBlamedForTheMachine) {
  EXPECT_NE(told<cuda::eccUncorrectable>().find("refuses cuEventQuery: unknown error (214); memory "
                                                "of the GPU has lost bits"),
            std::string::npos);
  EXPECT_NE(told<cuda::nvlinkUncorrectable>().find("(220); a link between GPUs has failed"),
            std::string::npos);
  EXPECT_NE(told<cuda::unknown>().find("(999); what ran before has failed"), std::string::npos);
}

TEST(CudaDriver, ALibraryIsBlamedForItself) {
  for (const std::string &text :
       {told<cuda::success>(), told<cuda::notReady>(), told<cuda::outOfMemory>(),
        told<cuda::peerAccessEnabled>(), told<cuda::tooManyPeers>()})
    EXPECT_EQ(text, "the library gives up");
}

TEST(CudaDriver, NothingRunsBeforeTheFirstCall) {
  CudaDriver driver;
  driver.GetErrorName = driver.GetErrorString = [](cuda::Result, const char **text) {
    *text = nullptr;
    return cuda::Result(cuda::success);
  };
  EXPECT_EQ(driver.check(cuda::unknown, "cuInit").message(),
            "the NVIDIA driver refuses cuInit: unknown error (999)");
}

TEST(CudaDriver, NothingIsAskedWhereALibrarySucceeds) {
  CudaDriver driver; // a call would be one of no function
  EXPECT_TRUE(driver.ofLibrary(Status(), nullptr).ok());
}

} // namespace
