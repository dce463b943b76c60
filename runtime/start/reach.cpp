//===- reach.cpp - at which addresses a process listens ---------------------===//

#include "runtime/start/reach.h"

#include <cerrno>
#include <cstring>

#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>

using namespace tplan::runtime;

/// Bytes of an address without its port; for IPv4 the same bytes where IPv6 writes it.
static std::string bytesOf(const sockaddr *address) {
  if (address->sa_family == AF_INET)
    return std::string((const char *)&((const sockaddr_in *)address)->sin_addr, sizeof(in_addr));
  if (address->sa_family != AF_INET6)
    return {};
  const in6_addr &six = ((const sockaddr_in6 *)address)->sin6_addr;
  size_t skipped = IN6_IS_ADDR_V4MAPPED(&six) ? sizeof six - sizeof(in_addr) : 0;
  return std::string((const char *)&six + skipped, sizeof six - skipped);
}

static bool isLoopback(const sockaddr *address) {
  std::string bytes = bytesOf(address);
  if (bytes.size() == sizeof(in_addr))
    return bytes[0] == 127;
  return bytes == std::string((const char *)&in6addr_loopback, sizeof(in6_addr));
}

/// An address as a number, with the interface where the address needs one.
static std::string textOf(const sockaddr *address) {
  char text[NI_MAXHOST];
  socklen_t size = address->sa_family == AF_INET ? sizeof(sockaddr_in) : sizeof(sockaddr_in6);
  return getnameinfo(address, size, text, sizeof text, nullptr, 0, NI_NUMERICHOST) ? "" : text;
}

/// The address as a number if an interface of this machine has it, else empty.
static std::string ownedBy(const ifaddrs *interfaces, const sockaddr *address) {
  if (isLoopback(address))
    return textOf(address);
  for (const ifaddrs *it = interfaces; it; it = it->ifa_next)
    if (it->ifa_addr && !bytesOf(address).empty() && bytesOf(it->ifa_addr) == bytesOf(address))
      return textOf(it->ifa_addr);
  return {};
}

Reach tplan::runtime::reachOf(const std::string &host, bool oneMachine) {
  if (host == "localhost")
    return {{"127.0.0.1"}, ""};
  addrinfo hints = {}, *found = nullptr;
  hints.ai_family = AF_UNSPEC, hints.ai_socktype = SOCK_STREAM;
  if (int code = getaddrinfo(host.c_str(), nullptr, &hints, &found))
    return {{},
            format("this machine does not know the address of '%s' (%s)", host.c_str(),
                   code == EAI_SYSTEM ? strerror(errno) : gai_strerror(code))};
  ifaddrs *interfaces = nullptr;
  if (getifaddrs(&interfaces))
    interfaces = nullptr;
  Reach reach;
  std::string seen, loopback;
  for (const addrinfo *it = found; it; it = it->ai_next) {
    std::string text = textOf(it->ai_addr);
    seen += (seen.empty() ? "" : ", ") + text;
    if (std::string mine = ownedBy(interfaces, it->ai_addr); !mine.empty()) {
      reach.addresses.push_back(mine);
      loopback = isLoopback(it->ai_addr) ? text : loopback;
    }
  }
  if (interfaces)
    freeifaddrs(interfaces);
  freeaddrinfo(found);
  if (reach.addresses.empty())
    reach.note = format("no interface of this machine has the address of '%s' (%s)", host.c_str(),
                        seen.c_str());
  // Debian writes the machine's own name into /etc/hosts so. A user who writes the number means it.
  if (!oneMachine && !loopback.empty() && loopback != host)
    reach = {{},
             format("the name '%s' leads to %s on this machine, which others do not reach",
                    host.c_str(), loopback.c_str())};
  return reach;
}

static Status tryAt(const Reach &reach, int port, std::vector<Socket> &sockets) {
  sockets.clear();
  for (const std::string &address : reach.addresses) {
    TP_TRY(sockets.emplace_back().listen(port, address));
    port = sockets.front().port();
  }
  return reach.addresses.empty() ? sockets.emplace_back().listen(port, "") : Status();
}

Status tplan::runtime::listenAt(const Reach &reach, int port, std::vector<Socket> &sockets) {
  // A port that is free at the first address need not be at the others.
  constexpr int attempts = 8;
  Status status;
  for (int i = 0; i < (port ? 1 : attempts); ++i)
    if (status = tryAt(reach, port, sockets); status.ok())
      return {};
  sockets.clear();
  return status;
}
