//===- Timeline.cpp - a simulated step as a trace and as a picture --------------===//
#include "lib/Pipeline/Timeline.h"
#include "llvm/Support/FormatVariadic.h"
#include "llvm/Support/JSON.h"

using namespace tplan;
using namespace tplan::pipeline;
using llvm::formatv;

void tplan::pipeline::printTrace(llvm::StringRef title, const Simulation &simulation,
                                 llvm::ArrayRef<Streams> streams, double microseconds,
                                 llvm::raw_ostream &out) {
  llvm::json::OStream os(out);
  // Threads are listed by number, so those of a rank's streams follow its own.
  int64_t thread = 0;
  auto name = [&](llvm::StringRef what, const std::string &text) {
    os.object([&] {
      os.attribute("ph", "M");
      os.attribute("pid", 0);
      os.attribute("tid", thread);
      os.attribute("name", what);
      os.attributeObject("args", [&] { os.attribute("name", text); });
    });
  };
  auto slice = [&](llvm::StringRef name, llvm::StringRef category, double begin, double end,
                   llvm::function_ref<void()> more) {
    os.object([&] {
      os.attribute("ph", "X");
      os.attribute("pid", 0);
      os.attribute("tid", thread);
      os.attribute("name", name);
      os.attribute("cat", category);
      os.attribute("ts", begin * microseconds);
      os.attribute("dur", (end - begin) * microseconds);
      more();
    });
  };
  os.object([&] {
    os.attribute("displayTimeUnit", "ms");
    os.attributeArray("traceEvents", [&] {
      name("process_name", title.str());
      for (size_t rank = 0; rank < simulation.tasks.size(); ++rank, ++thread) {
        std::string ofRank = "rank " + std::to_string(rank);
        name("thread_name", ofRank);
        for (const Timed &each : simulation.tasks[rank])
          slice(spell(each.task), sched::stringifyTaskKind(each.task.kind), each.begin, each.end,
                [&] {
                  os.attributeObject("args", [&] {
                    os.attribute("stage", each.task.stage);
                    os.attribute("microbatch", each.task.microbatch);
                  });
                });
        if (streams.empty())
          continue;
        for (const auto &[stream, intervals] : streams[rank]) {
          ++thread;
          name("thread_name", ofRank + ", " + stream);
          for (const Interval &each : intervals)
            slice(stream, "stream", each.begin, each.end, [] {});
        }
      }
    });
  });
  out << "\n";
}

namespace {
/// Sizes in pixels.
constexpr int kWidth = 1000, kRow = 26, kGap = 4, kLeft = 64, kTop = 34, kLeastForText = 11;
constexpr int kStream = 9; // the row of a stream
/// Two collectives that are no farther apart are drawn as one.
constexpr double kApart = 0.3;

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
  Picture(const Pipeline &pipeline, const Simulation &simulation, llvm::ArrayRef<Streams> streams,
          llvm::raw_ostream &os)
      : pipeline(pipeline), simulation(simulation), streams(streams), os(os),
        scale((kWidth - kLeft - kGap) / std::max(lastEnd(), 1e-300)) {}

  void print(llvm::StringRef title) {
    int height = kTop + kGap;
    for (size_t rank = 0; rank < simulation.tasks.size(); ++rank)
      height += heightOf(rank) + kGap;
    os << formatv("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" "
                  "viewBox=\"0 0 {0} {1}\" font-family=\"sans-serif\" font-size=\"11\">\n",
                  kWidth, height);
    os << formatv("<rect width=\"{0}\" height=\"{1}\" fill=\"#ffffff\"/>\n", kWidth, height);
    os << formatv("<text x=\"{0}\" y=\"14\" font-size=\"13\">{1}</text>\n", kGap, escaped(title));
    printLegend();
    int y = kTop;
    for (size_t rank = 0; rank < simulation.tasks.size(); y += heightOf(rank++) + kGap) {
      os << formatv("<text x=\"{0}\" y=\"{1}\">rank {2}</text>\n", kGap, y + 17, rank);
      os << formatv(
          "<rect x=\"{0}\" y=\"{1}\" width=\"{2:f2}\" height=\"{3}\" fill=\"#eeeeee\"/>\n", kLeft,
          y, simulation.makespan * scale, kRow);
      const std::vector<Timed> &tasks = simulation.tasks[rank];
      for (size_t i = 0; i < tasks.size(); ++i)
        printTask(tasks, i, rank, y);
      if (streams.empty())
        continue;
      int below = y + kRow;
      for (const auto &[name, intervals] : streams[rank]) {
        printStream(name, intervals, below);
        below += kStream;
      }
    }
    os << "</svg>\n";
  }

private:
  const Pipeline &pipeline;
  const Simulation &simulation;
  llvm::ArrayRef<Streams> streams; // by rank, or empty
  llvm::raw_ostream &os;
  const double scale; // pixels for a unit of time

  /// What the last tasks have started goes on after them.
  double lastEnd() const {
    double last = simulation.makespan;
    for (const Streams &ofRank : streams)
      for (const auto &[name, intervals] : ofRank)
        last = std::max(last, intervals.empty() ? 0 : intervals.back().end);
    return last;
  }

  int heightOf(size_t rank) const {
    return kRow + (streams.empty() ? 0 : static_cast<int>(streams[rank].size()) * kStream);
  }

  void printStream(llvm::StringRef name, llvm::ArrayRef<Interval> intervals, int y) {
    os << formatv("<text x=\"{0}\" y=\"{1}\" text-anchor=\"end\" font-size=\"8\">{2}</text>\n",
                  kLeft - kGap, y + kStream - 2, escaped(name));
    for (const Interval *it = intervals.begin(); it != intervals.end();) {
      double begin = it->begin, end = it->end;
      for (++it; it != intervals.end() && (it->begin - end) * scale <= kApart; ++it)
        end = std::max(end, it->end);
      os << formatv("<rect x=\"{0:f2}\" y=\"{1}\" width=\"{2:f2}\" height=\"{3}\" "
                    "fill=\"#7a7a7a\"><title>{4}</title></rect>\n",
                    kLeft + begin * scale, y + 2, (end - begin) * scale, kStream - 3,
                    escaped(name));
    }
  }

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
                                   const Simulation &simulation, llvm::ArrayRef<Streams> streams,
                                   llvm::raw_ostream &os) {
  Picture(pipeline, simulation, streams, os).print(title);
}
