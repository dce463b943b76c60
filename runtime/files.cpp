//===- files.cpp - reading and replacing files ----------------------------===//

#include "runtime/files.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <dirent.h>
#include <fcntl.h>
#include <sys/mman.h>
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

MappedFile &MappedFile::operator=(MappedFile &&other) noexcept {
  std::swap(bytes, other.bytes);
  std::swap(length, other.length);
  return *this;
}

MappedFile::~MappedFile() {
  if (bytes)
    munmap((void *)bytes, length);
}

Status MappedFile::open(const std::string &path) {
  // Non-blocking: a FIFO must be refused below, not waited for.
  int descriptor = ::open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor < 0)
    return systemError("open", path);
  struct stat info;
  Status status;
  if (fstat(descriptor, &info) != 0) {
    status = systemError("read the size of", path);
  } else if (!S_ISREG(info.st_mode)) {
    status = errorf("'%s' is %s, not a regular file", path.c_str(),
                    S_ISDIR(info.st_mode) ? "a directory" : "a device or pipe");
  } else if (info.st_size > 0) {
    void *mapped = mmap(nullptr, info.st_size, PROT_READ, MAP_PRIVATE, descriptor, 0);
    if (mapped == MAP_FAILED) {
      status = systemError("map", path);
    } else {
      bytes = (const unsigned char *)mapped;
      length = info.st_size;
    }
  }
  close(descriptor);
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
  MappedFile file;
  TP_TRY(file.open(path));
  if (file.size() > limit)
    return errorf("'%s' has %lld bytes, more than the %lld that such a file may have", path.c_str(),
                  (long long)file.size(), (long long)limit);
  text.assign((const char *)file.data(), file.size());
  return {};
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
  return stat(path.c_str(), &info) == 0;
}
