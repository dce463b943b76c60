//===- helpers.cpp - what the runtime's tests share -------------------------===//

#include "helpers.h"

#include "runtime/transports/threads.h"

#include <filesystem>
#include <fstream>
#include <iterator>
#include <thread>

#include <unistd.h>

using namespace helpers;

Scratch::Scratch() {
  std::string name = (std::filesystem::temp_directory_path() / "tplan-test-XXXXXX").string();
  path = mkdtemp(name.data());
}

Scratch::~Scratch() { std::filesystem::remove_all(path); }

void helpers::writeFile(const std::string &path, const std::string &bytes) {
  std::ofstream(path, std::ios::binary).write(bytes.data(), (std::streamsize)bytes.size());
}

std::string helpers::readFile(const std::string &path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

std::string helpers::someText(size_t bytes, unsigned seed) {
  const char *const words[] = {"the ", "layer ", "of ",   "a ",    "model ",
                               "is ",  "cut, ",  "then ", "run.\n"};
  std::string text;
  uint32_t state = seed * 2654435761u + 1;
  while (text.size() < bytes) {
    state = state * 1664525u + 1013904223u;
    text += words[(state >> 16) % std::size(words)];
  }
  text.resize(bytes);
  return text;
}

Outcome helpers::runMain(const tp_program &program, std::vector<std::string> arguments) {
  std::vector<char *> argv;
  arguments.insert(arguments.begin(), "train");
  for (std::string &argument : arguments)
    argv.push_back(argument.data());
  Outcome outcome;
  testing::internal::CaptureStdout();
  testing::internal::CaptureStderr();
  const tp_program *programs[] = {&program};
  outcome.code = tp_main((int)argv.size(), argv.data(), programs, 1);
  fflush(stdout);
  outcome.out = testing::internal::GetCapturedStdout();
  outcome.err = testing::internal::GetCapturedStderr();
  return outcome;
}

void helpers::onTransports(int ranks,
                           const std::function<void(tplan::runtime::Transport &)> &function) {
  auto transports = tplan::runtime::threadTransports(ranks);
  std::vector<std::thread> threads;
  for (auto &transport : transports)
    threads.emplace_back([&] { function(*transport); });
  for (std::thread &thread : threads)
    thread.join();
}

void helpers::onRanks(
    int ranks,
    const std::function<void(tplan::runtime::Peers &, tplan::runtime::Team &)> &function) {
  onTransports(ranks, [&](tplan::runtime::Transport &transport) {
    tplan::runtime::Team team;
    tplan::runtime::Peers peers(transport, team);
    function(peers, team);
  });
}

::testing::AssertionResult helpers::failsWith(const tplan::runtime::Status &status,
                                              const std::vector<std::string> &parts) {
  if (status.ok())
    return ::testing::AssertionFailure() << "no error";
  for (const std::string &part : parts)
    if (status.message().find(part) == std::string::npos)
      return ::testing::AssertionFailure() << "'" << part << "' is not in: " << status.message();
  return ::testing::AssertionSuccess();
}

::testing::AssertionResult helpers::succeeds(const tplan::runtime::Status &status) {
  if (status.ok())
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << status.message();
}
