//===- sha256.cpp - SHA-256, and a keyed hash made of it --------------------===//

#include "runtime/start/sha256.h"

#include <bit>
#include <cstdint>
#include <string>

using namespace tplan::runtime;

static constexpr size_t blockBytes = 64;

/// The first 32 bits after the point of the cube roots of the first 64 primes.
static constexpr uint32_t constants[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

static void takeBlock(uint32_t state[8], const unsigned char *block) {
  uint32_t w[64];
  for (int i = 0; i < 16; ++i)
    w[i] = uint32_t(block[4 * i]) << 24 | uint32_t(block[4 * i + 1]) << 16 |
           uint32_t(block[4 * i + 2]) << 8 | block[4 * i + 3];
  for (int i = 16; i < 64; ++i) {
    uint32_t x = w[i - 15], y = w[i - 2];
    w[i] = w[i - 16] + w[i - 7] + (std::rotr(x, 7) ^ std::rotr(x, 18) ^ x >> 3) +
           (std::rotr(y, 17) ^ std::rotr(y, 19) ^ y >> 10);
  }
  uint32_t a = state[0], b = state[1], c = state[2], d = state[3];
  uint32_t e = state[4], f = state[5], g = state[6], h = state[7];
  for (int i = 0; i < 64; ++i) {
    uint32_t first = h + (std::rotr(e, 6) ^ std::rotr(e, 11) ^ std::rotr(e, 25)) +
                     ((e & f) ^ (~e & g)) + constants[i] + w[i];
    uint32_t second =
        (std::rotr(a, 2) ^ std::rotr(a, 13) ^ std::rotr(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
    h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
  }
  uint32_t sums[8] = {a, b, c, d, e, f, g, h};
  for (int i = 0; i < 8; ++i)
    state[i] += sums[i];
}

Digest tplan::runtime::sha256(std::string_view message) {
  uint32_t state[8] = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                       0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  auto *bytes = (const unsigned char *)message.data();
  size_t whole = message.size() / blockBytes * blockBytes;
  for (size_t at = 0; at < whole; at += blockBytes)
    takeBlock(state, bytes + at);
  // Appends what is left, one bit, zeros, and the number of bits.
  std::string rest(message.substr(whole));
  rest += '\x80';
  rest.resize(rest.size() + 8 <= blockBytes ? blockBytes : 2 * blockBytes);
  uint64_t bits = uint64_t(message.size()) * 8;
  for (int i = 0; i < 8; ++i)
    rest[rest.size() - 1 - i] = char(bits >> 8 * i);
  for (size_t at = 0; at < rest.size(); at += blockBytes)
    takeBlock(state, (const unsigned char *)rest.data() + at);
  Digest digest;
  for (size_t i = 0; i < digest.size(); ++i)
    digest[i] = (unsigned char)(state[i / 4] >> (24 - i % 4 * 8));
  return digest;
}

static std::string_view bytesOf(const Digest &digest) {
  return {(const char *)digest.data(), digest.size()};
}

Digest tplan::runtime::hmacSha256(std::string_view key, std::string_view message) {
  Digest hashed;
  if (key.size() > blockBytes) {
    hashed = sha256(key);
    key = bytesOf(hashed);
  }
  std::string inner(blockBytes, '\x36'), outer(blockBytes, '\x5c');
  for (size_t i = 0; i < key.size(); ++i)
    inner[i] ^= key[i], outer[i] ^= key[i];
  Digest sum = sha256(inner.append(message));
  return sha256(outer.append(bytesOf(sum)));
}
