//===- secret.h - the secret of a job, and proofs of it ------------------===//
//
// TPLAN_JOB_SECRET is the same text in all processes of a job, and never on the wire. Both ends of
// a connection draw a challenge; each then sends the keyed hash of the two, of its side and of what
// the connection is for, so that no proof serves on another connection, or in the other direction.
//
// One decision: the side that connects proves first. A stranger who connects learns nothing on
// which it could try words of a dictionary.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_START_SECRET_H
#define TPLAN_RUNTIME_START_SECRET_H

#include "runtime/start/sha256.h"
#include "runtime/support/status.h"

#include <cstdint>

namespace tplan::runtime {

constexpr const char *secretVariable = "TPLAN_JOB_SECRET";
/// Characters.
constexpr size_t shortestSecret = 16, longestSecret = 4096;
/// Checks the length of a secret. The error does not show it.
Status checkSecret(std::string_view secret);

/// Random bytes from the system.
Status drawRandom(void *bytes, size_t count);

using Challenge = std::array<unsigned char, 32>;
using Proof = Digest;
enum class Side : char { connects = 'c', listens = 'l' };

struct Challenges {
  Challenge connects = {}, listens = {};
};

/// `purpose`: what the connection is for, and the rank that connects.
Proof proofOf(std::string_view secret, Side side, const Challenges &challenges,
              std::string_view purpose);
/// Compares in the same time, whatever the two are.
bool equal(const Proof &a, const Proof &b);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_SECRET_H
