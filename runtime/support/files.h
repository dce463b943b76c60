//===- files.h - reading and replacing files ------------------------------===//
//
// One decision: a file is either whole or not there. Writers fill a temporary
// beside it, fsync, rename, and fsync the directory.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_FILES_H
#define TPLAN_RUNTIME_SUPPORT_FILES_H

#include "runtime/support/status.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace tplan::runtime {

/// A regular file, read by place. It is not mapped: if another process cut the mapped file, a
/// signal would end this one; here that is an error with the file's name.
class InputFile {
public:
  InputFile() = default;
  InputFile(InputFile &&other) noexcept { *this = std::move(other); }
  InputFile &operator=(InputFile &&other) noexcept;
  ~InputFile();

  Status open(const std::string &path);
  /// Bytes when it was opened.
  int64_t size() const { return length; }
  const std::string &path() const { return name; }
  /// Exactly these bytes; any thread may ask.
  Status read(int64_t offset, void *to, int64_t bytes) const;

private:
  std::string name;
  int descriptor = -1; // -1: opened again for each reading
  int64_t length = 0;
  uint64_t device = 0, number = 0; // of the file
};

/// Writes a file piece by piece; it appears under its name at commit() only.
class AtomicFile {
public:
  AtomicFile() = default;
  AtomicFile(const AtomicFile &) = delete;
  AtomicFile &operator=(const AtomicFile &) = delete;
  /// Removes what was not committed.
  ~AtomicFile();

  Status open(const std::string &path);
  /// The name that it has until then.
  const std::string &temporary() const { return unfinished; }
  /// Writes into the file that another rank has opened; that rank commits or removes it.
  Status join(const std::string &temporary);

  Status write(int64_t offset, const void *data, int64_t bytes);
  Status resize(int64_t bytes);
  /// To the disk.
  Status flush();
  Status commit();

private:
  std::string path, unfinished; // no path: joined
  int descriptor = -1;
};

/// The whole of a small file.
Status readText(const std::string &path, std::string &text, int64_t limit);
Status writeText(const std::string &path, std::string_view text);

Status makeDirectory(const std::string &path);
Status syncDirectory(const std::string &path);
Status renamePath(const std::string &from, const std::string &to);
/// Removes a directory and the files in it; not deeper.
Status removeDirectory(const std::string &path);
/// Names in a directory, sorted, without "." and "..".
Status listDirectory(const std::string &path, std::vector<std::string> &names);
/// Also true for a link that leads nowhere: what somebody meant to be there does not count as
/// absent.
bool pathExists(const std::string &path);
bool isDirectory(const std::string &path);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_FILES_H
