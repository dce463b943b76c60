//===- allocation-test.cpp - no allocation of ours after the first step --------===//
//
// malloc is interposed; a call counts when it comes from this executable's own
// code, where the runtime is linked in, and not from a library.
//
//===----------------------------------------------------------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/ranks/rank.h"

#include <atomic>
#include <cstdlib>
#include <new>

extern "C" {
void *__libc_malloc(size_t);
void *__libc_calloc(size_t, size_t);
void *__libc_realloc(void *, size_t);
extern char __executable_start, etext;
}

namespace {

std::atomic<bool> counting{false};
std::atomic<int64_t> ours{0}, libraries{0};
int64_t stepsSeen = 0;

void note(void *caller) {
  if (!counting.load(std::memory_order_relaxed))
    return;
  bool fromHere = (char *)caller >= &__executable_start && (char *)caller < &etext;
  (fromHere ? ours : libraries).fetch_add(1);
}

int (*innerStep)(tp_rank *, char *);
int countedStep(tp_rank *rank, char *arena) {
  int code = innerStep(rank, arena);
  if (!rank->peers.leads())
    return code;
  ++stepsSeen;
  counting = stepsSeen >= 2 && stepsSeen < 50; // all ranks are beyond the end of step 1
  return code;
}

class Allocation : public testing::TestWithParam<const char *> {};
INSTANTIATE_TEST_SUITE_P(All, Allocation,
                         testing::Values("Serial", "Rows", "RowsReadFirst", "AllApart"),
                         [](const auto &info) { return std::string(info.param); });

} // namespace

extern "C" {
__attribute__((noinline)) void *malloc(size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}
__attribute__((noinline)) void *calloc(size_t count, size_t size) {
  note(__builtin_return_address(0));
  return __libc_calloc(count, size);
}
__attribute__((noinline)) void *realloc(void *old, size_t size) {
  note(__builtin_return_address(0));
  return __libc_realloc(old, size);
}
}

// Here, so that `new` in the runtime is a call from this executable.
void *operator new(size_t size) {
  note(__builtin_return_address(0));
  return __libc_malloc(size);
}
void operator delete(void *memory) noexcept { free(memory); }
void operator delete(void *memory, size_t) noexcept { free(memory); }

TEST_P(Allocation, NoneOfOursAfterTheFirstStep) {
  helpers::Scratch scratch;
  helpers::writeFile(scratch / "text", helpers::someText(20000));
  std::string_view name = GetParam();
  tp_program program = toy::program(name == "Serial" ? toy::Layout() : toy::named(name));
  innerStep = program.step;
  program.step = countedStep;
  stepsSeen = 0;
  ours = 0;
  helpers::Outcome outcome = helpers::runMain(
      program, {"--data", scratch / "text", "--steps", "51", "--metrics", scratch / "m", "--log",
                "tensorboard", scratch / "t", "--log", "prometheus", scratch / "p", "--print-every",
                "1", "--profile", "--threads", "3"});
  counting = false;
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  ASSERT_EQ(stepsSeen, 51);
  EXPECT_EQ(ours.load(), 0);
}

TEST(AllocationCounter, Counts) {
  ours = 0;
  counting = true;
  auto *volatile text = new std::string(100, 'x');
  counting = false;
  delete text;
  EXPECT_GE(ours.load(), 1);
}
