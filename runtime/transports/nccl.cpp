//===- nccl.cpp - ranks that are processes, with a GPU each ------------------===//
//
// One decision: one communicator of NCCL has all ranks, and each group's is split from it, all
// before the first step and in one order; a group of all ranks in their order uses it as it is.
//
//===----------------------------------------------------------------------===//

#include "runtime/transports/nccl.h"

#include "runtime/ranks/member.h"
#include "runtime/start/rendezvous.h"
#include "runtime/transports/nccl_communicator.h"

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <deque>
#include <utility>

#include <unistd.h>

using namespace tplan::runtime;

namespace {

/// Notes go over the sockets, which are looked at while the host waits for its device too.
class LinkNotes : public Notes {
public:
  explicit LinkNotes(NcclRank &rank) : rank(rank) {
    rank.links.noted = [this](const std::string &bytes) {
      early.push_back(bytes);
      takeIn();
    };
  }
  Status send(int to, const Note &note) override {
    rank.links.write(to, std::string((const char *)&note, sizeof note));
    return {};
  }
  Status look(bool waits) override {
    takeIn();
    TP_TRY(rank.links.poll(waits ? lookSeconds : 0));
    return std::exchange(failed, {});
  }
  double limit() const override { return 10 * rank.hangLimit; }

private:
  static constexpr double lookSeconds = 0.05;
  /// What came before anybody listened waits until somebody listens.
  void takeIn() {
    for (; heard && !early.empty(); early.pop_front()) {
      Note note = {};
      memcpy(&note, early.front().data(), std::min(early.front().size(), sizeof note));
      if (Status status = heard(note); !status.ok())
        failed = std::move(status);
    }
  }

  NcclRank &rank;
  std::deque<std::string> early;
  Status failed;
};

class NcclTransport : public Transport {
public:
  explicit NcclTransport(bool ofOneToo) : ofOneToo(ofOneToo), notes_(rank_) {
    rank_.links.place = [this] { return place(); };
  }
  ~NcclTransport() override {
    if (world_)
      rank_.links.leave();
  }
  Status start(const Launch &launch, NamedFile library, double hangLimit);

  int rank() const override { return rank_.links.rank(); }
  int size() const override { return rank_.links.size(); }
  Communicator &world() override { return *world_; }
  Traffic traffic() const override { return rank_.traffic; }
  bool capturable() const override { return true; }
  /// A kernel that NCCL starts in the host's order has a launch completion event, and a driver for
  /// CUDA 13.0 (580.159) ends the process with a fault where a graph of such kernels is loaded.
  bool loadsGraphs() const override { return false; }
  bool hostApart() const override { return true; }
  Notes *notes() override { return &notes_; }
  void attach(Device &device, char *arena, int64_t bytes) override;
  void detach() override { rank_.device = nullptr; }
  Status connect(const tp_program &program,
                 std::vector<std::unique_ptr<Communicator>> &groups) override;
  void abort(const Status &why) override;

private:
  Status joinAll(std::shared_ptr<NcclHandle> &all);
  Status treeOf(const Members &members, std::shared_ptr<Tree> &tree);
  std::string place() const;
  /// For waits of the host.
  double hostLimit() const { return 10 * rank_.hangLimit; }

  const bool ofOneToo;
  NcclRank rank_;
  LinkNotes notes_;
  std::shared_ptr<Tree> tree; // of all ranks
  std::unique_ptr<NcclCommunicator> world_;
  uint32_t trees = 1; // numbers in use
};

bool isEveryone(const Members &members, int ranks) {
  return members.ranks == everyone(ranks, 0).ranks;
}

/// Says where this rank is: in a collective of a step, or in something else that ranks do together.
std::string NcclTransport::place() const {
  std::string text = rank_.device ? rank_.places.here(*rank_.device) : "";
  return text.empty() ? format("is at the %s", activity) : text;
}

Status NcclTransport::start(const Launch &launch, NamedFile library, double hangLimit) {
  rank_.hangLimit = hangLimit;
  TP_TRY(loadNccl(rank_.nccl, library));
  Rendezvous meeting;
  TP_TRY(meeting.open(launch, hostLimit()));
  TP_TRY(rank_.links.open(launch, meeting, hostLimit()));
  TP_TRY(meeting.leave(hostLimit()));
  Members all = everyone(size(), rank());
  tree = std::make_shared<Tree>(rank_.links, 0, all, hostLimit());
  world_ = std::make_unique<NcclCommunicator>(rank_, std::move(all), tree, nullptr, nullptr);
  return {};
}

void NcclTransport::attach(Device &device, char *arena, int64_t bytes) {
  rank_.device = &device, rank_.arena = arena, rank_.arenaBytes = bytes;
  device.watch([this](double waited) { return rank_.watch(waited); });
}

Status NcclTransport::joinAll(std::shared_ptr<NcclHandle> &all) {
  nccl::UniqueId id;
  Status made;
  if (rank() == 0)
    made = rank_.nccl.check(rank_.nccl.GetUniqueId(&id), "ncclGetUniqueId");
  TP_TRY(made);
  TP_TRY(tree->broadcast(&id, sizeof id, 0));
  all = std::make_shared<NcclHandle>(rank_, "all ranks");
  return all->join(id);
}

Status NcclTransport::treeOf(const Members &members, std::shared_ptr<Tree> &its) {
  if (isEveryone(members, size())) {
    its = tree;
    return {};
  }
  // Members of other groups have the same number, and never meet. A rank that is no member counts
  // it, too.
  uint32_t number = trees++;
  if (members.self < 0)
    return {};
  TP_TRY(rank_.links.connect(number, members, hostLimit()));
  its = std::shared_ptr<Tree>(new Tree(rank_.links, number, members, hostLimit()),
                              [this, number](Tree *tree) {
                                delete tree;
                                rank_.links.drop(number);
                              });
  return {};
}

Status NcclTransport::connect(const tp_program &program,
                              std::vector<std::unique_ptr<Communicator>> &groups) {
  TP_TRY(checkMesh(program));
  rank_.native = program.device && program.device->native_sums;
  rank_.channels = program.device ? program.device->channels : 0;
  std::shared_ptr<NcclHandle> all, free;
  for (int64_t group = 0; group < program.num_groups; ++group) {
    Members members = membersOf(program, group, rank());
    std::shared_ptr<Tree> its;
    std::shared_ptr<NcclHandle> handle;
    bool isMember = members.self >= 0;
    if (memberCount(program, group) > 1 || ofOneToo) {
      TP_TRY(treeOf(members, its));
      if (!all) {
        TP_TRY(joinAll(all));
        free = all;
      }
      if (free && isEveryone(members, size())) {
        handle = std::move(free);
      } else {
        handle = std::make_shared<NcclHandle>(rank_, members.name);
        int color = isMember ? *std::min_element(members.ranks.begin(), members.ranks.end())
                             : nccl::noColor;
        TP_TRY(handle->split(*all, color, isMember ? members.self : 0));
      }
      if (isMember)
        TP_TRY(handle->registerArena());
    }
    if (!isMember) {
      groups.emplace_back();
      continue;
    }
    groups.push_back(std::make_unique<NcclCommunicator>(rank_, std::move(members), std::move(its),
                                                        all, std::move(handle)));
  }
  // NCCL would end what it has with the others, who go on.
  free.reset();
  if (all && all.use_count() == 1)
    return errorf("the plan '%s' has no group with this rank: %d", program.plan, rank());
  return {};
}

void NcclTransport::abort(const Status &why) {
  fflush(stdout);
  fprintf(stderr, "tplan: rank %d failed: %s\n", rank(), why.message().c_str());
  fflush(stderr);
  rank_.links.fail(why.message());
  _exit(1);
}

} // namespace

Status tplan::runtime::connectNccl(const tp_program &program, const Launch &launch,
                                   NamedFile library, std::unique_ptr<Transport> &transport,
                                   double hangLimit, bool ofOneToo) {
  TP_TRY(checkMesh(program));
  TP_TRY(checkLaunch(launch, program));
  auto mine = std::make_unique<NcclTransport>(ofOneToo);
  TP_TRY(mine->start(launch, library, hangLimit));
  transport = std::move(mine);
  return {};
}
