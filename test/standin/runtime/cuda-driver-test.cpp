//===- cuda-driver-test.cpp - whose fault an error is ---------------------------===//

#include "runtime/cuda_driver.h"

#include "gtest/gtest.h"

using namespace tplan::runtime;

namespace {

/// Of a library that fails while the driver answers so to a query.
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
  for (const std::string &text : {told<cuda::illegalAddress>(), told<cuda::launchFailed>()})
    EXPECT_NE(text.find("; a kernel has failed, whose line --synchronous names"), text.npos)
        << text;
}

TEST(CudaDriver, ALibraryIsBlamedForItself) {
  EXPECT_EQ(told<cuda::success>(), "the library gives up");
  EXPECT_EQ(told<cuda::notReady>(), "the library gives up");
}

TEST(CudaDriver, NothingIsAskedWhereALibrarySucceeds) {
  CudaDriver driver; // a call would be one of no function
  EXPECT_TRUE(driver.ofLibrary(Status(), nullptr).ok());
}

} // namespace
