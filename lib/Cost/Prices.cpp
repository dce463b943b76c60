//===- Prices.cpp - what work costs on the devices of a cluster -------------===//
#include "lib/Cost/Prices.h"
#include "dialects/dist/Kinds.h"
#include "lib/Cost/Play.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::cost;

/// Libraries cut a GEMM in tiles of so many rows and columns, which the units of a device take in
/// turn.
static constexpr double kTile = 128;

static const lang::Device &typicalDevice() {
  static const lang::Device device{.bandwidth = int64_t(8) * 1'000'000'000'000,
                                   .compute = {{.of = "f32", .flops = 300'000'000'000'000}}};
  return device;
}

double Spent::seconds() const {
  double sum = 0;
  for (const auto &[category, seconds] : work)
    sum += seconds;
  for (const auto &[axes, seconds] : communication)
    sum += seconds;
  return sum;
}

Spent &Spent::operator+=(const Spent &other) {
  for (const auto &[category, seconds] : other.work)
    work[category] += seconds;
  for (const auto &[axes, seconds] : other.communication)
    communication[axes] += seconds;
  for (const auto &[axes, seconds] : other.hidden)
    hidden[axes] += seconds;
  for (const auto &[axes, seconds] : other.besideWaits)
    besideWaits[axes] += seconds;
  for (const auto &[op, exchange] : other.exchanges)
    exchanges[op] += exchange;
  return *this;
}

Spent Spent::times(double n) const {
  Spent product = *this;
  for (auto &[category, seconds] : product.work)
    seconds *= n;
  for (auto &[axes, seconds] : product.communication)
    seconds *= n;
  for (auto &[axes, seconds] : product.hidden)
    seconds *= n;
  for (auto &[axes, seconds] : product.besideWaits)
    seconds *= n;
  for (auto &[op, exchange] : product.exchanges)
    exchange = {exchange.seconds * n, exchange.waited * n};
  return product;
}

Spent Spent::hiddenBut(double waited, double beside) const {
  Spent rest = *this;
  for (auto &[axes, seconds] : rest.communication) {
    rest.hidden[axes] += seconds * (1 - waited - beside);
    rest.besideWaits[axes] += seconds * beside;
    seconds *= waited;
  }
  for (auto &[op, exchange] : rest.exchanges)
    exchange.waited *= waited + beside;
  return rest;
}

Prices::Prices(const lang::Settings &settings, dist::MeshAttr mesh)
    : known(settings.cluster.facts.bandwidth > 0 && !settings.cluster.facts.compute.empty()),
      device(known ? settings.cluster.facts : typicalDevice()), links(settings, mesh),
      precision(settings.plan.precision) {}

static std::string spell(ArrayAttr axes) { return dist::spell(dist::axesOf(axes)); }

static std::string nameOf(Type element) {
  if (element.isBF16())
    return "bf16";
  if (element.isF16())
    return "f16";
  if (element.isF64())
    return "f64";
  return element.getIntOrFloatBitWidth() <= 8 ? "fp8" : "f32";
}

static const lang::Rate *findRate(ArrayRef<lang::Rate> rates, llvm::StringRef of) {
  const lang::Rate *rate = llvm::find_if(rates, [&](auto &each) { return each.of == of; });
  return rate == rates.end() ? nullptr : rate;
}

/// What a device has no rate for is widened to f32.
const lang::Rate &Prices::rateOf(llvm::StringRef of) const {
  if (const lang::Rate *rate = findRate(device.compute, of))
    return *rate;
  const lang::Rate *f32 = findRate(device.compute, "f32");
  return f32 ? *f32 : device.compute.front();
}

const lang::Rate &Prices::rateOf(Type element) const {
  std::string name = nameOf(element);
  return rateOf(name == "f32" && precision == lang::Precision::TF32 ? "tf32" : name);
}

double Prices::peak() const {
  return static_cast<double>(rateOf(lang::stringifyPrecision(precision)).flops);
}

/// Tiles at the edges are as long as others, and the last turn of the units as any other. Where
/// there are fewer tiles than units, the library cuts the contracted dimension, too.
double Prices::secondsOfGemm(rt::MatmulOp matmul) const {
  auto type = [](Value value) { return cast<nn::Tensor>(value.getType()); };
  rt::Gemm g =
      *rt::matchGemm(type(matmul.getLhs()), type(matmul.getRhs()), type(matmul.getResult()));
  const lang::Rate &rate = rateOf(type(matmul.getLhs()).getElementType());
  auto flops = static_cast<double>(matmul.getFlops());
  if (device.units > 1) {
    double rows = std::ceil(static_cast<double>(g.m) / kTile),
           columns = std::ceil(static_cast<double>(g.n) / kTile);
    flops *= rows * kTile / static_cast<double>(g.m) * columns * kTile / static_cast<double>(g.n);
    double turns =
        rows * columns * static_cast<double>(g.batch) / static_cast<double>(device.units);
    if (turns > 1)
      flops *= std::ceil(turns) / turns;
  }
  return flops / (static_cast<double>(rate.flops) * rate.efficiency);
}

double Prices::secondsOf(rt::CollectiveOp op, int64_t bytes) const {
  dist::Axes axes = dist::axesOf(op.getAxes());
  return dist::factsOf(op.getKind()).reorders ? links.secondsOfMessage(axes, bytes)
                                              : links.seconds(axes, bytes);
}

double Prices::secondsOf(rt::Call call) const {
  if (auto collective = dyn_cast<rt::CollectiveOp>(call.getOperation()))
    return secondsOf(collective, collective.getBytes());
  auto element = [&](Value value) { return cast<nn::Tensor>(value.getType()).getElementType(); };
  auto flops = static_cast<double>(call.getFlops());
  double arithmetic = 0;
  if (auto matmul = dyn_cast<rt::MatmulOp>(call.getOperation()))
    arithmetic = secondsOfGemm(matmul);
  else if (call.getCategory() == rt::Category::Attention)
    arithmetic = flops / (static_cast<double>(rateOf(element(call->getOperand(0))).flops) *
                          device.attention);
  else if (const lang::Rate *f32 = findRate(device.compute, "f32"))
    arithmetic = flops / (static_cast<double>(f32->flops) * f32->efficiency);
  return std::max(arithmetic, secondsInMemory(call.getBytes())) +
         static_cast<double>(device.launch) * 1e-9;
}

double Prices::secondsInMemory(int64_t bytes) const {
  return static_cast<double>(bytes) /
         (static_cast<double>(device.bandwidth) / 8 * device.memoryEfficiency);
}

double Prices::memoryOf(rt::Call call) const {
  double seconds = secondsOf(call);
  return seconds > 0 ? secondsInMemory(call.getBytes()) / seconds : 0;
}

/// What is sent is read, and as much is received and written.
Load Prices::loadOf(rt::CollectiveOp op) const {
  double seconds = secondsOf(op, op.getBytes());
  return {spell(op.getAxes()), seconds, links.crossesNodes(dist::axesOf(op.getAxes())),
          seconds > 0 ? secondsInMemory(2 * op.getBytes()) / seconds : 0};
}

void Prices::play(rt::FuncOp func, Play &time) const {
  llvm::DenseMap<Value, Play::Job> jobs; // by event
  for (Operation &op : func.getBlock().without_terminator()) {
    if (auto await = dyn_cast<rt::AwaitOp>(op)) {
      for (Value event : await.getEvents())
        time.await(jobs.at(event));
      continue;
    }
    auto call = dyn_cast<rt::Call>(op);
    if (!call || sched::movesNoByte(&op))
      continue;
    auto collective = dyn_cast<rt::CollectiveOp>(op);
    if (!collective) {
      time.work(call.getCategory(), secondsOf(call), memoryOf(call));
      continue;
    }
    Play::Job job = time.start(loadOf(collective), &op);
    if (Value event = collective.getEvent())
      jobs[event] = job;
    else
      time.await(job);
  }
}

const Spent &Prices::of(rt::FuncOp func) {
  auto [it, isNew] = ofFunctions.try_emplace(func);
  if (isNew) {
    Play time;
    play(func, time);
    time.finish();
    it->second = time.getSpent();
  }
  return it->second;
}

Spent Prices::of(sched::Step step) {
  if (auto call = dyn_cast<sched::CallOp>(step.getOperation()))
    return of(call.getFunction()).times(static_cast<double>(call.getLayers()));
  Spent spent;
  ArrayAttr group = step.getResource().axes;
  if (!group)
    return spent;
  int64_t bytes = 0;
  for (const sched::Use &use : sched::partsOf(step))
    if (use.reads || isa<sched::ReceiveOp>(step.getOperation()))
      bytes += static_cast<int64_t>(sched::valueOf(use.value).getBytes());
  dist::Axes axes = dist::axesOf(group);
  double seconds = isa<sched::AllReduceOp>(step.getOperation())
                       ? links.seconds(axes, bytes)
                       : links.secondsOfMessage(axes.front(), bytes);
  spent.communication[spell(group)] = seconds;
  spent.exchanges[step] = {seconds, seconds};
  return spent;
}
