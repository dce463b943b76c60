//===- Temporary.h - a file for a while -----------------------------------===//
#ifndef TPLAN_LIB_EMIT_TEMPORARY_H
#define TPLAN_LIB_EMIT_TEMPORARY_H

#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Signals.h"
#include "llvm/Support/raw_ostream.h"

namespace tplan::emit {

/// Goes when its scope ends, or when a signal ends the process.
class Temporary {
public:
  Temporary() = default;
  Temporary(const Temporary &) = delete;
  ~Temporary() {
    if (path.empty())
      return;
    llvm::sys::fs::remove(path);
    llvm::sys::DontRemoveFileOnSignal(path);
  }

  /// An empty file; % in its name stands for a random digit.
  llvm::Error create(const llvm::Twine &model,
                     unsigned mode = llvm::sys::fs::all_read | llvm::sys::fs::all_write) {
    if (std::error_code error = llvm::sys::fs::createUniqueFile(model, path, mode)) {
      path.clear();
      return llvm::createStringError(error, "cannot write " + model.str() + ": " + error.message());
    }
    llvm::sys::RemoveFileOnSignal(path);
    return llvm::Error::success();
  }

  llvm::Error write(llvm::StringRef bytes) {
    std::error_code error;
    llvm::raw_fd_ostream os(path, error);
    if (!error) {
      os << bytes;
      os.close();
      error = os.error();
    }
    os.clear_error();
    return error ? llvm::createStringError(error, "cannot write " + path + ": " + error.message())
                 : llvm::Error::success();
  }

  llvm::StringRef getPath() const { return path; }

  /// What a program has printed into it, without the end of line.
  std::string getText() const {
    auto text = llvm::MemoryBuffer::getFile(path);
    return text ? (*text)->getBuffer().rtrim().str() : "";
  }

  std::error_code renameTo(llvm::StringRef name) {
    std::error_code error = llvm::sys::fs::rename(path, name);
    if (!error) {
      llvm::sys::DontRemoveFileOnSignal(path);
      path.clear();
    }
    return error;
  }

private:
  llvm::SmallString<128> path;
};

} // namespace tplan::emit

#endif // TPLAN_LIB_EMIT_TEMPORARY_H
