//===- RTLibrary.cpp - attention by a library ------------------------------===//
//
// What cuDNN takes, by its support matrix: bf16 and f16; heads whose width is a multiple of 8, up
// to what the limits of the target say; all keys, causal, or causal with a window.
// `cudnn-plans-test` asks the library itself, where there is one.
//
//===----------------------------------------------------------------------===//
#include "dialects/rt/RT.h"
#include "mlir/IR/Builders.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FormatVariadic.h"
#include <algorithm>

using namespace mlir;
using namespace tplan;
using namespace tplan::rt;
using nn::DimAttr;
using nn::MaskAttr;
using nn::MaskKind;
using nn::Tensor;
using nn::typeOf;

namespace {

/// A workspace is at most such a part of what a rank has.
constexpr int64_t smallPart = 8;
/// The most rows in a tile of the library.
constexpr int64_t tileRows = 128;
/// Workspace of plans beyond what their sizes explain.
constexpr int64_t slackBytes = 64 << 10;

/// all, causal, or causal with a window.
bool matchMask(MaskAttr mask, LibraryAttention &attention) {
  if (mask.getKind() == MaskKind::All)
    return true;
  if (mask.getKind() == MaskKind::Causal)
    return attention.causal = true;
  if (mask.getKind() != MaskKind::And)
    return false;
  for (MaskAttr term : mask.getTerms()) {
    bool isWindow = term.getKind() == MaskKind::Window && term.getN() >= 1;
    if (!isWindow && term.getKind() != MaskKind::Causal)
      return false;
    if (isWindow) // the narrowest
      attention.window = attention.window ? std::min(attention.window, term.getN()) : term.getN();
    else
      attention.causal = true;
  }
  return attention.causal;
}

/// All divisors of n, falling.
SmallVector<int64_t> divisors(int64_t n) {
  SmallVector<int64_t> all;
  for (int64_t d = n; d >= 1; --d)
    if (n % d == 0)
      all.push_back(d);
  return all;
}

/// The largest chunk of at most so many bytes of workspace: whole batches, else groups of one.
void chooseChunk(AttentionPass pass, int64_t most, LibraryAttention &attention) {
  attention.groupChunk = attention.groups;
  for (int64_t batches : divisors(attention.batch)) {
    attention.batchChunk = batches;
    if (workspaceOf(pass, attention) <= most)
      return;
  }
  for (int64_t groups : divisors(attention.groups)) {
    attention.groupChunk = groups;
    if (workspaceOf(pass, attention) <= most)
      return;
  }
}

} // namespace

LibraryLimits LibraryLimits::on(std::optional<int64_t> memory) const {
  LibraryLimits limits = *this;
  limits.workspace =
      memory ? std::clamp(*memory / smallPart, leastWorkspace, mostWorkspace) : mostWorkspace;
  if (memory)
    limits.chunk = std::clamp(*memory / smallPart, leastChunk, chunk);
  return limits;
}

/// In the forward plans need next to nothing. In the backward they need 2 bytes for each pair of a
/// query and a key, in whole tiles; the gradients of keys and values of each query head, where
/// several share a key head; and the row sums of out * d_out.
int64_t rt::workspaceOf(AttentionPass pass, const LibraryAttention &attention) {
  if (pass == AttentionPass::Forward)
    return slackBytes;
  auto whole = [](int64_t rows) { return (rows + tileRows - 1) / tileRows * tileRows; };
  int64_t heads = attention.batchChunk * attention.groupChunk * attention.heads / attention.groups;
  int64_t each = 2 * whole(attention.queries) * whole(attention.keys) + 4 * attention.queries;
  if (attention.heads != attention.groups)
    each += 2 * 2 * whole(attention.keys) * attention.width;
  return heads * each + slackBytes;
}

FailureOr<AttentionStrides> rt::stridesOf(Tensor tensor, StringRef row, StringRef head,
                                          StringRef width) {
  AttentionStrides strides;
  int64_t stride = 1, batches = 0; // elements of the batches so far
  for (DimAttr dim : llvm::reverse(tensor.getDims())) {
    if (dim.getName() == row)
      strides.row = stride;
    else if (dim.getName() == head)
      strides.head = stride;
    else if (dim.getName() != width) {
      if (batches && strides.batch * batches != stride)
        return failure();
      strides.batch = batches ? strides.batch : stride;
      batches = (batches ? batches : 1) * dim.getSize();
    }
    stride *= dim.getSize();
  }
  if (!batches)
    strides.batch = stride;
  return strides;
}

static LibraryRefusal found(const llvm::Twine &what, const llvm::Twine &instead = "") {
  return {what.str(), instead.str()};
}

/// The error for a group of heads that needs more than there is room for.
static LibraryRefusal withoutRoom(int64_t bytes, int64_t most) {
  std::string gib = llvm::formatv("{0:F1}", bytes * double(smallPart) / (1 << 30)).str();
  return found("a workspace of " + llvm::Twine(bytes) + " bytes",
               bytes > most
                   ? "at most " + llvm::Twine(most >> 30) +
                         " GiB, for one key head and its query heads: shorter sequences, or fewer "
                         "query heads to a key head"
                   : "it where a rank has " + llvm::Twine(gib) +
                         " GiB: `memory` of the plan or its cluster");
}

LibraryRefusal rt::matchLibraryAttention(AttentionPass pass, Tensor q, Tensor k,
                                         nn::AttentionAttr spec, const LibraryLimits &limits,
                                         LibraryAttention &attention) {
  StringRef query = spec.getQuery(), key = spec.getKey();
  StringRef heads = spec.getHeads(), groups = spec.getGroups();
  auto sizeOf = [](Tensor t, StringRef dim) { return t.getDims()[t.find(dim)].getSize(); };
  if (!q.has(query) || !q.has(heads) || !k.has(key) || !k.has(groups) || q.getRank() < 3)
    return found("a tensor without queries, keys or heads", "all three as dimensions");
  StringRef width = q.getDims().back().getName();
  attention = {};
  attention.heads = sizeOf(q, heads), attention.groups = sizeOf(k, groups);
  attention.queries = sizeOf(q, query), attention.keys = sizeOf(k, key);
  attention.width = q.getDims().back().getSize();
  SmallVector<DimAttr> batches[2];
  for (auto [t, row, head, out] :
       {std::tuple(q, query, heads, &batches[0]), std::tuple(k, key, groups, &batches[1])})
    for (DimAttr dim : t.getDims())
      if (dim.getName() != row && dim.getName() != head && dim.getName() != width)
        out->push_back(dim);
  for (DimAttr dim : batches[0])
    attention.batch *= dim.getSize();

  if (Type element = q.getElementType(); !element.isBF16() && !element.isF16())
    return found("elements of " + nn::elementName(element), "bf16 and f16");
  int64_t widest = pass == AttentionPass::Forward ? limits.widestForward : limits.widestBackward;
  if (attention.width % 8 || attention.width > widest)
    return found("heads of " + llvm::Twine(attention.width) + " elements",
                 widest ? "multiples of 8, at most " + llvm::Twine(widest)
                        : llvm::Twine("none on this target"));
  if (attention.groups < 1 || attention.heads % attention.groups)
    return found(llvm::Twine(attention.heads) + " heads for " + llvm::Twine(attention.groups),
                 "as many heads for each key head");
  if (!matchMask(spec.getMask(), attention)) {
    std::string text;
    llvm::raw_string_ostream(text) << "the mask " << spec.getMask();
    return found(text, "`all`, `causal` and `causal & window(n)`");
  }
  if (attention.window && attention.queries > attention.keys)
    return found("a window with fewer keys than queries: " + llvm::Twine(attention.keys),
                 "a window where there are as many keys as queries");
  if (attention.queries == 1 && attention.keys == 1)
    return found("one query and one key");
  if (batches[0] != batches[1] || failed(stridesOf(q, query, heads, width)) ||
      failed(stridesOf(k, key, groups, width)))
    return found("batches in several pieces", "the dimensions of a batch beside each other");
  chooseChunk(pass, limits.chunk, attention);
  if (int64_t bytes = workspaceOf(pass, attention); bytes > limits.workspace)
    return withoutRoom(bytes, limits.mostWorkspace);
  return {};
}

//===----------------------------------------------------------------------===//
// The op
//===----------------------------------------------------------------------===//

LibraryAttention AttentionOp::getShape() {
  LibraryAttention attention;
  LibraryLimits limits;
  limits.chunk = getChunk().value_or(limits.chunk);
  matchLibraryAttention(getPass(), typeOf(getArgs()[0]), typeOf(getArgs()[1]), getSpec(), limits,
                        attention);
  return attention;
}

LogicalResult AttentionOp::verify() {
  bool forward = getPass() == AttentionPass::Forward;
  size_t args = forward ? 3 : 6, results = forward ? 2 : 3;
  if (getArgs().size() != args) // (C1)
    return emitOpError("needs ") << args << " operands, found " << getArgs().size();
  if (getResults().size() != results)
    return emitOpError("needs ") << results << " results, found " << getResults().size();
  Tensor q = typeOf(getArgs()[0]), k = typeOf(getArgs()[1]);
  LibraryAttention attention;
  LibraryRefusal why = matchLibraryAttention(getPass(), q, k, getSpec(), {}, attention);
  if (!why.empty()) // (C2)
    return emitOpError("no library takes ") << why.found;

  SmallVector<DimAttr> dims; // (C3)
  for (DimAttr dim : q.getDims().drop_back())
    if (dim.getName() != getSpec().getQuery())
      dims.push_back(dim);
  dims.push_back(q.getDims()[q.find(getSpec().getQuery())]);
  Tensor lse = q.withDims(dims).withElement(Float32Type::get(getContext()));
  auto mustBe = [&](Value v, StringRef name, Tensor type) -> LogicalResult {
    if (v.getType() == type)
      return success();
    return emitOpError() << name << " must be " << type << ", found " << v.getType();
  };
  if (failed(mustBe(getArgs()[2], "v", k)))
    return failure();
  if (forward)
    return success(succeeded(mustBe(getResults()[0], "out", q)) &&
                   succeeded(mustBe(getResults()[1], "lse", lse)));
  return success(
      succeeded(mustBe(getArgs()[3], "out", q)) && succeeded(mustBe(getArgs()[4], "d_out", q)) &&
      succeeded(mustBe(getArgs()[5], "lse", lse)) && succeeded(mustBe(getResults()[0], "d_q", q)) &&
      succeeded(mustBe(getResults()[1], "d_k", k)) && succeeded(mustBe(getResults()[2], "d_v", k)));
}

int64_t AttentionOp::getFlops() {
  LibraryAttention attention = getShape();
  int64_t pairs =
      pairsInTiles(getSpec().getMask(), attention.queries, attention.keys, tileRows, tileRows);
  return attentionFlops(getPass(), pairs, attention.batch * attention.heads, attention.width);
}
int64_t AttentionOp::getBytes() { return bytesOf(*this); }
int64_t AttentionOp::getWorkspace() { return workspaceOf(getPass(), getShape()); }
Category AttentionOp::getCategory() { return Category::Attention; }
