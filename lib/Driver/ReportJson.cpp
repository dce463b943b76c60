//===- ReportJson.cpp - the report as JSON --------------------------------===//
#include "lib/Driver/Report.h"
#include "lib/Driver/Summary.h"

#include "llvm/Support/JSON.h"

namespace tplan {

namespace {
class JsonReport {
public:
  JsonReport(const StepReport &report, llvm::json::OStream &json) : report(report), json(json) {}

  void write();

private:
  const StepReport &report;
  llvm::json::OStream &json;

  template <typename Rows, typename WriteRow>
  void rows(llvm::StringRef key, const Rows &all, WriteRow writeRow) {
    json.attributeArray(key, [&] {
      for (const auto &row : all)
        json.object([&] { writeRow(row); });
    });
  }
  void works(llvm::StringRef key, const std::map<std::string, Work> &all) {
    rows(key, all, [&](const std::pair<const std::string, Work> &row) {
      json.attribute("name", row.first);
      json.attribute("calls", row.second.calls);
      json.attribute("flops", row.second.flops);
      json.attribute("bytes", row.second.bytes);
    });
  }
  void writePlan();
  void writeTime();
  void writeWork();
  void writeExchanges();
  void writeMemory();
};
} // namespace

void JsonReport::writePlan() {
  json.attribute("plan", report.plan);
  json.attribute("parameters", report.summary.parameters);
  json.attribute("precision", report.summary.precision);
  json.attribute("mesh", report.summary.mesh);
  json.attribute("sequences_per_step", report.summary.sequences);
  json.attribute("tokens_per_step", report.summary.tokens);
  json.attribute("steps", report.summary.steps);
  json.attribute("flops_per_token", flopsOfToken(report));
  json.attribute("bytes_sent", sentInStep(report));
  json.attribute("policy", report.policy);
  json.attribute("stages", report.stages);
  if (report.stages > 1)
    json.attributeArray("layers_of_stages", [&] {
      for (int64_t layers : report.summary.stages)
        json.value(layers);
    });
  if (!report.holds.empty())
    json.attributeArray("holds", [&] {
      for (int64_t stage : report.holds)
        json.value(stage);
    });
  json.attribute("microbatches", report.microbatches);
  json.attribute("tasks", report.tasks);
  json.attribute("merged_pairs", report.merged);
  json.attribute("updates", report.updates);
  json.attributeArray("approximations", [&] {
    for (const std::string &what : report.approximations)
      json.value(what);
  });
  json.attribute("reduce", report.reduce);
  json.attribute("channels", report.channels);
  json.attribute("lossy", report.summary.lossy);
  json.attribute("graphs", report.graphs.graphs);
  json.attribute("graph_calls", report.graphs.calls);
  json.attribute("captured", isCaptured(report));
}

void JsonReport::writeTime() {
  const StepTime &time = report.time;
  if (time.device.empty())
    return;
  json.attributeObject("predicted", [&] {
    json.attribute("device", time.device);
    json.attribute("calibrated", false);
    json.attribute("seconds", time.seconds);
    json.attribute("tokens_per_second", static_cast<double>(report.summary.tokens) / time.seconds);
    json.attribute("mfu", time.mfu());
    json.attribute("model_flops", time.modelFlops);
    json.attribute("days", time.seconds * static_cast<double>(report.summary.steps) / 86400);
    json.attribute("tasks", time.tasks);
    json.attribute("idle", time.idle);
    json.attribute("norm", time.norm);
    json.attributeObject("work", [&] {
      for (const auto &[category, seconds] : time.spent.work)
        json.attribute(rt::stringifyCategory(category), seconds);
    });
    json.attributeObject("communication", [&] {
      for (const auto &[axes, seconds] : time.spent.communication)
        json.attribute(axes, seconds);
    });
    json.attributeObject("beside_waits", [&] {
      for (const auto &[axes, seconds] : time.spent.besideWaits)
        json.attribute(axes, seconds);
    });
    json.attributeObject("hidden", [&] {
      for (const auto &[axes, seconds] : time.spent.hidden)
        json.attribute(axes, seconds);
    });
  });
}

void JsonReport::writeWork() {
  json.attribute("flops", report.total.flops);
  json.attribute("bytes_moved", report.total.bytes);
  works("categories", report.categories);
  works("functions", report.functions);
  json.attribute("ranks", report.ranks);
}

void JsonReport::writeExchanges() {
  rows("collectives", report.collectives, [&](const Collective &row) {
    json.attribute("in", row.in);
    json.attribute("kind", row.kind);
    json.attribute("axes", row.axes);
    json.attribute("function", row.function);
    json.attribute("type", row.type);
    json.attribute("file", row.file);
    json.attribute("line", row.line);
    json.attribute("calls", row.calls);
    json.attribute("bytes", row.bytes);
    json.attribute("staged", row.staged);
    if (row.predicted) {
      json.attribute("seconds", row.predicted->seconds);
      json.attribute("waited", row.predicted->waited);
    }
  });
  rows("copies", report.copies, [&](const Copy &row) {
    json.attribute("kind", row.kind);
    json.attribute("function", row.function);
    json.attribute("file", row.file);
    json.attribute("line", row.line);
    json.attribute("calls", row.calls);
    json.attribute("bytes", row.bytes);
    json.attribute("staging", row.isStaging);
  });
}

void JsonReport::writeMemory() {
  json.attributeObject("memory", [&] {
    json.attribute("arena", report.memory.arena);
    json.attribute("limit", report.summary.memoryLimit);
    json.attribute("live", report.memory.live);
    json.attribute("least", report.memory.least);
    json.attribute("peak", report.memory.peak);
    rows("beside", report.beside, [&](const Beside &row) {
      json.attribute("owner", row.owner);
      json.attribute("what", row.what);
      json.attribute("once", row.once);
      json.attribute("per_thread", row.perThread);
    });
    rows("beside_gpu", report.besideGpu, [&](const BesideGpu &row) {
      json.attribute("library", row.library);
      json.attribute("version", row.version);
      json.attribute("what", row.what);
      json.attribute("bytes", row.bytes);
    });
    rows("owners", report.memory.owners, [&](const memory::OwnerReport &owner) {
      json.attribute("name", owner.name);
      json.attribute("holds", sched::stringifyOwner(owner.owner));
      json.attribute("offset", owner.offset);
      json.attribute("bytes", owner.bytes);
      json.attribute("at_peak", owner.atPeak);
    });
    rows("frames", report.memory.frames, [&](const memory::FrameReport &frame) {
      json.attribute("function", frame.function);
      json.attribute("bytes", frame.bytes);
      json.attribute("live", frame.live);
    });
  });
}

void JsonReport::write() {
  json.object([&] {
    writePlan();
    writeTime();
    writeWork();
    writeExchanges();
    rows("attention", report.attention,
         [&](const AttentionCall &row) { writeAttention(row, json); });
    rows("fused_regions", report.regions,
         [&](const FusedRegion &row) { writeFusedRegion(row, json); });
    writeMemory();
    if (!report.ofStages.empty())
      json.attributeArray("pipeline", [&] {
        for (const StepReport &rank : report.ofStages)
          JsonReport(rank, json).write();
      });
  });
}

void printReportAsJson(const StepReport &report, llvm::raw_ostream &os) {
  llvm::json::OStream json(os, 2);
  JsonReport(report, json).write();
  os << "\n";
}

} // namespace tplan
