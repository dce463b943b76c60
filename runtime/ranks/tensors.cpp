//===- tensors.cpp - the tensor table of a program ------------------------===//

#include "runtime/ranks/tensors.h"

#include "runtime/ranks/member.h"
#include "runtime/ranks/mesh.h"
#include "runtime/ranks/programs.h"
#include "runtime/support/narrow.h"
#include "runtime/support/random.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdlib>
#include <cstring>

using namespace tplan::runtime;

std::vector<LogicalTensor> tplan::runtime::logicalTensors(const tp_program &program, char *arena,
                                                          int64_t rank, tp_tensor_role role,
                                                          Device *device) {
  std::vector<LogicalTensor> all;
  for (const MergedRow &row : mergedRows(program, numberOf(program, rank))) {
    if (row.first->role != role)
      continue;
    std::vector<int64_t> shape(row.first->whole, row.first->whole + row.first->rank);
    const Share none = Share::none(shape);
    const tp_tensor *last = nullptr; // neighbours have one share
    int64_t holder = -1;
    Share share = none;
    for (const MergedTensor &tensor : row.tensors) {
      const Instance &mine = tensor.mine;
      std::string name = nameOf(tensor.first);
      if (!mine.row) {
        all.push_back({std::move(name), row.first->type, shape, nullptr, none, device});
        continue;
      }
      if (mine.row != last || tensor.holder != holder)
        share = Share(program, *(last = mine.row), rank, holder = tensor.holder);
      all.push_back({std::move(name), row.first->type, shape,
                     arena + mine.row->offset + mine.index * mine.row->stride, share, device});
    }
  }
  return all;
}

/// The tables of one program.
static Status checkTables(const tp_program &p) {
  auto groupOf = [&](const char *what, const char *name, int64_t group) -> Status {
    if (group >= p.num_groups)
      return errorf("%s '%s' names group %lld of %lld", what, name, (long long)group,
                    (long long)p.num_groups);
    return isPartial(p, group) ? errorf("%s '%s' names a group that some ranks are not in: '%s'",
                                        what, name, p.groups[group].name)
                               : Status();
  };
  auto inside = [&](const char *what, const char *name, int64_t offset, int64_t bytes) -> Status {
    if (offset >= 0 && bytes >= 0 && bytes <= p.arena_bytes && offset <= p.arena_bytes - bytes)
      return {};
    return errorf("%s '%s' [%lld, +%lld) does not lie in the arena of %lld bytes", what, name,
                  (long long)offset, (long long)bytes, (long long)p.arena_bytes);
  };
  auto typed = [](const char *what, const char *name, int32_t type) {
    return isType(type) ? Status()
                        : errorf("%s '%s' has an unknown element type: %d", what, name, type);
  };
  if (p.predict && p.logits_offset < 0 && !p.num_programs)
    return errorf("the plan '%s' predicts, and has no logits: their offset is %lld", p.plan,
                  (long long)p.logits_offset);
  if (p.predict && p.logits_offset >= 0)
    TP_TRY(typed("output", "logits", p.logits_type));
  for (int64_t i = 0; i < p.num_tensors; ++i) {
    const tp_tensor &t = p.tensors[i];
    TP_TRY(typed("tensor", t.path, t.type));
    TP_TRY(checkShare(p, t));
    int64_t bytes = Share(p, t, 0).stored() * bytesOf(t.type);
    for (int64_t instance : {int64_t(0), t.count - 1})
      TP_TRY(inside("tensor", t.path, t.offset + instance * t.stride, bytes));
  }
  for (int64_t i = 0; i < p.num_inputs; ++i)
    TP_TRY(inside("input", p.inputs[i].source, p.inputs[i].offset,
                  4 * p.microbatches * p.inputs[i].rows * p.inputs[i].length));
  for (int64_t i = 0; i < p.num_inputs; ++i)
    TP_TRY(groupOf("input", p.inputs[i].source, p.inputs[i].group));
  for (int64_t i = 0; i < p.num_scalars; ++i) {
    const tp_scalar &s = p.scalars[i];
    if (s.count < 1)
      return errorf("a scalar of kind %d has %lld instances", s.kind, (long long)s.count);
    TP_TRY(typed("scalar", "step", s.type));
    TP_TRY(inside("scalar", "step", s.offset, (s.count - 1) * scalarStride + bytesOf(s.type)));
    if (s.kind == TP_MEMBER)
      TP_TRY(groupOf("scalar", "member", (int64_t)s.value));
  }
  for (int64_t i = 0; i < p.num_metrics; ++i) {
    const tp_metric &m = p.metrics[i];
    TP_TRY(groupOf("metric", m.name, m.group));
    TP_TRY(groupOf("metric", m.name, m.count_group));
    TP_TRY(typed("metric", m.name, m.type));
    if (std::min(m.parts, m.count_parts) < 1)
      return errorf("metric '%s' is the sum of no parts: %d", m.name,
                    std::min(m.parts, m.count_parts));
    auto bytes = [&](int32_t parts) { return (parts - 1) * scalarStride + bytesOf(m.type); };
    TP_TRY(inside("metric", m.name, m.offset, bytes(m.parts)));
    if (m.count_offset >= 0)
      TP_TRY(inside("count of metric", m.name, m.count_offset, bytes(m.count_parts)));
  }
  return {};
}

Status tplan::runtime::checkProgram(const tp_program &p) {
  TP_TRY(checkVersion(p));
  TP_TRY(checkMesh(p));
  if (p.num_programs) {
    TP_TRY(checkPrograms(p));
    for (int64_t i = 0; i < p.num_programs; ++i)
      if (Status status = checkTables(*p.programs[i]); !status.ok())
        return errorf("program %lld: %s", (long long)i, status.message().c_str());
    return checkMerged(p);
  }
  return checkTables(p);
}

/// Whether a tensor begins as zeros.
static bool beginsAsZeros(const tp_tensor &tensor) {
  bool isZero = tensor.init == TP_CONSTANT && tensor.init_value == 0;
  return tensor.role == TP_WORKING_COPY || (isZero && !std::signbit(tensor.init_value));
}

/// Copies of the first element, of `width` bytes.
static void repeat(char *first, int64_t width, int64_t count) {
  for (int64_t done = 1, more; done < count; done += more) {
    more = std::min(done, count - done);
    memcpy(first + done * width, first, more * width);
  }
}

/// One instance in host memory that is zero.
static void initialize(const tp_tensor &tensor, const Share &share, int64_t instance, char *data,
                       uint64_t seed, Team &team) {
  constexpr int64_t block = 1 << 14;
  int64_t own = share.ownEnd() - share.ownBegin(), id = tensor.id + instance * tensor.id_step;
  int64_t width = bytesOf(tensor.type);
  team.forEach((own + block - 1) / block, [&](int64_t task, int) {
    int64_t from = share.ownBegin() + task * block, to = std::min(from + block, share.ownEnd());
    share.forEach(from, to, [&](const ElementRun &run) {
      if (tensor.init != TP_NORMAL) {
        setElement(data, tensor.type, run.memory, tensor.init_value);
        return repeat(data + run.memory * width, width, run.count);
      }
      for (int64_t e = 0; e < run.count; ++e)
        setElement(data, tensor.type, run.memory + e,
                   tensor.init_value * normalAt(seed, id, (uint64_t)(run.logical + e)));
    });
  });
}

/// Zeros are made on the device itself: most of what a training begins with there is zero, such as
/// gradients and states.
static Status initialize(const tp_tensor &tensor, const Share &share, int64_t instance, char *place,
                         uint64_t seed, Team &team, Device *device) {
  int64_t memory = std::max(tensor.memory, share.stored() * bytesOf(tensor.type));
  if (device && beginsAsZeros(tensor))
    return device->zero(0, place, Rows{1, memory, 0, 0});
  HostView view(device, place, memory, HostView::writes);
  TP_TRY(view.open());
  if (!device) // a view of one is made of zeros
    memset(view.data(), 0, memory);
  if (!beginsAsZeros(tensor))
    initialize(tensor, share, instance, view.data(), seed, team);
  return view.close();
}

Status tplan::runtime::initializeTensors(const tp_program &program, char *arena, int64_t rank,
                                         uint64_t seed, Team &team, Device *device) {
  for (int64_t i = 0; i < program.num_tensors; ++i) {
    const tp_tensor &tensor = program.tensors[i];
    Share share(program, tensor, rank);
    for (int64_t instance = 0; instance < tensor.count; ++instance)
      TP_TRY(initialize(tensor, share, instance, arena + tensor.offset + instance * tensor.stride,
                        seed, team, device));
  }
  return device ? device->finish() : Status();
}

double tplan::runtime::getElement(const void *data, int32_t type, int64_t index) {
  switch ((tp_type)type) {
  case TP_F64:
    return ((const double *)data)[index];
  case TP_F32:
    return ((const float *)data)[index];
#define TYPE(ID, T)                                                                                \
  case ID:                                                                                         \
    return widen(((const T *)data)[index]);
    TP_NARROW_TYPES(TYPE)
#undef TYPE
  case TP_I32:
    return ((const int32_t *)data)[index];
  case TP_I64:
    return (double)((const int64_t *)data)[index];
  case TP_I1:
    return ((const uint8_t *)data)[index];
  case TP_I8:
    return ((const int8_t *)data)[index];
  case TP_NUM_TYPES:
    break;
  }
  abort(); // checkProgram, and readers of files, refuse it
}

/// f32 rounded to odd: then a second rounding, to bf16 or f16, gives what rounding the double
/// would.
static float roundToOdd(double value) {
  float nearest = (float)value;
  if (std::isfinite(nearest) && (double)nearest != value) {
    uint32_t bits = std::bit_cast<uint32_t>(nearest);
    if (!(bits & 1))
      bits += (std::fabs(value) > std::fabs((double)nearest)) ? 1 : uint32_t(-1);
    nearest = std::bit_cast<float>(bits);
  }
  return nearest;
}

void tplan::runtime::setElement(void *data, int32_t type, int64_t index, double value) {
  switch ((tp_type)type) {
  case TP_F64:
    ((double *)data)[index] = value;
    return;
  case TP_F32:
    ((float *)data)[index] = (float)value;
    return;
#define TYPE(ID, T)                                                                                \
  case ID:                                                                                         \
    ((T *)data)[index] = roundTo<T>(roundToOdd(value));                                            \
    return;
    TP_NARROW_TYPES(TYPE)
#undef TYPE
  case TP_I32:
    ((int32_t *)data)[index] = (int32_t)value;
    return;
  case TP_I64:
    ((int64_t *)data)[index] = (int64_t)value;
    return;
  case TP_I1:
    ((uint8_t *)data)[index] = value != 0;
    return;
  case TP_I8:
    ((int8_t *)data)[index] = (int8_t)value;
    return;
  case TP_NUM_TYPES:
    break;
  }
  abort();
}
