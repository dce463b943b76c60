//===- Driver.cpp - the compiler as a function ----------------------------===//
//
// One pass manager for each pass: so a pass that reports an error (the source is wrong) is
// distinguished from a pass that leaves invalid IR (the compiler is wrong).
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Driver.h"
#include "dialects/tplan/Settings.h"
#include "lib/Cost/MemorySearch.h"
#include "lib/Driver/Place.h"
#include "lib/Driver/StepTime.h"
#include "lib/Driver/Summary.h"
#include "lib/Emit/Image.h"
#include "lib/Emit/Object.h"
#include "lib/Emit/Ptx.h"
#include "lib/Lower/Gpu/Names.h"
#include "lib/Parse/Text.h"

#include "mlir/IR/Builders.h"
#include "mlir/IR/Diagnostics.h"
#include "mlir/IR/Verifier.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/MemoryBuffer.h"
#include <array>
#include <chrono>

using namespace mlir;

namespace tplan {
namespace {

/// Whether the IR is verified between the passes of a phase, too, which names the pass that broke
/// it: in builds with assertions, as those of the fuzzer are. The verifier of the phase finds the
/// same after it, and tplan-opt, with which each pass is tested, verifies after each.
#ifdef NDEBUG
constexpr bool kVerifiesPasses = false;
#else
constexpr bool kVerifiesPasses = true;
#endif

class Compile {
public:
  Compile(const Source &source, const Options &options, Result &result)
      : source(source), options(options), result(result) {}

  void run();
  /// Where the compile stands, for the message after a crash.
  std::string place() const;

private:
  bool runPhase(Phase phase);
  bool runTrial();
  std::optional<bool> tryOnce(cost::MemorySearch &search);
  bool tries(Phase next);
  void tellHeld();
  bool runFrom(Phase first, Phase last);
  void judgeCompression(std::optional<lang::Compress> lang::Plan::*what, llvm::StringRef title);
  std::optional<double> secondsOf(OwningOpRef<ModuleOp> module);
  bool parse();
  bool runPass(const PassInfo &pass);
  bool emit();
  llvm::Error takeKernels(emit::KernelImage &image);
  bool runs(const PassInfo &pass) const {
    if (pass.when == PassInfo::asked)
      return llvm::is_contained(options.asked, pass.flag);
    return pass.when == PassInfo::always || options.target.isGpu() == (pass.when == PassInfo::gpu);
  }
  bool internal(const llvm::Twine &what);
  bool fail(Outcome outcome) {
    result.outcome = outcome;
    return false;
  }

  const Source &source;
  const Options &options;
  Result &result;
  unsigned errors = 0;
  int trials = 0; // that are under way: what is said is held until it is known whether it holds
  std::vector<Diagnostic> held;
  /// The phases that a trial runs: what the first two decide the third one judges.
  static constexpr std::array kTrial = {Phase::schedule, Phase::overlap, Phase::memory};
  bool hasTried = false; // they have been run
  parse::Origin origin;
  Phase phase = Phase::parse;
  const PassInfo *pass = nullptr;
};

std::string Compile::place() const {
  std::string text = "phase '" + info(phase).name.str() + "'";
  return pass ? text + ", pass '" + pass->flag.str() + "'" : text;
}

bool Compile::internal(const llvm::Twine &what) {
  *options.errors << "internal error: " << what << " in " << place() << "\n";
  return fail(Outcome::internalError);
}

bool Compile::parse() {
  parse::ParseOptions parseOptions = options.parse;
  llvm::raw_string_ostream listing(result.listing);
  parseOptions.listOutput = &listing;
  parseOptions.files = &result.files;
  parseOptions.parsed = &result.parsed;
  parseOptions.origin = &origin;
  result.module = parse::parseSource(*result.context, *result.sources, parseOptions);
  if (result.module && !errors) {
    Operation *module = *result.module;
    module->setAttr(lang::kTarget, lang::TargetAttr::get(result.context.get(), options.target));
    NamedAttrList sizes;
    for (auto &[dim, size] : options.costSizes)
      sizes.set(dim, Builder(result.context.get()).getI64IntegerAttr(size));
    if (!sizes.empty())
      module->setAttr(lang::kCostSizes, sizes.getDictionary(result.context.get()));
    return true;
  }
  return errors ? fail(Outcome::sourceError) : internal("no module and no message");
}

bool Compile::runPass(const PassInfo &next) {
  pass = &next;
  PassManager manager(result.context.get());
  if (options.configure && failed(options.configure(manager)))
    return fail(Outcome::usageError);
  manager.enableVerifier(false);
  manager.addPass(next.create());
  // An error of a pass is about the source, one of the verifier about the IR.
  result.context->printOpOnDiagnostic(false);
  bool passed = succeeded(manager.run(*result.module));
  result.context->printOpOnDiagnostic(true);
  if (errors)
    return fail(Outcome::sourceError);
  if (!passed)
    return internal("failure without a message");
  return true;
}

/// The kernels of the module become the image, and are no part of the host program.
llvm::Error Compile::takeKernels(emit::KernelImage &image) {
  for (auto kernels : llvm::make_early_inc_range(result.module->getOps<gpu::GPUModuleOp>())) {
    llvm::Expected<std::string> ptx = emit::emitPtx(kernels, options.target.arch);
    if (!ptx)
      return ptx.takeError();
    image.ptx += *ptx;
    kernels.erase();
  }
  result.ptx = image.ptx;
  return image.ptx.empty() ? llvm::Error::success() : emit::assemble(image, options.target.arch);
}

bool Compile::emit() {
  llvm::LLVMContext context;
  emit::KernelImage image;
  if (options.target.isGpu())
    if (llvm::Error error = takeKernels(image))
      return internal(llvm::toString(std::move(error)));
  std::unique_ptr<llvm::Module> code = emit::translateToLLVM(*result.module, context);
  if (!code)
    return internal("no LLVM module");
  if (options.target.isGpu())
    image.defineIn(*code, lower::kPtx, lower::kCubin);
  if (!options.target.embedAs.empty()) // other plans of the program have kernels of these names
    emit::exportOnly(*code, options.target.program());
  llvm::Expected<llvm::SmallVector<char, 0>> object =
      emit::emitObject(*code, options.target.cpu, options.target.features);
  if (!object)
    return internal(llvm::toString(object.takeError()));
  result.object = std::move(*object);
  return true;
}

bool Compile::runPhase(Phase next) {
  phase = next;
  auto start = std::chrono::steady_clock::now();
  if (phase == Phase::parse && !parse())
    return false;
  for (const PassInfo &entry : passes()) {
    if (entry.phase != phase || !runs(entry))
      continue;
    // What the last pass leaves is verified with the phase.
    if (pass && kVerifiesPasses && failed(verify(*result.module)))
      return internal("invalid IR");
    if (!runPass(entry))
      return false;
  }
  // Where no pass runs, the module is what the last phase has left.
  bool isNew = pass || phase == Phase::parse;
  pass = nullptr; // any of the phase's may be wrong
  if (isNew && failed(verifyAfter(phase, *result.module)))
    return internal("the verifier of the phase failed");
  if (options.after && !trials)
    options.after(phase, *result.module);
  if (phase == Phase::emit && !emit())
    return false;
  std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  // What is tried several times has taken as long as all of that.
  auto known = llvm::find_if(result.times, [&](const auto &each) { return each.phase == phase; });
  if (known == result.times.end())
    result.times.push_back({phase, seconds.count()});
  else
    known->seconds += seconds.count();
  return true;
}

/// Runs a phase, where an error is no error yet.
bool Compile::tries(Phase next) {
  ++trials;
  bool passed = runPhase(next);
  --trials;
  return passed;
}

/// What has been said in a trial that holds.
void Compile::tellHeld() {
  if (trials) // within another one
    return;
  for (Diagnostic &each : held)
    result.context->getDiagEngine().emit(std::move(each));
  held.clear();
}

/// Where a rank has only so much memory, that says how much runs beside other work: the phases that
/// decide are run again, until each program gathers as many layers ahead as it has room for. Where
/// costs decide, a program may also leave exchanges in their layers, and at last all need no more
/// memory than without any of it.
bool Compile::runTrial() {
  lang::Settings settings(*result.module);
  if (settings.ranks() == 1 || !settings.memoryLimit())
    return runPhase(kTrial.front());
  OwningOpRef<ModuleOp> before = result.module->clone();
  bool isAsked = settings.plan.overlap.has_value();
  cost::MemorySearch search(*settings.memoryLimit(),
                            isAsked ? cost::Room::All : cost::Room::Nothing);
  for (; search.goesOn(); result.module = before->clone()) {
    search.ask(*result.module);
    if (std::optional<bool> holds = tryOnce(search))
      return *holds;
  }
  result.module = std::move(before);
  if (isAsked)
    search.ask(*result.module);
  else
    (*result.module)->setAttr(lang::kKeepsMemory, UnitAttr::get(result.context.get()));
  return runPhase(kTrial.front());
}

/// Runs the phases of a trial: whether they passed, or nothing where memory is short, or there may
/// be more of it. What has been said is then forgotten.
std::optional<bool> Compile::tryOnce(cost::MemorySearch &search) {
  std::vector<OwningOpRef<ModuleOp>> after; // of each phase but the last that somebody looks at
  for (Phase next : kTrial) {
    bool passed = tries(next);
    if (next == kTrial.back())
      search.judge(*result.module);
    if (passed && !(next == kTrial.back() && search.goesOn())) {
      bool isSeen = next != kTrial.back() && (options.after || options.last == next);
      after.push_back(isSeen ? result.module->clone() : OwningOpRef<ModuleOp>());
      continue;
    }
    if (next != kTrial.back()) {
      tellHeld();
      return false;
    }
    held.clear();
    result.outcome = Outcome::internalError; // until it is known
    errors = 0, pass = nullptr;
    return std::nullopt;
  }
  hasTried = true;
  tellHeld();
  for (auto [next, module] : llvm::zip(kTrial, after)) {
    if (options.after && !trials && next <= options.last)
      options.after(next, module ? *module : *result.module);
    if (options.last == next && module && !trials)
      result.module = std::move(module);
  }
  return true;
}

bool Compile::runFrom(Phase first, Phase last) {
  for (const PhaseInfo &next : phases()) {
    if (next.phase < first)
      continue;
    if (next.phase == Phase::shard && !trials) {
      judgeCompression(&lang::Plan::compress, "gradients");
      judgeCompression(&lang::Plan::compressWeights, "weights");
    }
    bool isDone = hasTried && llvm::is_contained(kTrial, next.phase);
    if (!isDone && !(next.phase == kTrial.front() ? runTrial() : runPhase(next.phase)))
      return false;
    if (next.phase == last)
      break;
  }
  return true;
}

/// The predicted seconds of a step of a module that is to be sharded; nothing where the plan has
/// errors, or its cluster does not say what its devices do.
std::optional<double> Compile::secondsOf(OwningOpRef<ModuleOp> module) {
  Phase before = phase;
  size_t told = held.size(), timed = result.times.size();
  std::swap(result.module, module);
  ++trials;
  std::optional<double> seconds;
  if (runFrom(Phase::shard, Phase::memory))
    if (StepTime time = predictStep(*result.module); !time.device.empty())
      seconds = time.seconds;
  --trials;
  std::swap(result.module, module);
  phase = before, pass = nullptr, hasTried = false, errors = 0;
  held.erase(held.begin() + told, held.end());
  result.times.resize(timed);
  result.outcome = Outcome::internalError; // until it is known
  return seconds;
}

/// Compression loses something, so it must save time: where it saves none, because what it leaves
/// out would have been hidden, or because it computes longer, the plan goes on without it.
void Compile::judgeCompression(std::optional<lang::Compress> lang::Plan::*what,
                               llvm::StringRef title) {
  lang::Settings settings(*result.module);
  if (!(settings.plan.*what) || !settings.cluster.facts.bandwidth)
    return;
  auto plan = *result.module->getOps<lang::PlanOp>().begin();
  lang::Plan fields = settings.plan;
  (fields.*what).reset();
  OwningOpRef<ModuleOp> plain = result.module->clone();
  auto without = *plain->getOps<lang::PlanOp>().begin();
  without.setSettingsAttr(lang::PlanAttr::get(result.context.get(), fields));
  std::optional<double> with = secondsOf(result.module->clone()),
                        less = secondsOf(std::move(plain));
  if (!with || !less || *with < *less)
    return;
  emitWarning(settings.planLine("compress"))
      << title << " are not compressed: a step would take " << shortTime(*with)
      << " with it, and takes " << shortTime(*less) << " without, predicted";
  plan.setSettingsAttr(lang::PlanAttr::get(result.context.get(), fields));
}

void Compile::run() {
  result.sources = std::make_unique<llvm::SourceMgr>();
  result.sources->AddNewSourceBuffer(llvm::MemoryBuffer::getMemBufferCopy(source.text, source.name),
                                     llvm::SMLoc());
  result.context = std::make_unique<MLIRContext>(dialects(), MLIRContext::Threading::DISABLED);
  parse::DiagnosticPrinter printer(*result.sources, result.context.get(), *options.errors);
  ScopedDiagnosticHandler counter(result.context.get(), [&](Diagnostic &diagnostic) {
    errors += diagnostic.getSeverity() == DiagnosticSeverity::Error;
    if (trials) {
      held.push_back(std::move(diagnostic));
      return success();
    }
    tellAtUsersLine(diagnostic, origin);
    if (!options.keepDiagnostics)
      return failure(); // only counted: the printer above prints it
    result.diagnostics.push_back(std::move(diagnostic));
    return success();
  });

  if (runFrom(Phase::parse, options.last))
    result.outcome = Outcome::ok;
}

} // namespace

Result compile(const Source &source, const Options &options) {
  Result result;
  Compile compile(source, options, result);
  llvm::CrashRecoveryContext recovery;
  if (recovery.RunSafely([&] { compile.run(); }))
    return result;
  // What is left after a crash may not be safe to destroy, so it is leaked.
  (void)result.module.release();
  (void)result.context.release();
  *options.errors << "internal error: crash in " << compile.place() << "\n";
  result.outcome = Outcome::internalError;
  return result;
}

} // namespace tplan
