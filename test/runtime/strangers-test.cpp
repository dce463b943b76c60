//===- strangers-test.cpp - a job starts, whoever else connects to it --------===//
//
// The attacker is another process, with connections of its own, and knows the ports of the job, as
// somebody who scans the machine does. The job's time and memory are measured where they are spent.
//===----------------------------------------------------------------------===//

#include "job.h"

#include "runtime/start/store_protocol.h"
#include "runtime/start/store_values.h"

#include <algorithm>
#include <atomic>
#include <cstring>
#include <deque>
#include <dirent.h>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <sstream>

#include <poll.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>

using namespace job;
using namespace tplan::runtime::store;

namespace {

//===----------------------------------------------------------------------===//
// Those who attack
//===----------------------------------------------------------------------===//

std::string begun() {
  std::string message;
  put(message, Op::validate);
  put(message, magic);
  return message;
}

std::string setOf(const std::string &key, const std::string &value) {
  std::string message;
  put(message, Op::set);
  putText(message, key);
  putText(message, value);
  return message;
}

/// What an attacker says on a connection, once at first, and then again and again. An attacker that
/// says nothing more keeps the connection open.
struct Attack {
  const char *name;
  int connections;
  std::string (*first)(std::mt19937 &random);
  std::string (*next)(std::mt19937 &random);
};

std::string nothing(std::mt19937 &) { return {}; }
std::string noise(std::mt19937 &random) {
  std::string bytes(random() % 4096, 0);
  for (char &byte : bytes)
    byte = (char)random();
  return bytes;
}
std::string noiseOfMessages(std::mt19937 &random) { return begun() + noise(random); }
std::string half(std::mt19937 &random) {
  std::string message = begun() + setOf("half", std::string(100, 'h'));
  return message.substr(0, random() % message.size());
}
/// Looks like one of the job, which has set a value.
std::string member(std::mt19937 &random) {
  return begun() + setOf("member " + std::to_string(random()), "");
}
std::string newKey(std::mt19937 &random) { return setOf("key " + std::to_string(random()), "v"); }
std::string bigValue(std::mt19937 &random) {
  return setOf("big " + std::to_string(random()), std::string(maxValueBytes, 'b'));
}
std::string largestMessage(std::mt19937 &random) {
  std::string message = member(random) + setOf("never", std::string(maxValueBytes, 'n'));
  return message.substr(0, message.size() - 1);
}
/// Asks for values that it never reads.
std::string unread(std::mt19937 &) {
  std::string message = setOf("unread", std::string(1 << 20, 'u'));
  for (int i = 0; i < 64; ++i)
    put(message, Op::get), putText(message, "unread");
  return message;
}
std::string waiting(std::mt19937 &random) {
  std::string message = begun();
  put(message, Op::wait);
  put(message, maxKeysAsked);
  for (uint64_t i = 0; i < maxKeysAsked; ++i)
    putText(message, std::to_string(random()));
  return message;
}
std::string question(std::mt19937 &) {
  std::string message = begun();
  putKeys(message, Op::check, "tplan");
  return message;
}

const Attack attacks[] = {
    {"silent", 1500, nothing, nothing},
    {"half-open", 1000, half, nothing},
    {"garbage", 50, noise, noise},
    {"garbage in messages", 50, noiseOfMessages, noise},
    {"keys", 8, member, newKey},
    {"values", 8, member, bigValue},
    {"messages that never end", 12, largestMessage, nothing},
    {"answers that nobody reads", 12, member, unread},
    {"waits", 400, waiting, nothing},
    {"questions", 1500, question, nothing},
};

/// Connects to the ports again whenever it is cut off, and says what it has to say, until it is
/// killed: a connection to each port in turn, as many as its share among such attacks.
int attack(const Attack &how, const std::vector<int> &ports, unsigned seed, size_t attacks) {
  (void)!nice(19); // strangers compute on machines of their own
  struct Line {
    Socket socket;
    std::string out;
    bool greeted = false;
  };
  std::mt19937 random(seed);
  std::vector<Line> lines(std::max<size_t>(1, how.connections / attacks));
  std::vector<pollfd> polled(lines.size());
  for (;;) {
    for (size_t i = 0; i < lines.size(); ++i) {
      Line &line = lines[i];
      if (!line.socket.isOpen()) {
        line = Line();
        if (!line.socket.connect(here, ports[i % ports.size()], Deadline(0.2)).ok())
          continue;
      }
      if (line.out.empty())
        line.out = std::exchange(line.greeted, true) ? how.next(random) : how.first(random);
      ssize_t sent = send(line.socket.get(), line.out.data(), line.out.size(), MSG_NOSIGNAL);
      if (sent > 0)
        line.out.erase(0, sent);
      char byte;
      bool ended = recv(line.socket.get(), &byte, 1, MSG_PEEK) == 0;
      if (ended || (sent < 0 && errno != EAGAIN))
        line.socket = Socket();
    }
    usleep(1000);
  }
}

//===----------------------------------------------------------------------===//
// The job
//===----------------------------------------------------------------------===//

/// A line of /proc/self/status, in bytes.
int64_t memory(const char *row) {
  std::ifstream file("/proc/self/status");
  for (std::string line; std::getline(file, line);)
    if (line.starts_with(row))
      return atoll(line.c_str() + strlen(row) + 1) << 10;
  return 0;
}

/// The ports that a process listens at.
std::set<int> portsOf(pid_t id) {
  std::set<std::string> sockets;
  std::string folder = "/proc/" + std::to_string(id) + "/fd/";
  if (DIR *files = opendir(folder.c_str())) {
    while (dirent *entry = readdir(files)) {
      char link[64] = {};
      if (readlink((folder + entry->d_name).c_str(), link, sizeof link - 1) > 0)
        sockets.insert(link);
    }
    closedir(files);
  }
  std::set<int> ports;
  std::ifstream table("/proc/net/tcp");
  for (std::string line; std::getline(table, line);) {
    std::istringstream words(line);
    std::string word[10];
    for (std::string &each : word)
      words >> each;
    constexpr const char *listens = "0A";
    if (word[3] == listens && sockets.count("socket:[" + word[9] + "]"))
      ports.insert((int)strtol(word[1].c_str() + word[1].find(':') + 1, nullptr, 16));
  }
  return ports;
}

/// Seconds of a clock that all processes share.
double now() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// A rank's report on its start.
struct Report {
  double end = 0;    // as `now` has it
  int64_t bytes = 0; // that it has had more than before
  char problem[400] = {};
};

/// Shared with the processes of the job.
template <typename T> T *shared(size_t count) {
  void *it =
      mmap(nullptr, count * sizeof(T), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return new (it) T[count];
}

constexpr int ranks = 4;

struct Outcome {
  double seconds = 0;
  int64_t bytes = 0;
  std::string problem;
};

/// What the processes of a job are given: the last one comes when others wait, as where a launcher
/// starts them one after the other, and connects when the others' doors are open.
struct Signals {
  std::atomic<bool> comes = false, hasCome = false, connects = false;
};

void waitFor(const std::atomic<bool> &flag) {
  while (!flag)
    usleep(1000);
}

void start(int rank, int port, const std::string &secret, Signals &signals, Report &report) {
  Rendezvous meeting;
  Links links;
  Launch launch = launchOf(rank, ranks, port, secret);
  bool last = rank == ranks - 1;
  if (last)
    waitFor(signals.comes);
  int64_t before = memory("VmRSS:");
  Status status = meeting.open(launch, 30);
  if (last) {
    signals.hasCome = true;
    waitFor(signals.connects);
  }
  if (status.ok())
    status = links.open(launch, meeting, 30);
  if (status.ok())
    status = meeting.leave(30);
  if (status.ok())
    status = links.callRoll(30);
  report.bytes = memory("VmHWM:") - before;
  snprintf(report.problem, sizeof report.problem, "%s", status.message().c_str());
  if (status.ok())
    links.leave();
  report.end = now();
}

/// A job of four, with these visitors from the moment that its store is there, and others at each
/// door. Measured are the time until the last rank has come, and then the time until all have left.
Outcome startBeside(const std::vector<const Attack *> &visitors, const std::string &secret) {
  int port = freePort();
  auto *reports = shared<Report>(ranks);
  auto &signals = *shared<Signals>(1);
  std::vector<Process> members, others;
  for (int rank = 0; rank < ranks; ++rank)
    members.emplace_back([&, rank] {
      start(rank, port, secret, signals, reports[rank]);
      return 0;
    });
  for (int tries = 0; !portsOf(members[0].get()).count(port) && tries < 1000; ++tries)
    usleep(10000);
  unsigned seed = 1;
  for (const Attack *it : visitors)
    others.emplace_back([&, it] { return attack(*it, {port}, seed, visitors.size()); }), ++seed;
  constexpr int settled = 700000; // microseconds until visitors have connected
  usleep(visitors.empty() ? 0 : settled);
  Outcome outcome;
  double begin = now();
  signals.comes = true;
  waitFor(signals.hasCome);
  outcome.seconds = now() - begin;
  std::set<int> doors;
  for (int tries = 0; (int)doors.size() < ranks - 1 && tries < 100; ++tries, usleep(10000))
    for (int rank = 0; rank < ranks - 1; ++rank)
      for (int door : portsOf(members[rank].get()))
        if (door != port)
          doors.insert(door);
  EXPECT_EQ((int)doors.size(), ranks - 1);
  std::vector<int> ports(doors.begin(), doors.end());
  for (const Attack *it : visitors)
    others.emplace_back([&, it] { return attack(*it, ports, seed, visitors.size()); }), ++seed;
  usleep(visitors.empty() ? 0 : settled);
  begin = now();
  signals.connects = true;
  for (Process &member : members)
    EXPECT_EQ(member.wait(), 0);
  double end = 0;
  for (int rank = 0; rank < ranks; ++rank) {
    const Report &report = reports[rank];
    if (*report.problem)
      outcome.problem += format("rank %d: %s\n", rank, report.problem);
    outcome.bytes = std::max(outcome.bytes, report.bytes);
    end = std::max(end, report.end);
  }
  outcome.seconds += end - begin;
  return outcome;
}

void expectStart(const std::vector<const Attack *> &visitors, const std::string &secret) {
  constexpr double mostSeconds = 2;
  constexpr int64_t mostBytes = 64 << 20;
  static const Outcome quiet = startBeside({}, "");
  Outcome busy = startBeside(visitors, secret);
  EXPECT_EQ(quiet.problem, "");
  EXPECT_EQ(busy.problem, "");
  EXPECT_LE(busy.seconds, quiet.seconds + mostSeconds);
  EXPECT_LE(busy.bytes, mostBytes);
  printf("%.2f s, alone %.2f s; %.1f MiB, alone %.1f MiB\n", busy.seconds, quiet.seconds,
         busy.bytes / 1048576.0, quiet.bytes / 1048576.0);
}

} // namespace

class Strangers : public testing::TestWithParam<int> {};

TEST_P(Strangers, DoNotKeepAJobFromItsStart) {
  const Attack &attack = attacks[GetParam()];
  SCOPED_TRACE(attack.name);
  expectStart({&attack}, "");
}

INSTANTIATE_TEST_SUITE_P(Each, Strangers, testing::Range(0, (int)std::size(attacks)));

TEST(Strangers, ThatComeAgainAndAgainLoseWhatTheyLeft) {
  Values values(100, 1 << 20);
  for (int rank = 0; rank < 4; ++rank)
    for (int i = 0; i < 5; ++i)
      ASSERT_TRUE(values.set(format("rank %d %d", rank, i), "v", rank));
  int64_t number = 4;
  for (; values.set(format("again %lld", (long long)number), "v", number); ++number)
    values.leave(number);
  EXPECT_EQ(number, 4 + 80);
  EXPECT_EQ(values.largestOwner(), Values::gone);
  values.drop(Values::gone);
  EXPECT_EQ(values.find("again 4"), nullptr);
  EXPECT_NE(values.find("rank 3 4"), nullptr);
  EXPECT_TRUE(values.set("again", "v", number));
  // A value that another rank has set in its place is the other's.
  values.leave(1);
  ASSERT_TRUE(values.set("rank 1 0", "w", 2));
  values.drop(Values::gone);
  EXPECT_NE(values.find("rank 1 0"), nullptr);
  EXPECT_EQ(values.find("rank 1 1"), nullptr);
  EXPECT_EQ(values.largestOwner(), 2);
}

TEST(Strangers, TogetherDoNotEither) {
  std::vector<const Attack *> all;
  for (const Attack &attack : attacks)
    all.push_back(&attack);
  expectStart(all, "correct horse battery staple");
}

//===----------------------------------------------------------------------===//
// A large job
//===----------------------------------------------------------------------===//

/// Calls the function of each number from `first` on in a thread of its own, whose stack is small
/// enough for thousands of them; false: there was no thread for all.
static bool inThreads(int first, int count, const std::function<void(int)> &function) {
  struct Call {
    const std::function<void(int)> &function;
    int number;
  };
  std::deque<Call> calls;
  std::vector<pthread_t> threads;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, 256 << 10);
  auto body = [](void *it) -> void * {
    auto *call = static_cast<Call *>(it);
    call->function(call->number);
    return nullptr;
  };
  bool started = true;
  for (int i = 0; i < count && started; ++i) {
    pthread_t thread;
    started = !pthread_create(&thread, &attributes, body, &calls.emplace_back(function, first + i));
    if (started)
      threads.push_back(thread);
  }
  for (pthread_t thread : threads)
    pthread_join(thread, nullptr);
  return started;
}

static void expectMeeting(int ranks) {
  constexpr int processes = 16;
  constexpr double patience = 60;
  const int each = ranks / processes;
  int port = freePort();
  auto *serverBytes = shared<int64_t>(1);
  auto *met = shared<std::atomic<int>>(1);
  auto meet = [&](int rank) {
    int64_t before = rank ? 0 : memory("VmRSS:"); // of other tests
    Rendezvous meeting;
    Status status = meeting.open(launchOf(rank, ranks, port), patience);
    if (status.ok())
      status = meeting.store().set(format("address/%d", rank), format("%s %d", here, rank));
    std::string bytes;
    if (status.ok() && rank)
      status = meeting.store().get(format("address/%d", above(rank)), bytes, patience);
    if (status.ok())
      status = meeting.leave(patience);
    if (rank == 0)
      *serverBytes = memory("VmHWM:") - before;
    if (status.ok() && bytes == (rank ? format("%s %d", here, above(rank)) : ""))
      ++*met;
    else if (rank % each == 0)
      fprintf(stderr, "rank %d: %s\n", rank, status.message().c_str());
  };
  double seconds = secondsOf([&] {
    // Rank 0 is a process of its own, with the server, so that its memory is the server's.
    Process first([&] { return meet(0), 0; });
    std::vector<int> codes = inProcesses(processes, [&](int i) {
      int begin = std::max(1, i * each);
      return inThreads(begin, (i + 1) * each - begin, meet) ? 0 : 1;
    });
    EXPECT_EQ(codes, std::vector<int>(processes, 0));
    EXPECT_EQ(first.wait(), 0);
  });
  EXPECT_EQ(*met, ranks);
  EXPECT_LE(*serverBytes, (int64_t(4) << 20) + ranks * int64_t(3840)); // 64 MiB of 16,384
  printf("%.1f s; the process of the server: %.1f MiB\n", seconds, *serverBytes / 1048576.0);
}

TEST(Store, FourThousandRanksMeet) { expectMeeting(4096); }

/// Half a minute, which scripts/test spends with --all.
TEST(Store, DISABLED_SixteenThousandRanksMeet) { expectMeeting(16384); }
