//===- ReadText.cpp - orders as text, read ------------------------------------------===//
//
// What a file leaves out follows from its tokens, so that a user need only write the orders.
//
//===----------------------------------------------------------------------===//
#include "lib/Pipeline/Text.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/JSON.h"

using namespace tplan;
using namespace tplan::pipeline;
namespace json = llvm::json;

namespace {
/// Stages times microbatches are at most this, so that tables of tasks fit.
constexpr int64_t kMost = 1 << 20;

class Reader {
public:
  explicit Reader(const json::Object &object) : object(object) {}

  ReadOrders read() {
    if (std::optional<OrderFile> file = readFile())
      return {std::move(file), {}};
    return {std::nullopt, fault};
  }

private:
  const json::Object &object;
  Fault fault;

  std::nullopt_t refuse(const llvm::Twine &message, int32_t rank = -1, llvm::StringRef at = "") {
    fault = {"format", message.str(), rank, at.str()};
    return std::nullopt;
  }

  std::optional<OrderFile> readFile() {
    const json::Array *ranks = object.getArray("ranks");
    if (!ranks || ranks->empty())
      return refuse("a schedule has a list \"ranks\", the order of each rank as a string");
    Orders orders;
    for (auto [rank, text] : llvm::enumerate(*ranks)) {
      RankOrder &order = orders.emplace_back();
      std::optional<Program> program = readProgram(text, rank);
      if (!program)
        return std::nullopt;
      for (const Item &item : *program) {
        if (!item.batch.empty())
          return refuse("messages stand in \"programs\", and not in \"ranks\": " +
                            spell(item.batch.front()),
                        rank, spell(item.batch.front()));
        llvm::append_range(order, item.tasks);
      }
    }
    std::optional<Pipeline> pipeline = readPipeline(orders);
    if (!pipeline)
      return std::nullopt;
    OrderFile file{object.getString("schedule").value_or("custom").str(),
                   std::move(*pipeline),
                   std::move(orders),
                   {}};
    if (object.get("programs") && !readPrograms(file))
      return std::nullopt;
    return file;
  }

  /// A list of whole numbers.
  std::optional<std::vector<int32_t>> readNumbers(const json::Value &value, llvm::StringRef name) {
    const json::Array *list = value.getAsArray();
    if (!list)
      return refuse("\"" + name + "\" is a list of whole numbers");
    std::vector<int32_t> numbers;
    for (const json::Value &each : *list) {
      std::optional<int64_t> number = each.getAsInteger();
      if (!number || *number < 0 || *number >= kMost)
        return refuse("\"" + name + "\" has whole numbers from 0 to " + llvm::Twine(kMost - 1));
      numbers.push_back(*number);
    }
    return numbers;
  }

  /// Without it, the file is for as many microbatches and stages as its tasks name, and a stage is
  /// on the rank that does the first of them.
  std::optional<Pipeline> readPipeline(const Orders &orders) {
    int32_t ranks = orders.size();
    int32_t stages = 0, microbatches = 1;
    for (const RankOrder &order : orders)
      for (Task task : order) {
        stages = std::max(stages, task.stage + 1);
        microbatches = std::max(microbatches, task.microbatch + 1);
      }
    std::vector<int32_t> rankOf;
    if (const json::Value *value = object.get("stage_to_rank")) {
      auto numbers = readNumbers(*value, "stage_to_rank");
      if (!numbers)
        return std::nullopt;
      rankOf = std::move(*numbers);
    } else {
      rankOf.assign(stages, 0);
      std::vector<bool> known(stages, false);
      for (auto [rank, order] : llvm::enumerate(orders))
        for (Task task : order)
          if (!known[task.stage]) {
            known[task.stage] = true;
            rankOf[task.stage] = rank;
          }
    }
    if (rankOf.empty() || *llvm::max_element(rankOf) != ranks - 1)
      return refuse("\"stage_to_rank\" names each of the ranks 0 to " + llvm::Twine(ranks - 1));
    if (std::optional<int64_t> count = object.getInteger("microbatches")) {
      if (*count < 1 || *count >= kMost)
        return refuse("\"microbatches\" is from 1 to " + llvm::Twine(kMost - 1) + ", found " +
                      llvm::Twine(*count));
      microbatches = *count;
    }
    if (static_cast<int64_t>(rankOf.size()) * microbatches > kMost)
      return refuse("stages times microbatches are at most " + llvm::Twine(kMost) + ", found " +
                    llvm::Twine(static_cast<int64_t>(rankOf.size()) * microbatches));
    auto chains = readChains(rankOf.size(), microbatches);
    if (!chains)
      return std::nullopt;
    return Pipeline(std::move(rankOf), std::move(*chains), microbatches);
  }

  std::optional<std::vector<Chain>> readChains(int32_t stages, int32_t microbatches) {
    std::vector<Chain> chains;
    if (const json::Array *lists = object.getArray("chains")) {
      for (const json::Value &list : *lists) {
        auto numbers = readNumbers(list, "chains");
        if (!numbers)
          return std::nullopt;
        chains.push_back({std::move(*numbers), 0, microbatches});
      }
    } else {
      Chain &chain = chains.emplace_back(Chain{{}, 0, microbatches});
      for (int32_t stage = 0; stage < stages; ++stage)
        chain.stages.push_back(stage);
    }
    std::vector<int32_t> all;
    for (const Chain &chain : chains)
      llvm::append_range(all, chain.stages);
    llvm::sort(all);
    for (int32_t stage = 0; stage < stages; ++stage)
      if (all.size() != static_cast<size_t>(stages) || all[stage] != stage)
        return refuse("\"chains\" has each of the stages 0 to " + llvm::Twine(stages - 1) +
                      " once");
    if (const json::Array *ranges = object.getArray("chain_microbatches")) {
      if (ranges->size() != chains.size())
        return refuse("\"chain_microbatches\" has the first and last microbatch of each chain, " +
                      llvm::Twine(chains.size()) + ", found " + llvm::Twine(ranges->size()));
      for (auto [chain, range] : llvm::zip(chains, *ranges)) {
        auto ends = readNumbers(range, "chain_microbatches");
        if (!ends)
          return std::nullopt;
        if (ends->size() != 2 || (*ends)[0] > (*ends)[1] || (*ends)[1] >= microbatches)
          return refuse("\"chain_microbatches\" has the first and last microbatch of each chain, "
                        "from 0 to " +
                        llvm::Twine(microbatches - 1));
        chain.begin = (*ends)[0];
        chain.end = (*ends)[1] + 1;
      }
    } else if (chains.size() > 1) {
      return refuse("several chains need \"chain_microbatches\", the first and last microbatch of "
                    "each");
    }
    return chains;
  }

  bool readPrograms(OrderFile &file) {
    const json::Array *list = object.getArray("programs");
    if (!list || list->size() != file.orders.size()) {
      refuse("\"programs\" has the program of each rank as a string");
      return false;
    }
    for (auto [rank, text] : llvm::enumerate(*list)) {
      std::optional<Program> program = readProgram(text, rank);
      if (!program)
        return false;
      RankOrder tasks;
      for (const Item &item : *program)
        llvm::append_range(tasks, item.tasks);
      if (tasks != file.orders[rank]) {
        auto differ = std::mismatch(tasks.begin(), tasks.end(), file.orders[rank].begin(),
                                    file.orders[rank].end());
        std::string at = differ.first != tasks.end() ? spell(*differ.first) : spell(*differ.second);
        fault = {"programs",
                 "a program has the tasks of its rank in the same order, differs at " + at,
                 static_cast<int32_t>(rank), at};
        return false;
      }
      file.programs.push_back(std::move(*program));
    }
    return true;
  }

  //===--------------------------------------------------------------------===//
  // Tokens
  //===--------------------------------------------------------------------===//

  std::optional<Program> readProgram(const json::Value &value, int32_t rank) {
    std::optional<llvm::StringRef> text = value.getAsString();
    if (!text)
      return refuse("the order of a rank is a string", rank);
    Program program;
    llvm::StringRef rest = text->trim();
    while (!rest.empty()) {
      auto [token, after] = rest.split(',');
      rest = after.ltrim();
      token = token.trim();
      std::optional<Item> item = readItem(token);
      if (!item)
        return refuse("a token is <stage><kind><microbatch> of kind F, B, I or W, a pair as "
                      "(3F2;1B0) or messages as [S>1:0F3|R<1:1B0], found " +
                          token,
                      rank, token);
      program.push_back(std::move(*item));
    }
    return program;
  }

  static std::optional<Item> readItem(llvm::StringRef token) {
    Item item;
    if (token.consume_front("[")) {
      if (!token.consume_back("]"))
        return std::nullopt;
      for (llvm::StringRef part : llvm::split(token, '|')) {
        std::optional<Message> message = readMessage(part.trim());
        if (!message)
          return std::nullopt;
        item.batch.push_back(*message);
      }
      return item;
    }
    if (token.consume_front("(") && !token.consume_back(")"))
      return std::nullopt;
    for (llvm::StringRef part : llvm::split(token, ';')) {
      std::optional<Task> task = readTask(part.trim());
      if (!task)
        return std::nullopt;
      task->together = !item.tasks.empty();
      item.tasks.push_back(*task);
    }
    return item;
  }

  static std::optional<int32_t> readNumber(llvm::StringRef &text) {
    int64_t number;
    if (text.empty() || !llvm::isDigit(text.front()) || text.consumeInteger(10, number) ||
        number >= kMost)
      return std::nullopt;
    return number;
  }

  static std::optional<Task> readTask(llvm::StringRef text) {
    std::optional<int32_t> stage = readNumber(text);
    if (!stage || text.empty())
      return std::nullopt;
    std::optional<TaskKind> kind = sched::symbolizeTaskKind(text.take_front());
    text = text.drop_front();
    std::optional<int32_t> microbatch = readNumber(text);
    if (!kind || !sched::factsOf(*kind).isOrdered || !microbatch || !text.empty())
      return std::nullopt;
    return Task{*kind, *stage, *microbatch};
  }

  static std::optional<Message> readMessage(llvm::StringRef text) {
    bool sends = text.consume_front("S>");
    if (!sends && !text.consume_front("R<"))
      return std::nullopt;
    std::optional<int32_t> peer = readNumber(text);
    if (!peer || !text.consume_front(":"))
      return std::nullopt;
    std::optional<Task> made = readTask(text);
    return made ? std::optional(Message{sends, *peer, *made}) : std::nullopt;
  }
};
} // namespace

ReadOrders tplan::pipeline::readOrders(llvm::StringRef text) {
  llvm::Expected<json::Value> value = json::parse(text);
  if (!value)
    return {std::nullopt, {"format", "no JSON: " + llvm::toString(value.takeError())}};
  const json::Object *object = value->getAsObject();
  if (!object)
    return {std::nullopt, {"format", "a schedule is a JSON object"}};
  return Reader(*object).read();
}
