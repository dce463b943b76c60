//===- Verify.cpp - whether a plan trains as one rank does ----------------===//
//
// One decision: a microbatch of the serial plan has the sequences of all ranks' microbatches
// together. So both plans compute the same values, op by op, and a probe of the one is equal to
// that of the other.
//
//===----------------------------------------------------------------------===//
#include "lib/Verify/Verify.h"
#include "dialects/sched/Sched.h"
#include "lib/Emit/Link.h"
#include "lib/Parse/Text.h"
#include "lib/Verify/Shrink.h"
#include "lib/Verify/Trail.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/Path.h"
#include "llvm/Support/raw_ostream.h"
#include <cmath>

using namespace mlir;
using namespace tplan;
using namespace tplan::verify;

namespace {

constexpr int64_t kSteps = 3;
/// The largest difference that another order of additions makes in f64.
constexpr double kTolerance = 1e-11;
/// A gradient with a smaller share of the norm of all gradients is noise.
constexpr double kLeast = 1e-3;
/// Limits for all ranks together, which are threads of this machine.
constexpr int64_t kMostMemory = int64_t(8) << 30, kMostRanks = 512;

/// The largest difference, and its name.
struct Difference {
  std::string what, tensor;
  double off = 0;
  int64_t step = 1;
  bool differs() const { return !(off <= kTolerance); } // what is no number differs
  void add(double other, const llvm::Twine &name, llvm::StringRef of = "") {
    if (!(other <= off) && !std::isnan(off))
      off = other, what = name.str(), tensor = of.str();
  }
};

double norm(const std::vector<double> &values) {
  double sum = 0;
  for (double v : values)
    sum += v * v;
  return std::sqrt(sum);
}

double apart(const std::vector<double> &a, const std::vector<double> &b) {
  if (a.size() != b.size())
    return INFINITY;
  double sum = 0;
  for (size_t i = 0; i < a.size(); ++i)
    sum += (a[i] - b[i]) * (a[i] - b[i]);
  return std::sqrt(sum);
}

double relative(double a, double b) { return a == b ? 0 : std::abs(a - b) / std::abs(b); }

void compare(const Tensors &found, const Tensors &wanted, llvm::StringRef what, Difference &most) {
  double all = 0;
  for (auto &[name, values] : wanted)
    all += std::pow(norm(values), 2);
  for (auto &[name, values] : wanted) {
    auto other = found.find(name);
    double size = std::max(norm(values), kLeast * std::sqrt(all));
    double off = other == found.end() ? INFINITY : apart(other->second, values);
    llvm::StringRef weight = name; // of `q.weight.grad`
    weight.consume_back(".grad");
    most.add(size > 0 ? off / size : off, what + weight, weight);
  }
}

/// Compares the first step alone, then the others: in the first that differs, the farthest value.
Difference compare(const Trained &found, const Trained &wanted) {
  Difference most;
  for (int64_t i = 0; i < kSteps && !most.differs(); ++i) {
    most.step = i + 1;
    for (auto &[name, numbers] : wanted.numbers) {
      auto other = found.numbers.find(name);
      bool has = other != found.numbers.end() && i < static_cast<int64_t>(other->second.size()) &&
                 i < static_cast<int64_t>(numbers.size());
      most.add(has ? relative(other->second[i], numbers[i]) : INFINITY,
               name == "loss"        ? "the loss"
               : name == "grad_norm" ? "the norm of all gradients"
                                     : "the metric " + name);
    }
    if (i == 0)
      compare(found.gradients, wanted.gradients, "the gradient of ", most);
  }
  if (!most.differs())
    compare(found.states, wanted.states, "the state ", most);
  return most;
}

class Verifier {
public:
  Verifier(const Source &source, const Options &options, llvm::StringRef runtime,
           llvm::raw_ostream &out)
      : source(source), options(options), runtime(runtime), out(out) {}
  ~Verifier() {
    if (!folder.empty())
      llvm::sys::fs::remove_directories(folder);
  }
  Outcome run();

private:
  Options optionsOf(bool serial, bool probes) const;
  Result build(bool serial, bool probes, Trail *trail);
  llvm::Expected<Trained> train(const Result &result, bool serial, bool probes);
  Outcome tell(const Difference &difference);
  void tellPoint(const Point &point, const Trail &trail);
  void tellRest(const Difference &difference, const Trail &trail);
  void addPassages(InFlightDiagnostic &error, llvm::ArrayRef<Passage> passages, const Trail &trail);
  void praise(const Difference &farthest, size_t gradients, llvm::StringRef plan);
  Outcome fail(const llvm::Twine &message) {
    *options.errors << "error: " << message << "\n";
    return Outcome::sourceError;
  }
  Outcome internal(const Difference &difference) {
    *options.errors << "internal error: " << difference.what
                    << " differs, and the plan with probes does not compile or train\n";
    return Outcome::internalError;
  }
  Outcome fail(llvm::Error error) { return fail(llvm::toString(std::move(error))); }

  const Source &source;
  const Options &options;
  llvm::StringRef runtime;
  llvm::raw_ostream &out;
  llvm::SmallString<128> folder, data;
  Shrunk small;
  int64_t arena = 0; // bytes of a rank
};

} // namespace

//===----------------------------------------------------------------------===//
// Both trainings
//===----------------------------------------------------------------------===//

/// Lines that both plans have. Weights move far enough in a step to show in the next one; the
/// memory that f64 takes does not matter.
static const char *const kCommon[] = {"plan.precision=f64", "plan.compress=none",
                                      "plan.memory=1024 GiB", "recipe.lr=flat 1e-2"};

Options Verifier::optionsOf(bool serial, bool probes) const {
  Options all = options;
  llvm::append_range(all.parse.replacements, small.overrides);
  all.costSizes = small.costSizes;
  all.last = Phase::emit;
  if (probes)
    all.asked.push_back("add-probes");
  if (serial) {
    all.parse.serial = true;
    all.parse.replacements.push_back("plan.microbatch=" + std::to_string(small.microbatch) +
                                     " sequences");
    all.after = nullptr;
  }
  return all;
}

Result Verifier::build(bool serial, bool probes, Trail *trail) {
  Options all = optionsOf(serial, probes);
  all.after = [&, broken = all.after](Phase phase, ModuleOp module) {
    if (trail && phase == Phase::parse)
      trail->readPlan(module);
    if (trail && phase == Phase::differentiate)
      trail->readValues(module);
    if (broken)
      broken(phase, module);
    if (trail && phase == Phase::shard)
      trail->readCollectives(module);
    if (phase == Phase::memory)
      for (auto program : module.getOps<sched::ProgramOp>())
        arena = program.getArena().value_or(0);
  };
  // Warnings about a small plan say nothing about the full one.
  std::string said;
  llvm::raw_string_ostream errors(said);
  all.errors = &errors;
  Result result = compile(source, all);
  if (!result.ok())
    *options.errors << said;
  return result;
}

llvm::Expected<Trained> Verifier::train(const Result &result, bool serial, bool probes) {
  llvm::SmallString<128> binary(folder);
  llvm::sys::path::append(binary,
                          llvm::Twine(serial ? "serial" : "ranks") + (probes ? "-probes" : ""));
  if (std::error_code error = llvm::sys::fs::create_directories(binary))
    return llvm::createStringError(error, "cannot make " + binary + ": " + error.message());
  llvm::sys::path::append(binary, "train");
  if (llvm::Error error = emit::linkBinary({result.object}, binary, runtime))
    return std::move(error);
  llvm::Expected<Trained> trained = verify::train(binary, data, kSteps);
  if (!trained)
    return llvm::createStringError(llvm::Twine(serial ? "the serial plan does" : "the ranks do") +
                                   " not train: " + llvm::toString(trained.takeError()));
  return trained;
}

Outcome Verifier::run() {
  Options common = options;
  common.parse.replacements.insert(common.parse.replacements.end(), std::begin(kCommon),
                                   std::end(kCommon));
  std::optional<Shrunk> shrunk = shrink(source, common);
  if (!shrunk)
    return Outcome::sourceError;
  small = std::move(*shrunk);
  small.overrides.insert(small.overrides.begin(), std::begin(kCommon), std::end(kCommon));
  if (small.ranks > kMostRanks)
    return fail("verify trains every rank as a thread, at most " + llvm::Twine(kMostRanks) +
                "; give the mesh a smaller axis, as in --set \"plan.mesh=dp = 8, tp = 8\", found " +
                llvm::Twine(small.ranks));
  if (llvm::sys::fs::createUniqueDirectory("tplan-verify", folder))
    return fail("no folder for temporary files");
  data = folder;
  llvm::sys::path::append(data, "tokens.i32");
  if (llvm::Error error =
          writeTokens(data, (small.row + 1) * (small.batch * kSteps + 1), small.vocabulary))
    return fail(std::move(error));

  Trail trail;
  Result serial = build(/*serial=*/true, /*probes=*/false, nullptr);
  if (!serial.ok())
    return serial.outcome;
  Result ranks = build(/*serial=*/false, /*probes=*/false, &trail);
  if (!ranks.ok())
    return ranks.outcome;
  if (arena > kMostMemory / small.ranks)
    return fail(
        "the plan could not be made small: its ranks need more than 8 GiB together; found " +
        llvm::Twine(small.ranks) + " of " + llvm::Twine(arena) + " bytes");
  llvm::Expected<Trained> wanted = train(serial, /*serial=*/true, /*probes=*/false);
  if (!wanted)
    return fail(wanted.takeError());
  llvm::Expected<Trained> found = train(ranks, /*serial=*/false, /*probes=*/false);
  if (!found)
    return fail(found.takeError());
  Difference difference = compare(*found, *wanted);
  if (difference.step > 1 && difference.differs()) {
    Difference weights;
    compare(found->weights, wanted->weights, "the weight ", weights);
    if (weights.differs())
      difference = weights;
  }
  if (difference.differs())
    return tell(difference);
  praise(difference, wanted->gradients.size(), trail.plan);
  return Outcome::ok;
}

//===----------------------------------------------------------------------===//
// What is said
//===----------------------------------------------------------------------===//

void Verifier::praise(const Difference &farthest, size_t gradients, llvm::StringRef plan) {
  out << llvm::formatv("{0} trains as on one rank: {1} gradients, and losses, norms, metrics and "
                       "states of {2} steps, in f64, are equal within {3:e1}\n",
                       plan, gradients, kSteps, farthest.off);
  if (small.ranks > 1)
    out << llvm::formatv(
        "  {0} ranks as threads, with all {1} collectives of the plan's functions\n", small.ranks,
        small.collectives);
  if (small.sizes.empty())
    return;
  out << "  smaller:";
  for (auto [i, size] : llvm::enumerate(small.sizes))
    out << (i ? ", " : " ") << size.name << " " << size.after << " for " << size.before;
  out << "\n";
}

void Verifier::addPassages(InFlightDiagnostic &error, llvm::ArrayRef<Passage> passages,
                           const Trail &trail) {
  std::set<std::string> axes, said;
  for (const Passage &passage : passages) {
    axes.insert(passage.axes.begin(), passage.axes.end());
    if (said.insert(passage.what).second)
      error.attachNote(passage.loc) << passage.what;
  }
  for (const PlanLine &line : trail.lines)
    if (axes.count(line.axis))
      error.attachNote(line.loc) << line.what;
}

/// As the compiler says it, at the lines of the plan.
void Verifier::tellPoint(const Point &point, const Trail &trail) {
  auto error = emitError(point.loc)
               << "ranks compute another value than one rank does, and `" << point.op
               << "` is the first, in the " << (point.backward ? "backward" : "forward") << " of "
               << point.layer << ": " << llvm::formatv("{0:e1} of it off", point.off).str();
  if (point.passages.empty())
    error.attachNote(point.loc) << "all that it reads is equal, and comes through no collective";
  addPassages(error, point.passages, trail);
}

void Verifier::tellRest(const Difference &difference, const Trail &trail) {
  const Trail::Weight *weight = trail.weight(difference.tensor);
  auto error =
      emitError(weight ? weight->loc : *trail.planLoc)
      << "ranks train otherwise than one rank does, though all values of the first step are equal: "
      << difference.what << " of step " << difference.step << " is "
      << llvm::formatv("{0:e1} of it off", difference.off).str();
  if (!weight)
    return;
  if (weight->reduction.empty())
    error.attachNote(weight->loc) << "no collective reduces its gradient";
  addPassages(error, weight->reduction, trail);
}

Outcome Verifier::tell(const Difference &difference) {
  Trail trail;
  Result serial = build(/*serial=*/true, /*probes=*/true, nullptr);
  Result ranks = build(/*serial=*/false, /*probes=*/true, &trail);
  if (!serial.ok() || !ranks.ok())
    return internal(difference);
  llvm::Expected<Trained> wanted = train(serial, /*serial=*/true, /*probes=*/true);
  llvm::Expected<Trained> found = train(ranks, /*serial=*/false, /*probes=*/true);
  if (llvm::Error error = llvm::joinErrors(wanted.takeError(), found.takeError())) {
    *options.errors << "error: " << llvm::toString(std::move(error)) << "\n";
    return internal(difference);
  }
  parse::DiagnosticPrinter printer(*ranks.sources, ranks.context.get(), *options.errors);
  if (std::optional<Point> point = trail.first(wanted->gradients, found->gradients))
    tellPoint(*point, trail);
  else
    tellRest(difference, trail);
  return Outcome::sourceError;
}

Outcome verify::verify(const Source &source, const Options &options, llvm::StringRef runtime,
                       llvm::raw_ostream &out) {
  return Verifier(source, options, runtime, out).run();
}
