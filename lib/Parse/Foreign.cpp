//===- Foreign.cpp - habits of other tools, in errors ----------------------===//
#include "lib/Parse/Foreign.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"
#include "llvm/Support/FileSystem.h"
#include "llvm/Support/MemoryBuffer.h"
#include "llvm/Support/Path.h"

using namespace tplan;
using namespace tplan::parse;
using llvm::SMLoc;
using llvm::StringRef;

namespace {

struct Row {
  Habit place;
  StringRef word, ours, advice;
};
const Row kRows[] = {
#define FOREIGN(place, word, ours, advice) {Habit::place, word, ours, advice},
#include "lib/Parse/Foreign.def"
};

const Row *findRow(Habit place, StringRef word) {
  const Row *row = llvm::find_if(
      kRows, [&](const Row &r) { return r.place == place && r.word.equals_insensitive(word); });
  return row == std::end(kRows) ? nullptr : row;
}

bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Buffers end in a zero, so that the end of a line is found from any place in it.
StringRef between(const char *begin, const char *end) { return {begin, size_t(end - begin)}; }

/// The first word, number or string after a key: of `stage = 2`, 2 where a number is wanted.
std::string firstValue(StringRef rest) {
  StringRef word;
  for (size_t at = 0; at < rest.size();) {
    if (!isWordChar(rest[at])) {
      ++at;
      continue;
    }
    StringRef token =
        rest.substr(at).take_while([](char c) { return isWordChar(c) || c == '.' || c == '-'; });
    if (llvm::isDigit(token[0]))
      return token.str();
    if (word.empty())
      word = token;
    at += token.size();
  }
  return word.str();
}

/// Whether one number or word follows, so that it is the value of the line; more is kept as it is.
bool isOneValue(StringRef rest) {
  return rest.trim(" \t=:").find_first_of(" \t,") == StringRef::npos;
}

std::string filled(StringRef text, StringRef value) {
  auto [head, tail] = text.split('$');
  return head.size() == text.size() ? text.str() : (head + value + tail).str();
}

/// The line of `key`, with its end where nothing else stands on it.
StringRef wholeLine(StringRef key) {
  StringRef rest = restOfLine(key);
  const char *begin = key.data(), *end = rest.end();
  while (begin[-1] == ' ' || begin[-1] == '\t')
    --begin;
  if (begin[-1] != '\n' || *end != '\n')
    return rest;
  return between(begin, end + 1);
}

/// The word before `at` in the source, or after it.
StringRef wordBefore(StringRef source, const char *at) {
  StringRef before = between(source.data(), at).rtrim(' ');
  size_t begin = before.size();
  while (begin && isWordChar(before[begin - 1]))
    --begin;
  return before.drop_front(begin);
}
StringRef wordAfter(const char *at) {
  while (*at == ' ')
    ++at;
  const char *end = at;
  while (isWordChar(*end))
    ++end;
  return between(at, end);
}
StringRef firstWord(StringRef source, const char *at) {
  StringRef before = between(source.data(), at);
  size_t begin = before.rfind('\n') + 1; // 0 where there is none
  return wordAfter(before.data() + begin);
}

/// The names of lists of layers, found by how they are declared: `layers : block x L`.
std::vector<StringRef> listsIn(StringRef source) {
  std::vector<StringRef> lists;
  llvm::SmallVector<StringRef> lines;
  source.split(lines, '\n');
  for (StringRef line : lines) {
    auto [name, rest] = line.trim().split(':');
    if (rest.contains(" x ") && llvm::all_of(name.trim(), isWordChar) && !name.trim().empty())
      lists.push_back(name.trim());
  }
  return lists;
}

} // namespace

StringRef tplan::parse::ours(Habit place, StringRef word) {
  const Row *row = findRow(place, word);
  return row ? row->ours : StringRef();
}

void tplan::parse::suggestOurs(Report::Error &error, Habit place, StringRef word,
                               const std::vector<StringRef> &names) {
  StringRef known = ours(place, word);
  if (!llvm::is_contained(names, known) || known.empty()) {
    error.suggest(word, names);
    return;
  }
  error.say("; here it is `{0}`", known);
  error.fix({{word, known.str()}});
}

void tplan::parse::explainLine(Report::Error &error, StringRef key, BlockDecl::Kind block,
                               const std::vector<StringRef> &keys) {
  Habit here = block == BlockDecl::Plan ? Habit::Plan : Habit::Recipe;
  Habit there = block == BlockDecl::Plan ? Habit::Recipe : Habit::Plan;
  const Row *row = findRow(here, key), *other = findRow(there, key);
  if ((block != BlockDecl::Plan && block != BlockDecl::Recipe) || (!row && !other)) {
    error.suggest(key, keys);
    return;
  }
  StringRef rest = restOfLine(key);
  std::string value = firstValue(rest.drop_front(key.size()));
  if (!row) {
    std::string text = filled(other->advice.empty() ? other->ours : other->advice, value);
    error.say(other->advice.empty() ? "; it belongs into a {0}: `{1}`" : "; of a {0}: {1}",
              there == Habit::Plan ? "plan" : "recipe", text);
    error.fix({{wholeLine(key), ""}});
    return;
  }
  // `learning_rate warmup 100 steps, flat 3e-4`: the line is ours except for its first word.
  if (StringRef word = row->ours.split(' ').first; row->ours.ends_with(" $") &&
                                                   word.size() + 2 == row->ours.size() &&
                                                   !isOneValue(rest.drop_front(key.size()))) {
    error.say("; here it is `{0}`", word).fix({{key, word.str()}});
    error.fix({{wholeLine(key), ""}});
    return;
  }
  std::string text = filled(row->ours, value);
  if (!row->advice.empty())
    error.say("; {0}", filled(row->advice, value));
  else
    error.say("; write `{0}`", text);
  if (!text.empty())
    error.fix({{rest, text}});
  error.fix({{wholeLine(key), ""}});
}

void tplan::parse::explainToken(Report::Error &error, StringRef found, StringRef last,
                                StringRef source) {
  if (found.empty() || found.data() == source.data())
    return;
  StringRef begin = firstWord(source, found.data());
  if (found == "#") {
    error.say("; comments begin with //").fix({{found, "//"}});
  } else if (found == ";") {
    error.say("; lines end without it").fix({{found, ""}});
  } else if (found == "@") {
    StringRef x = wordBefore(source, found.data()), w = wordAfter(found.end());
    error.say("; a map is called: {0}({1})", w, x);
    error.fix({{between(x.data(), w.end()), (w + "(" + x + ")").str()}});
  } else if (found == "*" && last == "*") {
    StringRef x = wordBefore(source, last.data()), n = wordAfter(found.end());
    error.say("; there are square(x) and products");
    if (n == "2")
      error.fix({{between(x.data(), n.end()), ("square(" + x + ")").str()}});
  } else if (last == "import" && isWordChar(found[0])) {
    error.say("; a file is named: import \"{0}.tplan\"", found);
    error.fix({{found, ("\"" + found + ".tplan\"").str()}});
  } else if (last == "mesh" && found == "(") {
    StringRef rest = restOfLine(found);
    if (size_t close = rest.find(')'); close != StringRef::npos)
      error.say("; axes stand without brackets: mesh dp = 2, tp = 2")
          .fix({{found, ""}, {rest.substr(close, 1), ""}});
  } else if (last == "range" && found == "(") {
    StringRef rest = restOfLine(found);
    error.say("; a loop runs over a list of layers: for b in blocks");
    if (size_t close = rest.find(')'); close != StringRef::npos)
      for (StringRef list : listsIn(source))
        error.fix({{between(last.data(), rest.data() + close + 1), list.str()}});
  } else if (begin == "optimizer" && (last == "(" || last == ",") && found == "lr") {
    StringRef rest = restOfLine(found);
    error.say("; the rate is a line of its own: lr 3e-4");
    size_t comma = rest.find(',');
    if (comma != StringRef::npos && comma < rest.find(')'))
      error.fix(
          {{rest.take_front(comma + 1 + rest.substr(comma + 1).take_while(llvm::isSpace).size()),
            ""}});
    else if (last == "," && rest.contains(')'))
      error.fix({{between(last.data(), rest.data() + rest.find(')')), ""}});
  } else if (StringRef known = ours(Habit::Keyword, begin); !known.empty()) {
    error.say("; here it is `{0}`", known).fix({{begin, known.str()}});
  }
}

void tplan::parse::explainCall(Report::Error &error, const Expr &call,
                               const std::vector<StringRef> &known) {
  const Expr &callee = *call.lhs;
  if (callee.lhs->kind != Expr::Ref)
    return;
  StringRef name = callee.text;
  StringRef place = between(callee.lhs->loc.getPointer(), name.end());
  if (llvm::is_contained(known, name)) {
    error.say("; write {0}", name).fix({{place, name.str()}});
    return;
  }
  // name = nn.Linear(A, B, bias = ..), on a line of its own
  StringRef rest = restOfLine(place);
  const char *line = place.data(); // a call stands in braces, so there is something before it
  while (line[-1] != '\n' && line[-1] != '{')
    --line;
  StringRef before = between(line, place.data()).rtrim();
  StringRef target = before.consume_back("=") ? wordBefore(before, before.end()) : StringRef();
  if (target.empty())
    return;
  std::vector<StringRef> sizes;
  bool bias = name == "Linear";
  for (const Arg &arg : call.args)
    if (arg.value->kind == Expr::Ref && arg.key.text.empty())
      sizes.push_back(arg.value->text);
    else if (arg.key.text == "bias" && arg.value->text == "False")
      bias = false;
  std::string text;
  if ((name == "Linear" || name == "Embedding") && sizes.size() == 2)
    text = llvm::formatv("{0} {1} : {2} -> {3}{4}", name == "Linear" ? "linear" : "table", target,
                         sizes[0], sizes[1], bias ? " with bias" : "");
  else if (StringRef layer = ours(Habit::Function, name); layer.ends_with("norm"))
    text = (target + " : " + layer).str();
  if (text.empty())
    return;
  error.say("; write `{0}`", text).fix({{between(target.data(), rest.end()), text}});
}

bool tplan::parse::explainImport(Report::Error &error, const File &file, StringRef kind,
                                 StringRef name) {
  for (const std::string &folder : file.modelDirs) {
    std::error_code code;
    std::vector<std::string> paths;
    for (llvm::sys::fs::directory_iterator at(folder, code), end; at != end && !code;
         at.increment(code))
      if (StringRef(at->path()).ends_with(".tplan"))
        paths.push_back(at->path());
    llvm::sort(paths);
    for (const std::string &path : paths) {
      auto buffer = llvm::MemoryBuffer::getFile(path);
      std::string declared = (kind + " " + name).str();
      size_t at = buffer ? (*buffer)->getBuffer().find(declared) : StringRef::npos;
      if (at == StringRef::npos ||
          isWordChar((*buffer)->getBuffer().substr(at + declared.size())[0]))
        continue;
      std::string line = ("import \"" + llvm::sys::path::filename(path) + "\"").str();
      error.say("; add `{0}`", line);
      // Before the first line that is no comment.
      StringRef text = file.main;
      while (text.ltrim().starts_with("//"))
        text = text.ltrim().drop_until([](char c) { return c == '\n'; });
      text = text.ltrim();
      error.fix({{text.take_front(0), line + "\n\n"}});
      return true;
    }
  }
  return false;
}

StringRef tplan::parse::tokenAt(SMLoc loc) {
  const char *end = loc.getPointer();
  while (isWordChar(*end) || *end == '.' ||
         (*end == '-' && end > loc.getPointer() && llvm::toLower(end[-1]) == 'e'))
    ++end;
  return between(loc.getPointer(), end);
}

StringRef tplan::parse::valueOf(SMLoc loc) {
  if (!loc.isValid())
    return {};
  const char *at = tokenAt(loc).end();
  while (*at == ' ')
    ++at;
  if (*at != '=')
    return {};
  ++at;
  while (*at == ' ')
    ++at;
  return llvm::isDigit(*at) ? tokenAt(SMLoc::getFromPointer(at)) : StringRef();
}

StringRef tplan::parse::restOfLine(StringRef at) {
  const char *end = at.data();
  while (*end && *end != '\n' && !(end[0] == '/' && end[1] == '/'))
    ++end;
  return between(at.data(), end).rtrim();
}

void tplan::parse::fixNumber(Report::Error &error, StringRef place,
                             llvm::ArrayRef<int64_t> values) {
  if (place.empty() || !llvm::isDigit(place[0]))
    return;
  for (int64_t value : values)
    error.fix({{place, std::to_string(value)}});
}
