//===- programs.cpp - the programs of a plan with stages --------------------===//

#include "runtime/ranks/programs.h"

#include <concepts>
#include <cstring>
#include <string>

using namespace tplan::runtime;

Status tplan::runtime::checkVersion(const tp_program &program) {
  if (program.abi_version == TP_ABI_VERSION)
    return {};
  return errorf("this program was compiled for runtime interface %d, this runtime has %d: build "
                "both from one release",
                program.abi_version, TP_ABI_VERSION);
}

int64_t tplan::runtime::rankOfLogits(const tp_program &program) {
  int64_t rank = -1;
  bool inAll = true;
  forPrograms(program, [&](const tp_program &each, int64_t number) {
    inAll &= each.logits_offset >= 0;
    if (each.logits_offset >= 0 && rank < 0)
      rank = firstRankOf(program, number);
  });
  return inAll ? -1 : rank;
}

namespace {

std::string textOf(std::integral auto value) { return std::to_string(value); }
std::string textOf(double value) { return format("%.17g", value); }
std::string textOf(const char *value) { return value ? format("'%s'", value) : "nothing"; }
bool isSame(auto a, auto b) { return a == b; }
bool isSame(const char *a, const char *b) { return a && b ? !strcmp(a, b) : a == b; }

/// Compares a program of a list with the first of them: `status` is the first fact in which they
/// differ.
class Agreement {
public:
  Agreement(const tp_program &a, const tp_program &b, int64_t number)
      : a(a), b(b), number(number) {}
  Status check();

private:
  /// `what`: "steps", or "length of input 2" where there are several.
  template <typename T> void same(const char *what, T x, T y, const std::string &of = "") {
    if (status.ok() && !isSame(x, y))
      status =
          errorf("the programs of the plan '%s' differ in the %s%s: program 0 has %s, program "
                 "%lld has %s",
                 a.plan, what, of.c_str(), textOf(x).c_str(), (long long)number, textOf(y).c_str());
  }
  /// Arrays of one length; each(x, y, " of ITEM 2") compares two elements.
  template <typename T, typename Each>
  void same(const char *what, const char *item, const T *x, int64_t countX, const T *y,
            int64_t countY, Each &&each) {
    same(what, countX, countY);
    if (x == y)
      return;
    for (int64_t i = 0; status.ok() && i < countX; ++i)
      each(x[i], y[i], format(" of %s %lld", item, (long long)i));
  }
  template <typename T>
  void sameNumbers(const char *what, const std::string &of, const T *x, const T *y, int64_t count) {
    for (int64_t i = 0; status.ok() && i < count; ++i)
      same(what, x[i], y[i], of);
  }

  void compareRecipe();
  void compareMesh();
  void compareInputs();
  void compareMetrics();
  void compareEntries();
  void compareDevices();
  void compareDisks();
  void compareStored(const tp_stored &x, const tp_stored &y, const std::string &of);
  void compareConfig(const tp_config &x, const tp_config &y, const std::string &of);
  void compareConstants(const tp_constant *x, const tp_constant *y, const std::string &of);
  void compareSources(const char *what, const char *item, const tp_source *x, int64_t countX,
                      const tp_source *y, int64_t countY);

  const tp_program &a, &b;
  const int64_t number;
  Status status;
};

Status Agreement::check() {
  compareRecipe();
  compareMesh();
  compareInputs();
  compareMetrics();
  compareEntries();
  compareDevices();
  compareDisks();
  return std::move(status);
}

void Agreement::compareSources(const char *what, const char *item, const tp_source *x,
                               int64_t countX, const tp_source *y, int64_t countY) {
  same(what, item, x, countX, y, countY,
       [&](const tp_source &one, const tp_source &other, const std::string &of) {
         same("name", one.name, other.name, of);
         same("path", one.path, other.path, of);
         same("format", one.format, other.format, of);
         same("weight", one.weight, other.weight, of);
       });
}

void Agreement::compareRecipe() {
  same("name of the plan", a.plan, b.plan);
  same("fingerprint", a.fingerprint, b.fingerprint);
  same("features of the CPU", a.cpu, b.cpu);
  same("microbatches", a.microbatches, b.microbatches);
  same("tokens of a step", a.tokens_per_step, b.tokens_per_step);
  same("steps", a.steps, b.steps);
  compareSources("number of sources", "source", a.data, a.num_data, b.data, b.num_data);
  compareSources("number of files to score", "the file to score", a.eval, a.eval != nullptr, b.eval,
                 b.eval != nullptr);
  same("tokens to score", a.eval_tokens, b.eval_tokens);
  same("folder of checkpoints", a.save, b.save);
  same("steps between evaluations", a.eval_every, b.eval_every);
  same("steps between checkpoints", a.save_every, b.save_every);
  same("checkpoints that are kept", a.save_keep, b.save_keep);
  same("number of pieces of the learning rate", "piece", a.lr, a.num_lr, b.lr, b.num_lr,
       [&](const tp_lr_piece &x, const tp_lr_piece &y, const std::string &of) {
         same("begin", x.begin, y.begin, of);
         same("end", x.end, y.end, of);
         same("learning rate at the begin", x.from, y.from, of);
         same("learning rate at the end", x.to, y.to, of);
         same("shape", x.shape, y.shape, of);
       });
  same("scale of gradients", a.scale, b.scale);
  same("number of moving scales", a.scale_offset >= 0, b.scale_offset >= 0);
}

void Agreement::compareMesh() {
  same("number of axes", "axis", a.axes, a.num_axes, b.axes, b.num_axes,
       [&](const tp_axis &x, const tp_axis &y, const std::string &of) {
         same("name", x.name, y.name, of);
         same("size", x.size, y.size, of);
       });
  same("number of groups", "group", a.groups, a.num_groups, b.groups, b.num_groups,
       [&](const tp_group &x, const tp_group &y, const std::string &of) {
         same("name", x.name, y.name, of);
         same("number of axes", x.num_axes, y.num_axes, of);
         sameNumbers("axes", of, x.axes, y.axes, x.num_axes);
         same("number of coordinates", x.num_coordinates, y.num_coordinates, of);
         sameNumbers("coordinates", of, x.coordinates, y.coordinates, x.num_coordinates);
       });
}

void Agreement::compareInputs() {
  same("reading by rank 0 alone", a.read_first, b.read_first);
  same("number of streams", a.num_streams, b.num_streams);
  same("number of inputs", "input", a.inputs, a.num_inputs, b.inputs, b.num_inputs,
       [&](const tp_input &x, const tp_input &y, const std::string &of) {
         same("source", x.source, y.source, of);
         same("rows", x.rows, y.rows, of);
         same("length", x.length, y.length, of);
         same("positions", x.positions, y.positions, of);
         same("vocabulary", x.vocabulary, y.vocabulary, of);
         same("group", x.group, y.group, of);
       });
}

void Agreement::compareMetrics() {
  same("number of the metric of skipped steps", a.skipped_metric, b.skipped_metric);
  same("number of metrics", "metric", a.metrics, a.num_metrics, b.metrics, b.num_metrics,
       [&](const tp_metric &x, const tp_metric &y, const std::string &of) {
         same("name", x.name, y.name, of);
         same("type", x.type, y.type, of);
         same("number of counts", x.count_offset >= 0, y.count_offset >= 0, of);
         same("group", x.group, y.group, of);
         same("group of the count", x.count_group, y.count_group, of);
         same("being unbounded", x.unbounded, y.unbounded, of);
         same("being a loss", x.is_loss, y.is_loss, of);
         same("factor", x.factor, y.factor, of);
         same("parts", x.parts, y.parts, of);
         same("parts of the count", x.count_parts, y.count_parts, of);
       });
}

void Agreement::compareEntries() {
  same("number of entries for a step", a.step != nullptr, b.step != nullptr);
  same("number of entries for the first steps", a.early_step != nullptr, b.early_step != nullptr);
  same("first steps", a.early_steps, b.early_steps);
  same("number of entries for evaluation", a.evaluate != nullptr, b.evaluate != nullptr);
  same("number of entries for prediction", a.predict != nullptr, b.predict != nullptr);
}

void Agreement::compareDevices() {
  same("number of devices", a.device != nullptr, b.device != nullptr);
  if (!status.ok() || !a.device)
    return;
  same("architecture of the device", a.device->arch, b.device->arch);
  same("channels of NCCL", a.device->channels, b.device->channels);
  same("use of native sums", a.device->native_sums, b.device->native_sums);
  // Rank 0 chooses algorithms of GEMMs for all.
  same("workspace of the device", a.device->workspace_bytes, b.device->workspace_bytes);
}

void Agreement::compareDisks() {
  same("number of maps of names on disk", a.disk != nullptr, b.disk != nullptr);
  if (!status.ok() || a.disk == b.disk)
    return;
  const tp_disk &x = *a.disk, &y = *b.disk;
  same("number of stored weights", "stored weight", x.tensors, x.num_tensors, y.tensors,
       y.num_tensors, [&](const tp_stored &one, const tp_stored &other, const std::string &of) {
         compareStored(one, other, of);
       });
  same("number of ignored tensors", "ignored tensor", x.ignored, x.num_ignored, y.ignored,
       y.num_ignored, [&](const char *one, const char *other, const std::string &of) {
         same("name", one, other, of);
       });
  same("number of keys of config.json", "key", x.config, x.num_config, y.config, y.num_config,
       [&](const tp_config &one, const tp_config &other, const std::string &of) {
         compareConfig(one, other, of);
       });
}

void Agreement::compareStored(const tp_stored &x, const tp_stored &y, const std::string &of) {
  same("tensor", x.tensor, y.tensor, of);
  same("name", x.name, y.name, of);
  same("other name", x.bare, y.bare, of);
  same("rank", x.rank, y.rank, of);
  same("first element", x.first, y.first, of);
  if (!status.ok())
    return;
  sameNumbers("shape", of, x.shape, y.shape, x.rank);
}

void Agreement::compareConfig(const tp_config &x, const tp_config &y, const std::string &of) {
  same("number of spellings", x.num_keys, y.num_keys, of);
  sameNumbers("spelling", of, x.keys, y.keys, x.num_keys);
  same("use", x.only_written, y.only_written, of);
  compareConstants(x.value, y.value, of);
  compareConstants(x.absent, y.absent, of);
}

void Agreement::compareConstants(const tp_constant *x, const tp_constant *y,
                                 const std::string &of) {
  same("number of values", x != nullptr, y != nullptr, of);
  if (!status.ok() || x == y)
    return;
  same("kind of value", x->kind, y->kind, of);
  same("value", x->integer, y->integer, of);
  same("value", x->real, y->real, of);
  same("number of texts", x->num_strings, y->num_strings, of);
  sameNumbers("text", of, x->strings, y->strings, x->num_strings);
}

/// A plan that predicts has logits on some rank, and all ranks that have them have them in one
/// form.
Status checkLogits(const tp_program &program) {
  const tp_program *first = nullptr;
  Status status;
  forPrograms(program, [&](const tp_program &each, int64_t number) {
    if (each.logits_offset < 0)
      return;
    if (status.ok() && first &&
        (first->logits_vocabulary != each.logits_vocabulary ||
         first->logits_type != each.logits_type))
      status =
          errorf("the programs of the plan '%s' differ in the vocabulary or type of logits: the "
                 "first that differs is program %lld",
                 program.plan, (long long)number);
    first = first ? first : &each;
  });
  if (program.predict && !first)
    status = errorf("the plan '%s' predicts, and none of its programs has logits: they have %lld",
                    program.plan, (long long)program.num_programs);
  return status;
}

} // namespace

Status tplan::runtime::checkPrograms(const tp_program &program) {
  auto count = (long long)program.num_programs, axis = (long long)program.programs_axis;
  if (axis < 0 || axis >= program.num_axes)
    return errorf("the %lld programs of the plan '%s' are for an axis that the mesh of %lld axes "
                  "lacks: %lld",
                  count, program.plan, (long long)program.num_axes, axis);
  if (count != program.axes[axis].size)
    return errorf("the axis '%s' of the programs has the size %lld, and the plan '%s' has another "
                  "number of them: %lld",
                  program.axes[axis].name, (long long)program.axes[axis].size, program.plan, count);
  for (int64_t i = 0; i < count; ++i) {
    const tp_program &it = *program.programs[i];
    TP_TRY(checkVersion(it));
    if (it.num_programs != count || it.programs_axis != axis ||
        !std::equal(it.programs, it.programs + count, program.programs))
      return errorf("each program of the plan '%s' has the same list of them, but for program %lld",
                    program.plan, (long long)i);
  }
  if (program.programs[0] != &program)
    return errorf("the plan '%s' is given by a program that is not the first of its list: it has "
                  "%lld",
                  program.plan, count);
  for (int64_t i = 1; i < count; ++i)
    TP_TRY(Agreement(program, *program.programs[i], i).check());
  return checkLogits(program);
}
