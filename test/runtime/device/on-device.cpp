//===- on-device.cpp - the conformance suite in the memory of a GPU -----------===//

#include "on-device.h"

#include "runtime/ranks/collectives.h"
#include "runtime/support/types.h"

#include <cstring>
#include <zstd.h>

using namespace conformance;
using namespace tplan::runtime;

namespace {

constexpr int64_t guard = 64;
constexpr char untouched = 0x3C;

/// A piece of the host's memory, and where it is in the arena.
struct Piece {
  char *host;
  int64_t bytes, at = 0;
  bool holds(const void *begin, int64_t size) const {
    return begin >= host && (const char *)begin + size <= host + bytes;
  }
};

/// Elements that a member has, and that it gets.
std::pair<int64_t, int64_t> extents(const tp_collective &c, int members, int self) {
  int64_t own = c.outer * c.inner * c.middle * c.last, all = own * members;
  int64_t block = c.outer == 1 ? tp_block(&c, members, self, 1) : own;
  switch (c.kind) {
  case TP_REDUCE_SCATTER:
    return {c.whole, own};
  case TP_ALL_GATHER:
    return {block, c.whole};
  case TP_ALL_TO_ALL:
    return {all, all};
  default:
    return {own, own};
  }
}

constexpr tp_image nothing = {};

/// The text as a compiled plan holds it.
const tp_image &kernelImage() {
  static std::vector<char> packed;
  static const tp_image image = [] {
    size_t bytes = kernelText().size() + 1;
    packed.resize(ZSTD_compressBound(bytes));
    size_t size = ZSTD_compress(packed.data(), packed.size(), kernelText().c_str(), bytes, 1);
    EXPECT_FALSE(ZSTD_isError(size));
    return tp_image{packed.data(), (int64_t)size, (int64_t)bytes};
  }();
  return image;
}

class OnDevice : public Communicator {
public:
  OnDevice(std::unique_ptr<Communicator> inner, Stream stream, char *arena, int64_t room)
      : Communicator({inner->name(), inner->members(), inner->member()}), inner(std::move(inner)),
        stream(stream), arena(arena), room(room) {}

  Status issue(std::span<const Operation> operations, Team &team, Stream *) override;
  Status broadcast(void *data, int64_t bytes, int root) override {
    return inner->broadcast(data, bytes, root);
  }
  Status sum(double *values, int64_t count, Team &team) override {
    return inner->sum(values, count, team);
  }
  Traffic traffic() const override { return inner->traffic(); }

private:
  void add(std::vector<Piece> &pieces, const void *begin, int64_t bytes);
  char *deviceOf(const std::vector<Piece> &pieces, const void *begin, int64_t bytes) const;

  std::unique_ptr<Communicator> inner;
  Stream stream;
  char *arena;
  const int64_t room;
};

/// What lies together, as in place, stays together.
void OnDevice::add(std::vector<Piece> &pieces, const void *begin, int64_t bytes) {
  char *from = (char *)begin, *to = from + bytes;
  if (!from) // members of a message may lack what they do not touch
    return;
  for (Piece &piece : pieces)
    if (from < piece.host + piece.bytes && piece.host < to) {
      char *end = std::max(to, piece.host + piece.bytes);
      piece.host = std::min(piece.host, from), piece.bytes = end - piece.host;
      return;
    }
  pieces.push_back({from, bytes});
}

char *OnDevice::deviceOf(const std::vector<Piece> &pieces, const void *begin, int64_t bytes) const {
  for (const Piece &piece : pieces)
    if (begin && piece.holds(begin, bytes))
      return arena + piece.at + ((const char *)begin - piece.host);
  return nullptr;
}

Status OnDevice::issue(std::span<const Operation> operations, Team &team, Stream *) {
  for (const Operation &operation : operations)
    if (!checkCollective(*operation.what, size(), group.name.c_str()).ok())
      return inner->issue(operations, team, &stream);
  std::vector<Piece> pieces;
  auto sizes = [&](const Operation &it) {
    auto [in, out] = extents(*it.what, size(), member());
    int64_t width = bytesOf(it.what->type);
    return std::pair(in * width, out * width);
  };
  for (const Operation &operation : operations) {
    auto [in, out] = sizes(operation);
    add(pieces, operation.in, in);
    add(pieces, operation.out, out);
  }
  int64_t end = guard;
  for (Piece &piece : pieces) {
    piece.at = end;
    end = (end + piece.bytes + guard + 255) / 256 * 256;
  }
  if (end > room)
    return errorf("operands take %lld bytes", (long long)end);
  std::string image(end, untouched);
  for (const Piece &piece : pieces)
    memcpy(image.data() + piece.at, piece.host, piece.bytes);
  TP_TRY(stream.device->write(arena, image.data(), end));
  std::vector<Operation> there;
  for (const Operation &operation : operations) {
    auto [in, out] = sizes(operation);
    there.push_back({operation.what, deviceOf(pieces, operation.in, in),
                     deviceOf(pieces, operation.out, out), operation.call});
  }
  TP_TRY(inner->issue(there, team, &stream));
  TP_TRY(stream.device->read(image.data(), arena, end));
  int64_t at = 0;
  for (const Piece &piece : pieces) {
    for (; at < piece.at; ++at)
      EXPECT_EQ(image[at], untouched) << "written before an operand, at " << at - piece.at;
    memcpy(piece.host, image.data() + piece.at, piece.bytes);
    at += piece.bytes;
  }
  for (; at < end; ++at)
    EXPECT_EQ(image[at], untouched) << "written behind an operand";
  return {};
}

} // namespace

const std::string &conformance::kernelText() {
  static const std::string text = [] {
    const char *file = getenv("DEVICE_SUMS");
    return file ? helpers::readFile(file) : std::string();
  }();
  return text;
}

void DeviceProgram::addKernels() {
  const std::string &text = kernelText(), entry = ".visible .entry ";
  for (size_t at = 0; (at = text.find(entry, at)) != std::string::npos;) {
    at += entry.size();
    names.push_back(text.substr(at, text.find('(', at) - at));
  }
  kernels.resize(names.size());
  for (size_t i = 0; i < names.size(); ++i) {
    kernels[i] = {names[i].c_str(), (int32_t)i, 0, 256, 1, 1, 5, nullptr, nullptr};
    places.push_back(&kernels[i]);
    for (int32_t type = 0; type < TP_NUM_TYPES; ++type)
      if (names[i].ends_with(format("_%s", nameOf(type))))
        sums.push_back(
            {type, names[i].find("max_") == std::string::npos ? TP_SUM : TP_MAX, &kernels[i]});
  }
}

DeviceProgram::DeviceProgram(const tp_program &mesh, bool nativeSums) : made(mesh) {
  addKernels();
  // One group works at a time, so all share one scratch. It holds the largest operation, not the
  // largest bucket, which is divided; buckets of many chunks go over the last group.
  int64_t megabyte = ranksOf(mesh) << 20;
  room = 3 * megabyte;
  offsets.push_back(0), bytes.push_back(0);
  for (int64_t group = 0; group < mesh.num_groups; ++group) {
    offsets.push_back(room);
    bytes.push_back(group == mesh.num_groups - 1 ? 5 * megabyte / 2 : megabyte);
  }
  facts.arch = "sm_90", facts.ptx = &kernelImage(), facts.cubin = &nothing;
  facts.kernels = places.data(), facts.num_kernels = (int64_t)places.size();
  facts.sums = sums.data(), facts.num_sums = (int64_t)sums.size();
  made.num_streams = (int64_t)offsets.size();
  facts.scratch_offsets = offsets.data(), facts.scratch_bytes = bytes.data();
  facts.native_sums = nativeSums;
  made.arena_bytes = room + 5 * megabyte / 2;
  made.device = &facts;
}

DeviceRank::DeviceRank(Transport &transport, const DeviceProgram &program, int64_t gpu)
    : transport(transport), program(program) {
  CudaOptions options;
  options.ordinal = gpu;
  EXPECT_OK(openCuda(options, device));
  if (device)
    EXPECT_OK(device->start(program.program(), arena));
}

/// Others may still read the memory.
DeviceRank::~DeviceRank() { EXPECT_OK(transport.world().barrier()); }

void DeviceRank::run(Team &team, const Body &body) {
  transport.attach(*device, arena, program.program().arena_bytes);
  std::vector<std::unique_ptr<Communicator>> plain;
  Status status = transport.connect(program.program(), plain);
  EXPECT_OK(status);
  Rank rank{transport, {}, team};
  int64_t number = 0;
  for (auto &group : plain)
    if (Stream stream{device.get(), ++number}; group)
      rank.groups.push_back(
          std::make_unique<OnDevice>(std::move(group), stream, arena, program.operands()));
    else
      rank.groups.emplace_back();
  if (status.ok())
    body(rank);
}
