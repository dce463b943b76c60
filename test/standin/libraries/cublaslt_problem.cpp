//===- cublaslt_problem.cpp - what one call of cublasLtMatmul multiplies ---------===//

#include "cublaslt_problem.h"

#include "libraries.h"

#include <cstdlib>
#include <initializer_list>

using namespace standin;
using namespace standin::lt;

#define AT(STRUCT, FIELD) offsetof(STRUCT, FIELD), sizeof(STRUCT::FIELD), true
#define ABSENT(SIZE) offsetof(Desc, none), SIZE, false

std::span<const Attribute> lt::attributesOf(const Layout *) {
  static constexpr Attribute all[] = {
      {layoutType, AT(Layout, type)},
      {layoutOrder, AT(Layout, order)},
      {layoutRows, AT(Layout, rows)},
      {layoutCols, AT(Layout, cols)},
      {layoutLd, AT(Layout, ld)},
      {layoutBatchCount, AT(Layout, batch)},
      {layoutBatchOffset, AT(Layout, stride)},
      {layoutPlaneOffset, offsetof(Layout, plane), sizeof(Layout::plane), false},
      {layoutBatchMode, offsetof(Layout, batchMode), sizeof(Layout::batchMode), false},
  };
  return all;
}

std::span<const Attribute> lt::attributesOf(const Desc *) {
  static constexpr Attribute all[] = {
      {descComputeType, AT(Desc, compute)},
      {descScaleType, AT(Desc, scale)},
      {descPointerMode, AT(Desc, pointerMode)},
      {descTransA, AT(Desc, transA)},
      {descTransB, AT(Desc, transB)},
      {descTransC, AT(Desc, transC)},
      {descFillMode, AT(Desc, fill)},
      {descEpilogue, AT(Desc, epilogue)},
      {descBiasPointer, AT(Desc, bias)},
      {descBiasBatchStride, AT(Desc, biasStride)},
      {descAuxPointer, AT(Desc, aux)},
      {descAuxLd, AT(Desc, auxLd)},
      {descAuxBatchStride, AT(Desc, auxStride)},
      {descAlphaVectorBatchStride, ABSENT(8)},
      {descSmCountTarget, AT(Desc, smCount)},
      {descAScalePointer, AT(Desc, aScale)},
      {descBScalePointer, AT(Desc, bScale)},
      {descCScalePointer, ABSENT(8)},
      {descDScalePointer, ABSENT(8)},
      {descAmaxDPointer, ABSENT(8)},
      {descAuxDataType, AT(Desc, auxType)},
      {descAuxScalePointer, ABSENT(8)},
      {descAuxAmaxPointer, ABSENT(8)},
      {descFastAccum, AT(Desc, fastAccum)},
      {descBiasDataType, AT(Desc, biasType)},
      {descAScaleMode, AT(Desc, aScaleMode)},
      {descBScaleMode, AT(Desc, bScaleMode)},
      {descCScaleMode, ABSENT(4)},
      {descDScaleMode, ABSENT(4)},
      {descAuxScaleMode, ABSENT(4)},
      {descDOutScalePointer, ABSENT(8)},
      {descDOutScaleMode, ABSENT(4)},
      {descEmulation, ABSENT(8)},
  };
  return all;
}

std::span<const Attribute> lt::attributesOf(const Preference *) {
  static constexpr Attribute all[] = {
      {preferSearchMode, AT(Preference, search)},
      {preferMaxWorkspaceBytes, AT(Preference, maxWorkspace)},
      {preferReductionSchemeMask, AT(Preference, schemes)},
      {preferMinAlignmentA, AT(Preference, alignment[0])},
      {preferMinAlignmentB, AT(Preference, alignment[1])},
      {preferMinAlignmentC, AT(Preference, alignment[2])},
      {preferMinAlignmentD, AT(Preference, alignment[3])},
      {preferMaxWavesCount, AT(Preference, maxWaves)},
      {preferImplMask, AT(Preference, implementations)},
  };
  return all;
}

size_t lt::bytesOf(int type) {
  switch (type) {
  case typeF64:
    return 8;
  case typeF32:
    return 4;
  case typeF16:
  case typeBf16:
    return 2;
  case typeE4M3:
  case typeE5M2:
    return 1;
  default:
    return 0;
  }
}

const char *lt::nameOfType(int type) {
  switch (type) {
  case typeF64:
    return "f64";
  case typeF32:
    return "f32";
  case typeF16:
    return "f16";
  case typeBf16:
    return "bf16";
  case typeE4M3:
    return "E4M3";
  case typeE5M2:
    return "E5M2";
  default:
    return "a type without a model";
  }
}

size_t lt::extentOf(const Layout &it) {
  int64_t inner = it.order == orderCol ? it.rows : it.cols;
  int64_t outer = it.order == orderCol ? it.cols : it.rows;
  return ((it.batch - 1) * it.stride + (outer - 1) * it.ld + inner) * bytesOf(it.type);
}

/// Matrices that lie side by side in a wider one share a leading dimension and no element,
/// although the one begins before the other ends.
bool lt::overlap(const Layout &first, const Layout &second, int64_t distance) {
  if (distance < 0)
    return overlap(second, first, -distance);
  if (distance >= (int64_t)extentOf(first))
    return false;
  int64_t cycle = first.ld * bytesOf(first.type);
  auto strided = [&](const Layout &it) {
    return it.batch > 1 && (it.stride * (int64_t)bytesOf(it.type)) % cycle != 0;
  };
  if (cycle == 0 || cycle != second.ld * (int64_t)bytesOf(second.type) || strided(first) ||
      strided(second))
    return true;
  auto inner = [](const Layout &it) {
    return (int64_t)((it.order == orderCol ? it.rows : it.cols) * bytesOf(it.type));
  };
  int64_t at = distance % cycle;
  return at < inner(first) || at + inner(second) > cycle;
}

int64_t lt::countOfScales(int mode, int64_t rows, int64_t k) {
  int64_t panels = (k + 127) / 128;
  switch (mode) {
  case scaleScalar:
    return 1;
  case scaleOuterVec:
    return rows;
  case scaleVec128:
    return rows * panels;
  default:
    return (rows + 127) / 128 * ((panels + 3) / 4 * 4);
  }
}

int64_t lt::placeOfScale(int mode, int64_t rows, int64_t k, int64_t row, int64_t panel) {
  switch (mode) {
  case scaleScalar:
    return 0;
  case scaleOuterVec:
    return row;
  case scaleVec128:
    return panel * rows + row;
  default:
    return row / 128 * (((k + 127) / 128 + 3) / 4 * 4) + panel;
  }
}

bool lt::typesFit(int compute, int scale, int a, int b, int cd) {
  bool isEightA = bytesOf(a) == 1, isEightB = bytesOf(b) == 1;
  if (isEightA || isEightB)
    return isEightA && isEightB && !(a == typeE5M2 && b == typeE5M2) && compute == compute32F &&
           scale == typeF32 && (cd == typeBf16 || cd == typeF16 || cd == typeF32);
  int ab = a;
  if (a != b)
    return false;
  switch (compute) {
  case compute32F:
  case compute32FPedantic:
    return scale == typeF32 && ((ab == typeF32 && cd == typeF32) ||
                                ((ab == typeF16 || ab == typeBf16) && (cd == ab || cd == typeF32)));
  case compute32FFastTf32:
    return scale == typeF32 && ab == typeF32 && cd == typeF32;
  case compute64F:
  case compute64FPedantic:
    return scale == typeF64 && ab == typeF64 && cd == typeF64;
  default:
    return false;
  }
}

uint64_t lt::hashOfTypes(int compute, int scale, int a, int b, int c, int d) {
  uint64_t hash = 1;
  for (int value : {compute, scale, a, b, c, d})
    hash = mix(hash * 31 + value);
  return hash;
}

uint64_t lt::hashOf(const Problem &it) {
  uint64_t hash = hashOfTypes(it.compute, it.scale, it.a.type, it.b.type, it.c.type, it.d.type);
  auto add = [&](std::initializer_list<int64_t> values) {
    for (int64_t value : values)
      hash = mix(hash * 31 + value + 7);
  };
  add({it.aScaleMode, it.bScaleMode, it.transA, it.transB, it.epilogue, it.m, it.n, it.k, it.batch,
       it.biasType, it.auxType, it.biasStride, it.auxLd, it.auxStride, it.fastAccum});
  for (const Layout *layout : {&it.a, &it.b, &it.c, &it.d})
    add({layout->order, layout->ld, layout->stride});
  return hash;
}

namespace {

Verdict refuse(int status, std::string why) { return {status, std::move(why)}; }

Verdict checkLayout(const char *name, const Layout &it, bool mayBroadcast) {
  if (bytesOf(it.type) == 0)
    return refuse(notSupported, format("%s has a type without a model: %u", name, it.type));
  if (it.order != orderCol && it.order != orderRow)
    return refuse(notSupported, format("%s has an order without a model: %d", name, it.order));
  if (it.rows == 0 || it.cols == 0 || it.rows > INT32_MAX || it.cols > INT32_MAX)
    return refuse(invalidValue, format("%s has no or too many rows or columns: %llu x %llu", name,
                                       (unsigned long long)it.rows, (unsigned long long)it.cols));
  int64_t inner = it.order == orderCol ? it.rows : it.cols;
  if (it.ld < inner && !(mayBroadcast && it.ld == 0))
    return refuse(invalidValue,
                  format("the leading dimension of %s is less than its %s, %lld: %lld", name,
                         it.order == orderCol ? "rows" : "columns", (long long)inner,
                         (long long)it.ld));
  if (it.batch < 1 || it.stride < 0)
    return refuse(invalidValue, format("%s has a batch of %d with a stride of %lld", name, it.batch,
                                       (long long)it.stride));
  return {};
}

Verdict checkDesc(const Desc &it) {
  if (it.pointerMode != pointerHost)
    return refuse(notSupported, format("a pointer mode without a model: %d", it.pointerMode));
  for (int trans : {it.transA, it.transB})
    if (trans != opN && trans != opT)
      return refuse(notSupported, format("an operation without a model: %d", trans));
  if (it.transC != opN || it.fill != fillFull)
    return refuse(notSupported, format("the operation on C is %d, the fill mode %d; only 0 and 2 "
                                       "are supported",
                                       it.transC, it.fill));
  switch (it.epilogue) {
  case epilogueDefault:
  case epilogueRelu:
  case epilogueBias:
  case epilogueReluBias:
  case epilogueGelu:
  case epilogueGeluBias:
  case epilogueGeluAux:
  case epilogueGeluAuxBias:
  case epilogueDgelu:
  case epilogueDgeluBgrad:
  case epilogueBgradA:
  case epilogueBgradB:
    return {};
  default:
    return refuse(notSupported, format("an epilogue without a model: %u", it.epilogue));
  }
}

Verdict checkShapes(const Problem &it) {
  auto pair = [](const Layout &layout, bool trans) {
    return std::pair((int64_t)(trans ? layout.cols : layout.rows),
                     (int64_t)(trans ? layout.rows : layout.cols));
  };
  auto [am, ak] = pair(it.a, it.transA);
  auto [bk, bn] = pair(it.b, it.transB);
  if (am != it.m || bn != it.n || ak != bk)
    return refuse(invalidValue, format("op(A) is %lld x %lld, op(B) %lld x %lld, D %lld x %lld",
                                       (long long)am, (long long)ak, (long long)bk, (long long)bn,
                                       (long long)it.m, (long long)it.n));
  const Layout &c = it.c, &d = it.d;
  if (c.rows != d.rows || c.cols != d.cols || c.type != d.type || c.order != d.order)
    return refuse(invalidValue,
                  format("C is %llu x %llu of %s, order %d, but D %llu x %llu of %s, order %d",
                         (unsigned long long)c.rows, (unsigned long long)c.cols, nameOfType(c.type),
                         c.order, (unsigned long long)d.rows, (unsigned long long)d.cols,
                         nameOfType(d.type), d.order));
  for (const Layout *layout : {&it.a, &it.b, &it.c})
    if (layout->batch != d.batch)
      return refuse(invalidValue, format("a batch of %d makes one of %d", layout->batch, d.batch));
  Layout one = d;
  one.batch = 1;
  if (d.batch > 1 && d.stride * bytesOf(d.type) < extentOf(one))
    return refuse(invalidValue,
                  format("matrices of the batch overlap in D: stride %lld", (long long)d.stride));
  return {};
}

/// What the library asks of operands in f8, on Hopper.
Verdict checkEight(const Problem &it) {
  if (it.fastAccum && it.panel() < it.k)
    return refuse(notSupported,
                  "fast accumulation with scales of blocks, whose panels are promoted");
  if (!it.isEight())
    return it.aScaleMode == scaleScalar && it.bScaleMode == scaleScalar
               ? Verdict()
               : refuse(notSupported, format("scales of modes %d and %d for operands of %s",
                                             it.aScaleMode, it.bScaleMode, nameOfType(it.a.type)));
  if (!it.transA || it.transB || it.a.order != orderCol || it.b.order != orderCol ||
      it.d.order != orderCol)
    return refuse(notSupported,
                  "operands in f8 are for transA = T and transB = N, in column order");
  if (it.k % 16 || it.a.ld % 16 || it.b.ld % 16 || it.m * bytesOf(it.d.type) % 16 ||
      it.d.ld * bytesOf(it.d.type) % 16)
    return refuse(
        notSupported,
        format("operands in f8 need k, their leading dimensions and the bytes of a column "
               "of D in multiples of 16: k %lld, %lld and %lld, m %lld of %s",
               (long long)it.k, (long long)it.a.ld, (long long)it.b.ld, (long long)it.m,
               nameOfType(it.d.type)));
  auto pair = [&](int a, int b) { return it.aScaleMode == a && it.bScaleMode == b; };
  if (!pair(scaleScalar, scaleScalar) && !pair(scaleOuterVec, scaleOuterVec) &&
      !pair(scaleVec128, scaleVec128) && !pair(scaleVec128, scaleBlock128) &&
      !pair(scaleBlock128, scaleVec128))
    return refuse(notSupported,
                  format("no such pair of scale modes: %d and %d", it.aScaleMode, it.bScaleMode));
  if (it.panel() == 128 && (it.epilogue != epilogueDefault && it.epilogue != epilogueBias))
    return refuse(notSupported, format("an epilogue with scales of blocks: %u", it.epilogue));
  if (it.batch != 1 && it.aScaleMode != scaleScalar)
    return refuse(notSupported,
                  format("a batch with scales of mode %d: %d", it.aScaleMode, it.batch));
  return {};
}

Verdict checkEpilogue(const Problem &it) {
  if (it.epilogue != epilogueDefault && it.d.order != orderCol)
    return refuse(notSupported, format("an epilogue where D is in row order: %u", it.epilogue));
  if (it.usesBias() && it.biasType != (int)it.d.type)
    return refuse(notSupported,
                  format("D is of %s but the bias of type %d", nameOfType(it.d.type), it.biasType));
  if (it.usesBias() && it.batch > 1 && it.gradientOfBias() && it.biasStride < it.biasLength())
    return refuse(invalidValue, format("gradients of the bias overlap: batch stride %lld",
                                       (long long)it.biasStride));
  if (!it.usesAux())
    return {};
  if (it.auxType != (int)it.d.type)
    return refuse(notSupported, format("D is of %s but the auxiliary matrix of type %d",
                                       nameOfType(it.d.type), it.auxType));
  if (it.auxLd < it.m || it.auxLd % 8 != 0 || it.auxStride % 8 != 0)
    return refuse(invalidValue,
                  format("the auxiliary matrix needs a leading dimension of %lld or "
                         "more and strides divisible by 8, has %lld and %lld",
                         (long long)it.m, (long long)it.auxLd, (long long)it.auxStride));
  if (it.batch > 1 && it.writesAux() && it.auxStride < it.auxLd * (it.n - 1) + it.m)
    return refuse(invalidValue, format("auxiliary matrices of the batch overlap: stride %lld",
                                       (long long)it.auxStride));
  return {};
}

} // namespace

Verdict lt::makeProblem(const Desc &desc, const Layout &a, const Layout &b, const Layout &c,
                        const Layout &d, Problem &it) {
  it = {desc.compute,
        desc.scale,
        desc.transA == opT,
        desc.transB == opT,
        desc.epilogue,
        (int64_t)d.rows,
        (int64_t)d.cols,
        (int64_t)(desc.transA == opT ? a.rows : a.cols),
        d.batch,
        a,
        b,
        c,
        d,
        desc.biasType == -1 ? (int32_t)d.type : desc.biasType,
        desc.auxType == -1 ? (int32_t)d.type : desc.auxType,
        desc.biasStride,
        desc.auxLd,
        desc.auxStride,
        desc.aScaleMode,
        desc.bScaleMode,
        desc.fastAccum};
  // In a batch of one a stride says nothing.
  for (Layout *layout : {&it.a, &it.b, &it.c, &it.d})
    layout->stride = layout->batch > 1 ? layout->stride : 0;
  Verdict verdict = checkDesc(desc);
  if (verdict.ok())
    verdict = checkLayout("A", a, false);
  if (verdict.ok())
    verdict = checkLayout("B", b, false);
  if (verdict.ok())
    verdict = checkLayout("C", c, true);
  if (verdict.ok())
    verdict = checkLayout("D", d, false);
  if (verdict.ok() && !typesFit(desc.compute, desc.scale, a.type, b.type, d.type))
    verdict =
        refuse(notSupported,
               format("compute type %d, scale type %d, A of %s, B of %s, D of %s", desc.compute,
                      desc.scale, nameOfType(a.type), nameOfType(b.type), nameOfType(d.type)));
  if (verdict.ok())
    verdict = checkShapes(it);
  if (verdict.ok())
    verdict = checkEight(it);
  if (verdict.ok())
    verdict = checkEpilogue(it);
  return verdict;
}
