//===- mutate.cpp - mutations that know what a .tplan file is made of -----===//
//
// An input is cut into tokens, each with the blanks before it; a mutation changes a few: numbers
// become awkward ones, names change places with other names, brackets and lines move within a file
// or come from another one. So most mutations pass the parser, and meet the checks after it. Bytes
// change too, but rarely.
//
//===----------------------------------------------------------------------===//
#include <algorithm>
#include <cctype>
#include <cstdint>
#include <cstring>
#include <random>
#include <string>
#include <string_view>
#include <vector>

extern "C" size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t maxSize);

namespace {

using Random = std::mt19937;

struct Token {
  enum Kind { Word, Number, String, Mark } kind;
  std::string blank, text;
};
using Tokens = std::vector<Token>;
struct Span {
  size_t from, to; // [from, to)
};

// Small ones first: what compiles must compile fast.
const char *const kNumbers[] = {"1",
                                "2",
                                "3",
                                "4",
                                "5",
                                "7",
                                "8",
                                "12",
                                "16",
                                "17",
                                "31",
                                "64",
                                "0",
                                "-1",
                                "0.5",
                                "-0.0",
                                "1e-30",
                                "1e30",
                                "1e400",
                                "1000",
                                "4Ki",
                                "1M",
                                "2T",
                                "65536",
                                "99999",
                                "1048576",
                                "1048577",
                                "2147483647",
                                "2147483648",
                                "4294967296",
                                "1099511627776",
                                "1099511627777",
                                "9223372036854775807",
                                "9223372036854775808",
                                "0x10",
                                "1.5",
                                "3e-4"};

const char *const kWords[] = {
#define KEYWORD(word, token, context) word,
#include "lib/Parse/Keywords.def"
#define BUILTIN(name, form, arguments, result, meaning) name,
#include "lib/Parse/Builtins.def"
    "causal",  "mask",  "i32",         "f32",        "bf16",   "f64",     "none",       "full",
    "on",      "off",   "ones",        "zeros",      "normal", "uniform", "x",          "B",
    "S",       "D",     "sequences",   "tokens",     "steps",  "GiB",     "kB",         "adamw",
    "sgd",     "gpipe", "gpipe_split", "accumulate", "warmup", "cosine",  "flat",       "clip",
    "decay",   "norm",  "bias",        "linears",    "norms",  "biases",  "embeddings", "T",
    "most",    "block", "rmsnorm",     "dp",         "tp",     "V",       "H",          "G",
    "F",       "every", "first",       "residual",   "local",  "sharded", "within",     "node",
    "megatron"};

const char *const kMarks[] = {"+", "-", "*", "/", "&", "|", "(",  ")",  "[",  "]",  "{",
                              "}", ":", ",", ";", "=", ".", "..", "->", "\"", "//", "\n"};

bool isWord(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; }

Tokens cut(std::string_view text) {
  Tokens tokens;
  size_t at = 0;
  auto take = [&](auto accept) {
    size_t from = at;
    while (at < text.size() && accept(text[at]))
      ++at;
    return std::string(text.substr(from, at - from));
  };
  while (at < text.size()) {
    Token token;
    token.blank = take([](char c) { return std::isspace(static_cast<unsigned char>(c)); });
    if (at == text.size()) {
      token.kind = Token::Mark; // blanks at the end
    } else if (std::isdigit(static_cast<unsigned char>(text[at]))) {
      token.kind = Token::Number;
      token.text = take([](char c) { return isWord(c) || c == '.'; });
      // 0..3 is two numbers.
      if (size_t dots = token.text.find(".."); dots != std::string::npos) {
        at -= token.text.size() - dots;
        token.text.resize(dots);
      }
    } else if (isWord(text[at])) {
      token.kind = Token::Word;
      token.text = take(isWord);
    } else if (text[at] == '"' || text.substr(at, 2) == "//") {
      token.kind = Token::String; // a comment is one too: the command line
      char end = text[at] == '"' ? '"' : '\n';
      size_t close = text.find(end, at + 1);
      close = close == std::string_view::npos ? text.size() : close + (end == '"');
      token.text = text.substr(at, close - at);
      at = close;
    } else {
      token.kind = Token::Mark;
      token.text =
          text.substr(at, text.substr(at, 2) == "->" || text.substr(at, 2) == ".." ? 2 : 1);
      at += token.text.size();
    }
    tokens.push_back(std::move(token));
  }
  return tokens;
}

std::string join(const Tokens &tokens) {
  std::string text;
  for (const Token &token : tokens) {
    bool glued = token.blank.empty() && !text.empty() && !token.text.empty() &&
                 isWord(text.back()) && isWord(token.text.front());
    text += glued ? " " : token.blank;
    text += token.text;
  }
  return text;
}

//===----------------------------------------------------------------------===//
// Parts of a file
//===----------------------------------------------------------------------===//

size_t below(Random &random, size_t n) { return n ? random() % n : 0; }

template <size_t N> const char *pick(Random &random, const char *const (&list)[N]) {
  return list[below(random, N)];
}

/// A token of the kind; the file's size where there is none.
size_t find(Random &random, const Tokens &tokens, Token::Kind kind) {
  size_t start = below(random, tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i)
    if (size_t at = (start + i) % tokens.size(); tokens[at].kind == kind)
      return at;
  return tokens.size();
}

/// From one line break to the next.
Span line(Random &random, const Tokens &tokens) {
  size_t from = below(random, tokens.size()), to = from + 1;
  auto breaks = [&](size_t i) { return tokens[i].blank.find('\n') != std::string::npos; };
  while (from > 0 && !breaks(from))
    --from;
  while (to < tokens.size() && !breaks(to))
    ++to;
  return {std::min(from, tokens.size()), std::min(to, tokens.size())};
}

/// What stands between brackets, without them; empty where none close.
Span bracketed(Random &random, const Tokens &tokens) {
  size_t start = below(random, tokens.size());
  for (size_t i = 0; i < tokens.size(); ++i) {
    size_t open = (start + i) % tokens.size();
    if (tokens[open].text != "(" && tokens[open].text != "[" && tokens[open].text != "{")
      continue;
    int depth = 0;
    for (size_t at = open; at < tokens.size(); ++at) {
      const std::string &text = tokens[at].text;
      depth += text == "(" || text == "[" || text == "{";
      depth -= text == ")" || text == "]" || text == "}";
      if (depth == 0)
        return {open + 1, at};
    }
  }
  return {0, 0};
}

/// A name with what is called or specialised: an operand.
Span operand(Random &random, const Tokens &tokens) {
  size_t from = find(random, tokens, below(random, 4) ? Token::Word : Token::Number);
  if (from >= tokens.size())
    return {0, 0};
  size_t to = from + 1;
  while (to < tokens.size() && (tokens[to].text == "(" || tokens[to].text == "[")) {
    int depth = 0;
    do {
      depth += tokens[to].text == "(" || tokens[to].text == "[";
      depth -= tokens[to].text == ")" || tokens[to].text == "]";
      ++to;
    } while (to < tokens.size() && depth > 0);
  }
  return {from, to};
}

Tokens copy(const Tokens &tokens, Span span) {
  return Tokens(tokens.begin() + span.from, tokens.begin() + span.to);
}

void replace(Tokens &tokens, Span span, const Tokens &with) {
  tokens.erase(tokens.begin() + span.from, tokens.begin() + span.to);
  tokens.insert(tokens.begin() + span.from, with.begin(), with.end());
}

//===----------------------------------------------------------------------===//
// Mutations
//===----------------------------------------------------------------------===//

using Select = Span (*)(Random &, const Tokens &);
constexpr Select kSelect[] = {line, bracketed, operand};

void changeNumber(Random &random, Tokens &tokens, const Tokens &) {
  size_t at = find(random, tokens, Token::Number);
  if (at >= tokens.size())
    return;
  char *end;
  long long old = std::strtoll(tokens[at].text.substr(0, 15).c_str(), &end, 10);
  std::string near = std::to_string(old + static_cast<int>(below(random, 5)) - 2);
  tokens[at].text = below(random, 3) ? pick(random, kNumbers) : near;
}

void changeName(Random &random, Tokens &tokens, const Tokens &donor) {
  size_t at = find(random, tokens, Token::Word);
  if (at >= tokens.size())
    return;
  size_t other = find(random, tokens, Token::Word), foreign = find(random, donor, Token::Word);
  switch (below(random, 4)) {
  case 0:
    tokens[at].text = pick(random, kWords);
    break;
  case 1:
    std::swap(tokens[at].text, tokens[other].text);
    break;
  case 2:
    if (foreign < donor.size())
      tokens[at].text = donor[foreign].text;
    break;
  default:
    tokens[at].text = tokens[other].text;
  }
}

/// All places of one name get another.
void renameEverywhere(Random &random, Tokens &tokens, const Tokens &) {
  size_t at = find(random, tokens, Token::Word), other = find(random, tokens, Token::Word);
  if (at >= tokens.size())
    return;
  std::string from = tokens[at].text, to = tokens[other].text;
  for (Token &token : tokens)
    if (token.text == from)
      token.text = to;
}

/// A part takes the place of another of its kind.
void overwrite(Random &random, Tokens &tokens, const Tokens &donor) {
  Select select = kSelect[below(random, std::size(kSelect))];
  Tokens with = copy(donor, select(random, donor));
  replace(tokens, select(random, tokens), with);
}

/// A part moves in before another.
void insert(Random &random, Tokens &tokens, const Tokens &donor) {
  Select select = kSelect[below(random, std::size(kSelect))];
  Tokens with = copy(donor, select(random, donor));
  size_t at = select(random, tokens).from;
  replace(tokens, {at, at}, with);
}

void exchange(Random &random, Tokens &tokens, const Tokens &) {
  Select select = kSelect[below(random, std::size(kSelect))];
  Span a = select(random, tokens), b = select(random, tokens);
  if (b.from < a.from)
    std::swap(a, b);
  if (a.to > b.from)
    return;
  Tokens first = copy(tokens, a), second = copy(tokens, b);
  replace(tokens, b, first);
  replace(tokens, a, second);
}

void erase(Random &random, Tokens &tokens, const Tokens &) {
  Span span = kSelect[below(random, std::size(kSelect))](random, tokens);
  if (below(random, 2))
    span.to = std::min(span.from + 1, tokens.size());
  replace(tokens, span, {});
}

void addMark(Random &random, Tokens &tokens, const Tokens &) {
  size_t at = below(random, tokens.size() + 1);
  const char *text = below(random, 3) ? pick(random, kMarks) : pick(random, kWords);
  tokens.insert(tokens.begin() + at, {Token::Mark, " ", text});
}

/// e becomes f(e), or -e, or e + e.
void wrap(Random &random, Tokens &tokens, const Tokens &) {
  Span span = operand(random, tokens);
  Tokens inner = copy(tokens, span), with;
  if (inner.empty())
    return;
  switch (below(random, 3)) {
  case 0:
    with = {{Token::Word, " ", pick(random, kWords)}, {Token::Mark, "", "("}};
    with.insert(with.end(), inner.begin(), inner.end());
    with.push_back({Token::Mark, "", ")"});
    break;
  case 1:
    with = {{Token::Mark, " ", "-"}};
    with.insert(with.end(), inner.begin(), inner.end());
    break;
  default:
    with = inner;
    with.push_back({Token::Mark, " ", pick(random, kMarks)});
    with.insert(with.end(), inner.begin(), inner.end());
  }
  replace(tokens, span, with);
}

using Mutation = void (*)(Random &, Tokens &, const Tokens &);
constexpr Mutation kMutations[] = {
    changeNumber, changeNumber, changeNumber, changeName, changeName, renameEverywhere, overwrite,
    overwrite,    insert,       insert,       exchange,   erase,      addMark,          wrap};

size_t mutate(uint8_t *data, size_t size, size_t maxSize, const Tokens *donor, unsigned seed) {
  Random random(seed);
  Tokens tokens = cut({reinterpret_cast<const char *>(data), size});
  // Often one alone: two mistakes hide each other.
  for (size_t n = below(random, 2) ? 1 : 2 + below(random, 2); n-- && !tokens.empty();) {
    Tokens self = tokens;
    kMutations[below(random, std::size(kMutations))](random, tokens, donor ? *donor : self);
  }
  std::string text = join(tokens);
  size_t length = std::min(text.size(), maxSize);
  std::memcpy(data, text.data(), length);
  return length;
}

} // namespace

extern "C" size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t maxSize,
                                          unsigned seed) {
  if (size < 8 || seed % 64 == 0)
    return LLVMFuzzerMutate(data, size, maxSize);
  return mutate(data, size, maxSize, nullptr, seed);
}

/// Parts of the second file come into the first.
extern "C" size_t LLVMFuzzerCustomCrossOver(const uint8_t *first, size_t firstSize,
                                            const uint8_t *second, size_t secondSize, uint8_t *out,
                                            size_t maxSize, unsigned seed) {
  size_t size = std::min(firstSize, maxSize);
  std::memcpy(out, first, size);
  Tokens donor = cut({reinterpret_cast<const char *>(second), secondSize});
  return mutate(out, size, maxSize, &donor, seed);
}
