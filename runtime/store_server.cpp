//===- store_server.cpp - the store where no launcher brings one ----------===//
//
// One thread and poll: a job has some thousand clients, each with a few messages.
//
// One decision: whoever sends what is no message is cut off, and memory is spent on bytes that have
// come, not on bytes that are announced. A client that does not read its answers is not read
// either.
//
//===----------------------------------------------------------------------===//

#include "runtime/store_server.h"

#include "runtime/sockets.h"
#include "runtime/store_protocol.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <cstring>
#include <unordered_map>
#include <vector>

#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tplan::runtime;
using namespace tplan::runtime::store;

namespace {

/// Milliseconds until new clients are taken again, when there are too many.
constexpr int fullPause = 100;

/// What has come of a message, read from its front. After the first thing that is missing or wrong
/// all else is empty.
class Reader {
public:
  enum State { whole, partial, bad };
  explicit Reader(std::string_view bytes) : bytes(bytes) {}

  template <typename T> T number() {
    T value = {};
    if (take(sizeof value))
      memcpy(&value, bytes.data() + at - sizeof value, sizeof value);
    return value;
  }
  std::string_view text(uint64_t most) {
    auto size = number<uint64_t>();
    if (size > most)
      now = bad;
    return take(size) ? bytes.substr(at - size, size) : std::string_view();
  }
  std::vector<std::string> keys() {
    auto count = number<uint64_t>();
    if (count > maxKeys)
      now = bad;
    std::vector<std::string> found;
    for (uint64_t i = 0; now == whole && i < count; ++i)
      found.emplace_back(text(maxKeyBytes));
    return found;
  }
  void refuse() { now = bad; }
  State state() const { return now; }
  size_t consumed() const { return at; }

private:
  bool take(uint64_t size) {
    if (now == whole && size > bytes.size() - at)
      now = partial;
    at += now == whole ? size : 0;
    return now == whole;
  }

  std::string_view bytes;
  size_t at = 0;
  State now = whole;
};

struct Client {
  Socket socket;
  bool valid = false; // has said that it speaks this protocol
  std::string in, out;
  std::vector<std::string> awaited; // keys; empty: it does not wait

  bool chokes() const { return out.size() > maxValueBytes; }
};

} // namespace

class StoreServer::Daemon {
public:
  Socket listener;
  Socket wake; // an eventfd: the end
  pthread_t thread;

  void run();

private:
  void accept();
  bool serve(Client &client, short events);
  bool answerAll(Client &client);
  bool receive(Client &client);
  bool flush(Client &client);
  Reader::State handle(Client &client, Reader &message);
  void add(Client &client, Reader &message);
  void set(const std::string &key, std::string value);
  bool has(const std::vector<std::string> &keys) const;

  std::vector<std::unique_ptr<Client>> clients;
  std::unordered_map<std::string, std::string> values;
  bool full = false;
};

bool StoreServer::Daemon::has(const std::vector<std::string> &keys) const {
  return std::all_of(keys.begin(), keys.end(),
                     [this](const std::string &key) { return values.count(key) != 0; });
}

void StoreServer::Daemon::set(const std::string &key, std::string value) {
  values[key] = std::move(value);
  for (auto &client : clients) {
    if (client->awaited.empty() || !has(client->awaited))
      continue;
    client->awaited.clear();
    put(client->out, Wait::done);
  }
}

/// Numbers are kept as their digits.
void StoreServer::Daemon::add(Client &client, Reader &message) {
  std::string key(message.text(maxKeyBytes));
  auto sum = message.number<int64_t>();
  if (message.state() != Reader::whole)
    return;
  if (auto found = values.find(key); found != values.end()) {
    const std::string &digits = found->second;
    int64_t before = 0;
    auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), before);
    if (error != std::errc() || end != digits.data() + digits.size() ||
        __builtin_add_overflow(sum, before, &sum))
      return message.refuse();
  }
  put(client.out, sum);
  set(key, std::to_string(sum));
}

/// Answers one message, if it is whole; nothing is done by then if it is not.
Reader::State StoreServer::Daemon::handle(Client &client, Reader &message) {
  auto op = message.number<Op>();
  if (client.valid == (op == Op::validate))
    return Reader::bad; // PyTorch 2.0 begins with the magic
  switch (op) {
  case Op::validate:
    client.valid = message.number<uint32_t>() == magic;
    if (message.state() == Reader::whole && !client.valid)
      message.refuse();
    break;
  case Op::set: {
    std::string key(message.text(maxKeyBytes));
    std::string_view value = message.text(maxValueBytes);
    if (message.state() == Reader::whole)
      set(key, std::string(value));
    break;
  }
  case Op::get: {
    auto found = values.find(std::string(message.text(maxKeyBytes)));
    if (message.state() == Reader::whole)
      putText(client.out, found == values.end() ? "" : found->second);
    break;
  }
  case Op::add:
    add(client, message);
    break;
  case Op::check:
    if (auto keys = message.keys(); message.state() == Reader::whole)
      put(client.out, has(keys) ? Check::ready : Check::missing);
    break;
  case Op::wait:
    if (auto keys = message.keys(); message.state() == Reader::whole) {
      if (has(keys))
        put(client.out, Wait::done);
      else
        client.awaited = std::move(keys);
    }
    break;
  case Op::cancelWait:
    client.awaited.clear();
    put(client.out, Wait::cancelled);
    break;
  case Op::ping:
    if (auto nonce = message.number<uint32_t>(); message.state() == Reader::whole)
      put(client.out, nonce);
    break;
  default:
    return Reader::bad;
  }
  if (values.size() > maxKeys)
    return Reader::bad;
  return message.state();
}

/// False: the client is gone, or has to go.
bool StoreServer::Daemon::receive(Client &client) {
  char bytes[1 << 16];
  ssize_t done = recv(client.socket.get(), bytes, sizeof bytes, 0);
  if (done <= 0)
    return done < 0 && (errno == EAGAIN || errno == EINTR);
  client.in.append(bytes, done);
  return true;
}

bool StoreServer::Daemon::flush(Client &client) {
  while (!client.out.empty()) {
    ssize_t done = send(client.socket.get(), client.out.data(), client.out.size(), MSG_NOSIGNAL);
    if (done < 0)
      return errno == EAGAIN || errno == EINTR;
    client.out.erase(0, done);
  }
  return true;
}

bool StoreServer::Daemon::answerAll(Client &client) {
  size_t consumed = 0;
  while (consumed < client.in.size() && !client.chokes()) {
    Reader message(std::string_view(client.in).substr(consumed));
    Reader::State state = handle(client, message);
    if (state == Reader::bad)
      return false;
    if (state == Reader::partial)
      break;
    consumed += message.consumed();
  }
  client.in.erase(0, consumed);
  return true;
}

bool StoreServer::Daemon::serve(Client &client, short events) {
  if (events && !client.chokes() && !receive(client))
    return false;
  // What a client that choked has asked before is here already: no event will tell of it.
  for (bool choked = true; choked;) {
    if (!answerAll(client))
      return false;
    choked = client.chokes();
    if (!flush(client))
      return false;
    choked &= !client.chokes();
  }
  return true;
}

void StoreServer::Daemon::accept() {
  for (;;) {
    Socket socket(accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (!socket.isOpen()) {
      full = errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS;
      return;
    }
    clients.push_back(std::make_unique<Client>());
    clients.back()->socket = std::move(socket);
  }
}

void StoreServer::Daemon::run() {
  std::vector<pollfd> polled;
  for (;;) {
    polled.clear();
    polled.push_back({wake.get(), POLLIN, 0});
    polled.push_back({full ? -1 : listener.get(), POLLIN, 0});
    for (auto &client : clients) {
      short events = (client->chokes() ? 0 : POLLIN) | (client->out.empty() ? 0 : POLLOUT);
      polled.push_back({client->socket.get(), events, 0});
    }
    poll(polled.data(), polled.size(), full ? fullPause : -1);
    if (polled[0].revents)
      return;
    // A value that one client sets is an answer to others, before it or behind it.
    for (size_t i = 0; i < clients.size(); ++i)
      if (!serve(*clients[i], polled[i + 2].revents))
        clients[i]->socket.close();
    for (auto &client : clients)
      if (client->socket.isOpen() && !serve(*client, 0))
        client->socket.close();
    std::erase_if(clients, [](auto &client) { return !client->socket.isOpen(); });
    full = false;
    if (polled[1].revents)
      accept();
  }
}

StoreServer::StoreServer() = default;

StoreServer::~StoreServer() {
  if (!daemon)
    return;
  uint64_t one = 1;
  if (write(daemon->wake.get(), &one, sizeof one) == sizeof one)
    pthread_join(daemon->thread, nullptr);
}

Status StoreServer::start(int port, bool local) {
  auto starting = std::make_unique<Daemon>();
  if (Status status = starting->listener.listen(port, local); !status.ok())
    return errorf("cannot serve the store of the job at port %d; another job may have it: set "
                  "MASTER_PORT, to one number in all processes: %s",
                  port, status.message().c_str());
  starting->wake = Socket(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK));
  if (!starting->wake.isOpen())
    return errorf("cannot serve the store of the job: %s", strerror(errno));
  // Signals are for threads that know what this process is doing.
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

int StoreServer::port() const { return daemon ? daemon->listener.port() : 0; }
