//===- secret-test.cpp - nobody joins a job without its secret ---------------===//

#include "job.h"

#include "runtime/start/secret.h"
#include "runtime/start/store_protocol.h"

#include <atomic>
#include <cstring>
#include <future>
#include <thread>

#include <poll.h>
#include <sys/socket.h>

using namespace job;
using namespace tplan::runtime::store;

namespace {

const std::string secret = "correct horse battery staple", other = "another horse, another staple";

std::string hexOf(const Digest &digest) {
  std::string text;
  for (unsigned char byte : digest)
    text += format("%02x", byte);
  return text;
}

/// A connection to a store that sends the bytes that a test gives it.
class Wire {
public:
  explicit Wire(int port) {
    EXPECT_OK(socket.connect(here, port, Deadline(5)));
    put(message, Op::validate);
    put(message, magic);
  }
  std::string message;
  /// Sends it; what comes back until nothing does, or so many bytes.
  std::string ask(size_t most) {
    EXPECT_OK(socket.write(message.data(), message.size(), Deadline(5)));
    message.clear();
    std::string answer(most, 0);
    for (size_t i = 0; i < most; ++i)
      if (!socket.read(&answer[i], 1, Deadline(5)).ok())
        return answer.substr(0, i);
    return answer;
  }
  /// What the store asks for, to be proved.
  Challenges hail(int64_t rank) {
    Challenges challenges;
    EXPECT_OK(drawRandom(challenges.connects.data(), challenges.connects.size()));
    put(message, Op::hail);
    put(message, rank);
    put(message, challenges.connects);
    std::string answer = ask(1 + sizeof(Challenge));
    EXPECT_EQ(answer.size(), 1 + sizeof(Challenge));
    EXPECT_EQ(answer[0], (char)Hail::prove);
    if (answer.size() > sizeof(Challenge))
      memcpy(challenges.listens.data(), answer.data() + 1, sizeof(Challenge));
    return challenges;
  }
  std::string prove(const Proof &proof) {
    put(message, Op::prove);
    put(message, proof);
    return ask(1 + sizeof(Proof));
  }

private:
  Socket socket;
};

const std::string wrong(1, (char)Hail::wrong), secretWanted(1, (char)Hail::secretWanted);

/// Two ranks, with such secrets, that meet where rank 0 serves.
std::pair<Status, Status> meet(const std::string &leads, const std::string &follows,
                               double leaderSeconds = 1) {
  int port = freePort();
  auto joined = std::async(std::launch::async, [&] {
    Rendezvous meeting;
    Status status;
    EXPECT_LE(secondsOf([&] { status = meeting.open(launchOf(1, 2, port, follows), 20); }), 5);
    return status.ok() ? meeting.leave(5) : status;
  });
  Rendezvous meeting;
  Status status = meeting.open(launchOf(0, 2, port, leads), leaderSeconds);
  if (status.ok())
    status = meeting.leave(5);
  return {status, joined.get()};
}

} // namespace

TEST(Secret, HashesAreThoseOfTheStandards) {
  // FIPS 180-4's examples, and RFC 4231's.
  EXPECT_EQ(hexOf(sha256("")), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(hexOf(sha256("abc")),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(hexOf(sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq")),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(hexOf(sha256(std::string(1000000, 'a'))),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
  EXPECT_EQ(hexOf(hmacSha256(std::string(20, '\x0b'), "Hi There")),
            "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7");
  EXPECT_EQ(hexOf(hmacSha256("Jefe", "what do ya want for nothing?")),
            "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843");
  EXPECT_EQ(hexOf(hmacSha256(std::string(131, '\xaa'),
                             "Test Using Larger Than Block-Size Key - Hash Key First")),
            "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54");
}

TEST(Secret, AProofServesOneSideOfOneConnection) {
  Challenges challenges;
  ASSERT_OK(drawRandom(&challenges, sizeof challenges));
  Challenges turned = {challenges.listens, challenges.connects}, others = challenges;
  others.listens[31] ^= 1;
  Proof proof = proofOf(secret, Side::connects, challenges, "store rank 3");
  EXPECT_TRUE(equal(proof, proofOf(secret, Side::connects, challenges, "store rank 3")));
  for (const Proof &it : {proofOf(secret, Side::listens, challenges, "store rank 3"),
                          proofOf(secret, Side::connects, turned, "store rank 3"),
                          proofOf(secret, Side::connects, others, "store rank 3"),
                          proofOf(secret, Side::connects, challenges, "store rank 2"),
                          proofOf(other, Side::connects, challenges, "store rank 3")})
    EXPECT_FALSE(equal(proof, it));
}

TEST(Secret, ShortOnesAreRefusedAndNotShown) {
  EXPECT_OK(checkSecret(std::string(16, 'x')));
  EXPECT_FAILS(checkSecret("x1y2z3"), "TPLAN_JOB_SECRET", "16 to 4096", "openssl rand", "found: 6");
  EXPECT_FAILS(checkSecret(std::string(4097, 'x')), "found: 4097");
  EXPECT_EQ(checkSecret("x1y2z3").message().find("x1y2z3"), std::string::npos);
}

TEST(Secret, RanksThatKnowItMeet) {
  auto [leader, follower] = meet(secret, secret, 10);
  EXPECT_OK(leader);
  EXPECT_OK(follower);
}

TEST(Secret, SetOnOneSideOnlyIsRefused) {
  auto [asks, none] = meet(secret, "");
  EXPECT_FAILS(none, "asks for its secret", "this process has none", "set TPLAN_JOB_SECRET");
  EXPECT_FAILS(asks, "rank 1 has not come", "has turned away",
               "do not know the secret of the job: 1, the last one from 127.0.0.1");
  auto [open, knows] = meet("", secret);
  EXPECT_FAILS(knows, "this process has TPLAN_JOB_SECRET", "rank 0", "has not", "or in none");
  EXPECT_FAILS(open, "rank 1 has not come", "have a secret of the job, where rank 0 has none: 1,");
  auto [mine, theirs] = meet(secret, other);
  EXPECT_FAILS(theirs, "has another secret", "one text in all processes");
  EXPECT_FAILS(mine, "do not know the secret of the job: 1,");
  for (const Status &status : {asks, none, open, knows, mine, theirs})
    for (const std::string &text : {secret, other})
      EXPECT_EQ(status.message().find(text), std::string::npos) << status.message();
}

TEST(Secret, WithoutItNothingIsReadOrSet) {
  Serving serving(2, secret);
  int port = serving.server.port();
  Store member;
  member.prove(secret, 0);
  ASSERT_OK(member.connect(here, port, "t/", 5));
  ASSERT_OK(member.set("k", "v"));
  auto tries = [&](const std::function<void(std::string &)> &question) {
    Wire wire(port);
    question(wire.message);
    EXPECT_EQ(wire.ask(100), secretWanted);
  };
  tries([](std::string &m) { putKeys(m, Op::check, "/t/k"); });
  tries([](std::string &m) { putKeys(m, Op::wait, "/t/k"); });
  tries([](std::string &m) { put(m, Op::get), putText(m, "/t/k"); });
  tries([](std::string &m) { put(m, Op::set), putText(m, "/t/k"), putText(m, "w"); });
  tries([](std::string &m) { put(m, Op::add), putText(m, "/t/n"), put(m, int64_t(1)); });
  tries([](std::string &m) { put(m, Op::ping), put(m, uint32_t(7)); });
  // Nor between the challenge and the proof.
  Wire wire(port);
  wire.hail(1);
  put(wire.message, Op::get);
  putText(wire.message, "/t/k");
  EXPECT_EQ(wire.ask(100), secretWanted);
  std::string bytes;
  ASSERT_OK(member.get("k", bytes, 5));
  EXPECT_EQ(bytes, "v");
}

TEST(Secret, ProofsOfOthersDoNotServe) {
  Serving serving(4, secret);
  int port = serving.server.port();
  auto proofFor = [&](Side side, const Challenges &challenges, int64_t rank,
                      const std::string &key) {
    return proofOf(key, side, challenges, purposeOf(rank));
  };
  Wire good(port);
  Challenges its = good.hail(1);
  Proof proof = proofFor(Side::connects, its, 1, secret);
  std::string answer = good.prove(proof);
  ASSERT_EQ(answer.size(), 1 + sizeof(Proof));
  EXPECT_EQ(answer[0], (char)Hail::known);
  Proof servers = proofFor(Side::listens, its, 1, secret);
  EXPECT_EQ(memcmp(answer.data() + 1, servers.data(), servers.size()), 0);

  Wire again(port), empty(port), rank(port), side(port);
  again.hail(1);
  EXPECT_EQ(again.prove(proof), wrong);
  EXPECT_EQ(empty.prove(proofFor(Side::connects, empty.hail(1), 1, "")), wrong);
  EXPECT_EQ(rank.prove(proofFor(Side::connects, rank.hail(1), 2, secret)), wrong);
  EXPECT_EQ(side.prove(proofFor(Side::listens, side.hail(1), 1, secret)), wrong);
  // One try a challenge, and no proof without.
  Wire early(port), twice(port);
  EXPECT_EQ(early.prove(proof), "");
  twice.hail(1);
  put(twice.message, Op::hail);
  put(twice.message, int64_t(1));
  put(twice.message, Challenge());
  EXPECT_EQ(twice.ask(100), "");
}

namespace {

/// A server between the two: it passes on and keeps what it sees, or claims to know the secret.
class Between {
public:
  explicit Between(int to) {
    EXPECT_OK(listener.listen(0, here));
    thread = std::thread([this, to] { run(to); });
  }
  ~Between() { join(); }
  void join() {
    if (thread.joinable())
      thread.join();
  }
  int port() const { return listener.port(); }
  std::string seen;

private:
  void run(int to) {
    Socket client, server;
    if (!listener.readable(Deadline(5)) || listener.accept(client) != Socket::Accepted::one)
      return;
    if (to == 0)
      return lie(client);
    EXPECT_OK(server.connect(here, to, Deadline(5)));
    char bytes[1 << 12];
    for (;;) {
      pollfd polled[] = {{client.get(), POLLIN, 0}, {server.get(), POLLIN, 0}};
      if (poll(polled, 2, 5000) <= 0)
        return;
      for (int i = 0; i < 2; ++i) {
        if (!polled[i].revents)
          continue;
        ssize_t done = recv(polled[i].fd, bytes, sizeof bytes, 0);
        if (done <= 0)
          return;
        seen.append(bytes, done);
        EXPECT_OK((i ? client : server).write(bytes, done, Deadline(5)));
      }
    }
  }
  void lie(Socket &client) {
    char bytes[5 + 1 + 8 + sizeof(Challenge)];
    EXPECT_OK(client.read(bytes, sizeof bytes, Deadline(5)));
    std::string answer(1, (char)Hail::prove);
    answer.append(sizeof(Challenge), 'c');
    EXPECT_OK(client.write(answer.data(), answer.size(), Deadline(5)));
    char proof[1 + sizeof(Proof)];
    EXPECT_OK(client.read(proof, sizeof proof, Deadline(5)));
    // A proof that it has heard is no proof of its own.
    proof[0] = (char)Hail::known;
    EXPECT_OK(client.write(proof, sizeof proof, Deadline(5)));
  }

  Socket listener;
  std::thread thread;
};

} // namespace

TEST(Secret, IsNeverOnTheWire) {
  Serving serving(2, secret);
  Between between(serving.server.port());
  {
    Store store;
    store.prove(secret, 1);
    ASSERT_OK(store.connect(here, between.port(), "t/", 5));
    ASSERT_OK(store.set("what is said", "is seen"));
  }
  between.join();
  EXPECT_NE(between.seen.find("what is said"), std::string::npos);
  EXPECT_EQ(between.seen.find(secret), std::string::npos);
  EXPECT_EQ(between.seen.find(secret.substr(0, 8)), std::string::npos);
}

TEST(Secret, AServerProvesItToo) {
  Between liar(0);
  Store store;
  store.prove(secret, 1);
  EXPECT_FAILS(store.connect(here, liar.port(), "t/", 5), "does not know the secret",
               "though it says so", "MASTER_PORT");
}

//===----------------------------------------------------------------------===//
// Links
//===----------------------------------------------------------------------===//

namespace {

const Nonce nonce = {7, 7, 7};

/// Knocks at a door that somebody serves meanwhile.
Status knockAt(Door &door, const Password &password, const Place &place) {
  std::atomic<bool> done = false;
  Status status;
  std::thread guest([&] {
    Socket socket;
    bool answered;
    status = socket.connect(here, door.port(), Deadline(5));
    if (status.ok())
      status = knock(socket, place, password, Deadline(5), [] { return Status(); }, answered);
    done = true;
  });
  while (!done) {
    door.serve();
    usleep(1000);
  }
  guest.join();
  return status;
}

} // namespace

TEST(Secret, ADoorIsOpenToThoseWhoKnowIt) {
  Place place = {3, 1, 5};
  struct Case {
    const char *inside, *outside;
    std::vector<std::string> why; // none: it is let in
  };
  const char *mine = secret.c_str(), *theirs = other.c_str();
  for (const Case &it : std::initializer_list<Case>{
           {mine, mine, {}},
           {"", "", {}},
           {mine, "", {"asks for the secret of the job", "this process has none"}},
           {"", mine, {"this process has TPLAN_JOB_SECRET", "that one has not"}},
           {mine, theirs, {"has another secret", "one text in all processes"}}}) {
    Door door;
    Socket socket;
    ASSERT_OK(door.open(loopback(), {nonce, it.inside}));
    Status status = knockAt(door, {nonce, it.outside}, place);
    EXPECT_EQ(door.take(place, socket), it.why.empty());
    EXPECT_EQ(door.refused().empty(), it.why.empty());
    if (it.why.empty())
      EXPECT_OK(status);
    else
      EXPECT_TRUE(helpers::failsWith(status, it.why));
  }
  Door door;
  Socket socket;
  ASSERT_OK(door.open(loopback(), {nonce, secret}));
  EXPECT_FAILS(knockAt(door, {Nonce{8}, secret}, place), "closed");
  EXPECT_FALSE(door.take(place, socket));
}

TEST(Secret, LinksAskForItWhereALauncherHasTheStore) {
  for (bool all : {true, false}) {
    Serving agent(4); // as an agent's: it knows no secret
    std::vector<std::thread> threads;
    std::vector<Status> found(4);
    for (int rank = 0; rank < 4; ++rank)
      threads.emplace_back([&, rank] {
        Launch launch = launchOf(rank, 4, agent.server.port(), all || rank != 3 ? secret : "");
        launch.agentServes = true;
        Rendezvous meeting;
        Links links;
        EXPECT_OK(meeting.open(launch, 20));
        found[rank] = links.open(launch, meeting, 2);
        if (found[rank].ok())
          links.leave();
      });
    for (std::thread &thread : threads)
      thread.join();
    if (all) {
      for (const Status &status : found)
        EXPECT_OK(status);
      continue;
    }
    EXPECT_FAILS(found[3], "rank 3 cannot connect to rank 1", "asks for the secret of the job");
    EXPECT_FAILS(found[1], "rank 3 has not connected", "does not know the secret", here);
  }
}
