//===- nccl_region.h - the memory that members of a communicator share --------------===//
//
// Members are processes, or threads, of one machine. Their memory has no name in a file system: the
// process that makes it holds a descriptor, and others open that descriptor through /proc. So a
// killed process leaves nothing; and, as with the library, the process that made the unique id must
// live until all have joined.
//
// Decision: nobody spins. A member sleeps on its bell, and a member that changes what it may wait
// for rings it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NCCL_REGION_H
#define TPLAN_TEST_STANDIN_NCCL_REGION_H

#include <atomic>
#include <cstdint>
#include <memory>
#include <string>

namespace standin::nccl {

constexpr int maxRanks = 64;
constexpr size_t stagingBytes = 1 << 18;
constexpr size_t chunkBytes = 1 << 16;
constexpr int slots = 2;      // chunks of a channel
constexpr int boardLines = 8; // operations of a rank under way at once
constexpr size_t textBytes = 200;

/// What all members have to agree on.
struct Description {
  uint64_t number;
  uint64_t count;
  int32_t kind, type, reduction, root;
  int32_t place, places; // among the collectives of its group
  bool operator==(const Description &) const = default;
};

enum MemberState { absent, claimed, joined, finalized, left, aborted };

struct alignas(64) Member {
  std::atomic<int> state;
  int pid;
  uint64_t started; // when the process did, because numbers of processes are used again
  char device[32];
  std::atomic<uint32_t> bell;
  std::atomic<uint64_t> meetings; // that it came to
  Description operation;

  /// Two splits in turn: a member begins the next one only when all have read the one before.
  struct Split {
    std::atomic<uint64_t> round;
    int color, key;
    std::atomic<uint64_t> isMade; // of the one who makes the memory: the round
    char where[128];
  } splits[2];
};

struct Board {
  struct Line {
    std::atomic<int> isUsed;
    char text[textBytes];
  } lines[maxRanks][boardLines];
};

struct Chunk {
  uint64_t number, count;
  int32_t type;
  uint64_t bytes;
  char data[chunkBytes];
};

/// From one member to another.
struct Channel {
  std::atomic<uint64_t> written, read; // chunks
  Chunk chunks[slots];
};

struct Header {
  uint64_t nonce;
  std::atomic<int> ranks;
  std::atomic<uint32_t> arrived;
  std::atomic<uint64_t> meeting; // how many were complete
  /// Why no member works any more; the first reason stays.
  struct Broken {
    std::atomic<int> result, isBreaking;
    char reason[512];
    void set(int result, const std::string &why);
  } broken;
  Broken hang; // of any communicator of the family, in its first one
  Board board; // used in the first communicator of a family alone
  Member members[maxRanks];
};

class Region {
public:
  /// New memory; `where` says to others where it is. It can be opened while the file is.
  static int make(std::string &where);
  /// Null, with the reason.
  static std::shared_ptr<Region> open(const std::string &where, int ranks, std::string &why);
  ~Region();

  Header *operator->() const { return header; }
  Header &operator*() const { return *header; }
  const int ranks;
  char *staging(int rank) const { return base + sizeof(Header) + rank * stagingBytes; }
  char *result() const { return staging(ranks); }
  Channel &channel(int from, int to) const {
    return ((Channel *)staging(ranks + 1))[from * ranks + to];
  }

  void ring(int rank) const;
  void ringAll() const;
  /// Until the bell is no longer `heard`, and a short while at most.
  void sleep(int rank, uint32_t heard) const;
  /// All members find this from now on.
  void breakWith(int result, const std::string &why) const;

private:
  Region(int ranks, char *base, size_t bytes)
      : ranks(ranks), header((Header *)base), base(base), bytes(bytes) {}
  static size_t sizeFor(int ranks);

  Header *header;
  char *base;
  size_t bytes;
};

/// When this process started, as the kernel counts; 0 for one that is gone or dead.
uint64_t startOf(int pid);

} // namespace standin::nccl

#endif // TPLAN_TEST_STANDIN_NCCL_REGION_H
