//===- door.cpp - who connects to a rank, and how it is let in --------------===//

#include "runtime/start/door.h"

#include <cerrno>
#include <cstring>

#include <sys/socket.h>

using namespace tplan::runtime;

namespace {

/// How long a process that has connected may take to say who it is.
constexpr double helloSeconds = 10;
constexpr size_t mostGuests = 256;
/// How often other connections are looked at meanwhile.
constexpr double look = 0.05;

enum class Answer : uint32_t { welcome, prove, noSecret, secretWanted, wrong };

// The messages in their order: the first is from the process that connects; the last two are sent
// where there is a secret.
struct Hello {
  Nonce nonce;
  Place place;
  uint32_t hasSecret;
  Challenge challenge;
};
struct Reply {
  Nonce nonce;
  Answer answer;
  Challenge challenge;
};
struct Verdict {
  Answer answer;
  Proof proof;
};

std::string purposeOf(const Nonce &nonce, const Place &place) {
  return format("link %u %d %d ", place.tree, place.member, place.rank)
      .append((const char *)nonce.data(), nonce.size());
}

/// Sends a few bytes to a new connection: if they do not fit, it is closed.
template <typename T> bool say(Socket &socket, const T &message) {
  return send(socket.get(), &message, sizeof message, MSG_NOSIGNAL) == (ssize_t)sizeof message;
}

} // namespace

Status Door::open(const Reach &reach, const Password &password) {
  this->password = password;
  return listenAt(reach, 0, listeners);
}

void Door::addTo(std::vector<pollfd> &polled) const {
  for (const Socket &listener : listeners)
    polled.push_back({listener.get(), POLLIN, 0});
  for (const Guest &guest : guests)
    polled.push_back({guest.socket.get(), POLLIN, 0});
}

void Door::accept(const Socket &listener) {
  for (size_t taken = 0; taken < mostGuests; ++taken) {
    Socket socket;
    Socket::Accepted how = listener.accept(socket);
    if (how == Socket::Accepted::none)
      return;
    if (how == Socket::Accepted::full && guests.empty())
      return;
    if (how == Socket::Accepted::full || guests.size() >= mostGuests)
      guests.pop_front();
    if (how == Socket::Accepted::full)
      continue;
    guests.push_back({std::move(socket), Deadline(helloSeconds)});
    // A rank has usually said hello by the time it is looked at.
    if (!hear(guests.back()))
      guests.pop_back();
  }
}

void Door::serve() {
  for (auto guest = guests.begin(); guest != guests.end();)
    guest = guest->deadline.passed() || !hear(*guest) ? guests.erase(guest) : std::next(guest);
  for (const Socket &listener : listeners)
    accept(listener);
}

/// False: it is a guest no more.
bool Door::hear(Guest &guest) {
  size_t wanted = guest.proves ? sizeof(Proof) : sizeof(Hello);
  char bytes[sizeof(Hello)];
  ssize_t done = recv(guest.socket.get(), bytes, wanted - guest.bytes.size(), 0);
  if (done <= 0)
    return done < 0 && (errno == EAGAIN || errno == EINTR);
  guest.bytes.append(bytes, done);
  if (guest.bytes.size() < wanted)
    return true;
  bool stays = guest.proves ? check(guest) : meet(guest);
  guest.bytes.clear();
  if (guest.inside)
    inside.emplace(guest.place, std::move(guest.socket));
  return stays && !guest.inside;
}

bool Door::meet(Guest &guest) {
  Hello hello;
  memcpy(&hello, guest.bytes.data(), sizeof hello);
  // No process needs so many connections to this rank.
  if (hello.nonce != password.nonce || inside.size() >= mostGuests)
    return false;
  guest.place = hello.place, guest.challenges.connects = hello.challenge;
  bool asks = !password.secret.empty();
  Reply reply = {password.nonce, Answer::welcome, {}};
  if (asks != bool(hello.hasSecret))
    reply.answer = asks ? Answer::secretWanted : Answer::noSecret;
  else if (asks)
    reply.answer = Answer::prove;
  if (reply.answer == Answer::prove &&
      !drawRandom(reply.challenge.data(), reply.challenge.size()).ok())
    return false;
  guest.challenges.listens = reply.challenge;
  guest.proves = reply.answer == Answer::prove;
  guest.inside = say(guest.socket, reply) && reply.answer == Answer::welcome;
  if (reply.answer == Answer::secretWanted || reply.answer == Answer::noSecret)
    lastRefused = guest.socket.peer();
  return guest.proves;
}

bool Door::check(Guest &guest) {
  Proof proof;
  memcpy(proof.data(), guest.bytes.data(), proof.size());
  std::string purpose = purposeOf(password.nonce, guest.place);
  Verdict verdict = {Answer::wrong, {}};
  if (equal(proof, proofOf(password.secret, Side::connects, guest.challenges, purpose)))
    verdict = {Answer::welcome, proofOf(password.secret, Side::listens, guest.challenges, purpose)};
  else
    lastRefused = guest.socket.peer();
  guest.inside = say(guest.socket, verdict) && verdict.answer == Answer::welcome;
  return false;
}

bool Door::take(const Place &place, Socket &socket) {
  auto found = inside.find(place);
  if (found == inside.end())
    return false;
  socket = std::move(found->second);
  inside.erase(found);
  return true;
}

std::string Door::refused() const {
  if (lastRefused.empty())
    return {};
  return format("; somebody at %s %s", lastRefused.c_str(),
                password.secret.empty() ? "has a secret of the job, and this process has none"
                                        : "does not know the secret of the job");
}

/// The answer of a door that lets nobody in.
static Status closed(Answer answer) {
  switch (answer) {
  case Answer::noSecret:
    return errorf("this process has %s, and that one has not: set it to one text in all processes "
                  "of the job, or in none",
                  secretVariable);
  case Answer::secretWanted:
    return errorf(
        "it asks for the secret of the job, and this process has none: set %s to one text "
        "in all processes of the job",
        secretVariable);
  case Answer::wrong:
    return errorf("it has another secret: set %s to one text in all processes of the job",
                  secretVariable);
  default:
    return errorf("it is none of this job");
  }
}

Status tplan::runtime::knock(Socket &socket, const Place &place, const Password &password,
                             const Deadline &deadline, const std::function<Status()> &meanwhile,
                             bool &answered) {
  answered = false;
  auto hear = [&](void *message, size_t size) -> Status {
    while (!socket.readable(deadline.within(look)) && !deadline.passed())
      TP_TRY(meanwhile());
    return socket.read(message, size, deadline);
  };
  Challenges challenges;
  Hello hello = {password.nonce, place, !password.secret.empty(), {}};
  if (hello.hasSecret)
    TP_TRY(drawRandom(hello.challenge.data(), hello.challenge.size()));
  TP_TRY(socket.write(&hello, sizeof hello, deadline));
  Reply reply;
  TP_TRY(hear(&reply, sizeof reply));
  answered = reply.nonce != password.nonce || reply.answer != Answer::prove;
  if (reply.nonce != password.nonce)
    return errorf("it is none of this job");
  if (reply.answer != (hello.hasSecret ? Answer::prove : Answer::welcome))
    return closed(reply.answer);
  if (!hello.hasSecret)
    return {};
  challenges = {hello.challenge, reply.challenge};
  std::string purpose = purposeOf(password.nonce, place);
  Proof mine = proofOf(password.secret, Side::connects, challenges, purpose);
  TP_TRY(socket.write(mine.data(), mine.size(), deadline));
  Verdict verdict;
  TP_TRY(hear(&verdict, sizeof verdict));
  answered = true;
  if (verdict.answer != Answer::welcome)
    return closed(verdict.answer);
  return equal(verdict.proof, proofOf(password.secret, Side::listens, challenges, purpose))
             ? Status()
             : errorf("it does not know the secret of the job, though it says so");
}
