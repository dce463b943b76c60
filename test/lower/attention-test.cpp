//===- attention-test.cpp - attention kernels against their definition ----===//
//
// Every case runs the generated code and compares it, element by element, with
// sums over all keys in double precision.
//
//===----------------------------------------------------------------------===//
#include "test/lower/attention-reference.h"
#include "gtest/gtest.h"

using namespace tplan::test;


static const char *kMasks[] = {"all", "causal", "and(causal, window(40))",
                               "or(causal, prefix(70))", "window(9)",
                               "or(and(causal, window(20)), prefix(3))"};

static double tolerance(const Problem &p) {
  return p.element == "f64" ? 1e-12 : p.element == "f32" ? 1e-5 : 1e-2;
}

static void expectForward(const Problem &p, const JitOptions &options = {}) {
  SCOPED_TRACE(p.text("forward"));
  Tensors t = randomTensors(p);
  Tensors expected = t;
  referenceForward(p, expected);
  runForward(p, t, options);
  EXPECT_LE(difference(t["out"], expected["out"]), tolerance(p));
  EXPECT_LE(difference(t["lse"], expected["lse"]), tolerance(p));
}

static void expectBackward(const Problem &p, const JitOptions &options = {}) {
  SCOPED_TRACE(p.text("backward"));
  Tensors t = randomTensors(p);
  referenceForward(p, t);
  Tensors expected = t;
  referenceBackward(p, expected);
  referenceDelta(p, t);
  runBackward(p, t, options);
  for (const char *name : {"d_q", "d_k", "d_v"})
    EXPECT_LE(difference(t[name], expected[name]), tolerance(p)) << name;
}

TEST(Attention, ForwardShapes) {
  for (const char *element : {"f64", "f32", "bf16"})
    for (Problem p : shapes()) {
      p.element = element;
      expectForward(p);
    }
}

TEST(Attention, BackwardShapes) {
  for (const char *element : {"f64", "f32", "bf16"})
    for (Problem p : shapes()) {
      p.element = element;
      expectBackward(p);
    }
}

TEST(Attention, Masks) {
  for (const char *mask : kMasks) {
    Problem p;
    p.queries = 150, p.keys = 131, p.mask = mask;
    expectForward(p);
    expectBackward(p);
  }
}
