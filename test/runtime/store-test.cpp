//===- store-test.cpp - the store, its server, and PyTorch's bytes ----------===//

#include "job.h"

#include "runtime/start/store_protocol.h"

#include <future>
#include <mutex>
#include <set>
#include <thread>

#include <netinet/in.h>
#include <sys/socket.h>

using namespace job;

namespace {

/// tcpstore.py as another process.
class Python {
public:
  explicit Python(std::string mode = "") {
    int ends[2];
    if (pipe(ends))
      return;
    std::string script = TPLAN_TEST_RUNTIME "/tcpstore.py";
    id = fork();
    if (id == 0) {
      dup2(ends[1], 1);
      execlp("python3", "python3", script.c_str(), "serve", mode.c_str(), nullptr);
      _exit(127);
    }
    close(ends[1]);
    FILE *from = fdopen(ends[0], "r");
    EXPECT_EQ(fscanf(from, "%d", &port), 1);
    fclose(from);
  }
  ~Python() { end(); }
  void end() {
    if (id > 0) {
      kill(id, SIGKILL);
      waitpid(id, nullptr, 0);
    }
    id = -1;
  }
  int port = 0;

private:
  pid_t id = -1;
};

Status connect(Store &store, int port, const std::string &prefix = "t/", double seconds = 10) {
  return store.connect(here, port, prefix, seconds);
}

/// What both a server of ours and PyTorch's must do.
void useStore(int port) {
  Store a, b, stranger;
  ASSERT_OK(connect(a, port, "tplan/job/0/"));
  ASSERT_OK(connect(b, port, "tplan/job/0/"));
  ASSERT_OK(connect(stranger, port, "tplan/job/1/"));
  std::string bytes;
  ASSERT_OK(a.set("id", std::string_view("a\0b", 3)));
  ASSERT_OK(b.get("id", bytes, 5));
  EXPECT_EQ(bytes, std::string("a\0b", 3));
  ASSERT_OK(a.set("id", "other"));
  ASSERT_OK(b.get("id", bytes, 5));
  EXPECT_EQ(bytes, "other");
  ASSERT_OK(a.set("empty", ""));
  ASSERT_OK(b.get("empty", bytes, 5));
  EXPECT_EQ(bytes, "");
  int64_t value;
  ASSERT_OK(a.add("n", 3, value));
  EXPECT_EQ(value, 3);
  ASSERT_OK(b.add("n", -5, value));
  EXPECT_EQ(value, -2);
  ASSERT_OK(b.get("n", bytes, 5));
  EXPECT_EQ(bytes, "-2");

  // A job does not see the keys of the run before.
  EXPECT_FAILS(stranger.get("id", bytes, 0.2), std::string("127.0.0.1:") + std::to_string(port),
               "'/tplan/job/1/id'", "0.2 s");
  // The connection is as good as before, and a wait that was given up is not answered.
  ASSERT_OK(stranger.set("id", "mine"));
  ASSERT_OK(stranger.get("id", bytes, 5));
  EXPECT_EQ(bytes, "mine");

  // Waits for what comes later.
  auto later = std::async(std::launch::async, [&] {
    usleep(100000);
    return a.set("late", "now");
  });
  ASSERT_OK(b.get("late", bytes, 5));
  EXPECT_EQ(bytes, "now");
  ASSERT_OK(later.get());

  std::string big(store::maxValueBytes, '\0');
  for (size_t i = 0; i < big.size(); ++i)
    big[i] = char(i * 2654435761u >> 13);
  ASSERT_OK(a.set("big", big));
  ASSERT_OK(b.get("big", bytes, 5));
  EXPECT_TRUE(bytes == big);
  EXPECT_FAILS(a.set("big", big + "x"), "1048576", "1048577", "'/tplan/job/0/big'");
  EXPECT_FAILS(a.set(std::string(9000, 'k'), ""), "8192");
  ASSERT_OK(a.get("id", bytes, 5));
}

} // namespace

TEST(Store, ThreadsShareOurServer) {
  Serving s;
  useStore(s.server.port());
}

TEST(Store, SpeaksWithAnotherServer) {
  Python python;
  useStore(python.port);
}

TEST(Store, AnswersMayComeInPieces) {
  Python python("--trickle");
  useStore(python.port);
}

TEST(Store, OurServerAnswersAnotherClient) {
  Serving s;
  std::string command = "python3 " TPLAN_TEST_RUNTIME "/tcpstore.py use ";
  EXPECT_EQ(system((command + std::to_string(s.server.port())).c_str()), 0);
}

TEST(Store, ManyThreadsCount) {
  Serving s;
  constexpr int threads = 16, rounds = 50;
  std::vector<std::thread> all;
  std::mutex lock;
  std::set<int64_t> sums;
  for (int t = 0; t < threads; ++t)
    all.emplace_back([&, t] {
      Store store;
      EXPECT_OK(connect(store, s.server.port()));
      int64_t sum = 0;
      for (int i = 0; i < rounds; ++i) {
        EXPECT_OK(store.add("n", 1, sum));
        std::lock_guard guard(lock);
        sums.insert(sum);
      }
      // Each waits for each.
      EXPECT_OK(store.set("of " + std::to_string(t), std::to_string(t)));
      for (int other = 0; other < threads; ++other) {
        std::string bytes;
        EXPECT_OK(store.get("of " + std::to_string(other), bytes, 10));
        EXPECT_EQ(bytes, std::to_string(other));
      }
    });
  for (std::thread &thread : all)
    thread.join();
  EXPECT_EQ(sums.size(), size_t(threads * rounds));
  EXPECT_EQ(*sums.rbegin(), threads * rounds);
}

namespace {

std::string hexOf(const Nonce &nonce) {
  std::string text;
  for (unsigned char byte : nonce)
    text += format("%02x", byte);
  return text;
}

} // namespace

TEST(Rendezvous, ProcessesMeetWhereRankZeroServes) {
  int port = freePort();
  auto codes = inProcesses(4, [&](int i) {
    int rank = 3 - i; // rank 0 comes last
    usleep(rank == 0 ? 200000 : 0);
    Rendezvous meeting;
    if (Status status = meeting.open(launchOf(rank, 4, port), 10); !status.ok()) {
      fprintf(stderr, "rank %d: %s\n", rank, status.message().c_str());
      return 1;
    }
    std::string mine((const char *)meeting.nonce().data(), meeting.nonce().size()), theirs;
    if (!meeting.store().set("of " + std::to_string(rank), mine).ok())
      return 2;
    for (int other = 0; other < 4; ++other)
      if (!meeting.store().get("of " + std::to_string(other), theirs, 10).ok() || theirs != mine)
        return 3;
    // The server stays until the last one has read.
    usleep(rank == 2 ? 300000 : 0);
    if (Status status = meeting.leave(10); !status.ok()) {
      fprintf(stderr, "rank %d: %s\n", rank, status.message().c_str());
      return 4;
    }
    return 0;
  });
  EXPECT_EQ(codes, std::vector<int>(4));
}

namespace {

/// Ranks of one job that come to the store of an agent together; the nonce of each.
std::vector<Nonce> meet(std::vector<Launch> launches, const std::function<void(int)> &before = {}) {
  std::vector<Nonce> nonces(launches.size());
  std::vector<std::thread> threads;
  for (size_t i = 0; i < launches.size(); ++i)
    threads.emplace_back([&, i] {
      if (before)
        before((int)launches[i].rank);
      Rendezvous meeting;
      EXPECT_OK(meeting.open(launches[i], 10));
      nonces[i] = meeting.nonce();
      std::string bytes;
      if (launches[i].rank == 0)
        EXPECT_OK(meeting.store().set("id", hexOf(nonces[i])));
      EXPECT_OK(meeting.store().get("id", bytes, 5));
      EXPECT_EQ(bytes, hexOf(nonces[i]));
      EXPECT_OK(meeting.leave(10));
    });
  for (std::thread &thread : threads)
    thread.join();
  return nonces;
}

} // namespace

TEST(Rendezvous, ARestartDoesNotSeeWhatWasBefore) {
  Python agent;
  std::vector<Launch> launches;
  for (int64_t rank = 0; rank < 3; ++rank) {
    launches.push_back(launchOf(rank, 3, agent.port));
    launches.back().agentServes = true;
  }
  std::set<Nonce> seen;
  for (int run = 0; run < 4; ++run) {
    // Agents count restarts separately, and rank 0 comes last, or first.
    launches[0].restart = run;
    std::vector<Nonce> nonces = meet(launches, [&](int rank) {
      if ((rank == 0) == (run % 2 == 1))
        usleep(300000);
    });
    EXPECT_EQ(nonces[1], nonces[0]);
    EXPECT_EQ(nonces[2], nonces[0]);
    EXPECT_TRUE(seen.insert(nonces[0]).second);
  }
}

TEST(Rendezvous, RunsOfOneStoreAreApart) {
  Python agent;
  Launch one = launchOf(0, 1, agent.port);
  one.agentServes = true;
  Launch two = one;
  two.run = "k";
  Rendezvous first, second;
  ASSERT_OK(first.open(one, 5));
  ASSERT_OK(second.open(two, 5));
  ASSERT_OK(first.store().set("id", "1"));
  std::string bytes;
  EXPECT_FAILS(second.store().get("id", bytes, 0.1), "'/tplan/k/" + hexOf(second.nonce()) + "/id'");
}

TEST(Rendezvous, WhoHasNotComeIsNamed) {
  int port = freePort();
  auto late = std::async(std::launch::async, [&] {
    Rendezvous follower;
    return follower.open(launchOf(1, 3, port), 0.6);
  });
  Rendezvous leader;
  EXPECT_FAILS(leader.open(launchOf(0, 3, port), 1), "rank 2 has not come", "all 3 processes",
               std::to_string(port));
  // Rank 1 has been welcomed, and finds the mistake in what it does next.
  EXPECT_OK(late.get());

  Python agent;
  Launch alone = launchOf(1, 2, agent.port);
  alone.agentServes = true;
  Rendezvous follower;
  EXPECT_FAILS(follower.open(alone, 0.2), "rank 0 has not", "'/tplan/j/leader'", "0.2 s");
  // A leader of an earlier run is not taken for one.
  Store store;
  ASSERT_OK(connect(store, agent.port, "tplan/j/"));
  ASSERT_OK(store.set("leader", std::string(16, 'x')));
  EXPECT_FAILS(follower.open(alone, 0.5), "rank 1 has come", "rank 0", "welcome");
}

TEST(Rendezvous, TheServerWaitsForTheOthersToLeave) {
  int port = freePort();
  Rendezvous leader, other;
  auto joined = std::async(std::launch::async, [&] { return other.open(launchOf(1, 2, port), 5); });
  ASSERT_OK(leader.open(launchOf(0, 2, port), 5));
  ASSERT_OK(joined.get());
  EXPECT_FAILS(leader.leave(0.2), "/all left'", "0.2 s");
}

TEST(Rendezvous, OneRankIsOneProcess) {
  int port = freePort();
  Rendezvous leader, one, twin, other;
  auto joined = std::async(std::launch::async, [&] { return one.open(launchOf(1, 2, port), 5); });
  ASSERT_OK(leader.open(launchOf(0, 2, port), 5));
  ASSERT_OK(joined.get());
  EXPECT_FAILS(twin.open(launchOf(1, 2, port), 5), "2 of them have come as rank 1", "RANK = ...");
  // Nor may another job have the port.
  EXPECT_FAILS(other.open(launchOf(0, 2, port), 5), std::to_string(port), "MASTER_PORT", "in use");
}

TEST(Rendezvous, AnAgentsPortIsNeverBound) {
  Python agent;
  Launch launch = launchOf(0, 1, agent.port);
  launch.agentServes = true;
  {
    Rendezvous leader, again;
    ASSERT_OK(leader.open(launch, 5)); // the port is taken, so binding it fails
    ASSERT_OK(again.open(launch, 5));  // an agent may remember a rank of before
  }
  agent.end();
  // Where the agent is gone, rank 0 does not take its place.
  Rendezvous leader;
  EXPECT_FAILS(leader.open(launch, 0.3), "cannot reach the store", std::to_string(agent.port),
               "refused");
}

TEST(Rendezvous, WhereIsAQuestionOfMasterAddr) {
  Launch launch = launchOf(1, 2, 1);
  launch.host = "", launch.noHost = "mpirun does not say where rank 0 is";
  Rendezvous meeting;
  EXPECT_FAILS(meeting.open(launch, 1), "MASTER_ADDR", "mpirun does not say", "RANK = ...");
}

static bool hasSix() {
  Socket socket(::socket(AF_INET6, SOCK_STREAM, 0));
  sockaddr_in6 self = {};
  self.sin6_family = AF_INET6, self.sin6_addr = in6addr_loopback;
  return socket.isOpen() && !bind(socket.get(), (sockaddr *)&self, sizeof self);
}

TEST(Store, ReachesItByNameAndBySix) {
  StoreServer server;
  ASSERT_OK(server.start({{}, ""}, 0, 2, ""));
  Store name, six;
  EXPECT_OK(name.connect("localhost", server.port(), "t/", 5));
  if (!hasSix())
    GTEST_SKIP() << "this machine has no IPv6";
  EXPECT_OK(six.connect("::1", server.port(), "t/", 5));
  std::string bytes;
  EXPECT_FAILS(six.get("k", bytes, 0.1), "[::1]:" + std::to_string(server.port()));
}

TEST(Store, ErrorsSayWhereAndWhy) {
  int port = freePort();
  Store store;
  double seconds = secondsOf([&] {
    EXPECT_FAILS(connect(store, port, "t/", 0.5), here, std::to_string(port), "within 0.5 s",
                 "onnection refused");
  });
  EXPECT_GE(seconds, 0.4);
  EXPECT_LE(seconds, 3);
  EXPECT_FAILS(store.connect("no-such-host.invalid", port, "t/", 0.2), "no-such-host.invalid",
               "within 0.2 s");
  EXPECT_FAILS(store.set("k", ""), "no connection", "'/t/k'");
}

TEST(Store, OldServersAreRefusedAtOnce) {
  Python old("--old");
  Store store;
  double seconds = secondsOf([&] {
    EXPECT_FAILS(connect(store, old.port, "t/", 60), std::to_string(old.port),
                 "PyTorch 2.0 or older", "2.1 or newer");
  });
  EXPECT_LE(seconds, 5);
}

TEST(Store, OtherServersAreRefused) {
  Python http("--http"), silent("--silent");
  Store store;
  EXPECT_FAILS(connect(store, http.port, "t/", 60), std::to_string(http.port), "MASTER_PORT",
               "found 72");
  EXPECT_FAILS(connect(store, silent.port, "t/", 0.5), "cannot reach the store", "timed out");
}

TEST(Store, ServersThatDieAreNamed) {
  for (const char *op : {"wait", "get", "set", "add"}) {
    Python python(std::string("--die-in=") + op);
    Store store, other;
    ASSERT_OK(connect(store, python.port));
    ASSERT_OK(connect(other, python.port));
    std::string bytes;
    int64_t value;
    Status status;
    double seconds = secondsOf([&] {
      if (!strcmp(op, "add"))
        status = store.add("k", 1, value);
      else if (!strcmp(op, "set"))
        status = store.set("k", "v");
      else {
        if (!strcmp(op, "get"))
          ASSERT_OK(other.set("k", "v"));
        status = store.get("k", bytes, 60);
      }
    });
    std::string during = !strcmp(op, "wait") ? "get" : op;
    EXPECT_FAILS(status, "lost the store", std::to_string(python.port), "'" + during + " /t/k'",
                 "may have ended");
    EXPECT_LE(seconds, 5) << op;
    EXPECT_FAILS(store.set("k", ""), "no connection");
  }
}

TEST(Store, OurServerEndsWhileOthersWait) {
  auto server = std::make_unique<StoreServer>();
  ASSERT_OK(server->start(loopback(), 0, 2, ""));
  Store store;
  ASSERT_OK(connect(store, server->port()));
  auto end = std::async(std::launch::async, [&] {
    usleep(100000);
    server.reset();
  });
  std::string bytes;
  EXPECT_FAILS(store.get("k", bytes, 60), "lost the store", "'get /t/k'");
}

TEST(Store, ATerminatedProcessDoesNotGoOnWaiting) {
  Serving s;
  pid_t id = fork();
  if (id == 0) {
    Store store;
    std::string bytes;
    Status status = connect(store, s.server.port());
    if (status.ok())
      status = store.set("here", "");
    status = store.get("never", bytes, 60);
    _exit(1);
  }
  Store store;
  std::string bytes;
  ASSERT_OK(connect(store, s.server.port()));
  ASSERT_OK(store.get("here", bytes, 10));
  int code = 0;
  double seconds = secondsOf([&] {
    kill(id, SIGTERM);
    waitpid(id, &code, 0);
  });
  EXPECT_TRUE(WIFSIGNALED(code) && WTERMSIG(code) == SIGTERM);
  EXPECT_LE(seconds, 2);
  // Its server lives on.
  EXPECT_OK(store.set("k", "v"));
}
