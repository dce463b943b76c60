//===- safetensors.h - tensors by name in a file --------------------------===//
//
// Writer and strict reader of the safetensors format: u64 length of a JSON
// header, the header, then the bytes of all tensors without holes. Files hold logical
// tensors; each rank writes and reads what it holds.
//
// One decision: the reader checks the whole header against the size of the file
// before it hands out one byte, so that a bad file changes nothing.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_DISK_SAFETENSORS_H
#define TPLAN_RUNTIME_DISK_SAFETENSORS_H

#include "runtime/ranks/peers.h"
#include "runtime/ranks/tensors.h"
#include "runtime/support/files.h"

#include <functional>
#include <map>
#include <string>
#include <vector>

namespace tplan::runtime {

struct StoredTensor {
  int32_t type = 0;            // tp_type; -1: one that no program has
  const char *dtype = nullptr; // as the file says it
  std::vector<int64_t> shape;
  int64_t offset = 0, bytes = 0; // offset and size in the file
};

/// A weight in a tensor of a file: all of the tensor, or the elements that `place` says.
struct FilePart {
  const LogicalTensor *tensor;
  const tp_stored *place = nullptr;

  /// What the rank holds of it, by elements of the tensor in the file.
  void forEach(const std::function<void(const PlacedRun &)> &function) const;
};
/// A tensor of a file, which may have another type than the weights in it.
struct FileTensor {
  std::string name;
  int32_t type;
  std::vector<int64_t> shape;
  std::vector<FilePart> parts;
  int64_t bytes() const;
};
/// Each tensor as itself.
std::vector<FileTensor> asThemselves(const std::vector<LogicalTensor> &tensors);

class SafetensorsFile {
public:
  Status open(const std::string &path);
  const std::map<std::string, StoredTensor> &tensors() const { return entries; }
  const std::string &path() const { return name; }
  const InputFile &file() const { return input; }

  /// The file holds exactly `wanted`, in name, shape and type: f32 and narrower ones stand for each
  /// other, because plans keep weights and moments as narrow as they say, and with `convert` all
  /// floating-point types do. `wayOut` ends the error where it holds other tensors.
  Status match(const std::vector<LogicalTensor> &wanted, bool convert,
               const char *wayOut = "") const;
  /// Copies into the arena what match() or another check has passed. Padding stays as it is. A
  /// number that is not finite is an error, with its tensor and place.
  Status copyTo(const std::vector<FileTensor> &wanted) const;
  Status copyTo(const std::vector<LogicalTensor> &wanted) const {
    return copyTo(asThemselves(wanted));
  }

private:
  std::string name;
  InputFile input;
  std::map<std::string, StoredTensor> entries;
};

/// All ranks write one file, atomically; they succeed or fail together. `checksum` (if not null)
/// receives the file's checksum, `bytes` its size. A number that does not fit its type in the file
/// is an error.
Status writeSafetensors(Peers &peers, Team &team, const std::string &path,
                        const std::vector<FileTensor> &tensors, std::string *checksum = nullptr,
                        int64_t *bytes = nullptr);
Status writeSafetensors(Peers &peers, Team &team, const std::string &path,
                        const std::vector<LogicalTensor> &tensors, std::string *checksum = nullptr,
                        int64_t *bytes = nullptr);

// For messages and headers.
bool isFloat(int32_t type);
/// "BF16"
const char *storedName(int32_t type);
/// "[8, 64]"
std::string shapeText(const std::vector<int64_t> &shape);
/// The same for the place of one element.
std::string placeText(const std::vector<int64_t> &shape, int64_t element);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_DISK_SAFETENSORS_H
