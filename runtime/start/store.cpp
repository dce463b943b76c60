//===- store.cpp - a client of a TCPStore ---------------------------------===//

#include "runtime/start/store.h"

#include "runtime/start/store_protocol.h"

#include <thread>

using namespace tplan::runtime;
using namespace tplan::runtime::store;

/// A server that is alive answers at once; where none answers, a proxy that is alive may stand
/// before it.
static constexpr double answerSeconds = 10;

/// Seconds between attempts: at first, and at most.
static constexpr double firstPause = 0.05, longestPause = 1;

/// The error for an answer that does not fit the question: it came from something that is alive,
/// but is no store of this job.
Status Store::foreign(int answer) const {
  switch ((Hail)answer) {
  case Hail::secretWanted:
    return errorf("the store of the job at %s asks for its secret, and this process has none: set "
                  "%s to one text in all processes of the job",
                  address.c_str(), secretVariable);
  case Hail::noSecret:
    return errorf("this process has %s, and rank 0, which serves the store of the job at %s, has "
                  "not: set it to one text in all processes of the job, or in none",
                  secretVariable, address.c_str());
  case Hail::wrong:
    return errorf("the store of the job at %s has another secret: set %s to one text in all "
                  "processes of the job",
                  address.c_str(), secretVariable);
  default:
    return errorf(
        "what listens at %s is not the store of this job; does MASTER_PORT name it? it is "
        "no TCPStore: a %s, found %d",
        address.c_str(),
        secret.empty() ? "check is answered by 0 or 1"
                       : "rank that says hello is asked for "
                         "a proof",
        answer);
  }
}

/// `answered`: something is there, and the error is final.
Status Store::greet(std::string message, const Deadline &deadline, bool &answered) {
  putKeys(message, Op::check, nameOf("hello"));
  TP_TRY(socket.write(message.data(), message.size(), deadline));
  unsigned char answer;
  TP_TRY(socket.read(&answer, 1, deadline.within(answerSeconds)));
  answered = answer > (unsigned char)Check::missing;
  return answered ? foreign(answer) : Status();
}

Status Store::introduce(std::string message, const Deadline &deadline, bool &answered) {
  Challenges challenges;
  TP_TRY(drawRandom(challenges.connects.data(), challenges.connects.size()));
  put(message, Op::hail);
  put(message, rank);
  put(message, challenges.connects);
  // Sends a question, and reads the answer; any answer but the one that goes on is an error.
  auto ask = [&](Hail wanted, void *back, size_t size) -> Status {
    TP_TRY(socket.write(message.data(), message.size(), deadline));
    unsigned char answer;
    TP_TRY(socket.read(&answer, 1, deadline.within(answerSeconds)));
    answered = answer != (unsigned char)wanted;
    return answered ? foreign(answer) : socket.read(back, size, deadline.within(answerSeconds));
  };
  TP_TRY(ask(Hail::prove, challenges.listens.data(), challenges.listens.size()));
  message.clear();
  put(message, Op::prove);
  put(message, proofOf(secret, Side::connects, challenges, purposeOf(rank)));
  Proof theirs;
  TP_TRY(ask(Hail::known, theirs.data(), theirs.size()));
  answered = !equal(theirs, proofOf(secret, Side::listens, challenges, purposeOf(rank)));
  return answered ? errorf("what listens at %s does not know the secret of the job, though it says "
                           "so; does MASTER_PORT name the store?",
                           address.c_str())
                  : Status();
}

Status Store::attempt(const Deadline &deadline, bool &answered) {
  TP_TRY(socket.connect(host, port, deadline));
  std::string message;
  put(message, Op::validate);
  put(message, magic);
  // PyTorch's server reads `validate` only where it comes whole, so all is one write.
  return secret.empty() ? greet(std::move(message), deadline, answered)
                        : introduce(std::move(message), deadline, answered);
}

/// Whether the server speaks only the protocol of PyTorch up to 2.0.
bool Store::isOld(const Deadline &deadline) const {
  Socket old;
  std::string message;
  put(message, magic);
  putKeys(message, Op::check, nameOf("hello"));
  unsigned char answer;
  return old.connect(host, port, deadline).ok() &&
         old.write(message.data(), message.size(), deadline).ok() &&
         old.read(&answer, 1, deadline.within(answerSeconds)).ok() &&
         answer <= (unsigned char)Check::missing;
}

Status Store::connect(const std::string &host, int port, const std::string &prefix,
                      double seconds) {
  this->host = host, this->port = port, limit = seconds;
  setPrefix(prefix);
  bool six = host.find(':') != std::string::npos;
  address = format("%s%s%s:%d", six ? "[" : "", host.c_str(), six ? "]" : "", port);
  Deadline deadline(seconds);
  Status reason;
  for (double pause = firstPause;; pause = std::min(2 * pause, longestPause)) {
    bool answered = false;
    reason = attempt(deadline, answered);
    if (reason.ok())
      return {};
    bool refused = socket.isOpen() && !answered;
    socket.close();
    if (answered)
      return reason;
    if (refused && isOld(deadline))
      return errorf("the store at %s is that of PyTorch 2.0 or older, which this program does not "
                    "speak; use the torchrun of PyTorch 2.1 or newer",
                    address.c_str());
    if (deadline.passed())
      break;
    std::this_thread::sleep_for(std::chrono::duration<double>(std::min(pause, deadline.left())));
  }
  return errorf("cannot reach the store of the job at %s within %g s; rank 0, or torchrun on its "
                "machine, serves it: does it run, and may this machine connect to it? %s",
                address.c_str(), seconds, reason.message().c_str());
}

Status Store::check(const std::string &key) const {
  if (!socket.isOpen())
    return errorf("there is no connection to the store at %s (any more), for the key '%s'",
                  address.c_str(), nameOf(key).c_str());
  if (nameOf(key).size() > maxKeyBytes)
    return errorf("a key of the store has at most %d bytes with its prefix, found %zu",
                  (int)maxKeyBytes, nameOf(key).size());
  return {};
}

/// After an error the connection is closed: a late answer could be taken for the answer to another
/// question.
Status Store::lost(const std::string &during, const Status &why) {
  socket.close();
  return errorf("lost the store at %s in '%s'; rank 0, or torchrun on its machine, may have ended, "
                "or has no room for more: %s",
                address.c_str(), during.c_str(), why.message().c_str());
}

template <typename T> Status Store::ask(const std::string &message, T &answer) {
  Deadline deadline(limit);
  TP_TRY(socket.write(message.data(), message.size(), deadline));
  return socket.read(&answer, sizeof answer, deadline);
}

Status Store::set(const std::string &key, std::string_view bytes) {
  TP_TRY(check(key));
  if (bytes.size() > maxValueBytes)
    return errorf("a value in the store has at most %d bytes, and that of '%s' has %zu",
                  (int)maxValueBytes, nameOf(key).c_str(), bytes.size());
  std::string message;
  put(message, Op::set);
  putText(message, nameOf(key));
  putText(message, bytes);
  putKeys(message, Op::check, nameOf(key));
  Check answer;
  Status status = ask(message, answer);
  if (status.ok() && answer != Check::ready)
    status = errorf("it has not kept the value: answer %d", (int)answer);
  return status.ok() ? status : lost("set " + nameOf(key), status);
}

Status Store::add(const std::string &key, int64_t delta, int64_t &value) {
  TP_TRY(check(key));
  std::string message;
  put(message, Op::add);
  putText(message, nameOf(key));
  put(message, delta);
  Status status = ask(message, value);
  return status.ok() ? status : lost("add " + nameOf(key), status);
}

/// `done`: the value came just before.
Status Store::cancelWait(bool &done) {
  std::string message;
  put(message, Op::cancelWait);
  Wait answer;
  TP_TRY(ask(message, answer));
  done = answer == Wait::done;
  if (done)
    TP_TRY(socket.read(&answer, sizeof answer, Deadline(limit)));
  return answer == Wait::cancelled ? Status()
                                   : errorf("it answers the end of a wait by %d", (int)answer);
}

Status Store::fetch(const std::string &key, std::string &bytes) {
  std::string message;
  put(message, Op::get);
  putText(message, nameOf(key));
  uint64_t size;
  TP_TRY(ask(message, size));
  if (size > maxValueBytes)
    return errorf("a value has at most %d bytes, found %llu", (int)maxValueBytes,
                  (unsigned long long)size);
  bytes.resize(size);
  return socket.read(bytes.data(), size, Deadline(limit));
}

Status Store::get(const std::string &key, std::string &bytes, double seconds) {
  TP_TRY(check(key));
  std::string during = "get " + nameOf(key), message;
  putKeys(message, Op::wait, nameOf(key));
  Deadline deadline(seconds);
  if (Status status = socket.write(message.data(), message.size(), Deadline(limit)); !status.ok())
    return lost(during, status);
  if (!socket.readable(deadline)) {
    bool done = false;
    if (Status status = cancelWait(done); !status.ok())
      return lost(during, status);
    if (!done)
      return errorf(
          "the store at %s has no '%s' after %.1f s: the rank that sets it has not come so "
          "far, or has failed",
          address.c_str(), nameOf(key).c_str(), seconds);
  } else {
    Wait answer;
    Status status = socket.read(&answer, sizeof answer, Deadline(limit));
    if (status.ok() && answer != Wait::done)
      status = errorf("it answers a wait by %d", (int)answer);
    if (!status.ok())
      return lost(during, status);
  }
  Status status = fetch(key, bytes);
  return status.ok() ? status : lost(during, status);
}
