//===- ExpandTranscendentals.cpp - our elementary functions ----------------===//
//
// One table for CPU and GPU, f32 and f64, scalars and vectors: branch-free
// arithmetic, so a lane's bits depend on nothing but its argument. Bounds, tested
// in test/lower/transcendentals-test.cpp, stand beside each function in units in
// the last place. Coefficients: scripts/minimax.py.
//
// Sources: Cody and Waite, "Software Manual for the Elementary Functions", 1980
// (range reduction); Muller, "Elementary Functions", 3rd ed. (polynomials in a
// reduced argument); Tang, "Table-driven implementation of the expm1 function",
// 1992 (exp - 1 without cancellation); Cody, "Rational Chebyshev approximation for
// the error function", 1969 (erfc as exp(-x^2) times a smooth function).
//
//===----------------------------------------------------------------------===//
#include "lib/Lower/Arithmetic.h"
#include "lib/Lower/Lower.h"
#include "lib/Lower/TranscendentalsTable.h"

namespace tplan::lower {
#define GEN_PASS_DEF_EXPANDTRANSCENDENTALSPASS
#include "lib/Lower/Passes.h.inc"
} // namespace tplan::lower

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

namespace {
/// A value of the type as the sum of two or three, each the nearest to what is left.
struct Split {
  double hi, mid, lo;
};

/// What differs between f32 and f64.
struct Format {
  int mantissa, bias, width;
  double magic;           ///< 1.5 * 2^mantissa: adding it rounds to an integer in the low bits
  double expMax, expMin;  ///< past them exp overflows, or is less than half a denormal
  double tanhMax, erfMax; ///< past them the value is 1
  double logScale;        ///< brings denormals into the normal range
  double minNormal;
  int logShift;
  Split ln2; ///< hi with low bits clear, times any exponent is exact
  Split halfPi;
};

constexpr Format kF32 = {23,
                         127,
                         32,
                         0x1.8p23,
                         89.0,
                         -105.0,
                         10.0,
                         4.0,
                         0x1p25,
                         0x1p-126,
                         25,
                         {0x1.62ep-1, 0x1.0bfbe8p-15, 0}, // hi has 12 bits
                         {0x1.921fb6p0, -0x1.777a5cp-25, -0x1.ee59dap-50}};
constexpr Format kF64 = {52,
                         1023,
                         64,
                         0x1.8p52,
                         710.0,
                         -746.0,
                         20.0,
                         6.0,
                         0x1p54,
                         0x1p-1022,
                         54,
                         {0x1.62e42fefa2p-1, 0x1.9ef35793c7673p-41, 0}, // hi has 40 bits
                         {0x1.921fb54442d18p0, 0x1.1a62633145c07p-54, -0x1.f1976b7ed8fbcp-110}};

/// Code for one argument's type.
class Functions : public Numbers {
public:
  Functions(ImplicitLocOpBuilder &b, Type type) : Numbers(b, type), f32(element.isF32()) {}
  const Format &format() const { return f32 ? kF32 : kF64; }

  /// |x| with the sign of y; |x| >= 0.
  Num signOf(Num x, Num y) {
    Num sign = iand(asBits(y), integer(int64_t(1) << (format().width - 1)));
    return asReal(ior(asBits(x), sign));
  }
  Num atMost(Num x, double limit) { return select(x > real(limit), real(limit), x); }
  Num atLeast(Num x, double limit) { return select(x < real(limit), real(limit), x); }

  template <size_t N, size_t M> Num poly(Num x, const float (&c32)[N], const double (&c64)[M]) {
    auto at = [&](size_t i) { return real(f32 ? double(c32[i]) : c64[i]); };
    size_t n = f32 ? N : M;
    Num y = at(n - 1);
    for (size_t i = n - 1; i-- > 0;)
      y = fma(y, x, at(i));
    return y;
  }

  /// 2^k for normal results.
  Num power(Num k) {
    return asReal(shl(iadd(k, integer(format().bias)), integer(format().mantissa)));
  }

  /// x = n * step + r, with n as float and in the low bits of an integer.
  struct Reduced {
    Num n, k, r;
  };
  Reduced reduce(Num x, double inverse, Split step) {
    Num magic = real(format().magic);
    Num t = fma(x, real(inverse), magic);
    Num n = t - magic;
    Num r = fma(n, real(-step.hi), x);
    r = fma(n, real(-step.mid), r);
    if (step.lo != 0)
      r = fma(n, real(-step.lo), r);
    return {n, asBits(t), r};
  }
  Reduced reduceLn2(Num x) {
    Reduced p = reduce(x, 0x1.71547652b82fep0, format().ln2);
    p.k = isub(p.k, integer(bitsOf(format().magic)));
    return p;
  }

  Num exp(Num x);
  Num log(Num x);
  Num tanh(Num x);
  Num erf(Num x);
  Num sin(Num x) { return sinCos(x, 0); }
  Num cos(Num x) { return sinCos(x, 1); }
  Num rsqrt(Num x) { return real(1) / Num{math::SqrtOp::create(b, x.v), &b}; }
  Num sinCos(Num x, int quarter);

private:
  bool f32;
};
} // namespace

//===----------------------------------------------------------------------===//
// The functions
//===----------------------------------------------------------------------===//

/// e^x = 2^k e^r 2^k, r = x - 2 k ln2. Half of the exponent is always in the normal
/// range, so the last product is what rounds into the denormals, or to infinity, and
/// 2^k costs one shift: the magic number carries the exponent's bias. 2 ulp.
Num Functions::exp(Num x) {
  const Format &f = format();
  x = atLeast(atMost(x, f.expMax), f.expMin);
  Num magic = real(f.magic + f.bias);
  Num t = fma(x, real(0x1.71547652b82fep-1), magic);
  Num k = t - magic;
  Num r = fma(k, real(-2 * f.ln2.hi), x);
  r = fma(k, real(-2 * f.ln2.mid), r);
  Num scale = asReal(shl(asBits(t), integer(f.mantissa)));
  return poly(r, kExp32, kExp64) * scale * scale;
}

/// log x = e ln2 + log m, m in [sqrt 1/2, sqrt 2); with f = m - 1, s = f / (2 + f):
/// log m = f - (f^2/2 - s (f^2/2 + s^2 p(s^2))). 1 ulp.
Num Functions::log(Num x) {
  const Format &f = format();
  Num tiny = x < real(f.minNormal);
  Num scaled = select(tiny, x * real(f.logScale), x);
  Num raw = asBits(scaled);
  Num e = sra(isub(raw, integer(bitsOf(0x1.6a09e667f3bcdp-1))), integer(f.mantissa));
  Num m = asReal(isub(raw, shl(e, integer(f.mantissa))));
  Num exponent = toReal(isub(e, select(tiny, integer(f.logShift), integer(0))));
  Num d = m - real(1);
  Num s = d / (real(2) + d);
  Num z = s * s;
  Num square = real(0.5) * d * d;
  Num tail = s * (square + z * poly(z, kLog32, kLog64)) + exponent * real(f.ln2.mid);
  Num y = exponent * real(f.ln2.hi) - ((square - tail) - d);
  Num inside = Num{arith::AndIOp::create(b, (x > real(0)).v, (x < real(INFINITY)).v), &b};
  Num outside = select(same(x, real(0)), real(-INFINITY), select(x < real(0), real(NAN), x));
  return select(inside, y, outside);
}

/// tanh |x| = E / (E + 2), E = e^(2|x|) - 1 = 2^k (r + r^2 p(r)) + (2^k - 1). 2 ulp.
Num Functions::tanh(Num x) {
  Num a = atMost(magnitude(x), format().tanhMax);
  Reduced part = reduceLn2(a + a);
  Num r = part.r;
  Num q = fma(r * r, poly(r, kExpm132, kExpm164), r);
  Num scale = power(part.k);
  Num e = fma(q, scale, scale - real(1));
  return signOf(e / (e + real(2)), x);
}

/// |x| < 1: x + x p(x^2); else 1 - e^(-x^2) p(t), t = (|x| - 2) / (|x| + 2). 2 ulp.
Num Functions::erf(Num x) {
  Num a = atMost(magnitude(x), format().erfMax);
  Num square = a * a;
  Num inner = fma(x, poly(square, kErf32, kErf64), x);
  Num t = (a - real(2)) / (a + real(2));
  Num outer = real(1) - exp(real(0) - square) * poly(t, kErfTail32, kErfTail64);
  return select(a < real(1), inner, signOf(outer, x));
}

/// r = x - n pi/2 in three parts: |n| < 2^21 in f32, 2^30 in f64. sin r = r + r z p(z),
/// cos r = 1 - z/2 + z^2 p(z), z = r^2; n mod 4 chooses and signs. 2 ulp.
Num Functions::sinCos(Num x, int quarter) {
  Reduced part = reduce(x, 0x1.45f306dc9c883p-1, format().halfPi);
  Num r = part.r, z = r * r;
  Num sine = fma(r * z, poly(z, kSin32, kSin64), r);
  Num half = real(0.5) * z, w = real(1) - half;
  Num cosine = w + fma(z * z, poly(z, kCos32, kCos64), (real(1) - w) - half);
  Num n = quarter ? iadd(part.k, integer(quarter)) : part.k;
  Num even = isZero(iand(n, integer(1)), integer(0));
  Num sign = shl(iand(n, integer(2)), integer(format().width - 2));
  return asReal(ixor(asBits(select(even, sine, cosine)), sign));
}

//===----------------------------------------------------------------------===//
// The table
//===----------------------------------------------------------------------===//

namespace {
struct Entry {
  StringLiteral op;
  Num (Functions::*expand)(Num);
};
constexpr Entry kTable[] = {
    {"math.exp", &Functions::exp},     {"math.log", &Functions::log},
    {"math.tanh", &Functions::tanh},   {"math.erf", &Functions::erf},
    {"math.sin", &Functions::sin},     {"math.cos", &Functions::cos},
    {"math.rsqrt", &Functions::rsqrt},
};
/// Instructions on every target, exactly rounded.
constexpr StringLiteral kNative[] = {"math.sqrt", "math.fma",       "math.absf",    "math.floor",
                                     "math.ceil", "math.roundeven", "math.copysign"};

struct ExpandTranscendentalsPass
    : tplan::lower::impl::ExpandTranscendentalsPassBase<ExpandTranscendentalsPass> {
  void runOnOperation() override {
    SmallVector<Operation *> ops;
    getOperation().walk([&](Operation *op) {
      if (isa<math::MathDialect>(op->getDialect()))
        ops.push_back(op);
    });
    for (Operation *op : ops)
      if (failed(expand(op)))
        return signalPassFailure();
  }

private:
  static LogicalResult expand(Operation *op) {
    ImplicitLocOpBuilder b(op->getLoc(), op);
    StringRef name = op->getName().getStringRef();
    if (llvm::is_contained(kNative, name))
      return success();
    for (const Entry &entry : kTable)
      if (entry.op == name) {
        Type element = getElementTypeOrSelf(op->getResult(0).getType());
        if (!element.isF32() && !element.isF64())
          return op->emitOpError("is computed in f32 or f64, found ") << op->getResult(0).getType();
        Functions functions(b, op->getResult(0).getType());
        op->getResult(0).replaceAllUsesWith((functions.*entry.expand)({op->getOperand(0), &b}).v);
        op->erase();
        return success();
      }
    return op->emitOpError("is not in the table of transcendentals: exp, log, tanh, erf, sin, cos, "
                           "rsqrt, sqrt");
  }
};
} // namespace
