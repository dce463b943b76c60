//===- log_tensorboard.cpp - event files of TensorBoard -------------------===//
//
// An event file holds records of TensorFlow (length, checksum, bytes, checksum), each of which is a
// message Event of tensorflow/core/util/event.proto. It needs only two kinds of fields of protocol
// buffers, so they are written here.
//
// One decision: a resumed training writes a file of its own that begins with the start of a
// session at its first step, after which TensorBoard shows what that file says from there on.
//
//===----------------------------------------------------------------------===//

#include "runtime/support/files.h"
#include "runtime/train/logs.h"

#include <array>
#include <cerrno>
#include <cstring>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// CRC-32C (Castagnoli), reflected, as RFC 3720 has it.
constexpr std::array<uint32_t, 256> kCrcTable = [] {
  std::array<uint32_t, 256> table{};
  for (uint32_t i = 0; i < 256; ++i) {
    uint32_t value = i;
    for (int bit = 0; bit < 8; ++bit)
      value = value >> 1 ^ (value & 1 ? 0x82F63B78u : 0);
    table[i] = value;
  }
  return table;
}();

/// As records hold it: rotated, and a constant added.
uint32_t maskedCrc(const void *data, size_t bytes) {
  uint32_t crc = ~0u;
  for (size_t i = 0; i < bytes; ++i)
    crc = kCrcTable[(crc ^ static_cast<const uint8_t *>(data)[i]) & 0xFF] ^ crc >> 8;
  crc = ~crc;
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

/// Appends fields of a protocol buffer.
class Message {
public:
  explicit Message(std::string &to) : to(to) {}
  void varint(int field, uint64_t value) {
    raw(field << 3);
    raw(value);
  }
  void number(int field, double value) {
    raw(field << 3 | 1);
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void real(int field, float value) {
    raw(field << 3 | 5);
    to.append(reinterpret_cast<const char *>(&value), sizeof value);
  }
  void bytes(int field, const char *data, size_t size) {
    raw(field << 3 | 2);
    raw(size);
    to.append(data, size);
  }

private:
  void raw(uint64_t value) {
    for (; value >= 0x80; value >>= 7)
      to += char(value | 0x80);
    to += char(value);
  }
  std::string &to;
};

class TensorBoardLog : public Log {
public:
  ~TensorBoardLog() override {
    if (descriptor >= 0)
      close(descriptor);
  }
  Status open(const std::string &path, const tp_program &program, bool resume,
              int64_t lastStep) override;
  Status step(const Metrics &metrics, const StepReport &report) override;
  Status evaluation(int64_t step, double loss, int64_t tokens) override;

private:
  void begin(int64_t step);
  void scalar(const char *tag, double value);
  Status write();

  std::string path, event, summary, value, record;
  int descriptor = -1;
};

Status TensorBoardLog::open(const std::string &directory, const tp_program &logged, bool resume,
                            int64_t lastStep) {
  TP_TRY(makeDirectory(directory));
  char host[256] = "localhost";
  gethostname(host, sizeof host - 1);
  path = format("%s/events.out.tfevents.%010lld.%s.%d.0", directory.c_str(),
                (long long)time(nullptr), host, (int)getpid());
  descriptor = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
  if (descriptor < 0)
    return errorf("cannot write '%s': %s", path.c_str(), strerror(errno));
  for (std::string *buffer : {&event, &summary, &value, &record})
    buffer->reserve(4096 + 128 * (size_t)(logged.num_metrics + 1));
  begin(0);
  constexpr char version[] = "brain.Event:2";
  Message(event).bytes(3, version, sizeof version - 1);
  TP_TRY(write());
  if (!resume)
    return {};
  begin(lastStep + 1);
  value.clear();
  Message(value).varint(1, 1); // SessionLog.START
  Message(event).bytes(7, value.data(), value.size());
  return write();
}

void TensorBoardLog::begin(int64_t step) {
  timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  event.clear();
  summary.clear();
  Message(event).number(1, (double)now.tv_sec + 1e-9 * (double)now.tv_nsec);
  Message(event).varint(2, (uint64_t)step);
}

void TensorBoardLog::scalar(const char *tag, double number) {
  value.clear();
  Message(value).bytes(1, tag, strlen(tag));
  Message(value).real(2, (float)number);
  Message(summary).bytes(1, value.data(), value.size());
}

Status TensorBoardLog::write() {
  uint64_t length = event.size();
  auto append = [&](auto number) {
    record.append(reinterpret_cast<const char *>(&number), sizeof number);
  };
  record.clear();
  append(length);
  append(maskedCrc(&length, sizeof length));
  record += event;
  append(maskedCrc(event.data(), event.size()));
  return writeAll(descriptor, path, record.data(), record.size());
}

Status TensorBoardLog::step(const Metrics &metrics, const StepReport &report) {
  begin(report.step);
  for (int64_t i = 0; i < metrics.size(); ++i)
    scalar(metrics.name(i), metrics.value(i));
  scalar("lr", report.learningRate);
  scalar("tokens", (double)report.tokens);
  scalar("step_seconds", report.seconds);
  scalar("tokens_per_second", report.tokensPerSecond);
  Message(event).bytes(5, summary.data(), summary.size());
  return write();
}

Status TensorBoardLog::evaluation(int64_t step, double loss, int64_t) {
  begin(step);
  scalar("eval_loss", loss);
  Message(event).bytes(5, summary.data(), summary.size());
  return write();
}

} // namespace

std::unique_ptr<Log> tplan::runtime::makeTensorBoardLog() {
  return std::make_unique<TensorBoardLog>();
}
