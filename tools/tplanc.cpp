//===- tplanc.cpp - the compiler's command line ---------------------------===//
//
// tplanc FILE.tplan -o BINARY, tplanc verify FILE.tplan, and without a file tplanc --schedule NAME,
// tplanc --check-schedule FILE. Options are grouped in --help; LLVM's own
// are hidden, because most have no effect here. Exit codes: 0, 1 errors in the source, 2 usage, 70
// internal error.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Driver.h"
#include "lib/Driver/Messages.h"
#include "lib/Driver/Repair.h"
#include "lib/Driver/Report.h"
#include "lib/Driver/Schedules.h"
#include "lib/Driver/Summary.h"
#include "lib/Emit/Link.h"
#include "lib/Emit/Output.h"
#include "lib/Parse/Text.h"
#include "lib/Pipeline/Text.h"
#include "lib/Verify/Verify.h"

#include "mlir/IR/AsmState.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Config/llvm-config.h"
#include "llvm/Support/CommandLine.h"
#include "llvm/Support/CrashRecoveryContext.h"
#include "llvm/Support/Error.h"
#include "llvm/Support/Format.h"
#include "llvm/Support/InitLLVM.h"
#include "llvm/Support/MemoryBuffer.h"

using namespace tplan;
namespace cl = llvm::cl;

namespace {
cl::OptionCategory outputs("What is written"), inputs("What is compiled"),
    reports("What is printed"), schedules("Schedules by numbers alone"),
    debugging("Looking inside (MLIR)");

cl::SubCommand verifying("verify",
                         "train the plan, made small, over its mesh and on one rank, and compare");

cl::opt<std::string> input(cl::Positional, cl::sub(cl::SubCommand::getAll()),
                           cl::desc("FILE.tplan (- for standard input)"), cl::cat(inputs));
cl::opt<std::string> plan("plan", cl::sub(cl::SubCommand::getAll()),
                          cl::desc("the plan to compile, where the file has several"),
                          cl::value_desc("NAME"), cl::cat(inputs));
cl::list<std::string> sets("set", cl::sub(cl::SubCommand::getAll()),
                           cl::desc("replace a setting: model.L=4, recipe.lr=1e-4, "
                                    "plan.microbatch=2 (repeatable)"),
                           cl::value_desc("PATH=VALUE"), cl::cat(inputs));
cl::opt<std::string> target("target", cl::sub(cl::SubCommand::getAll()),
                            cl::desc("cpu or cpu:ARCH (default: this machine's), or "
                                     "cuda:ARCH (cuda:sm_90); both by a comma: one binary"),
                            cl::value_desc("T[,T]"), cl::init("cpu"), cl::cat(inputs));

using AttentionBy = tplan::lang::AttentionBy;
cl::opt<AttentionBy>
    attention("attention", cl::desc("who computes attention on a GPU"),
              cl::values(clEnumValN(AttentionBy::Library, "library",
                                    "cuDNN, where it takes the operands (default)"),
                         clEnumValN(AttentionBy::Generated, "generated", "kernels of tplanc")),
              cl::init(AttentionBy::Library), cl::cat(inputs));

cl::opt<std::string> output("o", cl::desc("output file (default: standard output for text)"),
                            cl::value_desc("FILE"), cl::cat(outputs));
cl::opt<bool> ptxOnly("ptx", cl::desc("the kernels of a cuda target, as text"), cl::cat(outputs));
cl::opt<bool> objectOnly("c", cl::desc("an object, not linked"), cl::cat(outputs));
cl::opt<std::string> embed("embed",
                           cl::desc("with -c: for a program of yours, without main, as the symbol "
                                    "NAME_program"),
                           cl::value_desc("NAME"), cl::cat(outputs));
cl::opt<std::string> depfile("depfile",
                             cl::desc("with -c: the files that were read, for make and ninja"),
                             cl::value_desc("FILE"), cl::cat(outputs));
cl::opt<bool>
    auditScales("audit-scales",
                cl::desc("the program can write its scales, with its own --audit-scales F"),
                cl::cat(outputs));
cl::opt<std::string> emitted("emit", cl::value_desc("PHASE"), cl::cat(outputs));
cl::opt<bool> check("check", cl::desc("every check, all phases through memory; writes nothing"),
                    cl::cat(outputs));

cl::opt<std::string> list("list", cl::desc("the weights that a selector matches"),
                          cl::value_desc("SELECTOR"), cl::cat(reports));
enum class ReportKind { none, summary, full, json };
cl::opt<ReportKind>
    report("report", cl::desc("what the plan needs and does"), cl::ValueOptional,
           cl::values(clEnumValN(ReportKind::summary, "", "parameters, tokens, FLOPs, memory"),
                      clEnumValN(ReportKind::full, "full",
                                 "every table: memory, work, collectives, tasks"),
                      clEnumValN(ReportKind::json, "json", "for programs")),
           cl::cat(reports));
enum class MessageKind { text, json };
cl::opt<MessageKind>
    messages("diagnostics", cl::desc("errors and warnings, on standard error"),
             cl::values(clEnumValN(MessageKind::text, "text", "to read (default)"),
                        clEnumValN(MessageKind::json, "json",
                                   "a JSON object a line, with edits that lead out")),
             cl::init(MessageKind::text), cl::cat(reports));
cl::opt<bool> printFlags("print-link-flags",
                         cl::desc("what a program that embeds a plan is linked with"),
                         cl::cat(reports));
cl::opt<bool> printTable("print-phases", cl::desc("the table of phases and passes"),
                         cl::cat(reports));
cl::opt<bool> verbose("v", cl::desc("time of each phase, on standard error"), cl::cat(reports));

cl::opt<std::string> schedule("schedule",
                              cl::desc("prints the order of a schedule, 'zb_v' or "
                                       "'interleaved(chunks = 2)': as JSON, with -o FILE.svg "
                                       "as a picture, with -o FILE.trace.json for Perfetto"),
                              cl::value_desc("SCHEDULE"), cl::cat(schedules));
cl::opt<unsigned> ranks("ranks", cl::desc("ranks of the pipeline, with --schedule"),
                        cl::value_desc("N"), cl::cat(schedules));
cl::opt<unsigned> microbatches("microbatches", cl::desc("of a step, with --schedule"),
                               cl::value_desc("N"), cl::cat(schedules));
cl::opt<std::string> costs("costs",
                           cl::desc("units of time of tasks and of a message, for --schedule, "
                                    "--check-schedule and --emit=schedule-json or timeline "
                                    "(default: F=1,I=1,W=1,B=2,comm=0)"),
                           cl::value_desc("COSTS"), cl::cat(schedules));
cl::opt<std::string> checkedSchedule("check-schedule",
                                     cl::desc("judges orders of ranks (- for standard input), and "
                                              "prints the verdict as JSON"),
                                     cl::value_desc("FILE"), cl::cat(schedules));
/// What --emit also takes: the order of the step, and that over time.
constexpr llvm::StringLiteral kScheduleJson = "schedule-json", kTimeline = "timeline";
bool emitsSchedule() { return emitted == kScheduleJson || emitted == kTimeline; }

/// How an order is printed, by --emit or by the end of the file's name.
ScheduleForm scheduleForm() {
  llvm::StringRef file = output;
  return emitted == kScheduleJson        ? ScheduleForm::json
         : file.ends_with(".svg")        ? ScheduleForm::picture
         : file.ends_with(".trace.json") ? ScheduleForm::trace
                                         : ScheduleForm::json;
}

int usage(const llvm::Twine &message) {
  llvm::errs() << "tplanc: error: " << message << "\n";
  return static_cast<int>(Outcome::usageError);
}

/// MLIR's flags get a heading of their own, all other flags of LLVM's are hidden.
void groupOptions() {
  for (auto &[name, option] : cl::getRegisteredOptions())
    if (name.starts_with("mlir-"))
      option->addCategory(debugging);
  cl::HideUnrelatedOptions({&inputs, &outputs, &reports, &schedules, &debugging});
  cl::HideUnrelatedOptions({&inputs}, verifying);
}

/// The last phase that the command line asks for; an error says what is legal.
llvm::Expected<Phase> lastPhase() {
  bool reported = report != ReportKind::none;
  int asked = !emitted.empty() + check + !list.empty() + objectOnly + ptxOnly + reported;
  if (verifying && (asked || !output.empty()))
    return llvm::createStringError("verify writes and prints nothing else: leave out -o, -c, "
                                   "--ptx, --check, --emit, --list and --report");
  if (verifying)
    return Phase::emit;
  if (asked > 1)
    return llvm::createStringError(
        "more than one of -c, --ptx, --check, --emit, --list and --report: choose one");
  if (check && !output.empty())
    return llvm::createStringError("--check writes nothing: leave out -o or --check");
  if (embed.getNumOccurrences()) {
    if (!objectOnly)
      return llvm::createStringError("--embed makes an object to be linked: add -c");
    llvm::StringRef name = embed;
    bool isName = !name.empty() && !llvm::isDigit(name[0]) &&
                  llvm::all_of(name, [](char c) { return llvm::isAlnum(c) || c == '_'; });
    if (!isName)
      return llvm::createStringError("--embed takes a name as C has them, letters, digits and _: "
                                     "found '" +
                                     parse::printable(name) + "'");
  }
  if (!depfile.empty() && !objectOnly)
    return llvm::createStringError("--depfile is of an object: add -c");
  if (objectOnly && output.empty())
    return llvm::createStringError("-c needs a file to write: add -o FILE");
  if (check || reported)
    return Phase::memory;
  if (!list.empty())
    return Phase::parse;
  if (emitted == kTimeline && scheduleForm() == ScheduleForm::json)
    return llvm::createStringError("--emit=timeline makes a picture or a trace: add -o FILE.svg or "
                                   "-o FILE.trace.json");
  if (emitted == kTimeline && costs.empty())
    return Phase::memory; // a cluster says what all of the step takes
  if (emitsSchedule())
    return Phase::schedule;
  if (!emitted.empty()) {
    if (std::optional<Phase> phase = findPhase(emitted)) {
      if (*phase == Phase::emit && output.empty())
        return llvm::createStringError("--emit=emit makes a binary: add -o FILE");
      return *phase;
    }
    return llvm::createStringError("no phase is called '" + emitted + "'; there are " +
                                   phaseNames() + ", and " + kScheduleJson.str() + " and " +
                                   kTimeline.str());
  }
  if (!output.empty() || ptxOnly)
    return Phase::emit;
  return llvm::createStringError("nothing to write: add -o FILE for a binary, --check, "
                                 "--emit=PHASE, --report or --list=SELECTOR");
}

void printTimes(const Result &result) {
  double total = 0;
  for (const PhaseTime &time : result.times) {
    llvm::errs() << llvm::format("%-14s %8.1f ms\n", info(time.phase).name.data(),
                                 1e3 * time.seconds);
    total += time.seconds;
  }
  llvm::errs() << llvm::format("%-14s %8.1f ms\n", "total", 1e3 * total);
}

/// Writes to -o, or to standard output where no file is named.
llvm::Error write(llvm::function_ref<void(llvm::raw_ostream &)> print) {
  std::string text;
  llvm::raw_string_ostream os(text);
  print(os);
  return emit::writeOutput(output, text);
}

llvm::Error writeReport(const Result &result) {
  mlir::FailureOr<StepReport> numbers = getStepReport(*result.module);
  if (mlir::failed(numbers))
    return llvm::createStringError("no report");
  return write([&](llvm::raw_ostream &os) {
    (report == ReportKind::json   ? printReportAsJson
     : report == ReportKind::full ? printReport
                                  : printSummary)(*numbers, os);
  });
}

/// A rule of make: the object depends on all that was read.
llvm::Error writeDepfile(const Result &result) {
  std::string rule = output;
  for (const char *separator = ": "; const std::string &file : result.files) {
    rule += separator;
    separator = " ";
    for (char c : file) // as make reads names
      rule += c == ' ' ? "\\ " : c == '$' ? "$$" : c == '#' ? "\\#" : std::string(1, c);
  }
  return emit::writeOutput(depfile, rule + "\n");
}

/// Writes the output for one target.
llvm::Error writeResult(const Result &result, Phase last, const pipeline::UnitCosts &units) {
  if (check)
    return llvm::Error::success();
  if (report != ReportKind::none)
    return writeReport(result);
  if (!list.empty())
    return emit::writeOutput(output, result.listing);
  if (emitsSchedule())
    return write([&](llvm::raw_ostream &os) {
      printScheduleOf(*result.module, costs.empty() ? std::nullopt : std::optional(units),
                      scheduleForm(), os);
    });
  if (last != Phase::emit)
    return write([&](llvm::raw_ostream &os) {
      mlir::Operation *module = *result.module;
      module->print(os);
      os << "\n";
    });
  return emit::writeOutput(
      output, ptxOnly ? result.ptx : llvm::StringRef(result.object.data(), result.object.size()));
}

/// --schedule and --check-schedule, which take no plan.
int runSchedules(const pipeline::UnitCosts &units) {
  if (!input.empty() || (!schedule.empty() && !checkedSchedule.empty()))
    return usage("--schedule and --check-schedule stand alone: leave out the FILE.tplan and the "
                 "other one");
  Outcome outcome = Outcome::ok;
  auto file = checkedSchedule.empty() ? nullptr : parse::readSource(checkedSchedule);
  if (!checkedSchedule.empty() && !file)
    return usage("cannot read '" + parse::printable(checkedSchedule) +
                 "': " + file.getError().message());
  if (checkedSchedule.empty() && (!ranks || !microbatches))
    return usage("--schedule needs --ranks N and --microbatches N, both at least 1");
  auto print = [&](llvm::raw_ostream &os) {
    if (checkedSchedule.empty())
      outcome =
          printSchedule(schedule, ranks, microbatches, units, scheduleForm(), os, llvm::errs());
    else if (!pipeline::judgeOrders((*file)->getBuffer(), units, os))
      outcome = Outcome::sourceError;
  };
  if (llvm::Error error = write(print))
    return usage("cannot write '" + output + "': " + llvm::toString(std::move(error)));
  return static_cast<int>(outcome);
}

/// A binary is for all targets that are named, any other output for one.
llvm::Error checkTargets(llvm::ArrayRef<Target> targets, Phase last) {
  bool binary = last == Phase::emit && !objectOnly && !ptxOnly && !verifying;
  if (!binary && targets.size() > 1)
    return llvm::createStringError("only a binary is for several targets; choose one of " + target);
  if (ptxOnly && !targets.front().isGpu())
    return llvm::createStringError("there is PTX for a target cuda:ARCH alone; found " + target);
  if (verifying && targets.front().isGpu())
    return llvm::createStringError("verify trains on this machine's CPU: leave out --target=" +
                                   target);
  return llvm::Error::success();
}
} // namespace

int main(int argc, char **argv) {
  llvm::InitLLVM init(argc, argv);
  registerPasses(); // before MLIR's flags, some of which take a pass by name
  mlir::registerPassManagerCLOptions();
  mlir::registerAsmPrinterCLOptions();
  groupOptions();
  cl::SetVersionPrinter([](llvm::raw_ostream &os) {
    os << "tplanc " TPLAN_VERSION ", of tplan, on LLVM " LLVM_VERSION_STRING "\n";
  });
  std::string emitHelp = "stop after a phase and print its IR: " + phaseNames() + "; or " +
                         kScheduleJson.str() + ", the order of the step, or " + kTimeline.str() +
                         ", a picture or a trace of it";
  emitted.setDescription(emitHelp);
  if (!cl::ParseCommandLineOptions(argc, argv, "compiles a training plan to a binary that trains\n",
                                   &llvm::errs()))
    return static_cast<int>(Outcome::usageError);
  if (printFlags) {
    llvm::Expected<std::string> runtime = emit::findRuntime(argv[0]);
    if (!runtime)
      return usage(llvm::toString(runtime.takeError()));
    llvm::outs() << llvm::join(emit::linkFlags(*runtime), " ") << "\n";
    return 0;
  }
  if (printTable) {
    printPhases(llvm::outs());
    return 0;
  }
  llvm::Expected<pipeline::UnitCosts> units = pipeline::readCosts(costs);
  if (!units)
    return usage(llvm::toString(units.takeError()));
  if (!schedule.empty() || !checkedSchedule.empty())
    return runSchedules(*units);
  if (ranks || microbatches || (!costs.empty() && !emitsSchedule()))
    return usage("--ranks, --microbatches and --costs are of --schedule; --costs also of "
                 "--emit=schedule-json and --emit=timeline");
  if (input.empty())
    return usage("no input: name a FILE.tplan");
  llvm::Expected<Phase> last = lastPhase();
  if (!last)
    return usage(llvm::toString(last.takeError()));
  auto file = parse::readSource(input);
  if (!file)
    return usage("cannot read '" + parse::printable(input) + "': " + file.getError().message());

  auto cannotWrite = [](llvm::Error error) {
    return usage("cannot write '" + output + "': " + llvm::toString(std::move(error)));
  };
  // Checked at once; imports are known only when the source is read.
  if (llvm::Error error = emit::checkOutput(output, input))
    return cannotWrite(std::move(error));

  llvm::Expected<std::vector<Target>> targets = findTargets(target);
  if (!targets)
    return usage(llvm::toString(targets.takeError()));
  if (llvm::Error error = checkTargets(*targets, *last))
    return usage(llvm::toString(std::move(error)));

  Options options;
  options.parse = {
      .plan = plan, .overrides = sets, .modelDirs = parse::defaultModelDirs(argv[0]), .list = list};
  options.last = *last;
  options.target = targets->front();
  options.keepDiagnostics = !verifying;
  if (auditScales)
    options.asked.push_back("audit-scales");
  options.configure = [](mlir::PassManager &manager) {
    return mlir::applyPassManagerCLOptions(manager);
  };
  llvm::CrashRecoveryContext::Enable();
  if (verifying) {
    llvm::Expected<std::string> runtime = emit::findRuntime(argv[0]);
    if (!runtime)
      return usage(llvm::toString(runtime.takeError()));
    return static_cast<int>(
        verify::verify({input, (*file)->getBuffer().str()}, options, *runtime, llvm::outs()));
  }
  Source source{input, (*file)->getBuffer().str()};
  std::vector<llvm::SmallVector<char, 0>> objects;
  for (const Target &machine : *targets) {
    options.target = machine;
    options.target.embedAs = embed;
    options.target.attention = attention;
    Result result = compile(source, options);
    (messages == MessageKind::json ? printMessagesAsJson : printMessages)(
        result, findFixes(source, options, result), llvm::errs());
    if (verbose)
      printTimes(result);
    if (!result.ok())
      return static_cast<int>(result.outcome);
    if (llvm::Error error = emit::checkOutput(output, result.files))
      return cannotWrite(std::move(error));
    if (!depfile.empty())
      if (llvm::Error error = writeDepfile(result))
        return usage("cannot write '" + depfile + "': " + llvm::toString(std::move(error)));
    if (*last == Phase::emit && !objectOnly && !ptxOnly)
      objects.push_back(std::move(result.object));
    else if (llvm::Error error = writeResult(result, *last, *units))
      return cannotWrite(std::move(error));
  }
  if (objects.empty())
    return 0;
  llvm::Expected<std::string> runtime = emit::findRuntime(argv[0]);
  if (!runtime)
    return cannotWrite(runtime.takeError());
  if (llvm::Error error = emit::checkOutput(output, *runtime))
    return cannotWrite(std::move(error));
  llvm::Error error = emit::linkBinary({objects.begin(), objects.end()}, output, *runtime);
  return error ? cannotWrite(std::move(error)) : 0;
}
