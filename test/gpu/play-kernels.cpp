//===- play-kernels.cpp - recorded launches on a GPU ----------------------===//
//
//   play-kernels FILE    of test/lower/record-kernels.h
//
// Launches each kernel on the memory that it had, and prints one JSON object: launches, elements
// that were to change or not, how many of them have other bits, and the farthest argument of each
// type: |a - b| over |b| by norm; no number where the other is one is infinite.
//
// One decision: memory lies between guards, so that a store outside an array shows.
//
//===----------------------------------------------------------------------===//
#include "runtime/support/files.h"
#include "test/gpu/first-gpu.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>
#include <vector>

using namespace tplan::runtime;

namespace {

constexpr size_t guardBytes = 256;
constexpr unsigned char guard = 0xA5;

/// One argument, on the host and on the GPU.
struct Buffer {
  std::string type;
  std::string_view before, behind;
  cuda::Pointer place = 0;
};

struct Tally {
  long launches = 0, elements = 0, unequal = 0;
  std::map<std::string, double> farthest;
};

size_t elementBytes(const std::string &type) {
  return type == "f64" || type == "i64" ? 8 : type == "bf16" ? 2 : type == "i1" ? 1 : 4;
}

double valueAt(const std::string &type, const char *at) {
  auto load = [at](auto value) {
    memcpy(&value, at, sizeof value);
    return (double)value;
  };
  if (type == "f64")
    return load(double());
  if (type == "f32")
    return load(float());
  if (type == "i64")
    return load(int64_t());
  if (type == "i32")
    return load(int32_t());
  if (type == "i1")
    return *at;
  uint16_t bits;
  memcpy(&bits, at, sizeof bits);
  uint32_t wide = (uint32_t)bits << 16;
  float value;
  memcpy(&value, &wide, sizeof value);
  return value;
}

/// NaNs are alike, whatever their bits: processors differ in what they make.
void compare(const Buffer &buffer, const char *found, Tally &tally) {
  size_t size = elementBytes(buffer.type);
  double apart = 0, norm = 0;
  for (size_t at = 0; at < buffer.behind.size(); at += size) {
    double a = valueAt(buffer.type, found + at), b = valueAt(buffer.type, &buffer.behind[at]);
    ++tally.elements;
    if (!memcmp(found + at, &buffer.behind[at], size) || (std::isnan(a) && std::isnan(b))) {
      norm += std::isfinite(b) ? b * b : 0;
      continue;
    }
    ++tally.unequal;
    apart += std::isfinite(a) && std::isfinite(b) ? (a - b) * (a - b) : HUGE_VAL;
    norm += b * b;
  }
  double far = apart == 0 ? 0 : norm > 0 ? std::sqrt(apart / norm) : HUGE_VAL;
  double &farthest = tally.farthest[buffer.type];
  farthest = std::max(farthest, std::isnan(far) ? HUGE_VAL : far);
}

class Player {
public:
  Player(const CudaDriver &driver, cuda::StreamHandle *stream) : cu(driver), stream(stream) {}
  Status play(std::string_view text);
  Tally tally;

private:
  Status readKernel(std::istringstream &line, std::string_view &text);
  Status readLaunch(std::istringstream &line, std::string_view &text);
  Status launch(std::vector<Buffer> &buffers, const std::vector<size_t> &arguments);
  Status put(Buffer &buffer);
  Status take(Buffer &buffer);

  const CudaDriver &cu;
  cuda::StreamHandle *stream;
  cuda::Module *module = nullptr;
  cuda::Function *function = nullptr;
  std::string name;
  unsigned threads = 0, blocks = 0;
};

Status takeBytes(std::string_view &text, size_t count, std::string_view &bytes) {
  if (text.size() < count)
    return errorf("the record ends within %zu bytes of a kernel: make the pack anew", count);
  bytes = text.substr(0, count);
  text.remove_prefix(count);
  return {};
}

std::istringstream takeLine(std::string_view &text) {
  size_t end = std::min(text.find('\n'), text.size() - 1);
  std::istringstream line{std::string(text.substr(0, end))};
  text.remove_prefix(end + 1);
  return line;
}

Status Player::play(std::string_view text) {
  while (!text.empty()) {
    std::istringstream line = takeLine(text);
    std::string word;
    line >> word;
    if (word == "kernel")
      TP_TRY(readKernel(line, text));
    else if (word == "launch" && function)
      TP_TRY(readLaunch(line, text));
    else
      return errorf("no record of a kernel begins so: make the pack anew: '%s'", word.c_str());
  }
  return {};
}

Status Player::readKernel(std::istringstream &line, std::string_view &text) {
  size_t bytes = 0;
  std::string_view ptx;
  line >> name >> threads >> blocks >> bytes;
  TP_TRY(takeBytes(text, bytes, ptx));
  if (module)
    TP_CUDA(ModuleUnload(module));
  TP_CUDA(ModuleLoadDataEx(&module, std::string(ptx).c_str(), 0, nullptr, nullptr));
  TP_CUDA(ModuleGetFunction(&function, module, name.c_str()));
  return {};
}

Status Player::readLaunch(std::istringstream &line, std::string_view &text) {
  size_t count = 0;
  line >> count;
  std::vector<Buffer> buffers;
  std::vector<size_t> arguments; // which buffer each one is
  for (size_t i = 0; i < count; ++i) {
    std::istringstream about = takeLine(text);
    std::string word;
    about >> word;
    size_t number = 0;
    if (word == "same" && about >> number && number < i) {
      arguments.push_back(arguments[number]);
      continue;
    }
    Buffer buffer;
    size_t bytes = 0;
    bool changed = false;
    if (word != "buffer" || !(about >> buffer.type >> bytes >> changed))
      return errorf("no record of an argument begins so: make the pack anew: '%s'", word.c_str());
    TP_TRY(takeBytes(text, bytes, buffer.before));
    buffer.behind = buffer.before;
    if (changed)
      TP_TRY(takeBytes(text, bytes, buffer.behind));
    arguments.push_back(buffers.size());
    buffers.push_back(buffer);
  }
  return launch(buffers, arguments);
}

Status Player::launch(std::vector<Buffer> &buffers, const std::vector<size_t> &arguments) {
  for (Buffer &buffer : buffers)
    TP_TRY(put(buffer));
  TP_CUDA(StreamSynchronize(nullptr)); // for which `stream` does not wait
  std::vector<cuda::Pointer> places;
  for (size_t number : arguments)
    places.push_back(buffers[number].place + guardBytes);
  std::vector<void *> parameters;
  for (cuda::Pointer &place : places)
    parameters.push_back(&place);
  TP_CUDA(
      LaunchKernel(function, blocks, 1, 1, threads, 1, 1, 0, stream, parameters.data(), nullptr));
  TP_CUDA(StreamSynchronize(stream));
  ++tally.launches;
  for (Buffer &buffer : buffers)
    TP_TRY(take(buffer));
  return {};
}

Status Player::put(Buffer &buffer) {
  std::string image(guardBytes, (char)guard);
  image.append(buffer.before).append(guardBytes, (char)guard);
  TP_CUDA(MemAlloc(&buffer.place, image.size()));
  TP_CUDA(MemcpyHtoD(buffer.place, image.data(), image.size()));
  return {};
}

Status Player::take(Buffer &buffer) {
  std::string image(buffer.before.size() + 2 * guardBytes, 0);
  TP_CUDA(MemcpyDtoH(image.data(), buffer.place, image.size()));
  TP_CUDA(MemFree(buffer.place));
  const std::string whole(guardBytes, (char)guard);
  if (image.compare(0, guardBytes, whole) ||
      image.compare(image.size() - guardBytes, guardBytes, whole))
    return errorf("kernel '%s' writes outside its arrays in launch %ld", name.c_str(),
                  tally.launches);
  compare(buffer, image.data() + guardBytes, tally);
  return {};
}

Status run(const char *file, Tally &tally) {
  InputFile input;
  TP_TRY(input.open(file));
  std::string bytes(input.size(), 0);
  TP_TRY(input.read(0, bytes.data(), input.size()));
  const CudaDriver *driver = nullptr;
  cuda::StreamHandle *stream = nullptr;
  TP_TRY(openFirstGpu(driver, stream));
  Player player(*driver, stream);
  Status status = player.play(bytes);
  tally = player.tally;
  return status;
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return fprintf(stderr, "usage: play-kernels FILE\n"), 2;
  Tally tally;
  if (Status status = run(argv[1], tally); !status.ok())
    return fprintf(stderr, "play-kernels: error: %s\n", status.message().c_str()), 1;
  printf("{\"launches\": %ld, \"elements\": %ld, \"unequal\": %ld, \"farthest\": {", tally.launches,
         tally.elements, tally.unequal);
  const char *comma = "";
  for (auto &[type, far] : tally.farthest) // JSON has no infinity
    printf("%s\"%s\": %g", std::exchange(comma, ", "), type.c_str(), std::min(far, 1e300));
  printf("}}\n");
  return 0;
}
