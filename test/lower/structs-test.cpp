//===- structs-test.cpp - records of the compiler, as C reads them --------===//
//
// Each field of each struct of include/tplan/runtime.h gets a value of its own by name, in a
// constant of an object; C then reads all of them at the same names.
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Host/Builder.h"
#include "mlir/IR/BuiltinOps.h"
#include "test/lower/jit.h"
#include <cstring>
#include <gtest/gtest.h>

using namespace tplan::lower;

namespace {

/// Gives out values, each another one.
class Samples {
public:
  explicit Samples(HostBuilder &host) : host(host) {}
  template <typename T> Cell<T> next() {
    ++last;
    if constexpr (std::is_same_v<T, double>)
      return last + 0.5;
    else if constexpr (std::is_integral_v<T>)
      return last;
    else if constexpr (std::is_same_v<T, const char *>)
      return std::to_string(last);
    else // an address: where the number itself stands
      return Address<std::remove_const_t<std::remove_pointer_t<T>>>{
          host.numbers("sample", llvm::ArrayRef(last)).symbol};
  }

private:
  HostBuilder &host;
  int64_t last = 0;
};

int64_t readBack(double value) { return static_cast<int64_t>(value - 0.5); }
int64_t readBack(int32_t value) { return value; }
int64_t readBack(int64_t value) { return value; }
int64_t readBack(const char *text) { return std::stoll(text); }
template <typename T> int64_t readBack(T *address) {
  int64_t number;
  std::memcpy(&number, reinterpret_cast<const void *>(address), sizeof number);
  return number;
}

TEST(Structs, EveryFieldIsReadWhereItWasWritten) {
  Jit jit("module {}", "", [](mlir::ModuleOp module) {
    HostBuilder host(module);
    Samples samples(host);
#define TP_SAMPLE(STRUCT, NAME, TYPE) .NAME = samples.next<TYPE>(),
#define TP_EMIT(STRUCT)                                                                            \
  host.record<STRUCT>("record", {TP_FIELDS_##STRUCT(TP_SAMPLE)}, "sample_" #STRUCT);
    TP_STRUCTS(TP_EMIT)
#undef TP_EMIT
#undef TP_SAMPLE
  });
  int64_t wanted = 0;
#define TP_READ(STRUCT, NAME, TYPE)                                                                \
  EXPECT_EQ(readBack(record->NAME), ++wanted) << #STRUCT "." #NAME;
#define TP_EXPECT(STRUCT)                                                                          \
  {                                                                                                \
    auto *record = reinterpret_cast<const STRUCT *>(jit.get("sample_" #STRUCT));                   \
    TP_FIELDS_##STRUCT(TP_READ)                                                                    \
  }
  TP_STRUCTS(TP_EXPECT)
#undef TP_EXPECT
#undef TP_READ
  EXPECT_GT(wanted, 200);
}

// Code that must not compile, at the example of tp_device_sum and tp_axis.
template <typename R, typename T>
concept TakesName = requires(T value) { R{.name = value, .size = 1}; };
static_assert(TakesName<Record<tp_axis>, llvm::StringRef>);
static_assert(!TakesName<Record<tp_axis>, int>, "a text is no number");
static_assert(!TakesName<Record<tp_axis>, Table<const char *>>, "a text is no array of texts");
template <typename R, typename T>
concept TakesSize = requires(T value) { R{.name = "dp", .size = value}; };
static_assert(TakesSize<Record<tp_axis>, unsigned>);
static_assert(!TakesSize<Record<tp_axis>, double>, "a whole number is no real one");
static_assert(!TakesSize<Record<tp_axis>, Table<int64_t>>, "a number is no table");
template <typename R>
concept MayOmitSize = requires { R{.name = "dp"}; };
static_assert(!MayOmitSize<Record<tp_axis>>, "no field is left out");
template <typename R, typename T>
concept TakesKernel = requires(T value) { R{.type = 0, .reduction = 0, .kernel = value}; };
static_assert(TakesKernel<Record<tp_device_sum>, Address<tp_device_kernel>>);
static_assert(!TakesKernel<Record<tp_device_sum>, Address<tp_axis>>, "another struct's address");
static_assert(!TakesKernel<Record<tp_device_sum>, llvm::StringRef>, "a symbol without a type");

TEST(StructsDeathTest, NumbersThatDoNotFit) {
  EXPECT_DEATH(Cell<int32_t>(int64_t(1) << 31), "a field of 32 bits cannot hold 2147483648");
}

} // namespace
