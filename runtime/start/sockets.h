//===- sockets.h - TCP connections that end by a deadline -----------------===//
#ifndef TPLAN_RUNTIME_START_SOCKETS_H
#define TPLAN_RUNTIME_START_SOCKETS_H

#include "runtime/support/status.h"

#include <algorithm>
#include <chrono>
#include <cstddef>

namespace tplan::runtime {

/// The time when waiting ends.
class Deadline {
public:
  explicit Deadline(double seconds)
      : end(Clock::now() + std::chrono::duration_cast<Clock::duration>(Seconds(seconds))) {}
  /// The seconds that are left; 0 when it has passed.
  double left() const { return std::max(0.0, Seconds(end - Clock::now()).count()); }
  bool passed() const { return left() == 0; }
  /// The earlier of the two.
  Deadline within(double seconds) const { return Deadline(std::min(seconds, left())); }

private:
  using Clock = std::chrono::steady_clock;
  using Seconds = std::chrono::duration<double>;
  Clock::time_point end;
};

/// One end of a connection. Errors are only a reason, to which callers add what it is about.
class Socket {
public:
  Socket() = default;
  explicit Socket(int descriptor) : descriptor(descriptor) {}
  Socket(Socket &&other) noexcept : descriptor(std::exchange(other.descriptor, -1)) {}
  Socket &operator=(Socket &&other) noexcept {
    std::swap(descriptor, other.descriptor);
    return *this;
  }
  ~Socket() { close(); }

  /// One attempt at each address that the name has, IPv4 and IPv6.
  Status connect(const std::string &host, int port, const Deadline &deadline);
  /// Listens at one address, a number; empty: at all addresses of this machine. Port 0: one that is
  /// free.
  Status listen(int port, const std::string &address);
  /// Takes the next connection. `full`: this process or its machine has no descriptor or memory for
  /// it.
  enum class Accepted { one, none, full };
  Accepted accept(Socket &connection) const;
  int port() const;
  /// The address of this end, as a number; empty where there is none.
  std::string address() const;
  /// The address of the other end.
  std::string peer() const;

  Status write(const void *data, size_t bytes, const Deadline &deadline);
  Status read(void *data, size_t bytes, const Deadline &deadline);
  /// Whether bytes, or the end, can be read before the deadline.
  bool readable(const Deadline &deadline) const;

  bool isOpen() const { return descriptor >= 0; }
  int get() const { return descriptor; }
  void close();

private:
  int descriptor = -1;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_SOCKETS_H
