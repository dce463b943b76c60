//===- logs-test.cpp - event files of TensorBoard and pages for Prometheus --------===//
//
// What is written is read back by a reader of its own: records with their checksums, fields of
// protocol buffers. The numbers are those of the JSON lines of the same run.
//
//===----------------------------------------------------------------------------===//

#include "helpers.h"
#include "toy_program.h"

#include "runtime/support/files.h"

#include <cmath>
#include <cstring>
#include <map>

using helpers::Outcome;
using helpers::readFile;
using helpers::runMain;

namespace {

/// CRC-32C bit by bit.
uint32_t crc32c(const std::string &bytes) {
  uint32_t crc = ~0u;
  for (unsigned char byte : bytes) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit)
      crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
  }
  return ~crc;
}
uint32_t masked(const std::string &bytes) {
  uint32_t crc = crc32c(bytes);
  return (crc >> 15 | crc << 17) + 0xA282EAD8u;
}

template <class T> T numberAt(const std::string &bytes, size_t at) {
  T value{};
  if (at + sizeof value <= bytes.size())
    memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

/// The contents of the records; a damaged one fails the test.
std::vector<std::string> records(const std::string &file) {
  std::vector<std::string> all;
  for (size_t at = 0; at < file.size();) {
    uint64_t length = numberAt<uint64_t>(file, at);
    if (at + 16 + length > file.size()) {
      ADD_FAILURE() << "cut at " << at;
      break;
    }
    all.push_back(file.substr(at + 12, length));
    EXPECT_EQ(numberAt<uint32_t>(file, at + 8), masked(file.substr(at, 8)));
    EXPECT_EQ(numberAt<uint32_t>(file, at + 12 + length), masked(all.back()));
    at += 16 + length;
  }
  return all;
}

/// The fields of a message, by number: bytes as they are, numbers as their eight or four bytes.
std::multimap<int, std::string> fields(const std::string &message) {
  std::multimap<int, std::string> all;
  size_t at = 0;
  auto varint = [&] {
    uint64_t value = 0;
    for (int shift = 0; at < message.size(); shift += 7) {
      unsigned char byte = message[at++];
      value |= uint64_t(byte & 0x7F) << shift;
      if (byte < 0x80)
        break;
    }
    return value;
  };
  while (at < message.size()) {
    uint64_t key = varint();
    size_t size = 8;
    if (uint64_t kind = key & 7; kind == 0) {
      uint64_t value = varint();
      all.emplace(key >> 3, std::string(reinterpret_cast<char *>(&value), 8));
      continue;
    } else if (kind == 2) {
      size = varint();
    } else if (kind == 5) {
      size = 4;
    } else {
      EXPECT_EQ(kind, 1u);
    }
    EXPECT_LE(at + size, message.size());
    all.emplace(key >> 3, message.substr(at, size));
    at += size;
  }
  return all;
}

std::string only(const std::multimap<int, std::string> &all, int field) {
  EXPECT_EQ(all.count(field), 1u) << "field " << field;
  auto it = all.find(field);
  return it == all.end() ? "" : it->second;
}

struct Logs : testing::Test {
  Logs() { helpers::writeFile(scratch / "text", helpers::someText(20000)); }

  Outcome train(std::vector<std::string> more, const tp_program &program = toy::program()) {
    more.insert(more.begin(), {"--data", scratch / "text", "--threads", "1"});
    return runMain(program, more);
  }
  /// The event files of a folder, in the order of their names.
  std::vector<std::string> events(const std::string &folder) {
    std::vector<std::string> names, files;
    EXPECT_OK(tplan::runtime::listDirectory(scratch / folder, names));
    for (const std::string &name : names) {
      EXPECT_EQ(name.find("events.out.tfevents."), 0u) << name;
      files.push_back(readFile(scratch / folder + "/" + name));
    }
    return files;
  }
  helpers::Scratch scratch;
};

/// A number of a line of JSON.
double numberOf(const std::string &line, const std::string &key) {
  size_t at = line.find("\"" + key + "\": ");
  return at == std::string::npos ? NAN : std::stod(line.substr(at + key.size() + 4));
}

} // namespace

TEST(Crc32c, HasItsCheckValue) { EXPECT_EQ(crc32c("123456789"), 0xE3069283u); }

TEST_F(Logs, TensorBoardReadsTheNumbersOfTheLines) {
  Outcome outcome = train({"--steps", "5", "--eval", scratch / "text", "--log", "tensorboard",
                           scratch / "tb/run", "--log", "jsonl", scratch / "lines"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  auto files = events("tb/run");
  ASSERT_EQ(files.size(), 1u);
  auto all = records(files[0]);
  ASSERT_EQ(all.size(), 7u); // the version, five steps, an evaluation
  EXPECT_EQ(only(fields(all[0]), 3), "brain.Event:2");

  std::string lines = readFile(scratch / "lines");
  for (size_t i = 1; i < all.size(); ++i) {
    std::string line = lines.substr(0, lines.find('\n'));
    lines.erase(0, line.size() + 1);
    auto event = fields(all[i]);
    EXPECT_EQ(numberAt<uint64_t>(only(event, 2), 0), (uint64_t)numberOf(line, "step"));
    EXPECT_GT(numberAt<double>(only(event, 1), 0), 1.7e9); // seconds since 1970
    auto values = fields(only(event, 5));
    EXPECT_EQ(values.size(), i < 6 ? 6u : 1u);
    for (const auto &[field, bytes] : values) {
      auto value = fields(bytes);
      double wanted = numberOf(line, only(value, 1));
      EXPECT_EQ(numberAt<float>(only(value, 2), 0), (float)wanted) << only(value, 1);
    }
  }
}

TEST_F(Logs, ATrainingThatIsResumedBeginsASession) {
  std::vector<std::string> run = {"--save", scratch / "c", "--log", "tensorboard", scratch / "tb"};
  auto with = [&](std::vector<std::string> more) {
    more.insert(more.end(), run.begin(), run.end());
    return train(more);
  };
  ASSERT_EQ(with({"--steps", "3"}).code, 0);
  auto before = events("tb");
  ASSERT_EQ(with({"--steps", "4", "--resume"}).code, 0);
  // Two trainings of one second have names that end in one process number.
  auto all = records(events("tb").back());
  ASSERT_EQ(all.size(), 3u);
  auto session = fields(all[1]);
  EXPECT_EQ(numberAt<uint64_t>(only(session, 2), 0), 4u);
  EXPECT_EQ(numberAt<uint64_t>(only(fields(only(session, 7)), 1), 0), 1u);
}

TEST_F(Logs, PrometheusReadsAPage) {
  Outcome outcome = train({"--steps", "5", "--log", "prometheus", scratch / "page.prom",
                           "--metrics", scratch / "lines"});
  ASSERT_EQ(outcome.code, 0) << outcome.err;
  std::string page = readFile(scratch / "page.prom"), lines = readFile(scratch / "lines");
  EXPECT_FALSE(tplan::runtime::pathExists(scratch / "page.prom.tmp"));
  std::string last = lines.substr(lines.rfind("{\"step\": 5"));
  auto sample = [&](const std::string &name) {
    size_t at = page.find("\n" + name + " ");
    EXPECT_NE(at, std::string::npos) << name << "\n" << page;
    return at == std::string::npos ? NAN : std::stod(page.substr(at + name.size() + 2));
  };
  EXPECT_EQ(sample("tplan_step{plan=\"toy\"}"), 5);
  EXPECT_EQ(sample("tplan_steps{plan=\"toy\"}"), 5);
  EXPECT_EQ(sample("tplan_tokens_total{plan=\"toy\"}"), numberOf(last, "tokens"));
  EXPECT_EQ(sample("tplan_metric{plan=\"toy\",metric=\"loss\"}"), numberOf(last, "loss"));
  EXPECT_EQ(sample("tplan_learning_rate{plan=\"toy\"}"), numberOf(last, "lr"));
  EXPECT_NE(page.find("# TYPE tplan_tokens_total counter\n"), std::string::npos);
}

TEST_F(Logs, AKindThatIsNotThereIsRefused) {
  Outcome outcome = train({"--log", "wandb", "x"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(
      outcome.err.find("--log takes one of jsonl, prometheus, tensorboard, then a path, found "
                       "'wandb'"),
      std::string::npos)
      << outcome.err;
  outcome = train({"--log", "tensorboard"});
  EXPECT_EQ(outcome.code, 2);
  EXPECT_NE(outcome.err.find("takes a path, found the end of the command line"), std::string::npos)
      << outcome.err;
  helpers::writeFile(scratch / "file", "");
  for (const char *kind : {"jsonl", "prometheus", "tensorboard"}) {
    outcome = train({"--log", kind, scratch / "file/x", "--steps", "1"});
    EXPECT_EQ(outcome.code, 1) << kind;
    EXPECT_NE(outcome.err.find(scratch / "file"), std::string::npos) << outcome.err;
  }
}
