//===- gradient_errors.cpp - what compression lost, in a checkpoint -------===//
#include "runtime/disk/gradient_errors.h"

#include "runtime/device/device.h"
#include "runtime/support/text.h"

#include <algorithm>
#include <cmath>

using namespace tplan::runtime;

static const LogicalTensor *find(const std::vector<LogicalTensor> &tensors,
                                 const std::string &name) {
  auto found = std::find_if(tensors.begin(), tensors.end(),
                            [&](const LogicalTensor &tensor) { return tensor.name == name; });
  return found == tensors.end() ? nullptr : &*found;
}

Status tplan::runtime::matchErrors(const SafetensorsFile &file,
                                   const std::vector<LogicalTensor> &wanted) {
  for (auto &[name, stored] : file.tensors()) {
    const LogicalTensor *tensor = find(wanted, name);
    if (!tensor)
      return errorf("'%s' holds what compression has lost of a gradient, '%s', which this plan has "
                    "no place for: drop such errors with --reset-errors",
                    file.path().c_str(), shown(name).c_str());
    bool isSame =
        stored.type == tensor->type && stored.shape.size() == tensor->shape.size() &&
        stored.shape[0] >= 1 &&
        std::equal(stored.shape.begin() + 1, stored.shape.end(), tensor->shape.begin() + 1);
    if (!isSame)
      return errorf("'%s': tensor '%s' is %s %s, this program wants %s %s, of any number of ranks",
                    file.path().c_str(), shown(name).c_str(), stored.dtype,
                    shapeText(stored.shape).c_str(), storedName(tensor->type),
                    shapeText(tensor->shape).c_str());
  }
  return {};
}

/// An equal part of the sum over the ranks of the file, added in their order.
static Status copySum(const SafetensorsFile &file, const StoredTensor &stored,
                      const LogicalTensor &to) {
  if (!to.share.stored())
    return {};
  int64_t senders = stored.shape[0], width = bytesOf(to.type);
  int64_t each = to.share.elements() / to.shape[0]; // elements of one rank
  HostView view(to.device, to.data, to.share.stored() * width, HostView::updates);
  TP_TRY(view.open());
  constexpr int64_t most = 1 << 14;
  std::vector<char> read(most * width);
  std::vector<double> sum(most);
  auto add = [&](int64_t logical, int64_t memory, int64_t count) -> Status {
    std::fill_n(sum.begin(), count, 0.0);
    for (int64_t sender = 0; sender < senders; ++sender) {
      int64_t at = sender * each + logical % each;
      TP_TRY(file.file().read(stored.offset + at * width, read.data(), count * width));
      for (int64_t e = 0; e < count; ++e) {
        double value = getElement(read.data(), to.type, e);
        if (!std::isfinite(value))
          return errorf("'%s': tensor '%s', element %s, is no finite number", file.path().c_str(),
                        to.name.c_str(), placeText(stored.shape, at + e).c_str());
        sum[e] += value;
      }
    }
    for (int64_t e = 0; e < count; ++e)
      setElement(view.data(), to.type, memory + e, sum[e] / (double)to.shape[0]);
    return {};
  };
  Status status;
  to.share.forEach([&](const ElementRun &run) {
    for (int64_t done = 0, here; status.ok() && done < run.count; done += here) {
      // No piece has elements of two ranks.
      int64_t left = each - (run.logical + done) % each;
      here = std::min({run.count - done, most, left});
      status = add(run.logical + done, run.memory + done, here);
    }
  });
  TP_TRY(std::move(status));
  return view.close();
}

Status tplan::runtime::copyErrors(const SafetensorsFile &file,
                                  const std::vector<LogicalTensor> &wanted) {
  for (auto &[name, stored] : file.tensors()) {
    const LogicalTensor &to = *find(wanted, name);
    if (stored.shape == to.shape)
      TP_TRY(file.copyTo(std::vector<LogicalTensor>{to}));
    else
      TP_TRY(copySum(file, stored, to));
  }
  return {};
}
