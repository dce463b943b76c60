//===- rendezvous.cpp - where the processes of a job meet -----------------===//
//
// Rank 0 leads with a new nonce. Another rank may see the nonce of an earlier run, so it sends a
// random word of its own to the leader that it sees, and believes the leader that repeats it.
//
//===----------------------------------------------------------------------===//

#include "runtime/start/rendezvous.h"

#include "runtime/start/secret.h"

#include <cstdio>
#include <cstring>

using namespace tplan::runtime;

/// Seconds until a rank looks again whether there is another leader: at first, and at most.
static constexpr double firstLook = 0.1, longestLook = 2;

static Status makeNonce(Nonce &nonce) { return drawRandom(nonce.data(), nonce.size()); }

static std::string hexOf(std::string_view bytes) {
  std::string text;
  for (unsigned char byte : bytes)
    text += format("%02x", byte);
  return text;
}

static std::string_view bytesOf(const Nonce &nonce) {
  return {(const char *)nonce.data(), nonce.size()};
}

static std::string helloOf(std::string_view leader, int64_t rank) {
  return format("%s/hello/%lld", hexOf(leader).c_str(), (long long)rank);
}

Reach tplan::runtime::reachOf(const Launch &launch) {
  return reachOf(launch.host, launch.localRanks == launch.ranks);
}

/// For a store of ours, which ends with the job; the store of an agent may remember ranks of an
/// earlier run.
Status Rendezvous::refuseTwins(const Launch &launch) {
  int64_t times;
  TP_TRY(client.add(format("rank/%lld", (long long)launch.rank), 1, times));
  if (times == 1)
    return {};
  return errorf("each process of a job has a rank of its own, and %lld of them have come as rank "
                "%lld; environment: %s",
                (long long)times, (long long)launch.rank, launch.seen.c_str());
}

Status Rendezvous::gather(const Deadline &deadline) {
  TP_TRY(makeNonce(drawn));
  TP_TRY(client.set("leader", bytesOf(drawn)));
  for (int64_t rank = 1; rank < ranks; ++rank) {
    std::string word;
    Status status = client.get(helloOf(bytesOf(drawn), rank), word, deadline.left());
    if (!status.ok())
      return errorf(
          "rank 0 waits for all %lld processes of the job, and rank %lld has not come: %s%s",
          (long long)ranks, (long long)rank, status.message().c_str(), server.refused().c_str());
    TP_TRY(client.set("welcome/" + hexOf(word), bytesOf(drawn)));
  }
  return {};
}

Status Rendezvous::follow(const Launch &launch, const Deadline &deadline) {
  Nonce word;
  TP_TRY(makeNonce(word));
  std::string leader;
  for (double look = firstLook;; look = std::min(2 * look, longestLook)) {
    if (Status status = client.get("leader", leader, deadline.left()); !status.ok())
      return errorf("rank %lld has come to the store, and rank 0 has not: %s",
                    (long long)launch.rank, status.message().c_str());
    TP_TRY(client.set(helloOf(leader, launch.rank), bytesOf(word)));
    Status status =
        client.get("welcome/" + hexOf(bytesOf(word)), leader, deadline.within(look).left());
    if (status.ok())
      break;
    if (!client.connected() || deadline.passed())
      return errorf(
          "rank %lld has come to the store, and rank 0 or another one has not, which rank 0 "
          "names: %s",
          (long long)launch.rank, status.message().c_str());
  }
  if (leader.size() != drawn.size())
    return errorf("the nonce of the job has %zu bytes, found %zu", drawn.size(), leader.size());
  memcpy(drawn.data(), leader.data(), leader.size());
  return {};
}

/// Where rank 0 is, as its own machine sees it.
Status Rendezvous::serve(const Launch &launch) {
  Reach reach = reachOf(launch);
  if (!reach.note.empty())
    fprintf(stderr, "tplan: note: %s: rank 0 listens on all interfaces\n", reach.note.c_str());
  return serves ? server.start(reach, launch.port, ranks, launch.secret) : Status();
}

Status Rendezvous::open(const Launch &launch, double seconds) {
  if (launch.host.empty())
    return errorf(
        "nothing says where the processes of the job meet: set MASTER_ADDR to the host of "
        "rank 0, in all of them (mpirun -x MASTER_ADDR=HOST); %s; environment: %s",
        launch.noHost.c_str(), launch.seen.c_str());
  ranks = launch.ranks;
  serves = launch.rank == 0 && !launch.agentServes;
  if (launch.rank == 0)
    TP_TRY(serve(launch));
  if (!launch.agentServes && !launch.secret.empty())
    client.prove(launch.secret, launch.rank);
  Deadline deadline(seconds);
  std::string prefix = format("tplan/%s/", launch.run.empty() ? "none" : launch.run.c_str());
  TP_TRY(client.connect(launch.host, launch.port, prefix, seconds));
  if (!launch.agentServes)
    TP_TRY(refuseTwins(launch));
  TP_TRY(launch.rank == 0 ? gather(deadline) : follow(launch, deadline));
  client.setPrefix(prefix + hexOf(bytesOf(drawn)) + "/");
  return {};
}

Status Rendezvous::leave(double seconds) {
  int64_t left;
  TP_TRY(client.add("left", 1, left));
  if (left == ranks)
    TP_TRY(client.set("all left", ""));
  std::string nothing;
  return serves ? client.get("all left", nothing, seconds) : Status();
}
