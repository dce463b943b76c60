//===- links.cpp - sockets between the processes of a job, and who is lost ----===//

#include "runtime/transports/links.h"

#include <algorithm>
#include <cerrno>
#include <cstring>

#include <poll.h>
#include <sys/socket.h>

using namespace tplan::runtime;

namespace {

/// Seconds between two looks at whether others still live, while something else is waited for.
constexpr double look = 0.05;
/// Seconds for a rank to be let in while strangers are connected.
constexpr int attempts = 20;
/// Seconds for others to hear that this rank ends.
constexpr double lastWords = 1;
constexpr uint32_t allTrees = UINT32_MAX;

struct Header {
  uint32_t kind;
  int32_t number;
  uint64_t bytes;
};

} // namespace

int tplan::runtime::wayTo(int from, int to) {
  for (; to > from; to = above(to))
    if (above(to) == from)
      return to;
  return above(from);
}

//===----------------------------------------------------------------------===//
// Connections
//===----------------------------------------------------------------------===//

void Links::add(uint32_t tree, int member, int rank, Socket socket) {
  Edge &edge = edges.emplace_back();
  edge.tree = tree, edge.member = member, edge.rank = rank;
  edge.socket = std::move(socket);
  if (tree)
    return;
  // Others may have called the roll, or be lost, before this rank has connected.
  for (auto &[other, where] : present)
    put(edge, {Frame::here, other, where});
  for (const Loss &loss : losses)
    put(edge, {loss.kind, loss.rank, loss.why});
}

Links::Edge *Links::find(uint32_t tree, int member) {
  auto it = std::find_if(edges.begin(), edges.end(), [&](const Edge &edge) {
    return edge.tree == tree && edge.member == member;
  });
  return it == edges.end() ? nullptr : &*it;
}

/// Connects to the member above this one.
Status Links::reach(uint32_t tree, const Members &members, const Deadline &deadline) {
  int parent = above(members.self), rank = members.ranks[parent];
  const std::string &at = addresses[rank];
  size_t space = at.find(' ');
  Socket socket;
  Status status = errorf("'%s' is no address", at.c_str());
  bool answered = space == std::string::npos;
  for (int i = 0; i < attempts && !answered && losses.empty() && !deadline.passed(); ++i) {
    if (i)
      (void)poll(look).ok();
    socket = Socket();
    status = socket.connect(at.substr(0, space), atoi(at.c_str() + space), deadline);
    // Where nobody listens, that is known at once.
    answered = !status.ok();
    if (status.ok())
      status = knock(
          socket, {tree, members.self, self}, password, deadline, [this] { return poll(0); },
          answered);
    answered |= status.ok();
  }
  if (!losses.empty())
    return status;
  if (!status.ok())
    return errorf("rank %d cannot connect to rank %d at '%s', which it says it is at; may this "
                  "machine connect to it? %s",
                  self, rank, at.c_str(), status.message().c_str());
  add(tree, parent, rank, std::move(socket));
  return {};
}

Status Links::connect(uint32_t tree, const Members &members, double seconds) {
  Deadline deadline(seconds);
  if (members.self)
    TP_TRY(reach(tree, members, deadline));
  auto n = (int)members.ranks.size();
  for (int child = 2 * members.self + 1; child < std::min(n, 2 * members.self + 3); ++child) {
    Place place = {tree, child, members.ranks[child]};
    Socket socket;
    while (!door.take(place, socket)) {
      TP_TRY(poll(std::min(look, deadline.left())));
      if (deadline.passed())
        return errorf("rank %d waits for all ranks of '%s', and rank %d has not connected within "
                      "%g s%s",
                      self, members.name.c_str(), place.rank, seconds, door.refused().c_str());
    }
    add(tree, child, place.rank, std::move(socket));
  }
  return {};
}

void Links::drop(uint32_t tree) {
  for (Edge &edge : edges)
    if (edge.tree == tree)
      put(edge, {Frame::bye, self, ""});
  std::erase_if(edges, [&](const Edge &edge) { return edge.tree == tree; });
}

/// A rank is reached at the address from which it reaches the store, and listens only there. If it
/// reaches the store on its own machine, its address is where that machine's name leads.
Status Links::open(const Launch &launch, Rendezvous &meeting, double seconds) {
  self = (int)launch.rank, ranks = (int)launch.ranks;
  password = {meeting.nonce(), launch.secret};
  std::string host = meeting.store().ownAddress();
  Reach reach = {{host}, ""};
  if (self == 0 || host.empty() || host.starts_with("127.") || host == "::1")
    host = launch.host, reach = reachOf(launch);
  if (Status status = door.open(reach, password); !status.ok())
    return errorf("rank %d cannot listen for other ranks: %s", self, status.message().c_str());
  addresses.resize(ranks);
  addresses[self] = format("%s %d", host.c_str(), door.port());
  TP_TRY(meeting.store().set(format("address/%d", self), addresses[self]));
  Members all = everyone(ranks, self);
  if (self) {
    std::string key = format("address/%d", above(self));
    TP_TRY(meeting.store().get(key, addresses[above(self)], seconds));
  }
  TP_TRY(connect(0, all, seconds));
  for (int other = 0; other < ranks; ++other)
    if (addresses[other].empty())
      TP_TRY(meeting.store().get(format("address/%d", other), addresses[other], seconds));
  return {};
}

//===----------------------------------------------------------------------===//
// Frames
//===----------------------------------------------------------------------===//

void Links::put(Edge &edge, const Frame &frame) {
  if (!edge.socket.isOpen())
    return;
  Header header = {frame.kind, frame.number, frame.bytes.size()};
  edge.out.append((const char *)&header, sizeof header);
  edge.out += frame.bytes;
  flush(edge);
}

/// Sends as much as the connection takes.
void Links::flush(Edge &edge) {
  while (edge.socket.isOpen() && !edge.out.empty()) {
    ssize_t done = ::send(edge.socket.get(), edge.out.data(), edge.out.size(), MSG_NOSIGNAL);
    if (done > 0)
      edge.out.erase(0, done);
    else if (errno == EAGAIN)
      return;
    else if (errno != EINTR)
      return edge.out.clear(); // the reason is in what is still to be read
  }
}

void Links::read(Edge &edge) {
  char buffer[1 << 16];
  std::string why;
  for (;;) {
    ssize_t done = recv(edge.socket.get(), buffer, sizeof buffer, 0);
    if (done > 0) {
      edge.in.append(buffer, done);
      continue;
    }
    if (done < 0 && errno == EINTR)
      continue;
    if (done < 0 && errno == EAGAIN)
      break;
    why = done == 0 ? "it has closed" : strerror(errno);
    break;
  }
  size_t at = 0;
  for (Header header; edge.in.size() - at >= sizeof header;) {
    memcpy(&header, edge.in.data() + at, sizeof header);
    if (edge.in.size() - at - sizeof header < header.bytes)
      break;
    if (header.kind > Frame::lastKind) {
      why = "what it sends is no message";
      break;
    }
    at += sizeof header;
    hear(edge, {(Frame::Kind)header.kind, header.number, edge.in.substr(at, header.bytes)});
    at += header.bytes;
  }
  edge.in.erase(0, at);
  if (!why.empty())
    lose(edge, why);
}

void Links::lose(Edge &edge, const std::string &why) {
  edge.socket.close();
  if (!edge.ending)
    learn({Frame::gone, edge.rank, format("its connection to rank %d: %s", self, why.c_str())});
}

void Links::hear(Edge &edge, Frame frame) {
  switch (frame.kind) {
  case Frame::data:
    return edge.frames.push_back(std::move(frame));
  case Frame::bye:
    edge.ending = true;
    return;
  case Frame::gone:
  case Frame::failed:
    edge.ending = true;
    return learn({frame.kind, frame.number, std::move(frame.bytes)});
  case Frame::here:
    if (present.emplace(frame.number, frame.bytes).second)
      tellAll(frame, 0);
    return answer();
  case Frame::note:
    if (noted)
      noted(frame.bytes);
    return;
  }
}

void Links::write(int rank, std::string bytes) {
  if (Edge *edge = find(0, rank))
    put(*edge, {Frame::note, self, std::move(bytes)});
}

/// News is passed on. That a rank is gone is the cause of all other losses.
void Links::learn(Loss news) {
  if (!losses.empty() && losses.back().kind <= news.kind)
    return;
  losses.push_back(news);
  tellAll({news.kind, news.rank, news.why}, allTrees);
}

void Links::answer() {
  if (std::exchange(called, true))
    return;
  present[self] = place ? place() : "";
  tellAll({Frame::here, self, present[self]}, 0);
}

void Links::tellAll(const Frame &frame, uint32_t trees) {
  for (Edge &edge : edges)
    if (edge.tree <= trees)
      put(edge, frame);
}

Status Links::poll(double seconds) {
  std::vector<pollfd> polled;
  for (Edge &edge : edges)
    polled.push_back({edge.socket.get(), short(POLLIN | (edge.out.empty() ? 0 : POLLOUT)), 0});
  door.addTo(polled);
  if (::poll(polled.data(), polled.size(), (int)(seconds * 1000)) > 0) {
    door.serve();
    size_t i = 0;
    for (Edge &edge : edges) {
      short events = polled[i++].revents;
      if (events & POLLOUT)
        flush(edge);
      if (events & (POLLIN | POLLHUP | POLLERR))
        read(edge);
    }
  }
  return ended();
}

Status Links::ended() const {
  if (losses.empty())
    return {};
  const Loss &loss = losses.back();
  std::string here = place ? place() : "";
  return errorf("rank %d %s: %s%s", loss.rank, loss.kind == Frame::gone ? "is gone" : "has failed",
                loss.why.c_str(),
                here.empty() ? "" : format("; rank %d %s", self, here.c_str()).c_str());
}

Status Links::send(uint32_t tree, int member, int32_t number, std::string bytes, double seconds) {
  Edge &edge = *find(tree, member);
  put(edge, {Frame::data, number, std::move(bytes)});
  for (Deadline deadline(seconds); !edge.out.empty();) {
    TP_TRY(poll(look));
    if (deadline.passed())
      return late(edge, seconds);
  }
  return {};
}

Status Links::receive(uint32_t tree, int member, int32_t number, std::string &bytes,
                      double seconds) {
  Edge &edge = *find(tree, member);
  for (Deadline deadline(seconds); edge.frames.empty();) {
    TP_TRY(poll(look));
    if (!edge.frames.empty())
      break;
    if (!edge.socket.isOpen())
      return errorf("rank %d has left, where rank %d waits for it", edge.rank, self);
    if (deadline.passed())
      return late(edge, seconds);
  }
  Frame &frame = edge.frames.front();
  if (frame.number != number)
    return errorf("ranks do not meet in the same order: rank %d comes to its meeting %d with those "
                  "of rank %d, which is at %d",
                  self, number, edge.rank, frame.number);
  bytes = std::move(frame.bytes);
  edge.frames.pop_front();
  return {};
}

//===----------------------------------------------------------------------===//
// Who is there
//===----------------------------------------------------------------------===//

/// A silent rank may itself wait for another one, so all are asked.
Status Links::late(const Edge &edge, double seconds) {
  TP_TRY(callRoll(seconds));
  return errorf("rank %d has waited %g s for rank %d, and all ranks answer: %s", self, seconds,
                edge.rank, others().c_str());
}

/// A silent rank cuts off the ranks beyond it: the first silent rank on each way is named.
Status Links::callRoll(double seconds) {
  answer();
  for (Deadline deadline(seconds); (int)present.size() < ranks && !deadline.passed();)
    TP_TRY(poll(std::min(look, deadline.left())));
  TP_TRY(ended());
  for (int other = 0; other < ranks; ++other) {
    // Seen from the other rank: its neighbour towards this one.
    if (other == self || present.count(other) || !present.count(wayTo(other, self)))
      continue;
    learn({Frame::gone, other, format("it does not answer rank %d within %g s", self, seconds)});
    flushAll(lastWords);
    return ended();
  }
  return {};
}

std::string Links::others() const {
  std::string text;
  for (auto &[rank, where] : present)
    if (rank != self)
      text += format("%srank %d %s", text.empty() ? "" : "; ", rank,
                     where.empty() ? "is in no collective" : where.c_str());
  return text;
}

void Links::flushAll(double seconds) {
  auto waits = [](const Edge &edge) { return edge.socket.isOpen() && !edge.out.empty(); };
  for (Deadline deadline(seconds);
       std::any_of(edges.begin(), edges.end(), waits) && !deadline.passed();)
    (void)poll(look).ok();
}

void Links::fail(const std::string &why) {
  learn({Frame::failed, self, why});
  flushAll(lastWords);
}

/// Closing a connection before everything is read would lose what was sent, so everything is read
/// first.
void Links::leave() {
  tellAll({Frame::bye, self, ""}, allTrees);
  auto waits = [](const Edge &edge) { return edge.socket.isOpen() && !edge.ending; };
  for (Deadline deadline(lastWords);
       losses.empty() && std::any_of(edges.begin(), edges.end(), waits) && !deadline.passed();)
    (void)poll(look).ok();
  flushAll(lastWords);
}
