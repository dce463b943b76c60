/*===- collectives.h - what each collective means, and what it sends --------===
 *
 * Read by the compiler, whose report says the bytes, and by the transports, which send them.
 *
 * One decision: in an all-reduce each member sums one part for all, so that any element is
 * added by one rank in one order, and a member sends two arrays however many members there are.
 *===----------------------------------------------------------------------===*/
#ifndef TPLAN_COLLECTIVES_H
#define TPLAN_COLLECTIVES_H

#include "tplan/runtime.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What the n members of a group do together; extents in elements, row-major.
 *
 *   all-reduce      in [outer, inner]     -> out [outer, inner]
 *   reduce-scatter  in [outer, n, inner]  -> out [outer, inner], block m to member m
 *   all-gather      in [outer, inner]     -> out [outer, n, inner], block m from member m
 *   all-to-all      in [outer, n, middle, inner, last] -> out [outer, middle, n, inner, last]
 *                   block m of the first to member m, the block from member m at m (split first),
 *                   or the other way round (split last), as `split_last` says
 *   permute         out of member m = in of member source[m], [outer, inner]
 *   message         out of member 1 = in of member 0, [outer, inner]; a group of two
 *
 * reduce-scatter and all-gather with `whole` < outer * n * inner: the array of all blocks is
 * [outer, whole / outer], the last blocks of each line are shorter or empty; the rest of such a
 * block stays as it is, but that of one which a reduce-scatter makes becomes zero. Others do not
 * read `whole`. Any extent may be 0. A member may be the source of any number of members. In a
 * message `out` of member 0 and `in` of member 1 are not touched and may be null. Member 0 waits
 * until member 1 takes the message on some transports, on others it does not.
 * in == out is allowed for all-reduce; for reduce-scatter with outer = 1, out may
 * be this member's block of in, for all-gather in that of out. Nothing else may overlap.
 *
 * Sums have one order: per element over the members in the order of their numbers, from
 * the left, in f32 for f32, bf16 and f16 (rounded once at the end), in f64 for f64, whatever
 * the transport, its chunks and its buckets. i32 and i64 wrap. Only where the program says so
 * (tp_device.native_sums) a transport with sums of its own may make them in its way. */
typedef enum tp_collective_kind {
  TP_ALL_REDUCE,
  TP_REDUCE_SCATTER,
  TP_ALL_GATHER,
  TP_ALL_TO_ALL,
  TP_PERMUTE,
  TP_MESSAGE,
  TP_COLLECTIVE_KINDS,
  TP_SLICE = TP_COLLECTIVE_KINDS /* of tp_slice alone */
} tp_collective_kind;

static inline int64_t tp_clamp(int64_t value, int64_t most) {
  return value < 0 ? 0 : value < most ? value : most;
}

/* Elements of a part of `count`: parts begin at cache lines, the last ones may be empty. */
static inline int64_t tp_part(int64_t count, int64_t members, int64_t element_bytes) {
  int64_t line = 64 / element_bytes, part = (count + members - 1) / members;
  return (part + line - 1) / line * line;
}

/* Elements of what member `member` sums, gives or takes: its part of an all-reduce, its block
 * else. In a message both members have one block, which one gives and the other takes. */
static inline int64_t tp_block(const tp_collective *c, int64_t members, int64_t member,
                               int64_t element_bytes) {
  int64_t all = c->outer * c->inner;
  if (c->kind == TP_ALL_REDUCE) {
    int64_t part = tp_part(all, members, element_bytes);
    return tp_clamp(all - member * part, part);
  }
  if (c->kind == TP_ALL_TO_ALL)
    return all * c->middle * c->last;
  if (c->kind == TP_PERMUTE || c->kind == TP_MESSAGE)
    return all;
  int64_t line = c->outer ? c->whole / c->outer : 0; /* of all blocks */
  return c->outer * tp_clamp(line - member * c->inner, c->inner);
}

/* Bytes that one member sends to others; a message is sent by member 0. */
static inline int64_t tp_bytes_sent(const tp_collective *c, int64_t members, int64_t member,
                                    int64_t element_bytes) {
  int64_t own = tp_block(c, members, member, element_bytes), others = members - 1, sent = 0;
  switch (c->kind) {
  case TP_ALL_REDUCE: /* contributions to the other parts; sums of its own */
    sent = c->outer * c->inner - own + others * own;
    break;
  case TP_REDUCE_SCATTER:
    sent = c->whole - own;
    break;
  case TP_ALL_GATHER:
  case TP_ALL_TO_ALL:
    sent = others * own;
    break;
  case TP_PERMUTE:
    for (int64_t to = 0; to < members; ++to)
      sent += to != member && c->source[to] == member ? own : 0;
    break;
  case TP_MESSAGE:
    sent = member == 0 ? own : 0;
    break;
  }
  return sent * element_bytes;
}

/* Bytes of the member that sends most: a report counts them for all members. */
static inline int64_t tp_most_bytes_sent(const tp_collective *c, int64_t members,
                                         int64_t element_bytes) {
  int64_t most = 0;
  for (int64_t member = 0; member < members; ++member) {
    int64_t sent = tp_bytes_sent(c, members, member, element_bytes);
    most = sent > most ? sent : most;
  }
  return most;
}

/* Staging under MPI: what is to be added, and rows that do not follow each other, go through
 * chunks of so many bytes for each other member, two in turn, for sending and for receiving. */
enum { TP_MPI_PAGE = 1 << 12, TP_MPI_CHUNK = 1 << 20, TP_MPI_STAGING = 1 << 24 };
static inline int64_t tp_mpi_chunk(int64_t members) {
  int64_t chunk =
      members > 1 ? TP_MPI_STAGING / (4 * (members - 1)) / TP_MPI_PAGE * TP_MPI_PAGE : TP_MPI_CHUNK;
  return chunk < TP_MPI_PAGE ? TP_MPI_PAGE : tp_clamp(chunk, TP_MPI_CHUNK);
}

/* Bytes of staging on each of so many ranks: enough for any group of them. */
static inline int64_t tp_mpi_staging(int64_t ranks) {
  int64_t most = 4 * (ranks - 1) * TP_MPI_CHUNK, least = 4 * (ranks - 1) * TP_MPI_PAGE;
  int64_t bytes = tp_clamp(most, TP_MPI_STAGING);
  return bytes < least ? least : bytes;
}

/* Bytes that a member copies into and out of staging: what it packs to send, where its rows lie
 * apart, and what it unpacks. Adding reads them there, and is no copy. */
static inline int64_t tp_mpi_bytes_staged(const tp_collective *c, int64_t members, int64_t member,
                                          int64_t element_bytes) {
  int64_t own = tp_block(c, members, member, element_bytes), others = members - 1, copied = 0;
  int64_t full = c->outer * c->inner;
  int rows = c->outer > 1, apart = rows && c->whole > full; /* a block that is the whole is not */
  switch (c->kind) {
  case TP_REDUCE_SCATTER:
    copied = apart ? c->whole - own : 0;
    break;
  case TP_ALL_GATHER: /* rows of a shorter block lie apart where its member has it, too */
    copied = (apart ? c->whole - own : 0) + (rows && own < full ? others * own : 0);
    break;
  case TP_ALL_TO_ALL: /* on one side blocks have `outer` rows, on the other outer * middle */
    copied = others * own * (rows + (c->outer * c->middle > 1));
    break;
  }
  return copied * element_bytes;
}

/* Whether any bytes are copied so, for some number of members. */
static inline int tp_mpi_copies(const tp_collective *c) {
  switch (c->kind) {
  case TP_REDUCE_SCATTER:
  case TP_ALL_GATHER:
    return c->outer > 1;
  case TP_ALL_TO_ALL:
    return c->outer * c->middle > 1;
  default:
    return 0;
  }
}

/* On a device a group has scratch in the arena, in slots of one block: a slot for each member in
 * which what is to be added arrives, and as many more where blocks have rows that lie apart and are
 * packed to be sent. */
static inline int64_t tp_device_slot(const tp_collective *c, int64_t members,
                                     int64_t element_bytes) {
  int64_t most = 0;
  for (int64_t member = 0; member < members; ++member) {
    int64_t block = tp_block(c, members, member, element_bytes) * element_bytes;
    most = block > most ? block : most;
  }
  return (most + 63) / 64 * 64;
}
static inline int64_t tp_device_scratch(const tp_collective *c, int64_t members,
                                        int64_t element_bytes) {
  int64_t all = members * tp_device_slot(c, members, element_bytes);
  int apart = c->outer > 1 || c->kind == TP_ALL_TO_ALL;
  switch (c->kind) {
  case TP_ALL_REDUCE:
    return all;
  case TP_REDUCE_SCATTER:
    return apart ? 2 * all : all;
  case TP_ALL_GATHER:
  case TP_ALL_TO_ALL:
    return apart ? 2 * all : 0;
  default:
    return 0;
  }
}

#ifdef __cplusplus
}
#endif
#endif /* TPLAN_COLLECTIVES_H */
