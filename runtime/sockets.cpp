//===- sockets.cpp - TCP connections that end by a deadline ---------------===//

#include "runtime/sockets.h"

#include <cerrno>
#include <cmath>
#include <cstring>
#include <string_view>

#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

using namespace tplan::runtime;

static Status systemError(int code = errno) { return errorf("%s", strerror(code)); }

/// Whether the descriptor is ready in time.
static bool await(int descriptor, short events, const Deadline &deadline) {
  pollfd it = {descriptor, events, 0};
  for (;;) {
    double left = deadline.left();
    int ready = poll(&it, 1, (int)std::min(std::ceil(left * 1000), 1e9));
    if (ready > 0 || (ready < 0 && errno != EINTR))
      return true; // the next call says what an error is
    if (ready == 0 && left == 0)
      return false;
  }
}

static void setOption(int descriptor, int level, int option, int value) {
  setsockopt(descriptor, level, option, &value, sizeof value);
}

/// Messages are small and each is waited for; and a machine that is gone does not say so.
static void tune(int descriptor) {
  setOption(descriptor, IPPROTO_TCP, TCP_NODELAY, 1);
  setOption(descriptor, SOL_SOCKET, SO_KEEPALIVE, 1);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPIDLE, 20);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPINTVL, 10);
  setOption(descriptor, IPPROTO_TCP, TCP_KEEPCNT, 3);
}

static Status connectTo(const addrinfo &address, const Deadline &deadline, Socket &socket) {
  socket = Socket(::socket(address.ai_family, address.ai_socktype | SOCK_NONBLOCK | SOCK_CLOEXEC,
                           address.ai_protocol));
  if (!socket.isOpen())
    return systemError();
  tune(socket.get());
  if (!::connect(socket.get(), address.ai_addr, address.ai_addrlen))
    return {};
  if (errno != EINPROGRESS)
    return systemError();
  if (!await(socket.get(), POLLOUT, deadline))
    return systemError(ETIMEDOUT);
  int code = 0;
  socklen_t size = sizeof code;
  getsockopt(socket.get(), SOL_SOCKET, SO_ERROR, &code, &size);
  return code ? systemError(code) : Status();
}

Status Socket::connect(const std::string &host, int port, const Deadline &deadline) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM;
  int code = getaddrinfo(host.c_str(), std::to_string(port).c_str(), &hints, &found);
  if (code)
    return errorf("%s", code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code));
  Status status;
  for (const addrinfo *it = found; it; it = it->ai_next) {
    // One that leads nowhere leaves time for the next.
    status =
        connectTo(*it, deadline.within(it->ai_next ? deadline.left() / 2 : deadline.left()), *this);
    if (status.ok())
      break;
    close();
  }
  freeaddrinfo(found);
  return status;
}

static Status bindTo(Socket &socket, int family, int port, bool local) {
  socket = Socket(::socket(family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!socket.isOpen())
    return systemError();
  setOption(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  sockaddr_in6 six = {};
  sockaddr_in four = {};
  six.sin6_family = AF_INET6, six.sin6_port = htons(port), six.sin6_addr = in6addr_any;
  four.sin_family = AF_INET, four.sin_port = htons(port);
  four.sin_addr.s_addr = htonl(local ? INADDR_LOOPBACK : INADDR_ANY);
  if (family == AF_INET6)
    setOption(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  auto *address = family == AF_INET6 ? (sockaddr *)&six : (sockaddr *)&four;
  socklen_t size = family == AF_INET6 ? sizeof six : sizeof four;
  if (bind(socket.get(), address, size) || ::listen(socket.get(), SOMAXCONN))
    return systemError();
  return {};
}

Status Socket::listen(int port, bool local) {
  // A socket of IPv6 takes IPv4 too; a machine may have the latter alone.
  if (!local && bindTo(*this, AF_INET6, port, false).ok())
    return {};
  return bindTo(*this, AF_INET, port, local);
}

Status Socket::accept(Socket &connection, const Deadline &deadline) {
  for (;;) {
    if (!readable(deadline))
      return systemError(ETIMEDOUT);
    connection = Socket(accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.isOpen()) {
      tune(connection.get());
      return {};
    }
    if (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED)
      return systemError();
  }
}

std::string Socket::address() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  char text[NI_MAXHOST];
  if (getsockname(descriptor, (sockaddr *)&address, &size) ||
      getnameinfo((sockaddr *)&address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST))
    return {};
  // As IPv4 is seen through a socket of IPv6.
  constexpr std::string_view mapped = "::ffff:";
  return std::string_view(text).starts_with(mapped) ? text + mapped.size() : text;
}

int Socket::port() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  if (getsockname(descriptor, (sockaddr *)&address, &size))
    return 0;
  return ntohs(address.ss_family == AF_INET6 ? ((sockaddr_in6 &)address).sin6_port
                                             : ((sockaddr_in &)address).sin_port);
}

Status Socket::write(const void *data, size_t bytes, const Deadline &deadline) {
  for (auto *at = (const char *)data; bytes;) {
    ssize_t done = send(descriptor, at, bytes, MSG_NOSIGNAL);
    if (done >= 0)
      at += done, bytes -= done;
    else if (errno != EAGAIN && errno != EINTR)
      return systemError();
    else if (!await(descriptor, POLLOUT, deadline))
      return systemError(ETIMEDOUT);
  }
  return {};
}

Status Socket::read(void *data, size_t bytes, const Deadline &deadline) {
  for (auto *at = (char *)data; bytes;) {
    ssize_t done = recv(descriptor, at, bytes, 0);
    if (done == 0)
      return errorf("the other side closed the connection");
    if (done > 0)
      at += done, bytes -= done;
    else if (errno != EAGAIN && errno != EINTR)
      return systemError();
    else if (!await(descriptor, POLLIN, deadline))
      return systemError(ETIMEDOUT);
  }
  return {};
}

bool Socket::readable(const Deadline &deadline) const {
  return await(descriptor, POLLIN, deadline);
}

void Socket::close() {
  if (descriptor >= 0)
    ::close(descriptor);
  descriptor = -1;
}
