//===- store_server.cpp - the store where no launcher brings one ----------===//
//
// One thread and epoll: a job has some thousand clients, each with a few messages, and a silent
// client costs nothing.
//
// Decisions: a client that sends anything but messages is cut off, and memory is spent on bytes
// that have come, not on bytes that are announced. A client that does not read its answers is not
// read either. A connection is a stranger's until it has set a value, or proved that it knows the
// job's secret: strangers have a few seconds for their first question, and where there are too many
// the oldest are closed, because a rank speaks at once. Where clients make the store hold too much,
// the one with the largest share is closed, and its values are dropped.
//
//===----------------------------------------------------------------------===//

#include "runtime/start/store_server.h"

#include "runtime/start/store_message.h"
#include "runtime/start/store_values.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <list>
#include <mutex>

#include <pthread.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tplan::runtime;
using namespace tplan::runtime::store;

namespace {

/// Seconds in which a stranger must say something.
constexpr double strangerSeconds = 5;
/// Bytes that a stranger may send: a question about one key, or a proof.
constexpr size_t strangerBytes = maxKeyBytes + 256;
/// While so many bytes of answers are not read, no further question is taken.
constexpr size_t unreadBytes = 64 << 10;
/// Bytes for each key that a client waits for, beside its characters.
constexpr int64_t costOfWaiting = 320;
/// Descriptors for clients beyond the ranks of a job, and for what a process has open otherwise.
constexpr int64_t moreClients = 1024, otherFiles = 256;
/// Milliseconds until strangers are looked at again, and until new connections are where
/// descriptors are short.
constexpr int strangerPause = 250, fullPause = 100;
/// So many connections are accepted before the existing ones are looked at again.
constexpr int takenAtOnce = 256;

struct Client {
  explicit Client(Socket socket) : socket(std::move(socket)) {}

  Socket socket;
  bool valid = false;  // has said that it speaks this protocol
  bool hailed = false; // has been sent a challenge
  bool asked = false;  // has been given an answer to a question
  bool known = false;  // no stranger
  bool ending = false; // ends as soon as it has its answer
  int64_t number = 0;  // in the order in which they came
  int64_t rank = 0;
  Challenges challenges;
  std::string in, out;
  std::vector<std::string> awaited; // keys; empty: it does not wait
  uint32_t events = 0;              // events that epoll is asked for
  int64_t charged = 0;              // bytes of the buffers, as they are counted
  std::list<int>::iterator place;   // among strangers
  Deadline deadline{strangerSeconds};

  bool chokes() const { return out.size() > unreadBytes; }
};

} // namespace

class StoreServer::Daemon {
public:
  Daemon(int64_t ranks, const std::string &secret)
      : ranks(ranks), secret(secret), values(maxKeys(ranks), maxValuesBytes) {}
  Status open(const Reach &reach, int port);

  void run();
  void end();
  int port() const { return listeners.front().port(); }
  std::string refused();

  pthread_t thread;

private:
  Status watch(int descriptor, uint32_t events, bool isNew);
  void watchListeners(uint32_t events);
  void accept(const Socket &listener);
  void close(Client &client);
  void serve(int descriptor, uint32_t events);
  bool exchange(Client &client, uint32_t events);
  bool answerAll(Client &client);
  bool receive(Client &client);
  bool flush(Client &client);
  void charge(Client &client);
  void dropLargest();
  void dropStrangers();
  void welcome(Client &client);
  Message::State handle(Client &client, Message &message);
  Message::State answer(Client &client, Op op, Message &message);
  void hail(Client &client, Message &message);
  void prove(Client &client, Message &message);
  void turnAway(Client &client, Hail why);
  void add(Client &client, Message &message);
  void set(Client &client, const std::string &key, std::string_view value, Message &message);
  void dropOwner(int64_t number);

  const int64_t ranks;
  const std::string secret;
  std::vector<Socket> listeners;
  Socket wake, epoll; // an eventfd: the end
  bool full = false;  // nobody can be taken in at present
  std::unordered_map<int, std::unique_ptr<Client>> clients;
  std::list<int> strangers; // the oldest first
  int64_t mostStrangers = 0, numbers = 0;
  Deadline nextLook{0}; // at strangers that say nothing
  Values values;
  int64_t buffered = 0;     // bytes in the clients' buffers
  std::vector<int> touched; // clients that another client's question has given an answer
  std::mutex lock;
  int64_t refusals = 0;    // connections refused because of the secret
  std::string lastRefused; // address of the last one
};

//===----------------------------------------------------------------------===//
// Messages
//===----------------------------------------------------------------------===//

void StoreServer::Daemon::dropOwner(int64_t number) {
  values.drop(number);
  auto its = std::find_if(clients.begin(), clients.end(),
                          [&](auto &entry) { return entry.second->number == number; });
  if (its != clients.end())
    close(*its->second);
}

void StoreServer::Daemon::set(Client &client, const std::string &key, std::string_view value,
                              Message &message) {
  while (!values.set(key, value, client.number)) {
    int64_t largest = values.largestOwner();
    if (largest != client.number) {
      dropOwner(largest);
      continue;
    }
    values.drop(largest);
    return message.refuse(); // the caller closes the client
  }
  welcome(client);
  const std::unordered_set<int> *waiting = values.waiting(key);
  if (!waiting)
    return;
  for (int descriptor : std::vector<int>(waiting->begin(), waiting->end())) {
    Client &waits = *clients.at(descriptor);
    if (!values.has(waits.awaited))
      continue;
    values.forget(descriptor, waits.awaited);
    waits.awaited.clear();
    put(waits.out, Wait::done);
    touched.push_back(descriptor);
  }
}

/// Numbers are kept as their digits.
void StoreServer::Daemon::add(Client &client, Message &message) {
  std::string key(message.text(maxKeyBytes));
  auto sum = message.number<int64_t>();
  if (message.state() != Message::whole)
    return;
  if (const std::string *digits = values.find(key)) {
    int64_t before = 0;
    const char *last = digits->data() + digits->size();
    auto [end, error] = std::from_chars(digits->data(), last, before);
    if (error != std::errc() || end != last || __builtin_add_overflow(sum, before, &sum))
      return message.refuse();
  }
  set(client, key, std::to_string(sum), message);
  put(client.out, sum);
}

/// It gets its answer, and is not read any more.
void StoreServer::Daemon::turnAway(Client &client, Hail why) {
  put(client.out, why);
  client.ending = true;
  std::lock_guard guard(lock);
  ++refusals;
  lastRefused = client.socket.peer();
}

void StoreServer::Daemon::hail(Client &client, Message &message) {
  client.rank = message.number<int64_t>();
  client.challenges.connects = message.number<Challenge>();
  if (message.state() != Message::whole)
    return;
  if (secret.empty())
    return turnAway(client, Hail::noSecret);
  Challenge &mine = client.challenges.listens;
  if (client.hailed || client.known || !drawRandom(mine.data(), mine.size()).ok())
    return message.refuse();
  client.hailed = true;
  put(client.out, Hail::prove);
  put(client.out, mine);
}

void StoreServer::Daemon::prove(Client &client, Message &message) {
  auto proof = message.number<Proof>();
  if (message.state() != Message::whole)
    return;
  if (!std::exchange(client.hailed, false))
    return message.refuse();
  auto of = [&](Side side) {
    return proofOf(secret, side, client.challenges, purposeOf(client.rank));
  };
  if (!equal(proof, of(Side::connects)))
    return turnAway(client, Hail::wrong);
  put(client.out, Hail::known);
  put(client.out, of(Side::listens));
  welcome(client);
}

/// Answers one message if it has come completely; otherwise does nothing.
Message::State StoreServer::Daemon::handle(Client &client, Message &message) {
  auto op = message.number<Op>();
  if (client.valid == (op == Op::validate))
    return Message::bad; // PyTorch 2.0 begins with the magic
  if (op == Op::validate) {
    client.valid = message.number<uint32_t>() == magic;
    if (message.state() == Message::whole && !client.valid)
      message.refuse();
    return message.state();
  }
  if (op == Op::hail || op == Op::prove) {
    op == Op::hail ? hail(client, message) : prove(client, message);
    return message.state();
  }
  if (!secret.empty() && !client.known) {
    turnAway(client, Hail::secretWanted);
    return Message::whole;
  }
  Message::State state = answer(client, op, message);
  client.asked |= state == Message::whole;
  return state;
}

Message::State StoreServer::Daemon::answer(Client &client, Op op, Message &message) {
  switch (op) {
  case Op::set: {
    std::string key(message.text(maxKeyBytes));
    std::string_view value = message.text(maxValueBytes);
    if (message.state() == Message::whole)
      set(client, key, value, message);
    break;
  }
  case Op::get: {
    const std::string *found = values.find(std::string(message.text(maxKeyBytes)));
    if (message.state() == Message::whole)
      putText(client.out, found ? *found : "");
    break;
  }
  case Op::add:
    add(client, message);
    break;
  case Op::check:
    if (auto keys = message.keys(); message.state() == Message::whole)
      put(client.out, values.has(keys) ? Check::ready : Check::missing);
    break;
  case Op::wait:
    if (auto keys = message.keys(); message.state() == Message::whole) {
      values.forget(client.socket.get(), client.awaited);
      client.awaited.clear();
      if (values.has(keys)) {
        put(client.out, Wait::done);
        break;
      }
      values.await(client.socket.get(), keys);
      client.awaited = std::move(keys);
    }
    break;
  case Op::cancelWait:
    values.forget(client.socket.get(), client.awaited);
    client.awaited.clear();
    put(client.out, Wait::cancelled);
    break;
  case Op::ping:
    if (auto nonce = message.number<uint32_t>(); message.state() == Message::whole)
      put(client.out, nonce);
    break;
  default:
    return Message::bad;
  }
  return message.state();
}

//===----------------------------------------------------------------------===//
// Clients
//===----------------------------------------------------------------------===//

/// Removes the first bytes. A new string, because the old one would keep its memory.
static void eraseFront(std::string &buffer, size_t count) {
  constexpr size_t spare = 512;
  buffer.erase(0, count);
  if (count && buffer.capacity() > buffer.size() + spare)
    std::string(buffer).swap(buffer);
}

/// False: the client is gone, or must be closed.
bool StoreServer::Daemon::receive(Client &client) {
  char bytes[1 << 16];
  ssize_t done = recv(client.socket.get(), bytes, sizeof bytes, 0);
  if (done <= 0)
    return done < 0 && (errno == EAGAIN || errno == EINTR);
  client.in.append(bytes, done);
  return true;
}

bool StoreServer::Daemon::flush(Client &client) {
  size_t sent = 0;
  while (sent < client.out.size()) {
    ssize_t done =
        send(client.socket.get(), client.out.data() + sent, client.out.size() - sent, MSG_NOSIGNAL);
    if (done < 0 && errno != EINTR)
      break;
    sent += std::max<ssize_t>(done, 0);
  }
  bool lives = sent == client.out.size() || errno == EAGAIN;
  eraseFront(client.out, sent);
  return lives;
}

bool StoreServer::Daemon::answerAll(Client &client) {
  size_t consumed = 0;
  while (consumed < client.in.size() && !client.chokes() && !client.ending) {
    Message message(std::string_view(client.in).substr(consumed));
    Message::State state = handle(client, message);
    if (state == Message::bad)
      return false;
    if (state == Message::partial)
      break;
    consumed += message.consumed();
  }
  eraseFront(client.in, client.ending ? client.in.size() : consumed);
  return client.known || client.in.size() <= strangerBytes;
}

bool StoreServer::Daemon::exchange(Client &client, uint32_t events) {
  if (events & ~EPOLLOUT && !client.chokes() && !client.ending && !receive(client))
    return false;
  // The next questions of a client that choked have come already: no event will report them.
  for (bool choked = true; choked;) {
    if (!answerAll(client))
      return false;
    choked = client.chokes();
    if (!flush(client))
      return false;
    choked &= !client.chokes();
  }
  return !client.ending || !client.out.empty();
}

void StoreServer::Daemon::charge(Client &client) {
  int64_t now = 0;
  for (const std::string *buffer : {&client.in, &client.out})
    now += (int64_t)buffer->capacity();
  for (const std::string &key : client.awaited)
    now += (int64_t)key.size() + costOfWaiting;
  buffered += now - std::exchange(client.charged, now);
}

void StoreServer::Daemon::serve(int descriptor, uint32_t events) {
  auto found = clients.find(descriptor);
  if (found == clients.end())
    return;
  Client &client = *found->second;
  bool stays = exchange(client, events);
  charge(client);
  if (!stays)
    return close(client);
  uint32_t wanted =
      (client.chokes() || client.ending ? 0 : EPOLLIN) | (client.out.empty() ? 0 : EPOLLOUT);
  if (wanted != client.events && !watch(descriptor, wanted, false).ok())
    return close(client);
  client.events = wanted;
  while (buffered > maxBufferedBytes)
    dropLargest();
}

void StoreServer::Daemon::close(Client &client) {
  int descriptor = client.socket.get();
  values.forget(descriptor, client.awaited);
  values.leave(client.number);
  buffered -= client.charged;
  if (!client.known)
    strangers.erase(client.place);
  clients.erase(descriptor);
}

void StoreServer::Daemon::dropLargest() {
  Client *largest = nullptr;
  for (auto &[descriptor, client] : clients)
    if (!largest || client->charged > largest->charged)
      largest = client.get();
  if (largest)
    close(*largest);
}

void StoreServer::Daemon::dropStrangers() {
  while ((int64_t)strangers.size() > mostStrangers)
    close(*clients.at(strangers.front()));
  if (!nextLook.passed())
    return;
  nextLook = Deadline(strangerPause * 1e-3);
  for (auto it = strangers.begin(); it != strangers.end();) {
    Client &stranger = *clients.at(*it++);
    if (!stranger.asked && stranger.deadline.passed())
      close(stranger);
  }
}

/// It is no stranger any more. Clients beyond the number of ranks are not ranks of this job.
void StoreServer::Daemon::welcome(Client &client) {
  if (std::exchange(client.known, true))
    return;
  strangers.erase(client.place);
  if ((int64_t)(clients.size() - strangers.size()) > 2 * ranks + moreClients)
    client.ending = true;
}

void StoreServer::Daemon::accept(const Socket &listener) {
  for (int i = 0; i < takenAtOnce; ++i) {
    Socket socket;
    Socket::Accepted how = listener.accept(socket);
    full = how == Socket::Accepted::full && strangers.empty();
    if (full)
      watchListeners(0);
    if (full || how == Socket::Accepted::none)
      return;
    if (how == Socket::Accepted::full) {
      close(*clients.at(strangers.front()));
      continue;
    }
    int descriptor = socket.get();
    if (!watch(descriptor, EPOLLIN, true).ok())
      continue;
    auto &client = clients[descriptor] = std::make_unique<Client>(std::move(socket));
    client->events = EPOLLIN;
    client->number = numbers++;
    client->place = strangers.insert(strangers.end(), descriptor);
    // When its connection is accepted, a rank has usually sent something.
    serve(descriptor, EPOLLIN);
  }
}

//===----------------------------------------------------------------------===//
// The thread
//===----------------------------------------------------------------------===//

Status StoreServer::Daemon::watch(int descriptor, uint32_t events, bool isNew) {
  epoll_event event = {};
  event.events = events, event.data.fd = descriptor;
  return epoll_ctl(epoll.get(), isNew ? EPOLL_CTL_ADD : EPOLL_CTL_MOD, descriptor, &event)
             ? errorf("%s", strerror(errno))
             : Status();
}

void StoreServer::Daemon::watchListeners(uint32_t events) {
  for (Socket &listener : listeners)
    (void)watch(listener.get(), events, false).ok();
}

/// Asks for as many descriptors as the job and some strangers need, if the system gives them.
static int64_t descriptorsFor(int64_t ranks) {
  rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit))
    return ranks;
  rlim_t wanted = 2 * ranks + 2 * moreClients + otherFiles;
  if (limit.rlim_cur < wanted) {
    rlimit raised = {std::min(wanted, limit.rlim_max), limit.rlim_max};
    if (!setrlimit(RLIMIT_NOFILE, &raised))
      limit = raised;
  }
  return (int64_t)std::min<rlim_t>(limit.rlim_cur, INT32_MAX);
}

Status StoreServer::Daemon::open(const Reach &reach, int port) {
  if (Status status = listenAt(reach, port, listeners); !status.ok())
    return errorf("cannot serve the store of the job at port %d; another job may have it: set "
                  "MASTER_PORT, to one number in all processes: %s",
                  port, status.message().c_str());
  wake = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  epoll = Socket(epoll_create1(EPOLL_CLOEXEC));
  if (!wake.isOpen() || !epoll.isOpen())
    return errorf("cannot serve the store of the job: %s", strerror(errno));
  TP_TRY(watch(wake.get(), EPOLLIN, true));
  for (Socket &listener : listeners)
    TP_TRY(watch(listener.get(), EPOLLIN, true));
  // Ranks that connect at the same time are strangers at the same time.
  int64_t room = descriptorsFor(ranks) - ranks - otherFiles;
  mostStrangers = std::clamp<int64_t>(room, 64, ranks + moreClients);
  return {};
}

void StoreServer::Daemon::run() {
  std::vector<epoll_event> events(1024);
  for (;;) {
    // The time of strangers ends without an event.
    int pause = full ? fullPause : strangers.empty() ? -1 : strangerPause;
    int count = epoll_wait(epoll.get(), events.data(), (int)events.size(), pause);
    if (std::exchange(full, false))
      watchListeners(EPOLLIN);
    std::vector<const Socket *> ready;
    for (int i = 0; i < count; ++i) {
      int descriptor = events[i].data.fd;
      if (descriptor == wake.get())
        return;
      auto listener = std::find_if(listeners.begin(), listeners.end(),
                                   [&](const Socket &it) { return it.get() == descriptor; });
      if (listener == listeners.end())
        serve(descriptor, events[i].events);
      else
        ready.push_back(&*listener);
    }
    // New connections may get the numbers of closed ones, so they are accepted after all other
    // events.
    for (const Socket *listener : ready)
      accept(*listener);
    // A value that one client sets is an answer to others, whose next questions may set values
    // again.
    while (!touched.empty())
      for (int descriptor : std::exchange(touched, {}))
        serve(descriptor, 0);
    dropStrangers();
  }
}

void StoreServer::Daemon::end() {
  uint64_t one = 1;
  if (write(wake.get(), &one, sizeof one) == sizeof one)
    pthread_join(thread, nullptr);
}

std::string StoreServer::Daemon::refused() {
  std::lock_guard guard(lock);
  if (!refusals)
    return {};
  return format("; connections that the store has turned away, because they %s: %lld, the last one "
                "from %s",
                secret.empty() ? "have a secret of the job, where rank 0 has none"
                               : "do not know the secret of the job",
                (long long)refusals, lastRefused.c_str());
}

StoreServer::StoreServer() = default;

StoreServer::~StoreServer() {
  if (daemon)
    daemon->end();
}

Status StoreServer::start(const Reach &reach, int port, int64_t ranks, const std::string &secret) {
  auto starting = std::make_unique<Daemon>(ranks, secret);
  TP_TRY(starting->open(reach, port));
  // Signals are left to threads that know what this process is doing.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  auto body = [](void *it) -> void * {
    static_cast<Daemon *>(it)->run();
    return nullptr;
  };
  int code = pthread_create(&starting->thread, nullptr, body, starting.get());
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  if (code)
    return errorf("cannot start the thread of the job's store: %s", strerror(code));
  daemon = std::move(starting);
  return {};
}

int StoreServer::port() const { return daemon ? daemon->port() : 0; }

std::string StoreServer::refused() const { return daemon ? daemon->refused() : ""; }
