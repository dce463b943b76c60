//===- scalars.cpp - the numbers that a step is given ---------------------===//

#include "runtime/step/scalars.h"

#include "runtime/ranks/member.h"
#include "runtime/ranks/tensors.h"

#include <cmath>

using namespace tplan::runtime;

static double interpolate(const tp_lr_piece &piece, double fraction) {
  switch (piece.shape) {
  case TP_LINEAR:
    return piece.from + (piece.to - piece.from) * fraction;
  case TP_COSINE:
    return piece.to + (piece.from - piece.to) * 0.5 * (1 + std::cos(M_PI * fraction));
  default:
    return piece.from;
  }
}

double tplan::runtime::learningRate(const tp_program &program, int64_t step) {
  double rate = 0;
  for (int64_t i = 0; i < program.num_lr; ++i) {
    const tp_lr_piece &piece = program.lr[i];
    if (step < piece.begin)
      return i == 0 ? piece.from : rate;
    if (step < piece.end)
      return interpolate(piece, double(step - piece.begin) / double(piece.end - piece.begin));
    rate = interpolate(piece, 1);
  }
  return rate;
}

void tplan::runtime::setScalars(const tp_program &program, char *arena, uint64_t seed,
                                int64_t step) {
  for (int64_t i = 0; i < program.num_scalars; ++i) {
    const tp_scalar &scalar = program.scalars[i];
    double value = 0;
    switch (scalar.kind) {
    case TP_SEED:
      value = (double)seed;
      break;
    case TP_STEP:
      value = (double)step;
      break;
    case TP_LR:
      value = learningRate(program, step);
      break;
    case TP_ROWS:
      value = (double)program.inputs[0].rows;
      break;
    case TP_POWER:
      value = std::pow(scalar.value, (double)step);
      break;
    default:
      continue;
    }
    setElement(arena + scalar.offset, scalar.type, 0, value);
  }
}

Status tplan::runtime::setConstants(const tp_program &program, char *arena, int64_t rank,
                                    Device *device) {
  for (int64_t i = 0; i < program.num_scalars; ++i) {
    const tp_scalar &scalar = program.scalars[i];
    bool isMember = scalar.kind == TP_MEMBER;
    if (!isMember && scalar.kind != TP_INDEX)
      continue;
    int64_t bytes = (scalar.count - 1) * scalarStride + bytesOf(scalar.type);
    HostView view(device, arena + scalar.offset, bytes, HostView::updates);
    TP_TRY(view.open());
    for (int64_t k = 0; k < scalar.count; ++k)
      setElement(view.data() + k * scalarStride, scalar.type, 0,
                 isMember ? (double)memberOf(program, (int64_t)scalar.value, rank)
                          : (double)(scalar.first + k) * scalar.value);
    TP_TRY(view.close());
  }
  return {};
}

void tplan::runtime::setRowsInUse(const tp_program &program, char *arena, int64_t rows) {
  for (int64_t i = 0; i < program.num_scalars; ++i)
    if (program.scalars[i].kind == TP_ROWS)
      setElement(arena + program.scalars[i].offset, program.scalars[i].type, 0, (double)rows);
}
