//===- trace_device.cpp - a device that notes what it is asked for ----------===//

#include "runtime/step/trace_device.h"

#include "runtime/ranks/collectives.h"
#include "runtime/support/types.h"

#include <algorithm>

using namespace tplan::runtime;

namespace {

/// The address that stands for the arena: far from null, and aligned as an allocation is.
constexpr uintptr_t base = uintptr_t(1) << 40;
/// So many rows are noted one by one; more are noted as one piece from the first to the last.
constexpr int64_t mostRows = 4096;

int64_t offsetOf(const void *address) { return (int64_t)((uintptr_t)address - base); }

Extent extentOf(const void *address, int64_t bytes) {
  return {offsetOf(address), offsetOf(address) + bytes};
}

WorkTitle titleOf(const tp_call &call) { return {call.name, call.file, call.line}; }

/// Elements from the first to the last of an operand of a GEMM.
int64_t span(int64_t rows, int64_t columns, int64_t leading, int64_t batch, int64_t stride) {
  return (batch - 1) * stride + (rows - 1) * leading + columns;
}

class TraceDevice : public Device {
public:
  explicit TraceDevice(StreamSink sink) : sink(std::move(sink)) {}

  std::string name() const override { return "no device"; }
  Status start(const tp_program &started, char *&arena) override {
    program = &started;
    facts = program->device;
    given.resize(facts->given_bytes);
    arena = (char *)base;
    return {};
  }

  Status launch(const tp_call &call, const tp_device_kernel &kernel, void *const *args,
                int64_t layers) override {
    StreamEvent work = begin(call.stream, titleOf(call));
    for (int32_t i = 0; i < kernel.num_args; ++i) {
      bool isOutput = i >= kernel.inputs && i < kernel.inputs + kernel.outputs;
      int64_t stride = kernel.strides ? kernel.strides[i] : 0;
      for (int64_t layer = 0; layer < (stride ? layers : 1); ++layer)
        (isOutput ? work.writes : work.reads)
            .push_back(extentOf((const char *)args[i] + layer * stride, kernel.bytes[i]));
    }
    return sink(work);
  }

  Status attend(const tp_call &call, const tp_attention &it, void *const *pointers) override {
    StreamEvent work = begin(call.stream, titleOf(call));
    for (int32_t i = 0; i < tp_attention_pointers(it.pass); ++i) {
      bool ofKeys = tp_attention_of_keys(i);
      const int64_t *strides = it.strides + 3 * i;
      int64_t last = (it.batch - 1) * strides[0] +
                     ((ofKeys ? it.groups : it.heads) - 1) * strides[1] +
                     ((ofKeys ? it.keys : it.queries) - 1) * strides[2];
      Extent extent = i == tp_attention_lse(it.pass)
                          ? extentOf(pointers[i], (last + 1) * bytesOf(TP_F32))
                          : extentOf(pointers[i], (last + it.width) * bytesOf(it.type));
      (i < tp_attention_inputs(it.pass) ? work.reads : work.writes).push_back(extent);
    }
    work.writes.push_back(
        {facts->workspace_offset, facts->workspace_offset + facts->workspace_bytes});
    return sink(work);
  }

  Status matmul(const tp_call &call, const tp_gemm &g, const tp_scales *scales,
                const GemmOperands &at) override {
    StreamEvent work = begin(call.stream, titleOf(call));
    int64_t in = bytesOf(g.in), out = bytesOf(g.out);
    int64_t first = g.trans_a ? span(g.k, g.m, g.lda, g.batch, g.stride_a)
                              : span(g.m, g.k, g.lda, g.batch, g.stride_a);
    int64_t second = g.trans_b ? span(g.n, g.k, g.ldb, g.batch, g.stride_b)
                               : span(g.k, g.n, g.ldb, g.batch, g.stride_b);
    work.reads = {extentOf(at.a, in * first), extentOf(at.b, in * second)};
    if (at.bias)
      work.reads.push_back(extentOf(at.bias, out * g.n));
    if (scales) {
      const tp_scales &s = *scales;
      auto bytes = [&](int64_t rows, int64_t block, int64_t stride, int64_t panel) {
        return 4 * (((rows + block - 1) / block - 1) * stride + (g.k / s.panel - 1) * panel + 1);
      };
      work.reads.push_back(extentOf(at.aScale, bytes(g.m, s.a_block, s.a_stride, s.a_panel)));
      work.reads.push_back(extentOf(at.bScale, bytes(g.n, s.b_block, s.b_stride, s.b_panel)));
      work.scales = scales;
    }
    Extent product = extentOf(at.c, out * span(g.m, g.n, g.ldc, g.batch, g.stride_c));
    if (g.accumulate)
      work.reads.push_back(product);
    work.writes = {product,
                   {facts->workspace_offset, facts->workspace_offset + facts->workspace_bytes}};
    work.gemm = &g;
    return sink(work);
  }

  Status copy(int64_t stream, void *to, const void *from, const Rows &rows) override {
    StreamEvent work = begin(stream, {"a copy"});
    addRows(work.reads, from, rows.rows, rows.row, rows.fromStride);
    addRows(work.writes, to, rows.rows, rows.row, rows.toStride);
    return sink(work);
  }

  Status zero(int64_t stream, void *place, const Rows &rows) override {
    StreamEvent work = begin(stream, {"a zero"});
    addRows(work.writes, place, rows.rows, rows.row, rows.toStride);
    return sink(work);
  }

  Status sum(int64_t stream, int32_t type, int32_t, void *out, const void *in, int64_t members,
             int64_t count, int64_t stride) override {
    StreamEvent work = begin(stream, {"a sum of ranks"});
    int64_t bytes = bytesOf(type);
    work.reads = {extentOf(in, ((members - 1) * stride + count) * bytes)};
    work.writes = {extentOf(out, count * bytes)};
    return sink(work);
  }

  Status record(int64_t stream, int64_t event) override {
    return sink({StreamEvent::record, stream, event, {}, {}, {}});
  }
  Status wait(int64_t stream, int64_t event) override {
    return sink({StreamEvent::wait, stream, event, {}, {}, {}});
  }

  Status mark(int64_t, SharedMark) override { return {}; }
  Status follow(int64_t, Device &, int64_t, SharedMark) override { return {}; }
  Status follow(int64_t, Device &, int64_t) override { return {}; }
  char *scratch(int64_t stream) override { return (char *)base + facts->scratch_offsets[stream]; }

  Status read(void *, const void *from, int64_t bytes) override {
    TP_TRY(finish());
    StreamEvent work = begin(0, {"a read of the host"});
    work.reads = {extentOf(from, bytes)};
    return sink(work);
  }
  Status write(void *to, const void *, int64_t bytes) override {
    TP_TRY(finish());
    StreamEvent work = begin(0, {"a write of the host"});
    work.writes = {extentOf(to, bytes)};
    TP_TRY(sink(work));
    return finish();
  }

  char *givenBase() override { return given.data() - facts->given_offset; }
  Status send() override {
    TP_TRY(wait(givingStream(), taken()));
    StreamEvent work = begin(givingStream(), {"what the host gives"});
    work.writes = {{facts->staging_offset, facts->staging_offset + facts->given_bytes}};
    TP_TRY(sink(work));
    return record(givingStream(), sent());
  }
  Status take() override {
    TP_TRY(wait(0, sent()));
    TP_TRY(copy(0, (char *)base + facts->given_offset, (char *)base + facts->staging_offset,
                {1, facts->given_bytes, 0, 0}));
    return record(0, taken());
  }

  Status finish() override { return sink({StreamEvent::sync, 0, 0, {}, {}, {}}); }

private:
  int64_t givingStream() const { return program->num_streams; }
  int64_t sent() const { return program->num_events; }
  int64_t taken() const { return program->num_events + 1; }

  StreamEvent begin(int64_t stream, WorkTitle title) const {
    return {StreamEvent::work, stream, 0, title, {}, {}};
  }

  static void addRows(std::vector<Extent> &extents, const void *place, int64_t rows, int64_t row,
                      int64_t stride) {
    if (rows == 0 || row == 0)
      return;
    if (rows > mostRows || rows == 1 || row == stride) {
      extents.push_back(extentOf(place, rows == 1 ? row : (rows - 1) * stride + row));
      return;
    }
    for (int64_t i = 0; i < rows; ++i)
      extents.push_back(extentOf((const char *)place + i * stride, row));
  }

  StreamSink sink;
  const tp_program *program = nullptr;
  const tp_device *facts = nullptr;
  std::vector<char> given;
};

class TraceCommunicator : public Communicator {
public:
  TraceCommunicator(Members members, const tp_device &facts, StreamSink sink)
      : Communicator(std::move(members)), facts(facts), sink(std::move(sink)) {}

  Traffic traffic() const override { return {}; }
  /// In the memory of the host there is nothing to note, and nobody to wait for.
  Status issue(std::span<const Operation> operations, Team &, Stream *stream) override {
    for (size_t i = 0; stream && i < operations.size(); ++i)
      TP_TRY(note(operations[i], stream->number));
    return {};
  }

private:
  Status note(const Operation &it, int64_t stream) const {
    const tp_collective &c = *it.what;
    TP_TRY(checkCollective(c, size(), group.name.c_str()));
    WorkTitle title = it.call ? titleOf(*it.call) : WorkTitle();
    title.name = nameOfKind(c.kind);
    StreamEvent work{StreamEvent::work, stream, 0, title, {}, {}};
    int64_t bytes = bytesOf(c.type);
    for (int m = 0; m < size(); ++m) {
      add(work.reads, it.in, inputBlock(c, size(), member(), m), bytes);
      add(work.writes, it.out, outputBlock(c, size(), m, member()), bytes);
    }
    int64_t scratch = tp_device_scratch(&c, size(), bytes), at = facts.scratch_offsets[stream];
    if (scratch > facts.scratch_bytes[stream])
      return errorf("the %s needs %lld bytes of scratch, and has %lld", work.title.text().c_str(),
                    (long long)scratch, (long long)facts.scratch_bytes[stream]);
    if (scratch) // those that are issued together have parts of it
      work.writes.push_back({at, at + facts.scratch_bytes[stream]});
    return sink(work);
  }

  static void add(std::vector<Extent> &extents, const void *place, const Block &block,
                  int64_t bytes) {
    const char *first = (const char *)place + block.offset * bytes;
    if (block.count() == 0)
      return;
    if (block.rows > mostRows) {
      extents.push_back(extentOf(first, ((block.rows - 1) * block.stride + block.row) * bytes));
      return;
    }
    for (int64_t i = 0; i < block.rows; ++i)
      extents.push_back(extentOf(first + i * block.stride * bytes, block.row * bytes));
  }

  const tp_device &facts;
  StreamSink sink;
};

} // namespace

std::unique_ptr<Device> tplan::runtime::traceDevice(StreamSink sink) {
  return std::make_unique<TraceDevice>(std::move(sink));
}

Status tplan::runtime::traceGroups(const tp_program &program, int rank, StreamSink sink,
                                   std::vector<std::unique_ptr<Communicator>> &groups) {
  for (int64_t group = 0; group < program.num_groups; ++group) {
    Members members = membersOf(program, group, rank);
    groups.push_back(members.self < 0 ? nullptr
                                      : std::make_unique<TraceCommunicator>(std::move(members),
                                                                            *program.device, sink));
  }
  return {};
}
