//===- Guesses.cpp - single edits near an error ----------------------------===//
//
// Knows tokens, not grammar: what is legal is found by trying. One decision: the order. That a
// token is in its neighbour's place, or there twice, can be seen in the text itself; a missing
// token must be invented, and is looked for first among the language's words, then among those of
// the file.
//
//===----------------------------------------------------------------------===//
#include "lib/Driver/Guesses.h"
#include "lib/Parse/Syntax.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringExtras.h"

using namespace tplan;
using llvm::StringRef;

namespace {

struct Token {
  size_t begin, end;
};

bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

/// Words, numbers, strings and other characters; comments are none.
std::vector<Token> tokensOf(StringRef text) {
  std::vector<Token> tokens;
  for (size_t at = 0; at < text.size();) {
    StringRef rest = text.substr(at);
    size_t length = 1;
    if (llvm::isSpace(text[at])) {
      ++at;
      continue;
    }
    if (rest.starts_with("//")) {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (text[at] == '"')
      length = std::min({rest.find('"', 1), rest.find('\n'), rest.size() - 1}) + 1;
    else if (rest.starts_with("->") || rest.starts_with(".."))
      length = 2;
    else if (llvm::isDigit(text[at]))
      while (length < rest.size() &&
             (isWordChar(rest[length]) || rest[length] == '.' ||
              (rest[length] == '-' && llvm::toLower(rest[length - 1]) == 'e')))
        ++length;
    else if (isWordChar(text[at]))
      while (length < rest.size() && isWordChar(rest[length]))
        ++length;
    tokens.push_back({at, at + length});
    at += length;
  }
  return tokens;
}

class Guesser {
public:
  Guesser(StringRef file, StringRef text, size_t at)
      : file(file), text(text), tokens(tokensOf(text)) {
    while (near < static_cast<int>(tokens.size()) && tokens[near].end <= at)
      ++near;
  }

  std::vector<Edit> run() {
    for (int i : {0, -1, -2, 1})
      swap(near + i);
    for (int i : {0, -1, -2, 1})
      if (has(near + i) && !isCallee(near + i))
        replace(tokens[near + i], "");
    for (StringRef mark : {"}", ")", "]", "{", "(", "[", ":", "=", ",", "->"})
      insertBefore({0, -1}, mark);
    for (StringRef key : keys())
      insertBefore({0, -1, -2}, key);
    for (StringRef word : wordsBackwards(llvm::isAlpha))
      insertBefore({0}, word);
    for (StringRef dim : {"G", "H", "F", "V", "B", "S", "D", "K"})
      insertBefore({0}, dim);
    for (StringRef number : wordsBackwards(llvm::isDigit))
      insertBefore({0}, number);
    for (int i : {0, -1, -2})
      unglue(near + i);
    line();
    for (StringRef mark : {"->", "}", ")", "]", "{", "(", ":", "=", ","})
      for (int i : {0, -1, -2})
        if (has(near + i))
          replace(tokens[near + i], mark);
    for (StringRef key : keys())
      for (int i : {0, -1})
        if (has(near + i) && llvm::isAlpha(text[tokens[near + i].begin]))
          replace(tokens[near + i], key);
    return std::move(edits);
  }

private:
  bool has(int i) const { return i >= 0 && i < static_cast<int>(tokens.size()); }
  /// `f` of `f(x)`. It is never left out: what is left would compile, and is never meant.
  bool isCallee(int i) const {
    return isWordChar(text[tokens[i].begin]) && has(i + 1) && of(tokens[i + 1]) == "(";
  }
  StringRef of(Token token) const { return text.slice(token.begin, token.end); }
  void add(size_t begin, size_t end, const llvm::Twine &with) {
    edits.push_back({file.str(), begin, end, with.str()});
  }
  void replace(Token token, const llvm::Twine &with) { add(token.begin, token.end, with); }

  void swap(int i) {
    if (!has(i) || !has(i + 1))
      return;
    StringRef between = text.slice(tokens[i].end, tokens[i + 1].begin);
    add(tokens[i].begin, tokens[i + 1].end, of(tokens[i + 1]) + between + of(tokens[i]));
  }

  void insertBefore(std::initializer_list<int> where, StringRef word) {
    for (int i : where)
      if (has(near + i) || near + i == static_cast<int>(tokens.size())) {
        size_t at = has(near + i) ? tokens[near + i].begin : text.size();
        add(at, at, word + " ");
      }
  }

  /// The language's words, as one may begin a line.
  static std::vector<StringRef> keys() {
    std::vector<StringRef> words;
    for (auto kind : {parse::BlockDecl::Recipe, parse::BlockDecl::Plan, parse::BlockDecl::Cluster})
      llvm::append_range(words, parse::settingKeys(kind));
    llvm::append_range(words, parse::modelKeywords());
    return words;
  }

  /// Names or numbers of the file, nearest first: before the error, then after it.
  std::vector<StringRef> wordsBackwards(bool (*begins)(char)) const {
    constexpr size_t kMost = 40;
    std::vector<StringRef> words;
    auto take = [&](int i) {
      StringRef word = of(tokens[i]);
      if (begins(word[0]) && words.size() < kMost && !llvm::is_contained(words, word))
        words.push_back(word);
    };
    for (int i = near - 1; i >= 0; --i)
      take(i);
    for (int i = near; has(i); ++i)
      take(i);
    return words;
  }

  /// `(llamaV = 1` for `llama(V = 1`: a bracket and the word beside it in each other's place.
  void unglue(int i) {
    if (!has(i) || !has(i - 1))
      return;
    for (auto [a, b] : {std::pair(tokens[i - 1], tokens[i])}) {
      StringRef first = of(a), second = of(b);
      if (first.size() == 1 && StringRef("([{").contains(first) && isWordChar(second[0]))
        for (size_t cut = 1; cut < second.size(); ++cut)
          add(a.begin, b.end, second.take_front(cut) + first + second.drop_front(cut));
      if (second.size() == 1 && StringRef("([{").contains(second) && isWordChar(first[0]))
        for (size_t cut = 1; cut < first.size(); ++cut)
          add(a.begin, b.end, first.take_front(cut) + second + first.drop_front(cut));
    }
  }

  /// The line of the error is left out.
  void line() {
    if (!has(near))
      return;
    size_t at = tokens[near].begin, end = text.find('\n', at);
    size_t begin = text.rfind('\n', at) + 1; // 0 where there is none
    add(begin, end == StringRef::npos ? text.size() : end + 1, "");
  }

  StringRef file, text;
  std::vector<Token> tokens;
  int near = 0; // the token at the error
  std::vector<Edit> edits;
};

} // namespace

std::vector<Edit> tplan::guessEdits(StringRef file, StringRef text, size_t at) {
  return Guesser(file, text, at).run();
}
