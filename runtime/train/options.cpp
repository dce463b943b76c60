//===- options.cpp - the command line of a generated binary ---------------===//

#include "runtime/train/options.h"

#include "runtime/disk/data.h"
#include "runtime/ranks/mesh.h"
#include "runtime/train/exit_codes.h"

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <tuple>

using namespace tplan::runtime;

#define SPELLED_AS_IS(NUMBER) #NUMBER
#define SPELLED(NUMBER) SPELLED_AS_IS(NUMBER)

/// "dp = 2, tp = 4"
static std::string meshText(const tp_program &program) {
  std::string text;
  for (int64_t i = 0; i < program.num_axes;) {
    const char *name = program.axes[i].name;
    int64_t size = 1;
    for (; i < program.num_axes && !strcmp(program.axes[i].name, name); ++i)
      size *= program.axes[i].size;
    text += format("%s%s = %lld", text.empty() ? "" : ", ", name, (long long)size);
  }
  return text;
}

namespace {

/// One option: how it is spelled, what it takes, where it goes; and whether ranks that are
/// processes must agree on it.
struct Option {
  /// StepFlag: a flag that a step may follow.
  enum Kind { Flag, StepFlag, Integer, Number, Text, Files, JsonLog, AnyLog };
  /// Ranks must agree in its value; in whether it is given, because files have names of their own
  /// on each machine; or in nothing.
  enum Agreement { Value, Presence, None };
  const char *name, *argument, *meaning;
  Kind kind;
  int64_t lowest = 0, highest = INT64_MAX;
  bool Options::*flag = nullptr;
  int64_t Options::*integer = nullptr;
  double Options::*number = nullptr;
  std::string Options::*text = nullptr;
  std::vector<std::string> Options::*files = nullptr;
  Agreement agreement = Value;

  /// What ranks compare of the option.
  std::string shared(const Options &options) const;
};

std::string Option::shared(const Options &options) const {
  if (!options.has(name))
    return "not given";
  switch (kind) {
  case Flag:
    return "given";
  case StepFlag:
  case Integer:
    return format("%lld", (long long)(options.*integer));
  case Number:
    return format("%.17g", options.*number);
  case Text:
    return agreement == Presence ? "given" : format("'%s'", (options.*text).c_str());
  case Files:
    return format("%zu files", (options.*files).size());
  case JsonLog:
  case AnyLog:
    return "given";
  }
  return {};
}

Option presence(Option option) {
  option.agreement = Option::Presence;
  return option;
}
Option own(Option option) {
  option.agreement = Option::None;
  return option;
}

Option flag(const char *name, const char *meaning, bool Options::*to) {
  Option o{name, nullptr, meaning, Option::Flag};
  o.flag = to;
  return o;
}
Option stepFlag(const char *name, const char *argument, const char *meaning, bool Options::*to,
                int64_t Options::*step) {
  Option o{name, argument, meaning, Option::StepFlag};
  o.flag = to;
  o.integer = step;
  return o;
}
Option integer(const char *name, const char *argument, const char *meaning, int64_t Options::*to,
               int64_t lowest, int64_t highest = INT64_MAX) {
  Option o{name, argument, meaning, Option::Integer, lowest, highest};
  o.integer = to;
  return o;
}
Option number(const char *name, const char *argument, const char *meaning, double Options::*to) {
  Option o{name, argument, meaning, Option::Number};
  o.number = to;
  return o;
}
Option text(const char *name, const char *argument, const char *meaning, std::string Options::*to) {
  Option o{name, argument, meaning, Option::Text};
  o.text = to;
  return o;
}
Option files(const char *name, const char *argument, const char *meaning,
             std::vector<std::string> Options::*to) {
  Option o{name, argument, meaning, Option::Files};
  o.files = to;
  return o;
}

/// Each rank may have another value, and only the leader writes.
Option log(const char *name, const char *argument, const char *meaning, Option::Kind kind) {
  return own({name, argument, meaning, kind});
}

std::vector<Option> optionTable() {
  return {
      files("--data", "F[,F...]",
            "train on these files, in place of the recipe's; @LIST names a file with one name a "
            "line, a pattern in quotes all files that match",
            &Options::data),
      integer("--steps", "N", "stop after step N, counted from the start of the training",
              &Options::steps, 0),
      number("--minutes", "M", "train for at most M minutes, evaluations apart; 0: no bound",
             &Options::minutes),
      integer("--seed", "S", "seed of initial values, data order and dropout (1)", &Options::seed,
              0, INT32_MAX),
      own(integer(
          "--threads", "T",
          "threads of a rank; the result does not depend on it (its part of the CPUs of the "
          "affinity mask)",
          &Options::threads, 1, 4096)),
      own(text("--device", "D",
               "cpu or cuda, of those that the binary is compiled for (cuda, where it is)",
               &Options::device)),
      presence(text(
          "--gemm-algorithms", "F",
          "GEMMs of a GPU by the algorithms in F; where there is no F, they are measured and it is "
          "written",
          &Options::gemms)),
      integer("--graph-calls", "N",
              "the most calls that a GPU gets as graphs, which are replayed in each step; of more "
              "each is issued by itself (" SPELLED(TP_GRAPH_CALLS) ")",
              &Options::graphCalls, 0),
      own(text("--nccl-library", "F",
               "the libnccl.so.2 of ranks that are processes, or another library of its interface",
               &Options::ncclLibrary)),
      presence(
          text("--save", "DIR",
               "keep checkpoints in DIR, in place of the recipe's folder, the last step's always",
               &Options::save)),
      flag("--no-save", "keep none, though the recipe saves", &Options::noSave),
      integer("--save-every", "N", "steps between checkpoints; 0: only the last",
              &Options::saveEvery, 0),
      integer("--save-keep", "N", "checkpoints to keep; 0: all", &Options::saveKeep, 0),
      own(number("--save-within", "SECONDS",
                 "from SIGUSR1, SIGTERM or SIGINT, which end a training after its step, until that "
                 "is saved; else it ends unsaved (60)",
                 &Options::saveWithin)),
      stepFlag("--resume", "[STEP]",
               "go on from the latest checkpoint in the DIR of --save, or from that of STEP",
               &Options::resume, &Options::resumeStep),
      flag("--reset-errors",
           "with --resume, leave out what compression has lost of gradients so far",
           &Options::resetErrors),
      presence(text("--load", "F.safetensors",
                    "start from these weights, by name; or those of a model in a folder of Hugging "
                    "Face's",
                    &Options::load)),
      presence(text("--export", "DIR",
                    "at the end, write the weights as a model of Hugging Face's to DIR, like that "
                    "which --load began with",
                    &Options::exportTo)),
      presence(text("--export-like", "DIR",
                    "names, element types, config.json and tokenizer of --export are those in DIR",
                    &Options::exportLike)),
      integer("--export-file-bytes", "N",
              "of --export, the most that a file of weights has (5000000000)",
              &Options::exportFileBytes, 1),
      log("--metrics", "M.jsonl",
          "one JSON object a step: step, loss, grad_norm, lr, tokens, step_seconds, "
          "tokens_per_second",
          Option::JsonLog),
      log("--log", "KIND PATH",
          "the same numbers as jsonl FILE, as tensorboard DIR (event files) or as prometheus FILE "
          "(a page of text, at most once a second); repeatable",
          Option::AnyLog),
      files("--eval", "F[,F...]",
            "score all tokens of these files at the end, in place of the recipe's", &Options::eval),
      flag("--no-eval", "score none, though the recipe does", &Options::noEval),
      integer("--eval-tokens", "N", "score the first N tokens of them; 0: all",
              &Options::evalTokens, 0),
      integer("--eval-every", "N", "score them every N steps too; 0: never", &Options::evalEvery,
              0),
      text("--sample", "TEXT",
           "at the end, continue TEXT with bytes drawn from the model; where its tokens are no "
           "bytes, TEXT is ids and so is what is drawn: \"464 3290\"",
           &Options::sample),
      integer("--sample-bytes", "N", "bytes, or ids, to draw (256)", &Options::sampleBytes, 1,
              1 << 24),
      number("--temperature", "T", "divides the logits when drawing; 0: the likeliest byte (0.8)",
             &Options::temperature),
      own(integer("--print-every", "N", "steps between progress lines; 0: about once a second",
                  &Options::printEvery, 0)),
      own(flag("--curve", "draw the loss at the end", &Options::curve)),
      flag("--profile",
           "print time, GFLOP/s and GB/s of each category and call at the end, of all steps but "
           "the first",
           &Options::profile),
      presence(text("--trace", "F.trace.json",
                    "write when each rank did which task to F, for ui.perfetto.dev, of all steps "
                    "but the first; a GPU then finishes each section before the next",
                    &Options::trace)),
      flag("--synchronous",
           "wait for each call of a GPU, so that the line of one that fails is named",
           &Options::synchronous),
      flag("--audit-memory",
           "check after the first step that each slot of the arena was written and nothing "
           "else",
           &Options::auditMemory),
      flag(
          "--audit-collectives",
          "check at the end that all ranks issued the same collectives in the same order, and that "
          "the bytes moved are those that these say; print them by what ranks were doing, kind and "
          "axes",
          &Options::auditCollectives),
      flag("--audit-streams",
           "train nothing: check, without a GPU, that streams and events order every access of the "
           "arena in the program for GPUs",
           &Options::auditStreams),
      text("--trace-streams", "F", "with --audit-streams, write what is issued to F, a call a line",
           &Options::traceStreams),
      presence(
          text("--audit-scales", "F",
               "write the scales of each step, and what they are made of, to F.RANK; the program "
               "is compiled with --audit-scales",
               &Options::auditScales)),
      presence(text("--dump-logits", "F.safetensors",
                    "at the end, write what the model predicts for the first row of the first file "
                    "of --eval",
                    &Options::dumpLogits)),
      presence(text("--dump-gradients", "F.safetensors", "write the gradients of the first step",
                    &Options::dumpGradients)),
      flag("--print-env", "print what launchers have set, and which rank follows from it",
           &Options::printEnv),
      flag("--help", "print this", &Options::help),
  };
}

size_t editDistance(const std::string &a, const std::string &b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t(0));
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      size_t above = row[j];
      row[j] = std::min({row[j - 1] + 1, above + 1, diagonal + (a[i - 1] != b[j - 1])});
      diagonal = above;
    }
  }
  return row[b.size()];
}

Status unknownOption(const std::string &name, const std::vector<Option> &table) {
  const Option *closest = &table[0];
  for (const Option &option : table)
    if (editDistance(name, option.name) < editDistance(name, closest->name))
      closest = &option;
  std::string legal;
  for (const Option &option : table)
    legal += std::string(legal.empty() ? "" : " ") + option.name;
  if (editDistance(name, closest->name) <= 3)
    return errorf("unknown option '%s'; did you mean '%s'? legal: %s", name.c_str(), closest->name,
                  legal.c_str());
  return errorf("unknown option '%s'; legal: %s", name.c_str(), legal.c_str());
}

Status assign(const Option &option, const char *value, Options &options) {
  char *end = nullptr;
  errno = 0;
  switch (option.kind) {
  case Option::Flag:
    options.*option.flag = true;
    return {};
  case Option::StepFlag:
    options.*option.flag = true;
    if (!*value)
      return {};
    [[fallthrough]];
  case Option::Integer: {
    long long parsed = strtoll(value, &end, 10);
    if (end == value || *end || errno || parsed < option.lowest || parsed > option.highest) {
      std::string upper =
          option.highest == INT64_MAX ? "" : format(" and at most %lld", (long long)option.highest);
      return errorf("%s takes a whole number of at least %lld%s, found '%s'", option.name,
                    (long long)option.lowest, upper.c_str(), value);
    }
    options.*option.integer = parsed;
    return {};
  }
  case Option::Number: {
    double parsed = strtod(value, &end);
    if (end == value || *end || errno || !std::isfinite(parsed) || parsed < 0)
      return errorf("%s takes a finite number of at least 0, found '%s'", option.name, value);
    options.*option.number = parsed;
    return {};
  }
  case Option::Text:
    if (!*value && option.text != &Options::sample)
      return errorf("%s takes %s, found an empty argument", option.name, option.argument);
    options.*option.text = value;
    return {};
  case Option::Files:
    return expandFileList(value, options.*option.files);
  case Option::JsonLog:
    if (!*value)
      return errorf("%s takes %s, found an empty argument", option.name, option.argument);
    options.logs.push_back({"jsonl", value});
    return {};
  case Option::AnyLog:
    if (!isLogKind(value))
      return errorf("%s takes one of %s, then a path, found '%s'", option.name, logKinds().c_str(),
                    value);
    options.logs.push_back({value, ""});
    return {};
  }
  return {};
}

} // namespace

std::vector<std::pair<std::string, std::string>>
tplan::runtime::sharedOptions(const Options &options) {
  std::vector<std::pair<std::string, std::string>> all;
  for (const Option &option : optionTable())
    if (option.agreement != Option::None)
      all.emplace_back(option.name, option.shared(options));
  return all;
}

Status tplan::runtime::parseOptions(int argc, char **argv, Options &options) {
  std::vector<Option> table = optionTable();
  for (int i = 1; i < argc; ++i) {
    std::string word = argv[i];
    size_t equals = word.compare(0, 2, "--") == 0 ? word.find('=') : std::string::npos;
    std::string name = word.substr(0, equals);
    if (name == "-h")
      name = "--help";
    if (name.compare(0, 1, "-") != 0)
      return errorf("unexpected argument '%s': every argument belongs to an option, see --help",
                    argv[i]);
    auto option =
        std::find_if(table.begin(), table.end(), [&](const Option &o) { return name == o.name; });
    if (option == table.end())
      return unknownOption(name, table);
    bool isFlag = option->kind == Option::Flag;
    if (option->kind == Option::StepFlag)
      isFlag =
          equals == std::string::npos && (i + 1 == argc || !isdigit((unsigned char)*argv[i + 1]));
    if (option->kind == Option::Flag && equals != std::string::npos)
      return errorf("%s takes no argument, found '%s'", option->name, word.c_str() + equals + 1);
    if (!isFlag && equals == std::string::npos && i + 1 == argc)
      return errorf("%s takes %s, found the end of the command line", option->name,
                    option->argument);
    const char *value = isFlag                        ? ""
                        : equals != std::string::npos ? argv[i] + equals + 1
                                                      : argv[++i];
    TP_TRY(assign(*option, value, options));
    if (option->kind == Option::AnyLog) {
      if (i + 1 == argc || !*argv[i + 1])
        return errorf("%s %s takes a path, found the end of the command line", option->name, value);
      options.logs.back().path = argv[++i];
    }
    options.given.insert(option->name);
    // `--eval a b c`: names follow until the next option.
    if (option->kind == Option::Files)
      while (i + 1 < argc && argv[i + 1][0] != '-')
        TP_TRY(assign(*option, argv[++i], options));
  }
  if (options.help || options.printEnv)
    return {};
  if (options.resetErrors && !options.resume)
    return errorf("--reset-errors leaves out a part of a checkpoint: it needs --resume");
  if (options.resume && !options.load.empty())
    return errorf("--resume and --load both set the weights; choose one");
  for (const char *ofExport : {"--export-like", "--export-file-bytes"})
    if (options.has(ofExport) && options.exportTo.empty())
      return errorf("%s says how --export writes: it needs --export DIR", ofExport);
  if (!options.dumpLogits.empty() && options.eval.empty())
    return errorf("--dump-logits predicts a row of a file of --eval: it needs --eval F");
  if (!options.traceStreams.empty() && !options.auditStreams)
    return errorf(
        "--trace-streams writes what --audit-streams looks at: add that, found '%s' alone",
        options.traceStreams.c_str());
  if (options.steps == 0 && !options.dumpGradients.empty())
    return errorf(
        "--dump-gradients writes the first step's gradients: it needs --steps 1 at least, "
        "found 0");
  if (options.resume && !options.dumpGradients.empty())
    return errorf("--dump-gradients writes the first step's gradients, which --resume skips");
  return {};
}

/// FORMAT:FILE, as options name files.
static std::string nameOf(const tp_source &source) {
  return source.format < 0 ? source.path
                           : format("%s:%s", tokenFormats()[source.format].name, source.path);
}

static void takeRecipe(const tp_program &program, Options &options) {
  if (!options.data.empty())
    options.sources = {{"data", 1, options.data}};
  else
    for (const tp_source *source = program.data; source != program.data + program.num_data;
         ++source)
      options.sources.push_back({source->name, source->weight, {nameOf(*source)}});
  bool ownEval = options.eval.empty();
  if (ownEval && program.eval && !options.noEval)
    options.eval = {nameOf(*program.eval)};
  if (options.evalTokens < 0)
    options.evalTokens = ownEval ? program.eval_tokens : 0;
  if (options.save.empty() && program.save && !options.noSave)
    options.save = program.save;
}

Status tplan::runtime::completeOptions(const tp_program &program, Options &options) {
  for (auto [name, given, no] : {std::tuple("--save", options.save.empty(), options.noSave),
                                 std::tuple("--eval", options.eval.empty(), options.noEval)})
    if (!given && no)
      return errorf("%s and --no%s contradict each other; choose one", name, name + 1);
  takeRecipe(program, options);
  if (options.resume && options.save.empty())
    return errorf("--resume needs --save DIR, the directory of the checkpoints");
  if (options.save.empty() && (options.saveEvery >= 0 || options.saveKeep >= 0))
    return errorf("%s is about checkpoints: it needs --save DIR",
                  options.saveEvery >= 0 ? "--save-every" : "--save-keep");
  for (const char *name : {"--eval-every", "--eval-tokens"})
    if (options.eval.empty() && options.has(name))
      return errorf("%s is about files that are scored: it needs --eval F", name);
  return {};
}

/// Checked where they are used.
static constexpr std::pair<const char *, const char *> kEnvironment[] = {
    {"TPLAN_GEMM=library|widen", "how bf16 is multiplied: the CPU's products, or f32's"},
    {"TPLAN_HANG_LIMIT=SECONDS", "how long a collective waits for the others, 60 if not said"},
    {"TPLAN_MPI=FILE", "the libmpi.so of processes under mpirun or srun"},
    {"TPLAN_CUDNN=FILE", "the libcudnn.so.9 of attention on a GPU"},
    {"TPLAN_JOB_SECRET=TEXT", "processes of a job prove to each other that they know it"},
    {"TPLAN_NCCL=FILE", "the libnccl.so.2 of processes with a GPU each"},
};

void tplan::runtime::printHelp(FILE *to, const char *command, const tp_program &program) {
  fprintf(to, "usage: %s [options]\ntrains the plan '%s' (%lld steps, %lld tokens a step)\n",
          command, program.plan, (long long)program.steps, (long long)program.tokens_per_step);
  if (auto ranks = (long long)ranksOf(program); ranks > 1)
    fprintf(to,
            "on %lld ranks (%s): started so they are threads of one process; as processes:\n"
            "  mpirun -n %lld %s [options]\n"
            "  srun -n %lld %s [options]\n",
            ranks, meshText(program).c_str(), ranks, command, ranks, command);
  if (program.device && ranksOf(program) > 1)
    fprintf(to, "  torchrun --no-python --nproc-per-node=%lld %s [options]\n",
            (long long)ranksOf(program), command);
  fprintf(to, "\n");
  for (const Option &option : optionTable()) {
    std::string left =
        std::string(option.name) + (option.argument ? std::string(" ") + option.argument : "");
    fprintf(to, "  %-26s %s\n", left.c_str(), option.meaning);
  }
  fprintf(to, "\nformats of token files, as FORMAT:FILE:\n");
  for (const TokenFormat &token : tokenFormats())
    fprintf(to, "  %-26s %s\n", token.name, token.meaning);
  fprintf(to, "\nenvironment:\n");
  for (auto [name, meaning] : kEnvironment)
    fprintf(to, "  %-26s %s\n", name, meaning);
  fprintf(to, "\nexit codes:\n");
  for (auto [code, meaning] : exitMeanings)
    fprintf(to, "  %-26d %s\n", code, meaning);
}
