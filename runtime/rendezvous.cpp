//===- rendezvous.cpp - where the processes of a job meet -----------------===//

#include "runtime/rendezvous.h"

using namespace tplan::runtime;

/// In a store of ours, which ends with the job; that of an agent may remember ranks of before.
Status Rendezvous::refuseTwins(const Launch &launch) {
  int64_t times;
  TP_TRY(client.add(format("rank/%lld", (long long)launch.rank), 1, times));
  if (times == 1)
    return {};
  return errorf("each process of a job has a rank of its own, and %lld of them have come as rank "
                "%lld; environment: %s",
                (long long)times, (long long)launch.rank, launch.seen.c_str());
}

Status Rendezvous::open(const Launch &launch, double seconds) {
  if (launch.host.empty())
    return errorf(
        "nothing says where the processes of the job meet: set MASTER_ADDR to the host of "
        "rank 0, in all of them (mpirun -x MASTER_ADDR=HOST); %s; environment: %s",
        launch.noHost.c_str(), launch.seen.c_str());
  ranks = launch.ranks;
  serves = launch.rank == 0 && !launch.agentServes;
  bool local = launch.host == "127.0.0.1" || launch.host == "localhost";
  if (serves)
    TP_TRY(server.start(launch.port, local));
  std::string prefix = format("tplan/%s/%lld/", launch.run.empty() ? "none" : launch.run.c_str(),
                              (long long)launch.restart);
  TP_TRY(client.connect(launch.host, launch.port, prefix, seconds));
  if (!launch.agentServes)
    TP_TRY(refuseTwins(launch));
  return shareNonce(client, launch.rank == 0, seconds, secret);
}

Status Rendezvous::leave(double seconds) {
  int64_t left;
  TP_TRY(client.add("left", 1, left));
  if (left == ranks)
    TP_TRY(client.set("all left", ""));
  std::string nothing;
  return serves ? client.get("all left", nothing, seconds) : Status();
}
