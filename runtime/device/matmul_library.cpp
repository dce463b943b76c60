//===- matmul_library.cpp - bf16 tiles by oneDNN's matmul ------------------===//
//
// One decision: scratch is the caller's (user mode) and belongs to a thread, not
// to a primitive, so that its bytes are the largest of the program, not the sum.
//
//===----------------------------------------------------------------------===//

#include "runtime/device/matmul_ways.h"

#include <cstdlib>
#include <cstring>
#include <map>
#include <tuple>

#include <dnnl.h>

using namespace tplan::runtime;

namespace {

auto keyOf(const tp_gemm &g) {
  return std::make_tuple(g.m, g.n, g.k, g.lda, g.ldb, g.ldc, g.trans_a, g.trans_b, g.accumulate,
                         g.bias, g.out, g.batch > 1, g.chunks, g.is_part);
}
using Key = decltype(keyOf(tp_gemm()));

Status checkLibrary(dnnl_status_t status, const char *what) {
  if (status == dnnl_success)
    return {};
  return errorf("oneDNN: %s failed with status %d", what, (int)status);
}

/// What one thread needs to run one tile shape.
struct Arguments {
  dnnl_memory_t a = nullptr, b = nullptr, bias = nullptr, c = nullptr, scratch = nullptr;
};

/// One shape of tile.
struct Variant {
  dnnl_primitive_t primitive = nullptr;
  int64_t scratchBytes = 0;
  std::vector<Arguments> threads;
};

} // namespace

/// Inner tiles, last column, last row, corner.
struct LibraryBf16::Entry {
  State *state = nullptr;
  Variant variants[4];
};

struct LibraryBf16::State {
  dnnl_engine_t engine = nullptr;
  std::vector<dnnl_stream_t> streams; // of each thread
  std::vector<char *> scratch;        // of each thread, all of scratchBytes
  int64_t scratchBytes = 0;
  std::map<Key, std::unique_ptr<Entry>> entries;

  Status start(int threads);
  Status growScratch(int64_t bytes);
  Status make(const tp_gemm &g, int64_t m, int64_t n, Variant &variant);
};

LibraryBf16::LibraryBf16() : state(std::make_unique<State>()) {}

LibraryBf16::~LibraryBf16() {
  for (auto &[key, entry] : state->entries)
    for (Variant &variant : entry->variants) {
      for (Arguments &arguments : variant.threads)
        for (dnnl_memory_t memory :
             {arguments.a, arguments.b, arguments.bias, arguments.c, arguments.scratch})
          if (memory)
            dnnl_memory_destroy(memory);
      if (variant.primitive)
        dnnl_primitive_destroy(variant.primitive);
    }
  for (dnnl_stream_t stream : state->streams)
    dnnl_stream_destroy(stream);
  for (char *scratch : state->scratch)
    free(scratch);
  if (state->engine)
    dnnl_engine_destroy(state->engine);
}

bool LibraryBf16::native() {
  return __builtin_cpu_supports("avx512bf16") &&
         dnnl_get_effective_cpu_isa() >= dnnl_cpu_isa_avx512_core_bf16;
}

int64_t LibraryBf16::bytes() const { return state->scratchBytes * (int64_t)state->scratch.size(); }

Status LibraryBf16::State::start(int threads) {
  TP_TRY(checkLibrary(dnnl_engine_create(&engine, dnnl_cpu, 0), "creating an engine"));
  for (int thread = 0; thread < threads; ++thread) {
    dnnl_stream_t stream;
    TP_TRY(checkLibrary(dnnl_stream_create(&stream, engine, dnnl_stream_in_order),
                        "creating a stream"));
    streams.push_back(stream);
  }
  scratch.resize(threads, nullptr);
  return {};
}

Status LibraryBf16::State::growScratch(int64_t bytes) {
  if (bytes <= scratchBytes)
    return {};
  for (char *&buffer : scratch) {
    free(buffer);
    buffer = (char *)aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    if (!buffer)
      return errorf("cannot obtain %lld bytes of scratch for bf16 matmul", (long long)bytes);
  }
  scratchBytes = (bytes + 4095) / 4096 * 4096;
  for (auto &[key, entry] : entries)
    for (Variant &variant : entry->variants)
      for (size_t thread = 0; thread < variant.threads.size(); ++thread)
        if (variant.threads[thread].scratch)
          TP_TRY(checkLibrary(
              dnnl_memory_set_data_handle(variant.threads[thread].scratch, scratch[thread]),
              "moving scratch"));
  return {};
}

Status LibraryBf16::State::make(const tp_gemm &g, int64_t m, int64_t n, Variant &variant) {
  dnnl_memory_desc_t a, b, bias, c;
  dnnl_dims_t dimsA = {m, g.k}, dimsB = {g.k, n}, dimsBias = {1, n}, dimsC = {m, n};
  dnnl_dims_t stridesBias = {n, 1};
  dnnl_dims_t stridesA = {g.lda, 1}, stridesB = {g.ldb, 1}, stridesC = {g.ldc, 1};
  if (g.trans_a)
    stridesA[0] = 1, stridesA[1] = g.lda;
  if (g.trans_b)
    stridesB[0] = 1, stridesB[1] = g.ldb;
  TP_TRY(checkLibrary(dnnl_memory_desc_init_by_strides(&a, 2, dimsA, dnnl_bf16, stridesA),
                      "describing A"));
  TP_TRY(checkLibrary(dnnl_memory_desc_init_by_strides(&b, 2, dimsB, dnnl_bf16, stridesB),
                      "describing B"));
  auto typeC = g.out == TP_BF16 ? dnnl_bf16 : g.out == TP_F32 ? dnnl_f32 : dnnl_data_type_undef;
  if (typeC == dnnl_data_type_undef)
    return errorf("oneDNN's bf16 matmul gives bf16 or f32, found type %d", g.out);
  TP_TRY(checkLibrary(dnnl_memory_desc_init_by_strides(&c, 2, dimsC, typeC, stridesC),
                      "describing C"));
  TP_TRY(checkLibrary(dnnl_memory_desc_init_by_strides(&bias, 2, dimsBias, dnnl_bf16, stridesBias),
                      "describing a bias"));
  dnnl_matmul_desc_t matmul;
  TP_TRY(checkLibrary(dnnl_matmul_desc_init(&matmul, &a, &b, g.bias ? &bias : nullptr, &c),
                      "describing a matmul"));
  dnnl_primitive_attr_t attributes;
  TP_TRY(checkLibrary(dnnl_primitive_attr_create(&attributes), "creating attributes"));
  dnnl_primitive_attr_set_scratchpad_mode(attributes, dnnl_scratchpad_mode_user);
  if (g.accumulate) {
    dnnl_post_ops_t add;
    dnnl_post_ops_create(&add);
    dnnl_post_ops_append_sum(add, 1.0f);
    dnnl_primitive_attr_set_post_ops(attributes, add);
    dnnl_post_ops_destroy(add);
  }
  dnnl_primitive_desc_t description;
  dnnl_status_t code =
      dnnl_primitive_desc_create(&description, &matmul, attributes, engine, nullptr);
  dnnl_primitive_attr_destroy(attributes);
  TP_TRY(checkLibrary(code, "choosing a bf16 matmul"));
  const dnnl_memory_desc_t *scratchpad =
      dnnl_primitive_desc_query_md(description, dnnl_query_scratchpad_md, 0);
  variant.scratchBytes = scratchpad ? (int64_t)dnnl_memory_desc_get_size(scratchpad) : 0;
  code = dnnl_primitive_create(&variant.primitive, description);
  Status status = checkLibrary(code, "creating a bf16 matmul");
  if (status.ok())
    status = growScratch(variant.scratchBytes);
  for (size_t thread = 0; status.ok() && thread < streams.size(); ++thread) {
    Arguments &arguments = variant.threads.emplace_back();
    auto create = [&](dnnl_memory_t &memory, const dnnl_memory_desc_t &type, void *handle) {
      if (status.ok())
        status =
            checkLibrary(dnnl_memory_create(&memory, &type, engine, handle), "creating a memory");
    };
    create(arguments.a, a, DNNL_MEMORY_NONE);
    create(arguments.b, b, DNNL_MEMORY_NONE);
    create(arguments.c, c, DNNL_MEMORY_NONE);
    if (g.bias)
      create(arguments.bias, bias, DNNL_MEMORY_NONE);
    if (variant.scratchBytes)
      create(arguments.scratch, *scratchpad, scratch[thread]);
  }
  dnnl_primitive_desc_destroy(description);
  return status;
}

Status LibraryBf16::prepare(Team &team, const tp_gemm &g, const Tiling &tiling, void *&way) {
  if (!state->engine)
    TP_TRY(state->start(team.size()));
  auto found = state->entries.find(keyOf(g));
  if (found == state->entries.end()) {
    found = state->entries.emplace(keyOf(g), std::make_unique<Entry>()).first;
    Entry &entry = *found->second;
    entry.state = state.get();
    int64_t lastM = tiling.lastRows(), lastN = g.n - (tiling.tilesN - 1) * tiling.n;
    for (int variant = 0; variant < 4; ++variant) {
      bool exists = ((variant & 1) || tiling.ofChunk > 1) && ((variant & 2) || tiling.tilesN > 1);
      if (exists)
        TP_TRY(state->make(g, variant & 1 ? lastM : tiling.m, variant & 2 ? lastN : tiling.n,
                           entry.variants[variant]));
    }
  }
  way = found->second.get();
  return {};
}

bool LibraryBf16::tile(void *way, const tp_gemm &, const Tile &t) {
  auto *entry = static_cast<Entry *>(way);
  const Variant &variant = entry->variants[(t.lastM ? 1 : 0) | (t.lastN ? 2 : 0)];
  const Arguments &arguments = variant.threads[t.thread];
  if (dnnl_memory_set_data_handle(arguments.a, const_cast<char *>(t.a)) != dnnl_success ||
      dnnl_memory_set_data_handle(arguments.b, const_cast<char *>(t.b)) != dnnl_success ||
      dnnl_memory_set_data_handle(arguments.c, t.c) != dnnl_success)
    return false;
  dnnl_exec_arg_t list[5] = {
      {DNNL_ARG_SRC, arguments.a}, {DNNL_ARG_WEIGHTS, arguments.b}, {DNNL_ARG_DST, arguments.c}};
  int count = 3;
  if (arguments.scratch)
    list[count++] = {DNNL_ARG_SCRATCHPAD, arguments.scratch};
  if (arguments.bias) {
    if (dnnl_memory_set_data_handle(arguments.bias, const_cast<char *>(t.bias)) != dnnl_success)
      return false;
    list[count++] = {DNNL_ARG_BIAS, arguments.bias};
  }
  return dnnl_primitive_execute(variant.primitive, entry->state->streams[t.thread], count, list) ==
         dnnl_success;
}
