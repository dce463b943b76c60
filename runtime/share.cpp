//===- share.cpp - what a rank holds of a logical tensor ------------------===//

#include "runtime/share.h"

#include "runtime/member.h"

using namespace tplan::runtime;

/// Elements that a rank holds of one instance before `chunk`.
static int64_t lineOf(const tp_tensor &tensor) {
  int64_t elements = 1;
  for (int32_t dim = 0; dim < tensor.rank; ++dim)
    elements *= tensor.shape[dim];
  return elements;
}

Share::Share(const std::vector<int64_t> &shape) {
  for (int64_t size : shape)
    logicalElements *= size;
  rowElements = runElements = lineElements = storedElements = end = logicalElements;
}

Share::Share(const tp_program &program, const tp_tensor &tensor, int64_t rank) {
  std::vector<Dim> dims(tensor.rank);
  for (int32_t d = tensor.rank - 1; d >= 0; --d) {
    int64_t held = tensor.shape[d];
    int64_t first = memberOf(program, tensor.dim_groups[d], rank) * held;
    dims[d] = {held, std::clamp<int64_t>(tensor.whole[d] - first, 0, held), first, logicalElements};
    logicalElements *= tensor.whole[d];
  }
  lineElements = storedElements = end = lineOf(tensor);
  setRows(dims);
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
  for (int64_t axis = 0; axis < program.num_axes; ++axis)
    writer &= used[axis] || coordinateOf(program, axis, rank) == 0;
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

Status tplan::runtime::checkShare(const tp_program &program, const tp_tensor &tensor) {
  std::vector<bool> used(program.num_axes);
  auto use = [&](int64_t group, int64_t held, int64_t whole, const char *what) -> Status {
    if (group >= program.num_groups)
      return errorf("tensor '%s': %s names group %lld of %lld", tensor.path, what, (long long)group,
                    (long long)program.num_groups);
    int64_t members = memberCount(program, group);
    if (held < 0 || whole < 0 || held * members < whole)
      return errorf("tensor '%s': %s has %lld elements, %lld ranks hold %lld each", tensor.path,
                    what, (long long)whole, (long long)members, (long long)held);
    for (int32_t i = 0; group >= 0 && i < program.groups[group].num_axes; ++i) {
      int32_t axis = program.groups[group].axes[i];
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
