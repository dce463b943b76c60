//===- share.cpp - what a rank holds of a logical tensor ------------------===//

#include "runtime/ranks/share.h"

#include "runtime/ranks/member.h"

using namespace tplan::runtime;

/// Elements that a rank holds of one instance before `chunk`.
static int64_t lineOf(const tp_tensor &tensor) {
  int64_t elements = 1;
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    elements *= tensor.shape[dim];
  return elements;
}

Share::Share(const std::vector<int64_t> &shape) {
  for (size_t d = shape.size(); d-- > 0; logicalElements *= shape[d])
    all.insert(all.begin(), {shape[d], shape[d], 0, logicalElements});
  rowElements = runElements = lineElements = storedElements = end = logicalElements;
}

Share Share::none(const std::vector<int64_t> &shape) {
  Share share(shape);
  share.lineElements = share.storedElements = share.begin = share.end = 0;
  share.writer = false;
  return share;
}

Share::Share(const tp_program &program, const tp_tensor &tensor, int64_t rank, int64_t holder) {
  std::vector<Dim> dims(tensor.rank);
  for (int32_t d = tensor.rank - 1; d >= 0; --d) {
    int64_t held = tensor.shape[d];
    int64_t first = memberOf(program, tensor.dim_groups[d], rank) * held;
    dims[d] = {held, std::clamp<int64_t>(tensor.whole[d] - first, 0, held), first, logicalElements};
    logicalElements *= tensor.whole[d];
  }
  lineElements = storedElements = end = lineOf(tensor);
  setRows(dims);
  all = dims;
  std::vector<bool> used(program.num_axes);
  auto use = [&](int32_t group) {
    for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i)
      used[program.groups[group].axes[i]] = true;
  };
  for (int32_t d = 0; d < tensor.rank; ++d)
    use(tensor.dim_groups[d]);
  if (tensor.chunk > 0) {
    use(tensor.chunk_group);
    int64_t at = memberOf(program, tensor.chunk_group, rank) * tensor.chunk;
    storedElements =
        tensor.in_whole ? tensor.chunk * memberCount(program, tensor.chunk_group) : tensor.chunk;
    shift = tensor.in_whole ? 0 : at;
    begin = at - shift;
    end = begin + tensor.chunk;
  }
  for (int64_t axis = 0; axis < program.num_axes; ++axis) {
    bool isOfPrograms = program.num_programs && axis == program.programs_axis;
    writer &= used[axis] || coordinateOf(program, axis, rank) == (isOfPrograms ? holder : 0);
  }
}

/// A row is the innermost dimension of which the rank holds a part, with all that is
/// inside it.
void Share::setRows(const std::vector<Dim> &dims) {
  size_t inner = dims.size();
  for (; inner > 0; --inner) {
    const Dim &dim = dims[inner - 1];
    rowElements *= dim.held;
    runElements = dim.used * dim.stride;
    rowFirst = dim.first * dim.stride;
    int64_t outside = inner > 1 ? dims[inner - 2].stride : logicalElements;
    if (dim.held != dim.used || dim.held * dim.stride != outside)
      break;
  }
  if (inner > 1)
    outer.assign(dims.begin(), dims.begin() + (inner - 1));
}

int64_t Share::rowStart(int64_t row) const {
  int64_t logical = rowFirst;
  for (size_t d = outer.size(); d-- > 0;) {
    const Dim &dim = outer[d];
    int64_t at = row % dim.held;
    if (at >= dim.used)
      return -1;
    logical += (dim.first + at) * dim.stride;
    row /= dim.held;
  }
  return logical;
}

void Share::forEachPlaced(const int64_t *strides, int64_t first,
                          const std::function<void(const PlacedRun &)> &function) const {
  struct Axis {
    int64_t from, to, stride, step; // positions; apart in the array, and in the line
    int64_t size() const { return to - from; }
  };
  const int64_t lineFrom = begin + shift, lineTo = std::min(end, lineElements - shift) + shift;
  if (lineElements == 0)
    return;
  std::vector<Axis> axes(all.size());
  for (int64_t d = (int64_t)all.size() - 1, step = 1; d >= 0; step *= all[d--].held) {
    axes[d] = {0, all[d].used, strides[d], step};
    first += all[d].first * strides[d];
  }
  // Rows of the line that hold none of the own elements are not looked at.
  auto roundUp = [](int64_t a, int64_t b) { return a <= 0 ? 0 : (a + b - 1) / b; };
  int64_t line = 0;
  for (Axis &axis : axes) {
    axis.from = std::max<int64_t>(0, lineFrom - line) / axis.step;
    axis.to = std::min(axis.to, roundUp(lineTo - line, axis.step));
    if (axis.size() != 1)
      break;
    line += axis.from * axis.step;
  }
  line = 0;
  for (const Axis &axis : axes) {
    if (axis.size() <= 0)
      return;
    first += axis.from * axis.stride;
    line += axis.from * axis.step;
  }
  std::sort(axes.begin(), axes.end(),
            [](const Axis &a, const Axis &b) { return a.stride > b.stride; });
  // A run is as many of the inner dimensions as are one in the array and evenly apart in memory.
  int64_t count = 1, step = 1;
  for (; !axes.empty(); axes.pop_back()) {
    const Axis &axis = axes.back();
    if (axis.size() == 1)
      continue;
    if (axis.stride != count || (count > 1 && axis.step != count * step))
      break;
    step = count == 1 ? axis.step : step;
    count *= axis.size();
  }
  std::function<void(size_t, int64_t, int64_t)> walk = [&](size_t d, int64_t placed, int64_t at) {
    for (int64_t i = 0; d < axes.size() && i < axes[d].size(); ++i)
      walk(d + 1, placed + i * axes[d].stride, at + i * axes[d].step);
    if (d < axes.size())
      return;
    int64_t from = roundUp(lineFrom - at, step), to = std::min(count, roundUp(lineTo - at, step));
    if (from < to)
      function({placed + from, at + from * step - shift, to - from, step});
  };
  walk(0, first, line);
}

Status tplan::runtime::checkShare(const tp_program &program, const tp_tensor &tensor) {
  std::vector<bool> used(program.num_axes);
  auto use = [&](int64_t group, int64_t held, int64_t whole, const char *what) -> Status {
    if (group >= program.num_groups)
      return errorf("tensor '%s': %s names group %lld of %lld", tensor.path, what, (long long)group,
                    (long long)program.num_groups);
    if (isPartial(program, group))
      return errorf("tensor '%s': %s names a group that some ranks are not in: '%s'", tensor.path,
                    what, program.groups[group].name);
    int64_t members = memberCount(program, group);
    if (held < 0 || whole < 0 || held * members < whole)
      return errorf("tensor '%s': %s has %lld elements, %lld ranks hold %lld each", tensor.path,
                    what, (long long)whole, (long long)members, (long long)held);
    for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i) {
      int32_t axis = program.groups[group].axes[i];
      if (program.num_programs && axis == program.programs_axis)
        return errorf("tensor '%s' is cut over the axis of the programs, '%s'", tensor.path,
                      program.axes[axis].name);
      if (used[axis])
        return errorf("tensor '%s' is cut twice over the axis '%s'", tensor.path,
                      program.axes[axis].name);
      used[axis] = true;
    }
    return {};
  };
  for (int32_t d = 0; d < tensor.rank; ++d)
    TP_TRY(use(tensor.dim_groups[d], tensor.shape[d], tensor.whole[d], "a dimension"));
  if (tensor.chunk > 0)
    TP_TRY(use(tensor.chunk_group, tensor.chunk, lineOf(tensor), "its chunked array"));
  return {};
}
