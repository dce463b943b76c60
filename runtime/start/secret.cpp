//===- secret.cpp - the secret of a job, and proofs of it ----------------===//

#include "runtime/start/secret.h"

#include <cerrno>
#include <cstring>

#include <sys/random.h>

using namespace tplan::runtime;

Status tplan::runtime::checkSecret(std::string_view secret) {
  if (secret.size() >= shortestSecret && secret.size() <= longestSecret)
    return {};
  return errorf(
      "%s is a secret of %zu to %zu characters that nobody guesses, as `openssl rand -hex "
      "32` prints; characters found: %zu",
      secretVariable, shortestSecret, longestSecret, secret.size());
}

Status tplan::runtime::drawRandom(void *bytes, size_t count) {
  ssize_t drawn;
  do
    drawn = getrandom(bytes, count, 0);
  while (drawn < 0 && errno == EINTR);
  return drawn == (ssize_t)count ? Status() : errorf("no random bytes: %s", strerror(errno));
}

Proof tplan::runtime::proofOf(std::string_view secret, Side side, const Challenges &challenges,
                              std::string_view purpose) {
  std::string message = "tplan job 1 ";
  message += (char)side;
  message.append((const char *)challenges.connects.data(), challenges.connects.size());
  message.append((const char *)challenges.listens.data(), challenges.listens.size());
  message += purpose;
  return hmacSha256(secret, message);
}

bool tplan::runtime::equal(const Proof &a, const Proof &b) {
  volatile unsigned char different = 0;
  for (size_t i = 0; i < a.size(); ++i)
    different = different | (a[i] ^ b[i]);
  return different == 0;
}
