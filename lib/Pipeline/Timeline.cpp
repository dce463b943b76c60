//===- Timeline.cpp - a simulated step as a trace and as a picture --------------===//
#include "lib/Pipeline/Timeline.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tplan;
using namespace tplan::pipeline;
using llvm::formatv;

void tplan::pipeline::printTrace(llvm::StringRef title, const Pipeline &pipeline,
                                 const Simulation &simulation, double microseconds,
                                 llvm::raw_ostream &out) {
  llvm::json::OStream os(out);
  auto name = [&](llvm::StringRef what, int64_t thread, const std::string &text) {
    os.object([&] {
      os.attribute("ph", "M");
      os.attribute("pid", 0);
      os.attribute("tid", thread);
      os.attribute("name", what);
      os.attributeObject("args", [&] { os.attribute("name", text); });
    });
  };
  os.object([&] {
    os.attribute("displayTimeUnit", "ms");
    os.attributeArray("traceEvents", [&] {
      name("process_name", 0, title.str());
      for (size_t rank = 0; rank < simulation.tasks.size(); ++rank) {
        name("thread_name", rank, "rank " + std::to_string(rank));
        for (const Timed &each : simulation.tasks[rank])
          os.object([&] {
            os.attribute("ph", "X");
            os.attribute("pid", 0);
            os.attribute("tid", static_cast<int64_t>(rank));
            os.attribute("name", spell(each.task));
            os.attribute("cat", sched::stringifyTaskKind(each.task.kind));
            os.attribute("ts", each.begin * microseconds);
            os.attribute("dur", (each.end - each.begin) * microseconds);
            os.attributeObject("args", [&] {
              os.attribute("stage", each.task.stage);
              os.attribute("microbatch", each.task.microbatch);
            });
          });
      }
    });
  });
  out << "\n";
}

namespace {
/// Sizes in pixels.
constexpr int kWidth = 1000, kRow = 26, kGap = 4, kLeft = 64, kTop = 34, kLeastForText = 11;

/// Colours of the first chunk and of the others.
std::pair<llvm::StringRef, llvm::StringRef> colours(TaskKind kind) {
  switch (kind) {
  case TaskKind::F:
    return {"#4878a8", "#86b0d8"};
  case TaskKind::I:
    return {"#d2803c", "#eab787"};
  case TaskKind::W:
    return {"#5c9a5c", "#a3cda3"};
  case TaskKind::R:
    return {"#6f5a8c", "#b3a3c8"};
  default:
    return {"#a85c5c", "#d8a0a0"};
  }
}

class Picture {
public:
  Picture(const Pipeline &pipeline, const Simulation &simulation, llvm::raw_ostream &os)
      : pipeline(pipeline), simulation(simulation), os(os),
        scale((kWidth - kLeft - kGap) / std::max(simulation.makespan, 1e-300)) {}

  void print(llvm::StringRef title) {
    int height = kTop + static_cast<int>(simulation.tasks.size()) * (kRow + kGap) + kGap;
    os << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                  "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n",
                  kWidth, height);
    os << formatv("<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n", kWidth, height);
    os << formatv("<text x=\"{0}\" y=\"14\" font-size=\"13\">{1}</text>\n", kGap, escaped(title));
    printLegend();
    for (size_t rank = 0; rank < simulation.tasks.size(); ++rank) {
      int y = kTop + static_cast<int>(rank) * (kRow + kGap);
      os << formatv("<text x=\"{0}\" y=\"{1}\">rank {2}</text>\n", kGap, y + 17, rank);
      os << formatv(
          "<rect x=\"{0}\" y=\"{1}\" width=\"{2:f2}\" height=\"{3}\" fill=\"#eeeeee\"/>\n", kLeft,
          y, simulation.makespan * scale, kRow);
      const std::vector<Timed> &tasks = simulation.tasks[rank];
      for (size_t i = 0; i < tasks.size(); ++i)
        printTask(tasks, i, rank, y);
    }
    os << "</svg>\n";
  }

private:
  const Pipeline &pipeline;
  const Simulation &simulation;
  llvm::raw_ostream &os;
  const double scale; // pixels for a unit of time

  static std::string escaped(llvm::StringRef text) {
    std::string out;
    for (char c : text)
      out += c == '<' ? "&lt;" : c == '>' ? "&gt;" : c == '&' ? "&amp;" : std::string(1, c);
    return out;
  }

  void printLegend() {
    int x = kLeft;
    for (TaskKind kind : {TaskKind::F, TaskKind::B, TaskKind::I, TaskKind::W, TaskKind::R}) {
      if (!has(kind))
        continue;
      os << formatv("<rect x=\"{0}\" y=\"20\" width=\"10\" height=\"10\" fill=\"{1}\"/>"
                    "<text x=\"{2}\" y=\"29\">{3}</text>\n",
                    x, colours(kind).first, x + 14, sched::stringifyTaskKind(kind));
      x += 40;
    }
  }

  bool has(TaskKind kind) const {
    for (const std::vector<Timed> &tasks : simulation.tasks)
      for (const Timed &each : tasks)
        if (each.task.kind == kind)
          return true;
    return false;
  }

  /// Tasks that are done as one share their row.
  void printTask(const std::vector<Timed> &tasks, size_t i, size_t rank, int y) {
    const Timed &each = tasks[i];
    bool first = i + 1 < tasks.size() && tasks[i + 1].task.together && !each.task.together;
    bool second = each.task.together;
    int height = first || second ? kRow / 2 : kRow, top = second ? y + kRow / 2 : y;
    double x = kLeft + each.begin * scale, width = (each.end - each.begin) * scale;
    bool isFirstChunk = pipeline.chunksOf(rank).front() == each.task.stage;
    auto [dark, light] = colours(each.task.kind);
    os << formatv("<rect x=\"{0:f2}\" y=\"{1}\" width=\"{2:f2}\" height=\"{3}\" fill=\"{4}\" "
                  "stroke=\"#ffffff\" stroke-width=\"0.5\"><title>{5}</title></rect>\n",
                  x, top, width, height, isFirstChunk ? dark : light, spell(each.task));
    if (width >= kLeastForText && each.task.kind != TaskKind::R)
      os << formatv("<text x=\"{0:f2}\" y=\"{1}\" text-anchor=\"middle\" font-size=\"{2}\" "
                    "fill=\"{3}\">{4}</text>\n",
                    x + width / 2, top + height / 2 + 4, first || second ? 9 : 11,
                    isFirstChunk ? "#ffffff" : "#000000", each.task.microbatch);
  }
};
} // namespace

void tplan::pipeline::printPicture(llvm::StringRef title, const Pipeline &pipeline,
                                   const Simulation &simulation, llvm::raw_ostream &os) {
  Picture(pipeline, simulation, os).print(title);
}
