//===- secret.h - what the processes of a job know, and prove ---------------===//
//
// TPLAN_JOB_SECRET is the same text in all processes of a job, and never on the wire. Both ends of
// a connection draw a challenge; each then sends the keyed hash of the two, of its side and of what
// the connection is for, so that no proof serves on another connection, or in the other direction.
//
// One decision: who connects proves first. A stranger who knocks learns nothing that it could try
// words of a dictionary on.
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
/// An error without the value: too short, or too long.
Status checkSecret(std::string_view secret);

/// From the system.
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
/// Takes as long for any two.
bool equal(const Proof &a, const Proof &b);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_SECRET_H
