//===- mpi.cpp - ranks that are processes under MPI --------------------------===//
//
// MPI moves bytes; sums are ours, in the order of members, on the rank that owns the part.
// A round of operations goes through three batches of messages: two in turn carry blocks, and one
// carries sums back. Two rounds are under way from the start: the link has one to carry until this
// rank, which computes, looks and adds the other.
//
//===----------------------------------------------------------------------===//

#include "runtime/transports/mpi.h"

#include "runtime/ranks/reduce.h"
#include "runtime/support/types.h"
#include "runtime/transports/mpi_exchange.h"
#include "runtime/transports/mpi_rounds.h"

#include <cstdio>
#include <mutex>

#include <sys/mman.h>
#include <unistd.h>

using namespace tplan::runtime;

namespace {

constexpr int sums = 2; // the batch; 0 and 1 carry the blocks of even and odd rounds
static_assert(MpiExchange::batches == 3);

/// Elements that one task of the team adds.
constexpr int64_t taskElements = int64_t(1) << 15;

/// After a hang is found: time for the other ranks to find it, too, and to say whom they miss.
constexpr int graceMicroseconds = 500000;
/// MPI_Abort talks to the launcher, which may be gone.
constexpr unsigned abortSeconds = 3;

/// Chunks for each other member, for sending and receiving, of even and odd rounds.
class Staging {
public:
  ~Staging() {
    if (memory)
      munmap(memory, size);
  }
  Status map(int64_t bytes) {
    if (bytes == 0)
      return {};
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (at == MAP_FAILED)
      return errorf("no memory for the staging of MPI: %lld bytes", (long long)bytes);
    memory = (char *)at, size = bytes;
    return {};
  }
  char *chunk(bool receiving, int half, int member, int self, int members) const {
    int64_t place = (receiving * 2 + half) * (members - 1) + member - (member > self);
    return memory + place * tp_mpi_chunk(members);
  }
  int64_t bytes() const { return size; }

private:
  char *memory = nullptr;
  int64_t size = 0;
};

/// What the communicators of a rank share.
struct Shared {
  Shared(int rank, double hangLimit) : exchange(mpi, rank, hangLimit, entry) {}
  std::recursive_mutex entry; // MPI takes calls of one thread at a time
  MpiLibrary mpi;
  MpiExchange exchange;
  Staging staging;        // of communicators of which one works at a time
  int64_t ownStaging = 0; // bytes of those that have their own
  Traffic traffic;
  bool isGuest = false; // a host started MPI and will end it, and its process goes on
  bool failed = false;
};

class MpiCommunicator : public Communicator {
public:
  MpiCommunicator(Shared &shared, MpiLibrary::Comm comm, Members members)
      : Communicator(std::move(members)), shared(shared), flight(size()) {
    flight.comm = comm;
    for (std::vector<Piece> &each : pieces)
      each.reserve(Rounds::mostPieces(1));
  }
  ~MpiCommunicator() override {
    shared.exchange.forget(*this);
    shared.ownStaging -= own.bytes();
    if (shared.isGuest && !shared.failed)
      shared.mpi.Comm_free(&flight.comm);
  }

  Status issue(std::span<const Operation> operations, Team &team, Stream *) override;
  Status begin(std::span<const Operation> operations) override;
  Status advance(Team &team, Advance &how) override;
  void attend(bool is) override { shared.exchange.attend(is ? &flight : nullptr); }
  Status rest(Patience &patience) override { return shared.exchange.rest(patience); }

  /// Memory for what goes through chunks, where others may be under way beside this one.
  Status mapStaging() {
    TP_TRY(own.map(tp_mpi_staging(size())));
    shared.ownStaging += own.bytes();
    return {};
  }
  Traffic traffic() const override { return moved; }

private:
  /// What comes next: each of them waits for messages first.
  enum State { idle, atOnce, blocks, oldSums, blocksSent, lastSums };
  Status step(Team &team, bool &waits);
  Status postNext(int half);
  Status post(int half);
  Status send(const Operation &operation, int to, const char *data, int64_t bytes, int batch);
  void stage(const Operation &operation, void *to, const void *from, int64_t bytes);
  Status postSums(MpiExchange::Side side);
  void finish(int half, Team &team);
  void reduce(const Piece &piece, int half, Team &team);
  void unpack(const Piece &piece, int half);
  void copyOwn(const Operation &operation);

  /// Bodies see the other members only, each rank in another order.
  template <typename Body> Status forOthers(Body &&body) {
    for (int i = 1; i < size(); ++i)
      TP_TRY(body((group.self + i) % size()));
    return {};
  }
  char *chunk(bool receiving, int half, int member, const Piece &piece) const {
    const Staging &staging = own.bytes() ? own : shared.staging;
    return staging.chunk(receiving, half, member, group.self, size()) + piece.staging;
  }

  Shared &shared;
  Staging own;
  MpiFlight flight;
  State state = idle;
  std::span<const Operation> operations; // under way
  Rounds rounds{{}, 1, 0};
  std::vector<Piece> pieces[2]; // of even and odd rounds
  int half = 0;
  Traffic moved; // so far
};

/// What of the piece a block has.
int64_t countOf(const Piece &piece, const Block &block) {
  return std::max<int64_t>(0, std::min(piece.end, block.count()) - piece.begin);
}

Status MpiCommunicator::send(const Operation &operation, int to, const char *data, int64_t bytes,
                             int batch) {
  moved.sent[operation.what->kind] += bytes;
  shared.traffic.sent[operation.what->kind] += bytes;
  return shared.exchange.send(flight, to, data, bytes, batch);
}

void MpiCommunicator::stage(const Operation &operation, void *to, const void *from, int64_t bytes) {
  moved.staged[operation.what->kind] += bytes;
  shared.traffic.staged[operation.what->kind] += bytes;
  memcpy(to, from, bytes);
}

/// The next round, of which there may be none, takes the messages of the one before the last.
Status MpiCommunicator::postNext(int half) {
  return rounds.next(pieces[half]) ? post(half) : Status();
}

/// Receives of a round, then its sends, packed where rows do not follow each other.
Status MpiCommunicator::post(int half) {
  int n = size(), self = group.self;
  for (const Piece &piece : pieces[half]) {
    const Operation &op = *piece.operation;
    int64_t bytes = bytesOf(op.what->type);
    bool adds = reduces(*op.what);
    TP_TRY(forOthers([&](int from) -> Status {
      Block block =
          adds ? inputBlock(*op.what, n, from, self) : outputBlock(*op.what, n, from, self);
      int64_t count = countOf(piece, block);
      if (!count)
        return {};
      char *to = adds || !block.contiguous()
                     ? chunk(true, half, from, piece)
                     : (char *)op.out + (block.offset + piece.begin) * bytes;
      return shared.exchange.receive(flight, from, to, count * bytes, half);
    }));
    TP_TRY(forOthers([&](int to) -> Status {
      Block block = inputBlock(*op.what, n, self, to);
      int64_t count = countOf(piece, block);
      if (!count)
        return {};
      const char *from = (const char *)op.in + (block.offset + piece.begin) * bytes;
      if (!block.contiguous()) {
        char *packed = chunk(false, half, to, piece);
        forRuns(block, lineOf(block.count()), piece.begin, piece.begin + count,
                [&](int64_t at, int64_t line, int64_t run) {
                  stage(op, packed + (line - piece.begin) * bytes, (const char *)op.in + at * bytes,
                        run * bytes);
                });
        from = packed;
      }
      return send(op, to, from, count * bytes, half);
    }));
  }
  return {};
}

/// This member's part or block, added in the order of members; its own stands in its input.
void MpiCommunicator::reduce(const Piece &piece, int half, Team &team) {
  const Operation &op = *piece.operation;
  int n = size(), self = group.self;
  int64_t bytes = bytesOf(op.what->type);
  Block own = inputBlock(*op.what, n, self, self), to = outputBlock(*op.what, n, self, self);
  const Reducer &reducer = reducerOf(op.what->type, op.what->reduction);
  int64_t count = countOf(piece, own);
  team.forEach((count + taskElements - 1) / taskElements, [&](int64_t task, int) {
    int64_t begin = piece.begin + task * taskElements;
    int64_t end = std::min(begin + taskElements, piece.begin + count);
    int64_t line = begin - piece.begin;
    forRuns(own, to, begin, end, [&](int64_t inAt, int64_t outAt, int64_t run) {
      auto in = [&](int m) {
        return m == self ? (const char *)op.in + inAt * bytes
                         : chunk(true, half, m, piece) + line * bytes;
      };
      reduceArrays(reducer, n, in, 1, [&](int) { return (char *)op.out + outAt * bytes; }, run);
      line += run;
    });
  });
}

void MpiCommunicator::unpack(const Piece &piece, int half) {
  const Operation &op = *piece.operation;
  int64_t bytes = bytesOf(op.what->type);
  for (int from = 0; from < size(); ++from) {
    Block block = outputBlock(*op.what, size(), from, group.self);
    if (from == group.self || block.contiguous())
      continue;
    const char *packed = chunk(true, half, from, piece);
    forRuns(lineOf(block.count()), block, piece.begin, piece.begin + countOf(piece, block),
            [&](int64_t line, int64_t at, int64_t run) {
              stage(op, (char *)op.out + at * bytes, packed + (line - piece.begin) * bytes,
                    run * bytes);
            });
  }
}

void MpiCommunicator::finish(int half, Team &team) {
  for (const Piece &piece : pieces[half])
    if (reduces(*piece.operation->what))
      reduce(piece, half, team);
    else if (piece.staging >= 0)
      unpack(piece, half);
}

/// Sums of an all-reduce go from the output of their owner to that of all.
Status MpiCommunicator::postSums(MpiExchange::Side side) {
  int n = size(), self = group.self;
  for (const Piece &piece : pieces[half]) {
    const Operation &op = *piece.operation;
    if (op.what->kind != TP_ALL_REDUCE)
      continue;
    int64_t bytes = bytesOf(op.what->type);
    TP_TRY(forOthers([&](int other) -> Status {
      bool sends = side == MpiFlight::sending;
      Block part = outputBlock(*op.what, n, sends ? self : other, self);
      int64_t count = countOf(piece, part) * bytes;
      char *at = (char *)op.out + (part.offset + piece.begin) * bytes;
      if (!count)
        return {};
      return sends ? send(op, other, at, count, sums)
                   : shared.exchange.receive(flight, other, at, count, sums);
    }));
  }
  return {};
}

/// Copies the block that a member has for itself, in a collective that moves.
void MpiCommunicator::copyOwn(const Operation &op) {
  int n = size(), self = group.self;
  Block from = inputBlock(*op.what, n, self, self), to = outputBlock(*op.what, n, self, self);
  int64_t bytes = bytesOf(op.what->type);
  forRuns(from, to, 0, from.count(), [&](int64_t inAt, int64_t outAt, int64_t run) {
    const char *in = (const char *)op.in + inAt * bytes;
    char *out = (char *)op.out + outAt * bytes;
    if (in != out)
      memcpy(out, in, run * bytes);
  });
}

/// The next step of the operations, unless it has to wait. A rank sends all that it can before it
/// waits for anything: if one rank dies, the others wait only for it, and say so.
Status MpiCommunicator::step(Team &team, bool &waits) {
  auto over = [&](int batch, MpiExchange::Side side) { return flight.isOver(batch, side); };
  waits = false;
  switch (state) {
  case idle:
    return {};
  case atOnce:
    for (const Operation &operation : operations)
      if (!reduces(*operation.what))
        copyOwn(operation);
    state = pieces[half].empty() ? lastSums : blocks;
    return {};
  case blocks:
    if ((waits = !over(half, MpiFlight::receiving)))
      return {};
    finish(half, team);
    state = oldSums;
    return {};
  case oldSums: // of the round before, so that messages in flight are bounded
    if ((waits = !over(sums, MpiFlight::receiving) || !over(sums, MpiFlight::sending)))
      return {};
    TP_TRY(postSums(MpiFlight::sending));
    state = blocksSent;
    return {};
  case blocksSent: // in place, a sum arrives where a block is sent from
    if ((waits = !over(half, MpiFlight::sending)))
      return {};
    TP_TRY(postSums(MpiFlight::receiving));
    TP_TRY(postNext(half));
    half = 1 - half;
    state = pieces[half].empty() ? lastSums : blocks;
    return {};
  case lastSums:
    if ((waits = !over(sums, MpiFlight::receiving) || !over(sums, MpiFlight::sending)))
      return {};
    state = idle;
    return {};
  }
  return {};
}

Status MpiCommunicator::begin(std::span<const Operation> all) {
  TP_TRY(checkStart(all, state != idle));
  std::lock_guard guard(shared.entry);
  shared.exchange.begin(flight, all[0], *this);
  operations = all;
  rounds = Rounds(operations, size(), tp_mpi_chunk(size()));
  state = atOnce, half = 0;
  TP_TRY(postNext(0));
  return postNext(1);
}

Status MpiCommunicator::advance(Team &team, Advance &how) {
  std::lock_guard guard(shared.entry);
  int ended;
  TP_TRY(shared.exchange.poll(ended));
  how = ended ? Advance::moved : Advance::nothing;
  for (bool waits = false; !waits && state != idle;) {
    TP_TRY(step(team, waits));
    if (!waits)
      how = Advance::moved;
  }
  if (state == idle) {
    shared.exchange.end(flight);
    how = Advance::done;
  }
  return {};
}

Status MpiCommunicator::issue(std::span<const Operation> operations, Team &team, Stream *) {
  if (operations.empty())
    return {};
  TP_TRY(begin(operations));
  attend(true);
  Patience patience;
  for (Advance how = Advance::moved; how != Advance::done;) {
    TP_TRY(advance(team, how));
    if (how == Advance::nothing)
      TP_TRY(rest(patience));
    else
      patience = {};
  }
  return {};
}

class MpiTransport : public Transport {
public:
  explicit MpiTransport(int rank, int size, double hangLimit)
      : shared(rank, hangLimit), self(rank), ranks(size) {}
  ~MpiTransport() override {
    // After a failure, anything that waits for all ranks is left out.
    if (shared.failed)
      return;
    if (!shared.isGuest) {
      shared.mpi.Finalize();
      return;
    }
    all.reset();
    shared.mpi.Comm_free(&notices);
    shared.mpi.Comm_free(&shared.mpi.world);
  }

  /// Initializes MPI in a process of ours; in one of a host's, with a communicator of its own.
  Status start(const MpiLibrary &mpi, bool isGuest) {
    shared.mpi = mpi;
    shared.isGuest = isGuest;
    int level = 0;
    TP_TRY(mpi.check(mpi.Query_thread(&level), "Query_thread"));
    isSerialized = level >= MpiLibrary::serialized;
    if (isGuest) {
      TP_TRY(mpi.check(mpi.Comm_dup(mpi.world, &shared.mpi.world), "Comm_dup"));
      TP_TRY(mpi.check(mpi.Comm_dup(mpi.world, &notices), "Comm_dup"));
      TP_TRY(mpi.check(mpi.Comm_set_errhandler(notices, mpi.errorsReturn), "Comm_set_errhandler"));
      shared.exchange.listen(notices);
    }
    shared.exchange.reserve(ranks, mostMessages());
    TP_TRY(shared.staging.map(tp_mpi_staging(ranks)));
    TP_TRY(split(everyone(ranks, self), all));
    return {};
  }

  int rank() const override { return self; }
  int size() const override { return ranks; }
  Communicator &world() override { return *all; }
  int64_t bytes() const override { return shared.staging.bytes() + shared.ownStaging; }
  Traffic traffic() const override { return shared.traffic; }
  bool stages() const override { return true; }
  bool takesThreads() const override { return isSerialized; }
  Notes *notes() override { return &shared.exchange.notes; }
  const Waiting *waiting() const override { return &shared.exchange; }

  Status connect(const tp_program &program,
                 std::vector<std::unique_ptr<Communicator>> &groups) override {
    TP_TRY(checkMesh(program));
    if (ranksOf(program) != ranks)
      return errorf("the plan '%s' is for %lld ranks; MPI has %d", program.plan,
                    (long long)ranksOf(program), ranks);
    for (int64_t group = 0; group < program.num_groups; ++group) {
      std::unique_ptr<MpiCommunicator> communicator;
      TP_TRY(split(membersOf(program, group, self), communicator));
      groups.push_back(std::move(communicator));
    }
    return connectStreams(program, groups);
  }

  void abort(const Status &why) override {
    std::lock_guard guard(shared.entry);
    shared.failed = true;
    if (shared.isGuest) {
      shared.exchange.tell(why.message(), ranks);
      return shared.exchange.cancel();
    }
    fflush(stdout);
    fprintf(stderr, "tplan: rank %d failed: %s\n", self, why.message().c_str());
    fflush(stderr);
    if (shared.exchange.hung())
      usleep(graceMicroseconds);
    alarm(abortSeconds);
    shared.mpi.Abort(shared.mpi.world, 1);
    _exit(1);
  }

private:
  /// Every rank calls it for the same group at once. The color of a group is a rank in it; a rank
  /// that is no member has none, and gets no communicator.
  Status split(Members members, std::unique_ptr<MpiCommunicator> &communicator) {
    const MpiLibrary &mpi = shared.mpi;
    MpiLibrary::Comm comm;
    bool isMember = members.self >= 0;
    int color = isMember ? *std::min_element(members.ranks.begin(), members.ranks.end())
                         : MpiLibrary::undefined,
        key = isMember ? members.self : 0, place, count;
    TP_TRY(mpi.check(mpi.Comm_split(mpi.world, color, key, &comm), "Comm_split"));
    if (!isMember)
      return {};
    TP_TRY(mpi.check(mpi.Comm_set_errhandler(comm, mpi.errorsReturn), "Comm_set_errhandler"));
    TP_TRY(mpi.check(mpi.Comm_rank(comm, &place), "Comm_rank"));
    TP_TRY(mpi.check(mpi.Comm_size(comm, &count), "Comm_size"));
    if (place != members.self || count != (int)members.ranks.size())
      return errorf("MPI has rank %d as member %d of %d in the group '%s', the mesh as member %d "
                    "of %zu: do all ranks run the same program?",
                    self, place, count, members.name.c_str(), members.self, members.ranks.size());
    communicator = std::make_unique<MpiCommunicator>(shared, comm, std::move(members));
    return {};
  }
  /// What streams carry may be under way at once.
  Status connectStreams(const tp_program &program,
                        const std::vector<std::unique_ptr<Communicator>> &groups) {
    if (program.device || program.num_streams < 2)
      return {};
    shared.exchange.reserve(ranks, program.num_streams * mostMessages());
    for (int64_t stream = 1; stream < program.num_streams; ++stream)
      if (int32_t group = program.stream_groups[stream]; group >= 0 && groups[group]) {
        TP_TRY(static_cast<MpiCommunicator &>(*groups[group]).mapStaging());
      }
    return {};
  }
  /// Each batch has a message to and from each other member for each piece.
  int64_t mostMessages() const { return 2 * MpiExchange::batches * std::max<int64_t>(ranks, 4096); }

  Shared shared;
  const int self, ranks;
  std::unique_ptr<MpiCommunicator> all;
  MpiLibrary::Comm notices = nullptr;
  bool isSerialized = false; // MPI takes calls of several threads, one at a time
};

/// Over TCP Open MPI asks before it sends more than 64 KiB, and the answer waits until both ranks,
/// who compute, have looked. Chunks are awaited when they are sent, as a rule, so they need not
/// ask. What the user has set stays.
void sendChunksWithoutAsking() {
  std::string bytes = format("%d", TP_MPI_CHUNK + TP_MPI_PAGE);
  for (const char *name : {"OMPI_MCA_btl_tcp_eager_limit", "OMPI_MCA_btl_tcp_rndv_eager_limit",
                           "OMPI_MCA_btl_tcp_max_send_size"})
    setenv(name, bytes.c_str(), /*overwrite=*/0);
}

} // namespace

Status tplan::runtime::connectMpi(const tp_program &program, const Launch &launch,
                                  std::unique_ptr<Transport> &transport, double hangLimit) {
  TP_TRY(checkMesh(program));
  TP_TRY(checkLaunch(launch, program));
  MpiLibrary mpi;
  TP_TRY(loadMpi(mpi));
  int started = 0, provided, rank, size;
  TP_TRY(mpi.check(mpi.Initialized(&started), "Initialized"));
  if (!started) {
    sendChunksWithoutAsking();
    TP_TRY(mpi.check(
        mpi.Init_thread(nullptr, nullptr,
                        program.num_streams > 1 ? MpiLibrary::serialized : MpiLibrary::funneled,
                        &provided),
        "Init_thread"));
  }
  TP_TRY(mpi.check(mpi.Comm_set_errhandler(mpi.world, mpi.errorsReturn), "Comm_set_errhandler"));
  TP_TRY(mpi.check(mpi.Comm_rank(mpi.world, &rank), "Comm_rank"));
  TP_TRY(mpi.check(mpi.Comm_size(mpi.world, &size), "Comm_size"));
  if (size != ranksOf(program))
    return wrongNumber(program, size,
                       launch.launcher ? "Open MPI, which the launcher may not know (srun "
                                         "--mpi=pmix, or Open MPI's own mpirun),"
                                       : "MPI",
                       launch);
  auto mine = std::make_unique<MpiTransport>(rank, size, hangLimit);
  TP_TRY(mine->start(mpi, /*isGuest=*/false));
  transport = std::move(mine);
  return {};
}

Status tplan::runtime::joinMpi(const tp_program &program, void *communicator,
                               std::unique_ptr<Transport> &transport, double hangLimit) {
  TP_TRY(checkMesh(program));
  MpiLibrary mpi;
  TP_TRY(loadMpi(mpi));
  int started = 0, ended = 0, rank, size;
  TP_TRY(mpi.check(mpi.Initialized(&started), "Initialized"));
  TP_TRY(mpi.check(mpi.Finalized(&ended), "Finalized"));
  if (!started || ended)
    return errorf("a communicator was given, and MPI %s: call tp_open between MPI_Init and "
                  "MPI_Finalize",
                  ended ? "has ended" : "has not begun");
  mpi.world = communicator;
  TP_TRY(mpi.check(mpi.Comm_rank(mpi.world, &rank), "Comm_rank"));
  TP_TRY(mpi.check(mpi.Comm_size(mpi.world, &size), "Comm_size"));
  if (size != ranksOf(program))
    return errorf("the plan '%s' is for %lld ranks; the communicator has %d", program.plan,
                  (long long)ranksOf(program), size);
  auto mine = std::make_unique<MpiTransport>(rank, size, hangLimit);
  TP_TRY(mine->start(mpi, /*isGuest=*/true));
  transport = std::move(mine);
  return {};
}
