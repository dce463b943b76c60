//===- nccl_communicator.h - collectives of a group over NCCL ----------------===//
//
// NCCL moves bytes; sums are ours, as on every transport: parts go to their owners, who add them
// by a kernel in the order of the members. Where the plan says `reduce native`, sums of arrays in
// one piece are NCCL's own. Maxima stay ours: for NCCL a NaN is not the largest.
//
// One decision: operations that come together go together, as many as the group's scratch holds:
// first everything that is sent, in one group of NCCL's, then all sums, then everything that goes
// back, in another group.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRANSPORTS_NCCL_COMMUNICATOR_H
#define TPLAN_RUNTIME_TRANSPORTS_NCCL_COMMUNICATOR_H

#include "runtime/ranks/collectives.h"
#include "runtime/transports/nccl_handle.h"
#include "runtime/transports/tree.h"

#include <memory>

namespace tplan::runtime {

class NcclCommunicator : public Communicator {
public:
  /// `handle` may be null for a group of one, and is null where there is only a host; `world` is
  /// the handle it was split from.
  NcclCommunicator(NcclRank &rank, Members members, std::shared_ptr<Tree> tree,
                   std::shared_ptr<NcclHandle> world, std::shared_ptr<NcclHandle> handle)
      : Communicator(std::move(members)), rank(rank), tree(std::move(tree)),
        world(std::move(world)), handle(std::move(handle)) {}

  Status issue(std::span<const Operation> operations, Team &team, Stream *stream) override;
  Traffic traffic() const override { return moved; }
  Status broadcast(void *data, int64_t bytes, int root) override;
  Status sum(double *values, int64_t count, Team &team) override;

private:
  /// An operation and its part of the scratch: slots in which blocks arrive, and after them slots
  /// from which they are sent.
  struct Work {
    const Operation *operation;
    char *scratch;
    int64_t slot, bytes; // of an element
    bool adds, native;
  };

  Status run(std::span<const Operation> operations, Stream stream);
  Status runTogether(std::span<const Work> all, Stream stream);
  bool isNative(const tp_collective &what) const;
  Status prepare(const Work &work, Stream stream);
  Status exchange(const Work &work, Stream stream);
  Status exchangeNative(const Work &work, Stream stream);
  Status finish(const Work &work, Stream stream);
  Status exchangeSums(const Work &work, Stream stream);
  Status send(const Work &work, const char *from, int64_t count, int to, Stream stream);
  Status receive(const Work &work, char *to, int64_t count, int from, Stream stream);
  Status allGather(const Work &work, const char *from, char *to, int64_t count, Stream stream);

  Block sent(const Work &work, int to) const {
    return inputBlock(*work.operation->what, size(), group.self, to);
  }
  /// What comes from a member; for a sum, that member's contribution.
  Block received(const Work &work, int from) const {
    const tp_collective &what = *work.operation->what;
    return work.adds ? inputBlock(what, size(), from, group.self)
                     : outputBlock(what, size(), from, group.self);
  }
  bool gathersAtOnce(const Work &work) const;
  const char *in(const Work &work, const Block &block) const {
    return (const char *)work.operation->in + block.offset * work.bytes;
  }
  char *out(const Work &work, const Block &block) const {
    return (char *)work.operation->out + block.offset * work.bytes;
  }
  char *arriving(const Work &work, int from) const { return work.scratch + from * work.slot; }
  char *leaving(const Work &work, int to) const { return work.scratch + (size() + to) * work.slot; }
  template <typename Body> Status forOthers(Body &&body) const {
    for (int i = 1; i < size(); ++i)
      TP_TRY(body((group.self + i) % size()));
    return {};
  }
  void count(const Work &work, int64_t bytes) {
    rank.traffic.sent[work.operation->what->kind] += bytes;
    moved.sent[work.operation->what->kind] += bytes;
  }

  NcclRank &rank;
  std::shared_ptr<Tree> tree;
  std::shared_ptr<NcclHandle> world, handle;
  Traffic moved; // so far
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRANSPORTS_NCCL_COMMUNICATOR_H
