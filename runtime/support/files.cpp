//===- files.cpp - reading and replacing files ----------------------------===//

#include "runtime/support/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace tplan::runtime;

static Status systemError(const char *action, const std::string &path) {
  return errorf("cannot %s '%s': %s", action, path.c_str(), strerror(errno));
}

static std::string parentOf(const std::string &path) {
  size_t slash = path.rfind('/');
  return slash == std::string::npos ? "." : slash == 0 ? "/" : path.substr(0, slash);
}

/// Descriptors from this number on are not kept: a process may have some thousand, and a training
/// as many files as it likes.
static constexpr int firstNotKept = 512;

/// A regular file for reading.
static Status openRegular(const std::string &path, int &descriptor, struct stat &info) {
  // Non-blocking: a FIFO must be refused below, not waited for.
  descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError("open", path);
  Status status;
  if (fstat(descriptor, &info) != 0)
    status = systemError("read the size of", path);
  else if (!S_ISREG(info.st_mode))
    status = errorf("'%s' is %s, not a regular file", path.c_str(),
                    S_ISDIR(info.st_mode) ? "a directory" : "a device or pipe");
  if (!status.ok())
    close(descriptor);
  return status;
}

InputFile &InputFile::operator=(InputFile &&other) noexcept {
  std::swap(name, other.name);
  std::swap(descriptor, other.descriptor);
  std::swap(length, other.length);
  std::swap(device, other.device);
  std::swap(number, other.number);
  return *this;
}

InputFile::~InputFile() {
  if (descriptor >= 0)
    close(descriptor);
}

Status InputFile::open(const std::string &path) {
  struct stat info;
  int opened;
  TP_TRY(openRegular(path, opened, info));
  name = path;
  length = info.st_size;
  device = info.st_dev, number = info.st_ino;
  if (opened < firstNotKept)
    descriptor = opened;
  else
    close(opened);
  return {};
}

/// These bytes of an open file.
static Status readAll(int from, const std::string &path, int64_t size, int64_t offset, char *to,
                      int64_t bytes) {
  while (bytes > 0) {
    ssize_t got = pread(from, to, std::min<int64_t>(bytes, int64_t(1) << 30), offset);
    if (got < 0 && errno == EINTR)
      continue;
    if (got < 0)
      return systemError("read", path);
    if (got == 0)
      return errorf("'%s' has become shorter while it was in use: it had %lld bytes, and ends at "
                    "byte %lld or before",
                    path.c_str(), (long long)size, (long long)offset);
    to += got;
    offset += got;
    bytes -= got;
  }
  return {};
}

Status InputFile::read(int64_t offset, void *to, int64_t bytes) const {
  if (descriptor >= 0)
    return readAll(descriptor, name, length, offset, (char *)to, bytes);
  struct stat info;
  int opened;
  TP_TRY(openRegular(name, opened, info));
  Status status = info.st_dev == device && info.st_ino == number
                      ? readAll(opened, name, length, offset, (char *)to, bytes)
                      : errorf("'%s' is another file than when it was opened", name.c_str());
  close(opened);
  return status;
}

AtomicFile::~AtomicFile() {
  if (descriptor < 0)
    return;
  close(descriptor);
  if (!path.empty())
    unlink(unfinished.c_str());
}

Status AtomicFile::open(const std::string &name) {
  path = name;
  unfinished = name + ".tmp-" + std::to_string(getpid());
  descriptor = ::open(unfinished.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  return descriptor < 0 ? systemError("create", unfinished) : Status();
}

Status AtomicFile::join(const std::string &temporary) {
  unfinished = temporary;
  descriptor = ::open(unfinished.c_str(), O_WRONLY | O_CLOEXEC);
  return descriptor < 0 ? systemError("open", unfinished) : Status();
}

Status AtomicFile::write(int64_t offset, const void *data, int64_t bytes) {
  auto *at = (const char *)data;
  while (bytes > 0) {
    ssize_t written = pwrite(descriptor, at, std::min<int64_t>(bytes, int64_t(1) << 30), offset);
    if (written < 0 && errno == EINTR)
      continue;
    if (written < 0)
      return systemError("write", unfinished);
    at += written;
    offset += written;
    bytes -= written;
  }
  return {};
}

Status AtomicFile::resize(int64_t bytes) {
  return ftruncate(descriptor, bytes) != 0 ? systemError("write", unfinished) : Status();
}

Status AtomicFile::flush() {
  return fsync(descriptor) != 0 ? systemError("flush", unfinished) : Status();
}

Status AtomicFile::commit() {
  TP_TRY(flush());
  int closed = close(descriptor);
  descriptor = -1;
  if (closed != 0 || rename(unfinished.c_str(), path.c_str()) != 0) {
    Status status = systemError("finish", path);
    unlink(unfinished.c_str());
    return status;
  }
  return syncDirectory(parentOf(path));
}

Status tplan::runtime::readText(const std::string &path, std::string &text, int64_t limit) {
  InputFile file;
  TP_TRY(file.open(path));
  if (file.size() > limit)
    return errorf("'%s' has %lld bytes, more than the %lld that such a file may have", path.c_str(),
                  (long long)file.size(), (long long)limit);
  text.resize(file.size());
  return file.read(0, text.data(), file.size());
}

Status tplan::runtime::writeText(const std::string &path, std::string_view text) {
  AtomicFile file;
  TP_TRY(file.open(path));
  TP_TRY(file.write(0, text.data(), (int64_t)text.size()));
  return file.commit();
}

Status tplan::runtime::makeDirectory(const std::string &path) {
  for (size_t at = path.find('/', 1);; at = path.find('/', at + 1)) {
    std::string part = path.substr(0, at);
    if (mkdir(part.c_str(), 0777) != 0 && errno != EEXIST)
      return systemError("create directory", part);
    if (at == std::string::npos)
      break;
  }
  struct stat info;
  if (stat(path.c_str(), &info) != 0 || !S_ISDIR(info.st_mode))
    return errorf("'%s' is not a directory", path.c_str());
  return {};
}

Status tplan::runtime::syncDirectory(const std::string &path) {
  int descriptor = open(path.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (descriptor < 0)
    return systemError("open directory", path);
  // Some file systems cannot flush a directory and say EINVAL.
  Status status =
      fsync(descriptor) != 0 && errno != EINVAL ? systemError("flush directory", path) : Status();
  close(descriptor);
  return status;
}

Status tplan::runtime::renamePath(const std::string &from, const std::string &to) {
  return rename(from.c_str(), to.c_str()) != 0 ? systemError("create", to)
                                               : syncDirectory(parentOf(to));
}

Status tplan::runtime::removeDirectory(const std::string &path) {
  std::vector<std::string> names;
  TP_TRY(listDirectory(path, names));
  for (const std::string &name : names)
    if (unlink((path + "/" + name).c_str()) != 0)
      return systemError("remove", path + "/" + name);
  return rmdir(path.c_str()) != 0 ? systemError("remove", path) : Status();
}

Status tplan::runtime::listDirectory(const std::string &path, std::vector<std::string> &names) {
  DIR *directory = opendir(path.c_str());
  if (!directory)
    return systemError("list", path);
  while (dirent *entry = readdir(directory))
    if (strcmp(entry->d_name, ".") && strcmp(entry->d_name, ".."))
      names.push_back(entry->d_name);
  closedir(directory);
  std::sort(names.begin(), names.end());
  return {};
}

bool tplan::runtime::pathExists(const std::string &path) {
  struct stat info;
  return lstat(path.c_str(), &info) == 0;
}

bool tplan::runtime::isDirectory(const std::string &path) {
  struct stat info;
  return stat(path.c_str(), &info) == 0 && S_ISDIR(info.st_mode);
}
