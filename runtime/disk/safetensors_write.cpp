//===- safetensors_write.cpp - tensors by name into a file -----------------===//

#include "runtime/disk/safetensors.h"

#include "runtime/disk/checksum.h"
#include "runtime/support/json.h"

#include <algorithm>
#include <cmath>

using namespace tplan::runtime;

namespace {

constexpr int64_t headerAlignment = 8;
constexpr int64_t mostConverted = 1 << 18; // elements at a time

/// A tensor and where its bytes begin in the file.
struct Placed {
  const FileTensor *tensor;
  int64_t offset;
};

/// In the reference's order: wide types first, then by name, so that all are aligned.
/// Yields the bytes before the data, and the size of the file.
std::string placeTensors(const std::vector<FileTensor> &tensors, std::vector<Placed> &placed,
                         int64_t &bytes) {
  for (const FileTensor &tensor : tensors)
    placed.push_back({&tensor, 0});
  std::sort(placed.begin(), placed.end(), [](const Placed &a, const Placed &b) {
    int64_t wideA = bytesOf(a.tensor->type), wideB = bytesOf(b.tensor->type);
    return wideA != wideB ? wideA > wideB : a.tensor->name < b.tensor->name;
  });
  std::string header = "{\"__metadata__\":{\"format\":\"pt\"}";
  int64_t at = 0;
  for (auto &[tensor, offset] : placed) {
    offset = at;
    at += tensor->bytes();
    header += "," + quoteJson(tensor->name) + ":{\"dtype\":\"" + storedName(tensor->type) +
              "\",\"shape\":" + shapeText(tensor->shape) +
              format(",\"data_offsets\":[%lld,%lld]}", (long long)offset, (long long)at);
  }
  header += "}";
  header.resize((header.size() + headerAlignment - 1) / headerAlignment * headerAlignment, ' ');
  uint64_t length = header.size();
  header.insert(0, (const char *)&length, 8);
  for (Placed &place : placed)
    place.offset += (int64_t)header.size();
  bytes = (int64_t)header.size() + at;
  return header;
}

Status createFile(AtomicFile &file, const std::string &path, const std::string &header,
                  int64_t bytes) {
  TP_TRY(file.open(path));
  TP_TRY(file.resize(bytes));
  return file.write(0, header.data(), (int64_t)header.size());
}

/// Elements of a run in the form that the file has, where that differs from memory.
Status convert(const FileTensor &tensor, const LogicalTensor &from, const PlacedRun &run,
               const char *data, std::vector<char> &converted) {
  converted.resize(run.count * bytesOf(tensor.type));
  for (int64_t e = 0; e < run.count; ++e) {
    double number = getElement(data, from.type, run.memory + e * run.step) / from.divisor;
    setElement(converted.data(), tensor.type, e, number);
    if (std::isfinite(number) && !std::isfinite(getElement(converted.data(), tensor.type, e)))
      return errorf("tensor '%s', element %s, is beyond the range of %s, as which it is written: "
                    "%g",
                    tensor.name.c_str(), placeText(tensor.shape, run.placed + e).c_str(),
                    storedName(tensor.type), number);
  }
  return {};
}

Status writePart(AtomicFile &file, const FileTensor &tensor, int64_t offset, const FilePart &part) {
  const LogicalTensor &from = *part.tensor;
  int64_t size = bytesOf(tensor.type);
  HostView view(from.device, from.data, from.share.stored() * bytesOf(from.type), HostView::reads);
  TP_TRY(view.open());
  Status status;
  std::vector<char> converted;
  auto write = [&](const PlacedRun &run) -> Status {
    if (from.divisor == 1 && from.type == tensor.type && run.step == 1)
      return file.write(offset + run.placed * size, view.data() + run.memory * size,
                        run.count * size);
    for (int64_t done = 0; done < run.count; done += mostConverted) {
      PlacedRun piece{run.placed + done, run.memory + done * run.step,
                      std::min(run.count - done, mostConverted), run.step};
      TP_TRY(convert(tensor, from, piece, view.data(), converted));
      TP_TRY(file.write(offset + piece.placed * size, converted.data(), piece.count * size));
    }
    return {};
  };
  part.forEach([&](const PlacedRun &run) {
    if (status.ok())
      status = write(run);
  });
  return status;
}

/// Writes this rank's part to the disk itself: another rank may be on another machine.
Status writeRuns(AtomicFile &file, const std::vector<Placed> &placed) {
  for (auto [tensor, offset] : placed)
    for (const FilePart &part : tensor->parts)
      if (part.tensor->share.writes())
        TP_TRY(writePart(file, *tensor, offset, part));
  return file.flush();
}

Status joinFile(const std::string &temporary, const std::vector<Placed> &placed) {
  AtomicFile file;
  TP_TRY(file.join(temporary));
  return writeRuns(file, placed);
}

} // namespace

Status tplan::runtime::writeSafetensors(Peers &peers, Team &team, const std::string &path,
                                        const std::vector<FileTensor> &tensors,
                                        std::string *checksum, int64_t *bytes) {
  std::vector<Placed> placed;
  int64_t size = 0;
  std::string header = placeTensors(tensors, placed, size);
  AtomicFile file;
  TP_TRY(peers.agree(peers.leads() ? createFile(file, path, header, size) : Status()));
  std::string temporary = file.temporary();
  TP_TRY(peers.broadcast(temporary));
  TP_TRY(peers.agree(peers.leads() ? writeRuns(file, placed) : joinFile(temporary, placed)));
  // The checksum of the file's bytes, whichever rank wrote them.
  if (checksum)
    TP_TRY(checksumOfFile(peers, team, temporary, *checksum, size));
  if (bytes)
    *bytes = size;
  return peers.agree(peers.leads() ? file.commit() : Status());
}

Status tplan::runtime::writeSafetensors(Peers &peers, Team &team, const std::string &path,
                                        const std::vector<LogicalTensor> &tensors,
                                        std::string *checksum, int64_t *bytes) {
  return writeSafetensors(peers, team, path, asThemselves(tensors), checksum, bytes);
}
