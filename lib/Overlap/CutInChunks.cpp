//===- CutInChunks.cpp - a collective and its GEMMs become those of parts ---===//
//
// Parts are views of what is there, and are joined to what others read whole: no byte moves for it.
// A sum of blocks is made by the kernel that reads it, where one does.
//
//===----------------------------------------------------------------------===//
#include "dialects/dist/Kinds.h"
#include "lib/Overlap/Chunks.h"
#include "lib/Overlap/PartKernels.h"
#include "mlir/Dialect/Arith/IR/Arith.h"
#include "mlir/IR/Builders.h"
#include "mlir/IR/BuiltinOps.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::overlap;
using nn::DimAttr;
using nn::Tensor;
using nn::typeOf;

namespace {
class Cutter {
public:
  Cutter(const ChunkSite &site, PartKernels &kernels)
      : exchange(site.exchange), cut(site.cut), site(site), kernels(kernels), b(site.exchange),
        axes(cut.byRank ? exchange.getAxes() : b.getArrayAttr({})) {}
  void cutGather();
  void cutSum();

private:
  rt::CollectiveOp exchange;
  const Cut &cut;
  const ChunkSite &site;
  PartKernels &kernels;
  OpBuilder b;
  ArrayAttr axes; // of the members whose blocks the parts are

  Value partOf(Value x, int64_t i) { return viewOfPart(b, x, cut, axes, i); }
  Value join(ArrayRef<Value> parts, Type type) {
    return rt::JoinOp::create(b, exchange.getLoc(), type, parts, axes);
  }
  Value exchangePart(Value x, Type type);
  Value shift(Value x, int64_t by);
  Value multiply(rt::MatmulOp matmul, unsigned rows, Value part);
  Value make(Value whole, int64_t i);
  rt::KernelOp sumKernel(Tensor part);
  static rt::LaunchOp readerOf(Value sum, unsigned &arg);
  rt::KernelOp kernelWithSum(rt::KernelOp reader, unsigned arg);
  void addBlocks(ArrayRef<Value> blocks);
};
} // namespace

/// The collective of a part that all members exchange.
Value Cutter::exchangePart(Value x, Type type) {
  auto op = rt::CollectiveOp::create(b, exchange.getLoc(), TypeRange(type), ValueRange(x),
                                     exchange->getAttrs());
  return op.getResult();
}

/// Each member gets x of the one that is so many after it.
Value Cutter::shift(Value x, int64_t by) {
  SmallVector<int32_t> sources;
  for (int64_t member = 0; member < cut.parts; ++member)
    sources.push_back(static_cast<int32_t>((member + by) % cut.parts));
  auto op = rt::CollectiveOp::create(b, exchange.getLoc(), x.getType(), Type(),
                                     dist::CollectiveKind::Permute, x, exchange.getAxes(),
                                     nn::ReduceKind::sum, StringAttr(), StringAttr(),
                                     b.getDenseI32ArrayAttr(sources));
  op->setDiscardableAttrs(exchange->getDiscardableAttrDictionary());
  return op.getResult();
}

Value Cutter::multiply(rt::MatmulOp matmul, unsigned rows, Value part) {
  SmallVector<Value> operands(matmul.getOperands());
  operands[rows] = part;
  auto one = cast<rt::MatmulOp>(b.clone(*matmul));
  one->setOperands(operands);
  one.getResult().setType(cut.partOf(typeOf(matmul.getResult())));
  one.setChunks(cut.parts);
  one.setPart(true);
  return one.getResult();
}

/// Part i of a value that calls of the site make, or a view of one that is there.
Value Cutter::make(Value whole, int64_t i) {
  Operation *op = whole.getDefiningOp();
  if (!op || !site.calls.contains(op))
    return partOf(whole, i);
  if (auto matmul = dyn_cast<rt::MatmulOp>(op)) {
    unsigned rows = *rowsOperand(matmul, cut);
    return multiply(matmul, rows, partOf(matmul->getOperand(rows), i));
  }
  auto launch = cast<rt::LaunchOp>(op);
  SmallVector<Value> args;
  for (Value arg : launch.getArgs())
    args.push_back(typeOf(arg).has(cut.dim) ? make(arg, i) : arg);
  return kernels.launch(b, launch, cut, args).getResult(0);
}

/// In a kernel's body: a narrow type is added in f32 and rounded once.
static Value addAll(OpBuilder &at, Location loc, ValueRange elements) {
  Type element = elements.front().getType(), wide = rt::sumType(element);
  Value sum;
  for (Value each : elements) {
    if (wide != element)
      each = arith::ExtFOp::create(at, loc, wide, each);
    sum = sum ? arith::AddFOp::create(at, loc, sum, each).getResult() : each;
  }
  return wide == element ? sum : arith::TruncFOp::create(at, loc, element, sum).getResult();
}

/// A kernel that adds the blocks of all members in their order, as the runtime does.
rt::KernelOp Cutter::sumKernel(Tensor part) {
  std::string name = "sum" + std::to_string(cut.parts) + "." + std::to_string(kernels.size()), key;
  llvm::raw_string_ostream(key) << "sum of " << cut.parts << " " << part;
  Operation *&known = kernels[key];
  if (known)
    return cast<rt::KernelOp>(known);
  auto module = exchange->getParentOfType<ModuleOp>();
  OpBuilder at = OpBuilder::atBlockEnd(module.getBody());
  Location loc = exchange.getLoc();
  SmallVector<Attribute> rows(part.getDims().drop_back()), cols(part.getDims().take_back());
  int64_t grain = std::max<int64_t>(1, rt::kTaskElements / part.getDims().back().getSize());
  auto identity = rt::AccessAttr::get(b.getContext(), rt::AccessKind::Identity, "", 0);
  SmallVector<Type> inputs(cut.parts, part);
  auto kernel =
      rt::KernelOp::create(at, loc, name, rt::Skeleton::Map, b.getArrayAttr(rows),
                           b.getArrayAttr(cols), grain, b.getFunctionType(inputs, {part}),
                           b.getArrayAttr(SmallVector<Attribute>(cut.parts + 1, identity)));
  Block *body = at.createBlock(&kernel.getBody());
  for (int64_t i = 0; i < cut.parts; ++i)
    body->addArgument(part.getElementType(), loc);
  rt::YieldOp::create(at, loc, addAll(at, loc, body->getArguments()));
  known = kernel;
  return kernel;
}

/// The launch that alone reads the sum, element by element, and which argument it is.
rt::LaunchOp Cutter::readerOf(Value sum, unsigned &arg) {
  auto launch = sum.hasOneUse() ? dyn_cast<rt::LaunchOp>(*sum.getUsers().begin()) : rt::LaunchOp();
  rt::KernelOp kernel = launch ? kernelOf(launch) : rt::KernelOp();
  if (!kernel || launch.getOnto() || launch.getCount() ||
      (kernel.getSkeleton() != rt::Skeleton::Map && kernel.getSkeleton() != rt::Skeleton::Row))
    return {};
  arg = sum.getUses().begin()->getOperandNumber();
  bool isPlain = arg < launch.getArgs().size() &&
                 llvm::all_of(
                     kernel.getAccesses().getAsRange<rt::AccessAttr>(),
                     [](auto access) { return access.getKind() == rt::AccessKind::Identity; });
  return isPlain ? launch : rt::LaunchOp();
}

/// The kernel of a reader that adds the blocks itself.
rt::KernelOp Cutter::kernelWithSum(rt::KernelOp reader, unsigned arg) {
  std::string name = (reader.getSymName() + ".sum" + Twine(cut.parts) + "." + Twine(arg)).str();
  Operation *&known = kernels[name];
  if (known)
    return cast<rt::KernelOp>(known);
  OpBuilder at(reader);
  at.setInsertionPointAfter(reader);
  auto kernel = cast<rt::KernelOp>(at.clone(*reader));
  kernel.setSymName(name);
  FunctionType type = reader.getFunctionType();
  SmallVector<Type> inputs(type.getInputs());
  SmallVector<Attribute> accesses(reader.getAccesses().getValue());
  inputs.insert(inputs.begin() + arg, cut.parts - 1, type.getInput(arg));
  accesses.insert(accesses.begin() + arg, cut.parts - 1, reader.getAccesses()[arg]);
  kernel.setFunctionType(at.getFunctionType(inputs, type.getResults()));
  kernel.setAccessesAttr(at.getArrayAttr(accesses));
  Block &body = kernel.getBody().front();
  BlockArgument first = body.getArgument(arg);
  SmallVector<Value> elements = {first};
  for (int64_t i = 1; i < cut.parts; ++i)
    elements.push_back(body.insertArgument(arg + i, first.getType(), exchange.getLoc()));
  Operation *old = &body.front();
  at.setInsertionPointToStart(&body);
  Value sum = addAll(at, exchange.getLoc(), elements);
  first.replaceUsesWithIf(sum, [&](OpOperand &use) {
    return use.getOwner() == old || old->isBeforeInBlock(use.getOwner());
  });
  known = kernel;
  return kernel;
}

/// The sum of all blocks, in the kernel that reads it or in one of its own.
void Cutter::addBlocks(ArrayRef<Value> blocks) {
  Value result = exchange.getResult();
  unsigned arg = 0;
  rt::LaunchOp reader = readerOf(result, arg);
  if (!reader) {
    auto sum = rt::LaunchOp::create(b, exchange.getLoc(), TypeRange(result.getType()),
                                    sumKernel(typeOf(result)).getSymName(), blocks, Value(),
                                    Value(), ArrayRef<int64_t>());
    result.replaceAllUsesWith(sum.getResult(0));
    return;
  }
  SmallVector<Value> args(reader.getArgs());
  args.erase(args.begin() + arg);
  args.insert(args.begin() + arg, blocks.begin(), blocks.end());
  SmallVector<int64_t> inPlace; // a block is no memory for a result
  ArrayRef<int64_t> pairs = reader.getInPlace();
  for (size_t i = 0; i + 1 < pairs.size(); i += 2)
    if (pairs[i] != arg)
      llvm::append_values(inPlace, pairs[i] > arg ? pairs[i] + cut.parts - 1 : pairs[i],
                          pairs[i + 1]);
  OpBuilder at(reader);
  auto whole = rt::LaunchOp::create(at, reader.getLoc(), reader.getResultTypes(),
                                    kernelWithSum(kernelOf(reader), arg).getSymName(), args,
                                    Value(), Value(), inPlace);
  reader.replaceAllUsesWith(whole.getResults());
  reader.erase();
}

void Cutter::cutGather() {
  Value whole = exchange.getResult(), x = exchange.getX();
  SmallVector<Value> parts;
  for (int64_t i = 0; i < cut.parts; ++i)
    parts.push_back(!cut.byRank ? exchangePart(partOf(x, i), cut.partOf(typeOf(whole)))
                    : i == 0    ? x
                                : shift(x, i));
  for (Operation *call : site.calls) {
    auto matmul = cast<rt::MatmulOp>(call);
    b.setInsertionPoint(matmul);
    unsigned rows = *rowsOperand(matmul, cut);
    SmallVector<Value> products;
    for (Value part : parts)
      products.push_back(multiply(matmul, rows, part));
    matmul.replaceAllUsesWith(join(products, matmul.getType()));
    matmul.erase();
  }
  b.setInsertionPoint(exchange);
  if (!whole.use_empty())
    whole.replaceAllUsesWith(join(parts, whole.getType()));
  exchange.erase();
}

void Cutter::cutSum() {
  Tensor type = typeOf(exchange.getResult());
  SmallVector<Value> parts(cut.parts);
  if (!cut.byRank) {
    for (int64_t i = 0; i < cut.parts; ++i)
      parts[i] = exchangePart(make(exchange.getX(), i), cut.partOf(type));
    exchange.replaceAllUsesWith(ValueRange(join(parts, type)));
  } else {
    // What others are waiting for comes first; what comes from the member before by i is its block.
    for (int64_t i = 1; i < cut.parts; ++i)
      parts[cut.parts - i] = shift(make(exchange.getX(), i), cut.parts - i);
    parts[0] = make(exchange.getX(), 0);
    Value all = join(parts, exchange.getX().getType());
    SmallVector<Value> blocks;
    for (int64_t member = 0; member < cut.parts; ++member)
      blocks.push_back(viewOfPart(b, all, cut, b.getArrayAttr({}), member));
    addBlocks(blocks);
  }
  exchange.erase();
  for (Operation *call : llvm::reverse(site.calls))
    call->erase();
}

void overlap::cutInChunks(const ChunkSite &site, PartKernels &kernels) {
  Cutter cutter(site, kernels);
  rt::CollectiveOp exchange = site.exchange;
  if (dist::factsOf(exchange.getKind()).completes())
    cutter.cutGather();
  else
    cutter.cutSum();
}
