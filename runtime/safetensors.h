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
#ifndef TPLAN_RUNTIME_SAFETENSORS_H
#define TPLAN_RUNTIME_SAFETENSORS_H

#include "runtime/files.h"
#include "runtime/peers.h"
#include "runtime/tensors.h"

#include <map>
#include <string>
#include <vector>

namespace tplan::runtime {

struct StoredTensor {
  int32_t type = 0;
  std::vector<int64_t> shape;
  int64_t offset = 0, bytes = 0; // in the file
};

class SafetensorsFile {
public:
  Status open(const std::string &path);
  const std::map<std::string, StoredTensor> &tensors() const { return entries; }
  const std::string &path() const { return name; }
  const InputFile &file() const { return input; }

  /// The file holds exactly `wanted`, in name, type (unless `convert` allows
  /// another floating-point type) and shape.
  Status match(const std::vector<LogicalTensor> &wanted, bool convert) const;
  /// Copies into the arena what match() has checked. Padding stays as it is. A number that is not
  /// finite is an error, with its tensor and place.
  Status copyTo(const std::vector<LogicalTensor> &wanted) const;

private:
  std::string name;
  InputFile input;
  std::map<std::string, StoredTensor> entries;
};

/// All ranks write one file, atomically; they succeed or fail together. `checksum` (if not
/// null) receives that of the file, `bytes` its size.
Status writeSafetensors(Peers &peers, Team &team, const std::string &path,
                        const std::vector<LogicalTensor> &tensors, std::string *checksum = nullptr,
                        int64_t *bytes = nullptr);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SAFETENSORS_H
