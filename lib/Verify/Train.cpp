//===- Train.cpp - a compiled plan, trained for a few steps ---------------===//
#include "lib/Verify/Train.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/Support/Endian.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/JSON.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/Program.h"
#include "llvm/Support/raw_ostream.h"
#include <random>

using namespace llvm;
using namespace tplan;
using namespace tplan::verify;

/// Seconds that a training may take: small sizes, few steps.
static constexpr unsigned kPatience = 300;

static std::string inside(StringRef folder, StringRef name) {
  SmallString<128> path(folder);
  sys::path::append(path, name);
  return path.str().str();
}

static Expected<std::unique_ptr<MemoryBuffer>> read(StringRef path) {
  auto buffer = MemoryBuffer::getFile(path, /*IsText=*/false, /*RequiresNullTerminator=*/false);
  if (!buffer)
    return createStringError(buffer.getError(),
                             "cannot read " + path + ": " + buffer.getError().message());
  return std::move(*buffer);
}

Error verify::writeTokens(StringRef path, int64_t count, int64_t vocabulary) {
  int64_t below = std::min<int64_t>(vocabulary ? vocabulary : 256, 1 << 24), padding = 0;
  return writeToOutput(path, [&](raw_ostream &os) {
    std::mt19937 random; // of the standard: the same numbers in every call
    for (int64_t i = 0; i < count; ++i) {
      uint64_t drawn = random();
      if (padding == 0 && drawn % 16 == 0)
        padding = 1 + static_cast<int64_t>(drawn / 16 % 6);
      uint64_t token = padding > 0 ? UINT64_MAX : drawn % below;
      padding -= padding > 0;
      for (unsigned byte = 0; byte < 4; ++byte)
        os << static_cast<char>(token >> (8 * byte));
    }
    return Error::success();
  });
}

/// A safetensors file that our runtime has written, in f64: its length, header and data. (The
/// runtime's reader would bring the libraries of training into the compiler.)
static Expected<Tensors> readTensors(StringRef path) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = read(path);
  if (!buffer)
    return buffer.takeError();
  StringRef bytes = (*buffer)->getBuffer();
  uint64_t length = bytes.size() < 8 ? bytes.size() : support::endian::read64le(bytes.data());
  if (length > bytes.size() - std::min<size_t>(8, bytes.size()))
    return createStringError("no header in " + path);
  Expected<json::Value> header = json::parse(bytes.substr(8, length));
  if (!header)
    return header.takeError();
  Tensors tensors;
  for (const auto &[name, value] : *header->getAsObject()) {
    const json::Object *entry = value.getAsObject();
    const json::Array *range = entry ? entry->getArray("data_offsets") : nullptr;
    if (!range || entry->getString("dtype") != "F64")
      continue; // __metadata__, integers
    int64_t begin = (*range)[0].getAsInteger().value_or(0),
            end = (*range)[1].getAsInteger().value_or(0);
    StringRef data = bytes.substr(8 + length + begin, end - begin);
    std::vector<double> &numbers = tensors[name.str()];
    for (size_t at = 0; at + 8 <= data.size(); at += 8)
      numbers.push_back(bit_cast<double>(support::endian::read64le(data.data() + at)));
  }
  return tensors;
}

/// Fields that differ from run to run, or are the same by definition.
static constexpr StringLiteral kPassedOver[] = {"step", "lr", "tokens", "step_seconds",
                                                "tokens_per_second"};

/// One object a line.
static Error readMetrics(StringRef path, Trained &trained) {
  Expected<std::unique_ptr<MemoryBuffer>> buffer = read(path);
  if (!buffer)
    return buffer.takeError();
  SmallVector<StringRef> lines;
  (*buffer)->getBuffer().split(lines, '\n', -1, /*KeepEmpty=*/false);
  for (StringRef line : lines) {
    Expected<json::Value> step = json::parse(line);
    if (!step)
      return step.takeError();
    for (const auto &[name, value] : *step->getAsObject())
      if (!is_contained(kPassedOver, StringRef(name)))
        trained.numbers[name.str()].push_back(value.getAsNumber().value_or(NAN));
  }
  return Error::success();
}

/// The first error that a binary has printed, without its own name; else the last line.
static std::string errorOf(StringRef said) {
  SmallVector<StringRef> lines;
  said.rtrim().split(lines, '\n');
  for (StringRef line : lines)
    if (size_t at = line.find("error: "); at != StringRef::npos)
      return line.drop_front(at + strlen("error: ")).str();
  return lines.back().str();
}

Expected<Trained> verify::train(StringRef binary, StringRef data, int64_t steps) {
  StringRef folder = sys::path::parent_path(binary);
  std::string log = inside(folder, "log.jsonl"), save = inside(folder, "save"),
              gradients = inside(folder, "gradients.safetensors"), said = inside(folder, "said");
  std::string count = std::to_string(steps), tokens = ("i32:" + data).str();
  StringRef arguments[] = {
      binary, "--data",           tokens,    "--seed",   "1",  "--threads",    "1", "--steps",
      count,  "--metrics",        log,       "--save",   save, "--save-every", "1", "--save-keep",
      "0",    "--dump-gradients", gradients, "--no-eval"};
  std::optional<StringRef> streams[] = {StringRef(), StringRef(said), StringRef(said)};
  std::string why;
  int code = sys::ExecuteAndWait(binary, arguments, std::nullopt, streams, kPatience, 0, &why);
  if (code) {
    Expected<std::unique_ptr<MemoryBuffer>> text = read(said);
    if (!text)
      return text.takeError();
    return createStringError((why.empty() ? "" : why + ": ") + errorOf((*text)->getBuffer()));
  }
  Trained trained;
  if (Error error = readMetrics(log, trained))
    return std::move(error);
  auto readInto = [](Tensors &to, const std::string &path) -> Error {
    Expected<Tensors> tensors = readTensors(path);
    if (!tensors)
      return tensors.takeError();
    to = std::move(*tensors);
    return Error::success();
  };
  char last[64];
  snprintf(last, sizeof last, "step-%08lld/model.safetensors", static_cast<long long>(steps));
  if (Error error = joinErrors(
          joinErrors(readInto(trained.gradients, gradients),
                     readInto(trained.weights, inside(save, "step-00000001/model.safetensors"))),
          readInto(trained.states, inside(save, last))))
    return std::move(error);
  std::erase_if(trained.states, [&](const auto &tensor) {
    return trained.gradients.count(tensor.first + ".grad");
  });
  return trained;
}
