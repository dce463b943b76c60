//===- Tokens.cpp - from scanned words to the grammar's tokens -------------===//
//
// Decides what a word means in its place: keyword, name, unit, or `x` for
// "times". After a syntax error it drops the rest of the line, so that one
// mistake gives one message.
//
//===----------------------------------------------------------------------===//
#include "lib/Parse/Tokens.h"
#include "Grammar.h"
#include "lib/Parse/Foreign.h"
#include "lib/Parse/Syntax.h"
#include "lib/Parse/Text.h"
#include "llvm/ADT/StringExtras.h"
#include <cmath>

using namespace tplan::parse;
using llvm::StringRef;

namespace {

enum class Context { Model, Top, Settings };
struct Keyword {
  StringRef word;
  int token;
  Context context;
};
constexpr Context Model = Context::Model, Top = Context::Top, Settings = Context::Settings;
const Keyword kKeywords[] = {
#define KEYWORD(word, token, context) {word, token, context},
#define KEY(word, token, block)
#include "lib/Parse/Keywords.def"
};

struct Key {
  StringRef word;
  int token;
  BlockDecl::Kind block;
};
const Key kKeys[] = {
#define KEYWORD(word, token, context)
#define KEY(word, token, block) {word, token, BlockDecl::block},
#include "lib/Parse/Keywords.def"
};

struct Suffix {
  StringRef text;
  double factor;
};
const Suffix kSuffixes[] = {
    {"k", 1e3},        {"K", 1e3},           {"M", 1e6},
    {"G", 1e9},        {"T", 1e12},          {"Ki", 1024.0},
    {"Mi", 1048576.0}, {"Gi", 1073741824.0}, {"Ti", 1099511627776.0},
};

int keyword(StringRef word, Context context) {
  for (const Keyword &k : kKeywords)
    if (k.word == word && k.context == context)
      return k.token;
  return 0;
}

bool describesMachines(BlockDecl::Kind kind) {
  return kind == BlockDecl::Device || kind == BlockDecl::Link;
}

/// A word that begins a setting: those of recipes, clusters and plans in all of these, so that a
/// line in the wrong block is an error of its own.
int key(StringRef word, BlockDecl::Kind block) {
  for (const Key &k : kKeys)
    if (k.word == word && (k.block == block || !describesMachines(k.block)))
      return k.token;
  return 0;
}

/// Longer words are not accepted as names, numbers or paths.
constexpr size_t kMaxWord = 256, kMaxString = 4096;
/// Deeper nesting would endanger the stack of the functions that walk it.
constexpr int kMaxNesting = 256;
/// Bounds time and memory, far above what people write.
constexpr int kMaxTokens = 1 << 19;

bool isWordChar(char c) { return llvm::isAlnum(c) || c == '_'; }

} // namespace

int tplan::parse::settingToken(StringRef key) {
  for (const Key &k : kKeys)
    if (k.word == key)
      return k.token;
  return 0;
}

std::vector<StringRef> tplan::parse::modelKeywords() {
  std::vector<StringRef> words;
  for (const Keyword &k : kKeywords)
    if (k.context == Model)
      words.push_back(k.word);
  return words;
}

std::vector<StringRef> tplan::parse::settingKeys(BlockDecl::Kind kind) {
  std::vector<StringRef> words;
  for (const Key &k : kKeys)
    if (k.block == kind)
      words.push_back(k.word);
  return words;
}

Syntax::Syntax(Report &report, Arena &arena, StringRef text)
    : report(report), arena(arena), text(text), cursor(text.data()) {
  openScanner(*this);
}
Syntax::~Syntax() { closeScanner(*this); }

bool tplan::parse::wantsUnit(const Syntax &syntax) {
  return syntax.settings && syntax.last == NUMBER && syntax.parens == 0 &&
         !StringRef(syntax.lastEnd, syntax.cursor - syntax.lastEnd).contains('\n');
}

int tplan::parse::scanNumber(Syntax &syntax, const char *text, int length) {
  StringRef all(text, length), digits = all, suffix;
  // The exponent's sign or digits may follow an `e`, which is no suffix then.
  size_t end = all.find_first_not_of("0123456789.");
  if (end != StringRef::npos && (all[end] == 'e' || all[end] == 'E')) {
    size_t from = end + 1 + (end + 1 < all.size() && !llvm::isAlnum(all[end + 1]));
    if (from < all.size() && llvm::isDigit(all[from]))
      end = all.find_first_not_of("0123456789", from);
  }
  if (end != StringRef::npos) {
    digits = all.take_front(end);
    suffix = all.drop_front(end);
  }
  syntax.literal = Number::of(static_cast<int64_t>(1)); // after an error
  if (size_t size = syntax.settings ? digits.size() : all.size(); size > kMaxWord) {
    syntax.report.error(llvm::SMLoc::getFromPointer(syntax.cursor - length),
                        "a number has at most {0} characters, found {1}", kMaxWord, size);
    return static_cast<int>(size);
  }
  double factor = 1;
  bool scaled = false;
  for (const Suffix &s : kSuffixes)
    if (s.text == suffix) {
      factor = s.factor;
      scaled = true;
    }
  if (!suffix.empty() && !scaled && !syntax.settings)
    syntax.report.error(llvm::SMLoc::getFromPointer(syntax.cursor - length),
                        "malformed number: {0}", all);
  int64_t whole;
  double real = 0;
  (void)digits.getAsDouble(real);
  bool integer = !digits.getAsInteger(10, whole);
  if (integer && !__builtin_mul_overflow(whole, static_cast<int64_t>(factor), &whole)) {
    syntax.literal = Number::of(whole);
  } else {
    // 1.5M is a whole number too.
    double value = real * factor;
    bool exact = factor > 1 && value == std::floor(value) && value < 9e15;
    StringRef mantissa = digits.take_until([](char c) { return c == 'e' || c == 'E'; });
    bool vanished = value == 0 && mantissa.find_first_of("123456789") != StringRef::npos;
    if (!std::isfinite(value) || vanished ||
        (!exact && digits.find_first_not_of("0123456789") == StringRef::npos))
      syntax.report.error(llvm::SMLoc::getFromPointer(syntax.cursor - length),
                          "number out of range: {0}", all.take_front(kMaxWord));
    else
      syntax.literal = exact ? Number::of(static_cast<int64_t>(value)) : Number::of(value);
  }
  return scaled || !syntax.settings ? length : static_cast<int>(digits.size());
}

/// One raw token with its range; characters and strings that are not legal are
/// reported and dropped.
static int raw(Syntax &syntax, TplanRange &range) {
  while (true) {
    const char *before = syntax.cursor;
    int kind = scanToken(syntax);
    if (kind == 0) {
      const char *end = syntax.text.data() + syntax.text.size();
      range = {end, end};
      return 0;
    }
    // The scanner skips blanks before the token: find its begin from its end.
    range.end = syntax.cursor;
    range.begin = before;
    while (range.begin < range.end) {
      if (llvm::isSpace(*range.begin))
        ++range.begin;
      else if (range.end - range.begin > 1 && range.begin[0] == '/' && range.begin[1] == '/')
        while (range.begin < range.end && *range.begin != '\n')
          ++range.begin;
      else
        break;
    }
    llvm::SMLoc loc = llvm::SMLoc::getFromPointer(range.begin);
    if (kind == token::Stray) {
      // A run of them is one mistake, and so are the bytes of one character.
      StringRef rest(range.begin, syntax.text.end() - range.begin);
      if (syntax.strayEnd != range.begin) {
        auto error = syntax.report.error(
            loc, "unexpected character: {0}",
            printable(rest.take_front(std::max<size_t>(characterSize(rest), 1))));
        if (error.isTold())
          explainToken(error, rest.take_front(1), syntax.word, syntax.text);
      }
      syntax.strayEnd = range.end;
      if (*range.begin == '#' && !syntax.skipFrom)
        syntax.skipFrom = range.end;
      continue;
    }
    if (kind == token::OpenString) {
      syntax.report.error(loc, "string without its closing quote");
      kind = token::String;
    }
    size_t length = range.end - range.begin;
    bool isString = kind == token::String;
    if (isString ? length > kMaxString : kind == token::Word && length > kMaxWord) {
      syntax.report.error(loc, "a {0} has at most {1} characters, found {2}",
                          isString ? "string" : "name", isString ? kMaxString : kMaxWord, length);
      // What is left of it is short enough to be reported.
      range.end = range.begin + kMaxWord;
    }
    return kind;
  }
}

/// `x` between a layer and a count: not a name.
static bool isTimes(const Syntax &syntax, StringRef word) {
  if (word != "x" || !syntax.member || syntax.parens ||
      (syntax.last != IDENT && syntax.last != ']' && syntax.last != ')'))
    return false;
  const char *p = syntax.cursor, *end = syntax.text.data() + syntax.text.size();
  while (p < end && (*p == ' ' || *p == '\t'))
    ++p;
  return p < end && (isWordChar(*p) || *p == '(');
}

static bool beginsDeclaration(const Syntax &syntax) {
  return syntax.braces == 0 && !syntax.settings &&
         (syntax.last == 0 || syntax.last == '}' || syntax.last == STRING);
}

static int word(Syntax &syntax, StringRef text) {
  if (isTimes(syntax, text))
    return TIMES;
  if (syntax.header && !syntax.settings && text == "on")
    return ON;
  int found = keyword(text, syntax.settings ? Settings : Model);
  if (!found && syntax.settings)
    found = key(text, syntax.block);
  if (!found && beginsDeclaration(syntax))
    found = keyword(text, Top);
  // `tokens` after 4M; but `8 to`, `8 for`: keywords stay keywords.
  if (!found && wantsUnit(syntax))
    return UNIT;
  return found ? found : IDENT;
}

/// Keeps track of braces, and of whether a settings block or a member list is open.
static void track(Syntax &syntax, int kind, TplanRange range) {
  if (kind == '(' || kind == '[' || kind == '{') {
    if (++syntax.nesting > kMaxNesting && !syntax.ended) {
      syntax.report.error(llvm::SMLoc::getFromPointer(range.begin),
                          "brackets are nested more than {0} deep: give an inner part a name",
                          kMaxNesting);
      syntax.ended = true;
    }
  } else if (kind == ')' || kind == ']' || kind == '}') {
    syntax.nesting -= syntax.nesting > 0;
  }
  switch (kind) {
  case RECIPE:
  case CLUSTER:
  case PLAN:
  case DEVICE:
  case LINK:
    syntax.header = syntax.braces == 0;
    syntax.block = kind == RECIPE    ? BlockDecl::Recipe
                   : kind == PLAN    ? BlockDecl::Plan
                   : kind == CLUSTER ? BlockDecl::Cluster
                   : kind == DEVICE  ? BlockDecl::Device
                                     : BlockDecl::Link;
    break;
  case '{':
    syntax.settings |= syntax.header && syntax.braces == 0;
    syntax.header = syntax.member = false;
    ++syntax.braces;
    syntax.parens = 0;
    break;
  case '}':
    syntax.braces -= syntax.braces > 0;
    if (syntax.braces == 0)
      syntax.settings = false;
    syntax.member = false;
    syntax.parens = 0;
    break;
  case '(':
  case '[':
    ++syntax.parens;
    break;
  case ')':
  case ']':
    syntax.parens -= syntax.parens > 0;
    break;
  case ':':
    syntax.member |= syntax.parens == 0;
    break;
  case IDENT:
  case TIMES:
  case NUMBER:
  case UNIT:
  case ',':
  case '.':
    break;
  default:
    syntax.member &= syntax.parens > 0;
  }
}

/// True while `kind` at `range` belongs to the line of a syntax error.
static bool skipped(Syntax &syntax, int kind, TplanRange range) {
  if (!syntax.skipFrom)
    return false;
  StringRef between(syntax.skipFrom, range.begin - syntax.skipFrom);
  if (kind == 0 || kind == '}' || kind == '{' || between.contains('\n')) {
    syntax.skipFrom = nullptr;
    syntax.parens = 0;
    return false;
  }
  syntax.skipFrom = range.end; // text before this place is not looked at again
  return true;
}

int tplan_yylex(TPLAN_YYSTYPE *value, TplanRange *range, Syntax &syntax) {
  if (!syntax.injected.empty()) {
    auto [kind, text] = syntax.injected.back();
    syntax.injected.pop_back();
    *range = {text.data() ? text.data() : syntax.cursor, text.data() ? text.end() : syntax.cursor};
    return kind;
  }
  while (true) {
    int kind = raw(syntax, *range);
    syntax.ended |= syntax.report.gaveUp();
    if (!syntax.ended && ++syntax.tokens > kMaxTokens) {
      syntax.report.error(llvm::SMLoc::getFromPointer(range->begin),
                          "a source file has at most {0} words and signs", kMaxTokens);
      syntax.ended = true;
    }
    if (syntax.ended)
      return 0;
    StringRef text(range->begin, range->end - range->begin);
    switch (kind) {
    case token::Word:
      kind = word(syntax, text);
      break;
    case token::String:
      kind = STRING;
      break;
    case token::Arrow:
      kind = ARROW;
      break;
    case token::Dots:
      kind = DOTS;
      break;
    case token::Number:
      kind = NUMBER;
      value->number = syntax.arena.make<Number>(syntax.literal);
      break;
    default:
      break;
    }
    track(syntax, kind, *range);
    syntax.last = kind;
    syntax.lastEnd = range->end;
    syntax.lastWord = syntax.word;
    syntax.word = text;
    if (!skipped(syntax, kind, *range))
      return kind;
  }
}

void Syntax::refuseDepth(llvm::SMLoc loc) {
  report.error(loc, "an expression is more than {0} operations deep: give a part of it a name",
               kMaxNesting);
}

Expr *Syntax::node(Expr::Kind kind, const char *at, Expr *lhs, Expr *rhs, Args *args) {
  Expr *made = arena.make<Expr>();
  made->kind = kind;
  made->loc = llvm::SMLoc::getFromPointer(at);
  made->begin = lhs ? lhs->begin : made->loc;
  made->lhs = lhs;
  made->rhs = rhs;
  if (args)
    made->args = std::move(*args);
  made->depth = 1 + std::max(lhs ? lhs->depth : 0, rhs ? rhs->depth : 0);
  for (const Arg &arg : made->args)
    made->depth = std::max(made->depth, 1 + arg.value->depth);
  if (made->depth > kMaxNesting) {
    if (!tooDeep)
      refuseDepth(made->loc);
    tooDeep = true;
    made->kind = Expr::Literal;
    made->lhs = made->rhs = nullptr;
    made->args.clear();
    made->depth = 1;
  }
  return made;
}

bool tplan::parse::parseText(Syntax &syntax, Start start, StringRef key) {
  static constexpr int first[] = {START_FILE, START_SETTING, START_EXPR, START_SELECTOR};
  unsigned before = syntax.report.errors();
  if (int token = settingToken(key))
    syntax.injected.push_back({token, key});
  syntax.injected.push_back({first[static_cast<int>(start)], {}});
  syntax.settings = start == Start::Setting || start == Start::Selector;
  return tplan_yyparse(syntax) == 0 && syntax.report.errors() == before;
}
