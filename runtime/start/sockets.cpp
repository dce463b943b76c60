//===- sockets.cpp - TCP connections that end by a deadline ---------------===//

#include "runtime/start/sockets.h"

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

/// Messages are small and each is waited for, so they are sent at once; a machine that is gone
/// sends nothing, so the connection is probed.
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
    // An address that leads nowhere leaves time for the next one.
    status =
        connectTo(*it, deadline.within(it->ai_next ? deadline.left() / 2 : deadline.left()), *this);
    if (status.ok())
      break;
    close();
  }
  freeaddrinfo(found);
  return status;
}

static Status bindTo(Socket &socket, const addrinfo &address) {
  socket = Socket(
      ::socket(address.ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, address.ai_protocol));
  if (!socket.isOpen())
    return systemError();
  setOption(socket.get(), SOL_SOCKET, SO_REUSEADDR, 1);
  if (address.ai_family == AF_INET6)
    setOption(socket.get(), IPPROTO_IPV6, IPV6_V6ONLY, 0);
  if (bind(socket.get(), address.ai_addr, address.ai_addrlen) || ::listen(socket.get(), SOMAXCONN))
    return systemError();
  return {};
}

Status Socket::listen(int port, const std::string &address) {
  addrinfo hints = {}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM, hints.ai_flags = AI_NUMERICHOST | AI_NUMERICSERV | AI_PASSIVE;
  // A socket of IPv6 takes IPv4 connections, too; but a machine may have only IPv4.
  Status status;
  for (const char *each : {address.empty() ? "::" : address.c_str(), "0.0.0.0"}) {
    int code = getaddrinfo(each, std::to_string(port).c_str(), &hints, &found);
    if (code)
      return errorf("'%s': %s", each, gai_strerror(code));
    status = bindTo(*this, *found);
    freeaddrinfo(found);
    if (status.ok() || !address.empty())
      break;
  }
  return status;
}

Socket::Accepted Socket::accept(Socket &connection) const {
  for (;;) {
    connection = Socket(accept4(descriptor, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
    if (connection.isOpen()) {
      tune(connection.get());
      return Accepted::one;
    }
    if (errno == EMFILE || errno == ENFILE || errno == ENOMEM || errno == ENOBUFS)
      return Accepted::full;
    if (errno != EINTR && errno != ECONNABORTED)
      return Accepted::none;
  }
}

static std::string textOf(const sockaddr_storage &address, socklen_t size) {
  char text[NI_MAXHOST];
  if (getnameinfo((const sockaddr *)&address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST))
    return {};
  // How an IPv4 address is seen through a socket of IPv6.
  constexpr std::string_view mapped = "::ffff:";
  return std::string_view(text).starts_with(mapped) ? text + mapped.size() : text;
}

std::string Socket::address() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  return getsockname(descriptor, (sockaddr *)&address, &size) ? "" : textOf(address, size);
}

std::string Socket::peer() const {
  sockaddr_storage address = {};
  socklen_t size = sizeof address;
  return getpeername(descriptor, (sockaddr *)&address, &size) ? "" : textOf(address, size);
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
