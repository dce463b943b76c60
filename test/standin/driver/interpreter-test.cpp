//===- interpreter-test.cpp - what threads, warps and blocks of a kernel do ===//
#include "test/standin/driver/driver-test.h"

namespace {
class Interpreter : public Driver {
protected:
  /// The kernel fails with this error, and says this, and every later call fails too.
  void fails(const std::string &body, CUresult error, const std::string &message,
             unsigned blocks = 1, unsigned threads = 32) {
    start();
    std::string text = said([&] { EXPECT_EQ(run(body, blocks, threads), error) << body; });
    EXPECT_NE(text.find("standin: kernel 'k', launch "), text.npos) << text;
    EXPECT_NE(text.find(message), text.npos) << body << " says " << text;
    EXPECT_EQ(cuMemsetD8Async(data, 0, 1, a), error) << "errors stay";
  }
};

TEST_F(Interpreter, ThreadsAndBlocks) {
  // Word (block * 48 + thread) counts its block and thread; the last warp is half.
  OK(run("mad.lo.s32 %r3, %r2, 48, %r1;\nmul.wide.u32 %rd4, %r3, 4;\nadd.s64 %rd4, %rd1, %rd4;\n"
         "mad.lo.s32 %r4, %r2, 1000, %r1;\nst.global.b32 [%rd4], %r4;",
         5, 48));
  for (int i = 0; i < 240; ++i)
    ASSERT_EQ(host[i], i / 48 * 1000 + i % 48) << i;
  EXPECT_EQ(host[240], 240);
}

TEST_F(Interpreter, Dimensions) {
  std::string text = ptx("mov.u32 %r3, %tid.y;\nmov.u32 %r4, %ntid.x;\nmov.u32 %r5, %nctaid.z;\n"
                         "mov.u32 %r6, %ctaid.z;\nmov.u32 %r7, %laneid;\nmad.lo.s32 %r8, %r3, %r4, "
                         "%r1;\nmul.wide.u32 %rd4, %r8, 4;\nadd.s64 %rd4, %rd1, %rd4;\n"
                         "mad.lo.s32 %r9, %r5, 1000, %r7;\nsetp.eq.s32 %p1, %r6, 1;\n"
                         "@%p1 st.global.b32 [%rd4], %r9;");
  OK(load(text));
  void *params[] = {&data};
  OK(cuLaunchKernel(function, 1, 1, 3, 20, 2, 1, 0, a, params, nullptr));
  OK(cuMemcpyDtoHAsync_v2(host, data, 4096, a));
  OK(cuStreamSynchronize(a));
  for (int i = 0; i < 40; ++i)
    EXPECT_EQ(host[i], 3000 + i % 32);
}

/// A loop whose count differs by thread, with an if inside, and a shuffle of all after it.
TEST_F(Interpreter, ThreadsThatBranchApart) {
  OK(run("mov.b32 %r3, 0;\nmov.b32 %r4, 0;\n"
         "$L__BB0_1:\nsetp.ge.u32 %p1, %r4, %r1;\n@%p1 bra $L__BB0_4;\n"
         "and.b32 %r5, %r4, 1;\nsetp.eq.b32 %p2, %r5, 0;\n@!%p2 bra $L__BB0_3;\n"
         "add.s32 %r3, %r3, %r4;\n"
         "$L__BB0_3:\nadd.s32 %r4, %r4, 1;\nbra.uni $L__BB0_1;\n"
         "$L__BB0_4:\nshfl.sync.bfly.b32 %r6, %r3, 1, 31, -1;\nst.global.b32 [%rd2], %r6;"));
  for (int i = 0; i < 32; ++i) {
    int sum = 0;
    for (int k = 0; k < (i ^ 1); k += 2)
      sum += k;
    EXPECT_EQ(host[i], sum) << i;
  }
}

TEST_F(Interpreter, Tables) {
  OK(run("and.b32 %r3, %r1, 3;\nsetp.eq.b32 %p1, %r3, 3;\n@%p1 bra $L__BB0_9;\n"
         "$L_brx_0: .branchtargets $L__BB0_1, $L__BB0_2, $L__BB0_1;\nbrx.idx %r3, $L_brx_0;\n"
         "$L__BB0_1:\nst.global.b32 [%rd2], 100;\nbra.uni $L__BB0_9;\n"
         "$L__BB0_2:\nst.global.b32 [%rd2], 200;\n$L__BB0_9:"));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], i % 4 == 3 ? i : i % 4 == 1 ? 200 : 100);
  fails("$L_brx_0: .branchtargets $L__BB0_1, $L__BB0_1;\nbrx.idx %r1, $L_brx_0;\n$L__BB0_1:",
        CUDA_ERROR_LAUNCH_FAILED, "index outside the table of 2: 2");
}

TEST_F(Interpreter, Shuffles) {
  struct {
    const char *mode, *by, *control;
    int (*from)(int);
  } cases[] = {
      {"bfly", "5", "31", [](int i) { return i ^ 5; }},
      {"idx", "3", "31", [](int) { return 3; }},
      {"idx", "3", "0x181f", [](int i) { return i / 8 * 8 + 3; }}, // segments of eight
      {"down", "4", "31", [](int i) { return i + 4 < 32 ? i + 4 : i; }},
      {"down", "4", "0x181f", [](int i) { return i % 8 < 4 ? i + 4 : i; }},
      {"up", "4", "0", [](int i) { return i >= 4 ? i - 4 : i; }},
      {"up", "1", "0x1800", [](int i) { return i % 8 ? i - 1 : i; }},
  };
  for (auto &c : cases) {
    OK(run(
        std::string("shfl.sync.") + c.mode + ".b32 %r3|%p1, %r1, " + c.by + ", " + c.control +
        ", -1;\nselp.b32 %r4, 1000, 0, %p1;\nadd.s32 %r3, %r3, %r4;\nst.global.b32 [%rd2], %r3;"));
    for (int i = 0; i < 32; ++i) {
      int from = c.from(i);
      bool itself = from == i && strcmp(c.mode, "idx") != 0;
      EXPECT_EQ(host[i], from + (itself ? 0 : 1000)) << c.mode << " " << c.by << " of " << i;
    }
  }
}

TEST_F(Interpreter, VotesAndReductions) {
  OK(run("setp.lt.u32 %p1, %r1, 5;\nvote.sync.ballot.b32 %r3, %p1, -1;\n"
         "vote.sync.any.pred %p2, %p1, -1;\nvote.sync.all.pred %p3, %p1, -1;\n"
         "selp.b32 %r4, 64, 0, %p2;\nselp.b32 %r5, 128, 0, %p3;\nadd.s32 %r3, %r3, %r4;\n"
         "add.s32 %r3, %r3, %r5;\nredux.sync.add.u32 %r6, %r1, -1;\nshl.b32 %r6, %r6, 16;\n"
         "add.s32 %r3, %r3, %r6;\nst.global.b32 [%rd2], %r3;"));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], 31 + 64 + (496 << 16));
}

/// Threads are together again after an if, at the first instruction that allows it.
TEST_F(Interpreter, ThreadsThatMeetAgain) {
  OK(run("setp.lt.u32 %p1, %r1, 7;\n@%p1 bra $L__BB0_2;\nadd.s32 %r1, %r1, 1;\n$L__BB0_2:\n"
         "activemask.b32 %r3;\nst.global.b32 [%rd2], %r3;"));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], -1);
}

/// Half of the warp meets by itself, then the other, then all.
TEST_F(Interpreter, MeetingsOfHalves) {
  OK(run("setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $L__BB0_2;\n"
         "shfl.sync.bfly.b32 %r3, %r1, 1, 31, 0xFFFF0000;\nbra.uni $L__BB0_3;\n"
         "$L__BB0_2:\nshfl.sync.bfly.b32 %r3, %r1, 2, 31, 65535;\n"
         "$L__BB0_3:\nbar.warp.sync -1;\nst.global.b32 [%rd2], %r3;"));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], i < 16 ? i ^ 2 : i ^ 1);
}

TEST_F(Interpreter, MeetingsThatFail) {
  std::string half = "setp.lt.u32 %p1, %r1, 16;\n@%p1 bra $L__BB0_2;\n";
  fails(half + "shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\nbra.uni $L__BB0_3;\n"
               "$L__BB0_2:\nshfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;\n$L__BB0_3:",
        CUDA_ERROR_LAUNCH_FAILED, "wait here for each other");
  fails(half + "shfl.sync.bfly.b32 %r3, %r1, 16, 31, 0xFFFF0000;\n$L__BB0_2:",
        CUDA_ERROR_LAUNCH_FAILED, "value of a thread that is not here: 0");
  fails("setp.lt.u32 %p1, %r1, 16;\nselp.b32 %r4, 65535, -1, %p1;\n"
        "shfl.sync.bfly.b32 %r3, %r1, 1, 31, %r4;",
        CUDA_ERROR_LAUNCH_FAILED, "mask of threads differs");
  fails(half + "bar.sync 0;\n$L__BB0_2:", CUDA_ERROR_LAUNCH_FAILED, "wait here for each other");
  fails("shfl.sync.bfly.b32 %r3, %r1, 1, 31, -1;", CUDA_ERROR_LAUNCH_FAILED,
        "value of a thread that is not here: 5", 1, 5);
}

/// Without the barrier the order of warps shows; with it every order gives this.
std::string reversed(bool barrier) {
  return "mul.wide.u32 %rd5, %r1, 4;\nmov.b64 %rd6, buffer;\nadd.s64 %rd7, %rd6, %rd5;\n"
         "st.shared.b32 [%rd7], %r1;\n" +
         std::string(barrier ? "bar.sync 0;\n" : "") +
         "sub.s64 %rd8, %rd6, %rd5;\nld.shared.b32 %r3, [%rd8+508];\nst.global.b32 [%rd2], %r3;";
}
const char *kBuffer = ".shared .align 4 .b8 buffer[512];";

TEST_F(Interpreter, Barriers) {
  OK(runText(ptx(reversed(true), "", kBuffer), 1, 128));
  for (int i = 0; i < 128; ++i)
    ASSERT_EQ(host[i], 127 - i);
  std::string text = said([&] {
    EXPECT_EQ(runText(ptx(reversed(false), "", kBuffer), 1, 128), CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_NE(text.find("no barrier between warps"), text.npos) << text;
  start({{"STANDIN_RACES", "0"}});
  OK(runText(ptx(reversed(false), "", kBuffer), 1, 128));
  bool wrong = false;
  for (int i = 0; i < 128; ++i)
    wrong |= host[i] != 127 - i;
  EXPECT_TRUE(wrong) << "a missing barrier shows";
  unsetenv("STANDIN_RACES");
  start();
  // Read by all, then written by one: the second barrier is missing.
  text = said([&] {
    EXPECT_EQ(runText(ptx("mov.b64 %rd6, buffer;\nld.shared.b32 %r3, [%rd6];\n"
                          "setp.lt.u32 %p1, %r1, 32;\n@%p1 st.shared.b32 [%rd6], %r1;",
                          "", kBuffer),
                      1, 128),
              CUDA_ERROR_LAUNCH_FAILED);
  });
  EXPECT_NE(text.find("no barrier between warps"), text.npos) << text;
  start();
  // Warps that meet at barriers of their own: 0 and 1 at 1, 2 and 3 at 2.
  OK(runText(
      ptx("mul.wide.u32 %rd5, %r1, 4;\nmov.b64 %rd6, buffer;\nadd.s64 %rd7, %rd6, %rd5;\n"
          "st.shared.b32 [%rd7], %r1;\nshr.u32 %r4, %r1, 6;\nadd.s32 %r4, %r4, 1;\n"
          "bar.sync %r4, 64;\nxor.b32 %r5, %r1, 32;\nmul.wide.u32 %rd5, %r5, 4;\n"
          "add.s64 %rd7, %rd6, %rd5;\nld.shared.b32 %r3, [%rd7];\nst.global.b32 [%rd2], %r3;",
          "", kBuffer),
      1, 128));
  for (int i = 0; i < 128; ++i)
    ASSERT_EQ(host[i], i ^ 32);
  fails("setp.lt.u32 %p1, %r1, 32;\n@%p1 bra $L__BB0_2;\nbar.sync 0;\n$L__BB0_2:",
        CUDA_ERROR_LAUNCH_FAILED, "threads of the block do not all come to a barrier", 1, 64);
}

TEST_F(Interpreter, SharedMemoryIsFresh) {
  OK(runText(ptx("mov.b64 %rd6, buffer;\nld.shared.b32 %r3, [%rd6+8];\nst.global.b32 [%rd2], %r3;\n"
                 "st.shared.b32 [%rd6+8], 1;",
                 "", kBuffer),
             3, 1));
  EXPECT_EQ(host[0], 0x7FFB7FFB) << "in each block";
}

TEST_F(Interpreter, IllegalAccesses) {
  fails("ld.global.b32 %r3, [%rd2+4096];", CUDA_ERROR_ILLEGAL_ADDRESS,
        "block (0, 0, 0), thread (0, 0, 0), line 17, ld.global.b32: no allocation holds 4 bytes");
  fails("st.global.b32 [%rd2+3972], 0;", CUDA_ERROR_ILLEGAL_ADDRESS, "thread (31, 0, 0)");
  fails("ld.global.b32 %r3, [%rd2+-4];", CUDA_ERROR_ILLEGAL_ADDRESS, "offset -4");
  fails("mov.b64 %rd5, 0;\nst.global.b32 [%rd5], 0;", CUDA_ERROR_ILLEGAL_ADDRESS, "at 0x0");
  fails("ld.global.b32 %r3, [%rd2+2];", CUDA_ERROR_MISALIGNED_ADDRESS, "no multiple of 4");
  fails("ld.global.v4.b32 {%r3, %r4, %r5, %r6}, [%rd2];", CUDA_ERROR_MISALIGNED_ADDRESS,
        "thread (1, 0, 0), line 17, ld.global.v4.b32: address is no multiple of 16");
  fails("mov.b64 %rd5, 0;\nld.shared.b32 %r3, [%rd5];", CUDA_ERROR_ILLEGAL_ADDRESS,
        "shared memory of 0 bytes");
  fails("div.u32 %r3, %r2, %r1;", CUDA_ERROR_LAUNCH_FAILED, "division by zero");
  fails("trap;", CUDA_ERROR_LAUNCH_FAILED, "trap");
  fails("setp.gt.u32 %p1, %r1, 20;\n@%p1 st.global.b32 [%rd2+8192], 0;", CUDA_ERROR_ILLEGAL_ADDRESS,
        "thread (21, 0, 0)");
  std::string end = ptx("mov.b64 %rd6, buffer;\nld.shared.b32 %r3, [%rd6+512];", "", kBuffer);
  start();
  EXPECT_EQ(runText(end), CUDA_ERROR_ILLEGAL_ADDRESS);
  start();
  // The last word of six bytes, at an address that is aligned.
  OK(load(ptx("st.global.b32 [%rd1+4], 0;")));
  OK(launch(a, device(6), 1, 1));
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  start();
  EXPECT_EQ(run("setp.gt.u32 %p1, %r1, 20;\n@!%p1 st.global.b32 [%rd2], 0;"), CUDA_SUCCESS);
  EXPECT_EQ(host[20], 0);
  EXPECT_EQ(host[21], 21);
}

/// The same kernel fails where another device owns the memory.
TEST_F(Interpreter, MemoryOfAnotherDevice) {
  start({{"STANDIN_DEVICES", "2"}});
  CUcontext second;
  OK(cuDevicePrimaryCtxRetain(&second, 1));
  OK(cuCtxSetCurrent(second));
  CUdeviceptr theirs = device(4096);
  EXPECT_EQ(cuMemsetD8Async(theirs, 0, 1, a), CUDA_ERROR_INVALID_CONTEXT)
      << "a stream of the first";
  OK(cuCtxSetCurrent(context));
  OK(load(ptx("st.global.b32 [%rd2], 0;")));
  OK(launch(a, theirs));
  EXPECT_EQ(cuStreamSynchronize(a), CUDA_ERROR_ILLEGAL_ADDRESS);
  OK(cuCtxSetCurrent(second));
  OK(cuCtxSynchronize());
}

TEST_F(Interpreter, Variables) {
  std::string head = ".visible .global .align 4 .b32 table[4] = {10, 20, 30};\n"
                     ".const .align 8 .b8 bytes[8] = {1, 0, 0, 0, 2};\n";
  OK(runText(ptx("and.b32 %r3, %r1, 3;\nmul.wide.u32 %rd4, %r3, 4;\nmov.b64 %rd5, table;\n"
                 "add.s64 %rd5, %rd5, %rd4;\nld.global.b32 %r4, [%rd5];\n"
                 "ld.const.b32 %r5, [bytes+4];\nadd.s32 %r4, %r4, %r5;\nst.global.b32 [%rd2], %r4;",
                 "", head)));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], (i % 4 < 3 ? (i % 4 + 1) * 10 : 0) + 2);
  start();
  EXPECT_EQ(runText(ptx("mov.b64 %rd5, bytes;\nst.global.b32 [%rd5], 0;", "", head)),
            CUDA_ERROR_ILLEGAL_ADDRESS);
}

TEST_F(Interpreter, WidthsOfAccesses) {
  OK(run("ld.global.b8 %rs1, [%rd2];\nld.global.s8 %rs2, [%rd2+1];\ncvt.u32.u16 %r3, %rs1;\n"
         "cvt.s32.s16 %r4, %rs2;\nst.global.b16 [%rd2], %rs2;\nld.global.u16 %r5, [%rd2];\n"
         "ld.global.s16 %rd5, [%rd2];\nst.global.b32 [%rd2], %rd5;"));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], 0) << i; // byte 1 of i is 0
  OK(run("mul.wide.u32 %rd4, %r1, 16;\nadd.s64 %rd4, %rd1, %rd4;\n"
         "ld.global.v4.b32 {%r3, %r4, _, %r6}, [%rd4];\n"
         "mov.b64 %rd5, {%r6, %r4};\nmov.b64 %rd6, {%r3, %r4};\n"
         "st.global.v2.b64 [%rd4], {%rd5, %rd6};"));
  for (int i = 0; i < 32; ++i)
    for (int k = 0; k < 4; ++k)
      EXPECT_EQ(host[4 * i + k], 4 * i + (k == 0 ? 3 : k == 2 ? 0 : 1));
}

TEST_F(Interpreter, GenericAddresses) {
  OK(runText(ptx("mov.b64 %rd6, buffer;\nadd.s64 %rd6, %rd6, %rd3;\ncvta.shared.u64 %rd7, %rd6;\n"
                 "st.b32 [%rd7], %r1;\nld.shared.b32 %r3, [%rd6];\nadd.s32 %r3, %r3, 7;\n"
                 "cvta.global.u64 %rd8, %rd2;\nst.b32 [%rd8], %r3;",
                 "", kBuffer)));
  for (int i = 0; i < 32; ++i)
    EXPECT_EQ(host[i], i + 7);
}

TEST_F(Interpreter, SeveralThreadsOfTheHost) {
  start({{"STANDIN_THREADS", "3"}});
  OK(run("shl.b32 %r3, %r2, 5;\nadd.s32 %r3, %r3, %r1;\nmul.wide.u32 %rd4, %r3, 4;\n"
         "add.s64 %rd4, %rd1, %rd4;\nld.global.b32 %r4, [%rd4];\nadd.s32 %r4, %r4, 1;\n"
         "st.global.b32 [%rd4], %r4;",
         32));
  for (int i = 0; i < 1024; ++i)
    ASSERT_EQ(host[i], i + 1);
}
} // namespace
