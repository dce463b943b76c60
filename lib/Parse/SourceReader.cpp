//===- SourceReader.cpp - a source and what it imports ---------------------===//
#include "lib/Parse/SourceReader.h"
#include "lib/Parse/Text.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/Path.h"

using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

static constexpr size_t kMaxFiles = 64;

SMLoc SourceReader::beginOfMain() const {
  return SMLoc::getFromPointer(sources.getMemoryBuffer(sources.getMainFileID())->getBufferStart());
}

bool SourceReader::parseBuffer(unsigned id, bool main) {
  const llvm::MemoryBuffer *buffer = sources.getMemoryBuffer(id);
  StringRef text = buffer->getBuffer();
  SMLoc begin = SMLoc::getFromPointer(text.data());
  bytes += text.size();
  if (bytes > kMaxFile) {
    report.error(begin, "a source has at most 4 MiB with its imports, found more in this file");
    return false;
  }
  if (!checkText(report, text))
    return false;
  Syntax &syntax = parses.emplace_back(report, arena, text.drop_front(byteOrderMark(text)));
  bool ok = parseText(syntax, Start::File);
  llvm::append_range(file.layers, syntax.file.layers);
  llvm::append_range(file.models, syntax.file.models);
  llvm::append_range(file.blocks, syntax.file.blocks);
  if (main)
    mainBlocks = file.blocks.size();
  std::string name = buffer->getBufferIdentifier().str();
  for (const Name &imported : syntax.file.imports)
    if (!report.gaveUp())
      ok &= import(imported, name);
  return ok;
}

/// Reads `name` from one folder; nothing if it is not there. False after an error.
std::optional<bool> SourceReader::readImport(const Name &name, StringRef folder, bool isLibrary) {
  llvm::SmallString<128> path(folder), real;
  llvm::sys::path::append(path, name.text);
  // A folder opens too, and a pipe may never end: only files are read.
  llvm::sys::fs::file_status status;
  std::error_code failed = llvm::sys::fs::status(path, status);
  if (failed == std::errc::no_such_file_or_directory)
    return std::nullopt;
  if (!failed && status.type() != llvm::sys::fs::file_type::regular_file) {
    report.error(name.loc, "an import names a file, found {0}: {1}",
                 llvm::sys::fs::is_directory(status) ? "a folder" : "a device or a pipe",
                 name.text);
    return false;
  }
  auto buffer =
      failed ? llvm::ErrorOr<std::unique_ptr<llvm::MemoryBuffer>>(failed) : readSource(path);
  if (!buffer) {
    report.error(name.loc, "cannot read {0}: {1}", name.text, buffer.getError().message());
    return false;
  }
  if (llvm::sys::fs::real_path(path, real))
    real = path;
  if (llvm::is_contained(seen, real.str()))
    return true;
  seen.push_back(real.str().str());
  unsigned id = sources.AddNewSourceBuffer(std::move(*buffer), name.loc);
  if (isLibrary)
    report.addLibrary(id);
  return parseBuffer(id, false);
}

/// Reads `name` from the folder of `from` or the installed models, once.
bool SourceReader::import(const Name &name, StringRef from) {
  std::vector<std::string> folders;
  if (llvm::sys::path::is_absolute(name.text)) {
    folders.push_back("");
  } else {
    folders.push_back(llvm::sys::path::parent_path(from).str());
    llvm::append_range(folders, modelDirs);
  }
  if (name.text.empty() || name.text.contains('\0')) {
    report.error(name.loc, "an import names a file: import \"llama.tplan\"");
    return false;
  }
  if (seen.size() >= kMaxFiles) {
    report.error(name.loc, "more than {0} files imported", kMaxFiles);
    return false;
  }
  for (const std::string &folder : folders)
    if (std::optional<bool> read = readImport(name, folder, folder != folders.front()))
      return *read;
  for (std::string &folder : folders)
    if (folder.empty())
      folder = ".";
  report.error(name.loc, "file not found: {0}; looked in {1}", name.text,
               llvm::join(folders, ", "));
  return false;
}

/// Removes from `all` what comes after the first `own` and has a name among these.
template <class Decl> static void hideAfter(std::vector<Decl *> &all, size_t own) {
  auto key = [](Decl *decl) {
    if constexpr (std::is_same_v<Decl, BlockDecl>)
      return std::pair(decl->name.text, static_cast<int>(decl->kind));
    else
      return decl->name.text;
  };
  auto begin = all.begin() + own;
  all.erase(std::remove_if(begin, all.end(),
                           [&](Decl *decl) {
                             return std::any_of(all.begin(), begin,
                                                [&](Decl *mine) { return key(mine) == key(decl); });
                           }),
            all.end());
}

/// Reads a file that comes with the compiler and that nobody imports. What the user declares hides
/// what it has by the same name.
bool SourceReader::readStandard(StringRef name) {
  size_t layers = file.layers.size(), blocks = file.blocks.size();
  for (const std::string &folder : modelDirs) {
    llvm::SmallString<128> path(folder), real;
    llvm::sys::path::append(path, name);
    auto buffer = readSource(path);
    if (!buffer)
      continue;
    if (llvm::sys::fs::real_path(path, real))
      real = path;
    if (llvm::is_contained(seen, real.str()))
      return true;
    unsigned id = sources.AddNewSourceBuffer(std::move(*buffer), SMLoc());
    report.addLibrary(id);
    bool ok = parseBuffer(id, false);
    hideAfter(file.layers, layers);
    hideAfter(file.blocks, blocks);
    return ok;
  }
  report.error(beginOfMain(), "{0} not found in the folders of models: {1}", name,
               llvm::join(modelDirs, ", "));
  return false;
}

bool SourceReader::read() {
  unsigned id = sources.getMainFileID();
  file.modelDirs = modelDirs;
  file.main = sources.getMemoryBuffer(id)->getBuffer();
  llvm::SmallString<128> real;
  StringRef name = sources.getMemoryBuffer(id)->getBufferIdentifier();
  if (!llvm::sys::fs::real_path(name, real))
    seen.push_back(real.str().str());
  bool ok = parseBuffer(id, true);
  if (bytes > kMaxFile)
    return false;
  bool hasCluster = llvm::any_of(
      file.blocks, [](const BlockDecl *block) { return block->kind == BlockDecl::Cluster; });
  return readStandard("prelude.tplan") && (!hasCluster || readStandard("devices.tplan")) && ok;
}
