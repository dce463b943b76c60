//===- lexer.cpp - words of PTX -------------------------------------------===//
#include "test/standin/driver/lexer.h"

#include <cctype>
#include <charconv>
#include <cstdarg>
#include <cstdio>
#include <cstring>

namespace standin {

void Failure::set(int newLine, const char *format, ...) {
  if (failed())
    return;
  char buffer[512];
  va_list args;
  va_start(args, format);
  vsnprintf(buffer, sizeof buffer, format, args);
  va_end(args);
  line = newLine;
  text = buffer;
}

namespace {
bool beginsWord(char c) { return isalpha((unsigned char)c) || c == '_' || c == '$' || c == '%'; }
bool inWord(char c) { return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.'; }

size_t endOfWord(std::string_view text, size_t i) {
  for (++i; i < text.size(); ++i) {
    // L1::no_allocate is part of its instruction; the colon of a label is not.
    if (text[i] == ':' && i + 2 < text.size() && text[i + 1] == ':' && beginsWord(text[i + 2]))
      ++i;
    else if (!inWord(text[i]))
      break;
  }
  return i;
}
} // namespace

std::vector<Token> tokenize(std::string_view text, Failure &failure) {
  std::vector<Token> tokens;
  int line = 1;
  for (size_t i = 0; i < text.size();) {
    char c = text[i], next = i + 1 < text.size() ? text[i + 1] : 0;
    if (c == '\n')
      ++line;
    if (isspace((unsigned char)c)) {
      ++i;
      continue;
    }
    if (c == '/' && next == '/') {
      i = std::min(text.find('\n', i), text.size());
      continue;
    }
    if (c == '/' && next == '*') {
      size_t end = text.find("*/", i + 2);
      if (end == text.npos) {
        failure.set(line, "comment without an end");
        break;
      }
      for (; i < end + 2; ++i)
        line += text[i] == '\n';
      continue;
    }
    size_t end = i + 1;
    Token::Kind kind = Token::mark;
    if (beginsWord(c) || (c == '.' && beginsWord(next))) {
      kind = Token::word;
      end = endOfWord(text, i);
    } else if (isdigit((unsigned char)c)) {
      kind = Token::number;
      while (end < text.size() && (isalnum((unsigned char)text[end]) || text[end] == '.'))
        ++end;
    } else if (c == '"') {
      kind = Token::text;
      end = text.find('"', i + 1);
      if (end == text.npos) {
        failure.set(line, "string without an end");
        break;
      }
      ++end;
    } else if (!strchr("{}[]()<>,;:|@!+-=", c)) {
      failure.set(line, "unexpected character '%c'", c);
      break;
    }
    tokens.push_back({kind, text.substr(i, end - i), line});
    i = end;
  }
  tokens.push_back({Token::end, "", line});
  return tokens;
}

bool readInteger(std::string_view text, uint64_t &value) {
  if (text.size() > 1 && text.back() == 'U')
    text.remove_suffix(1);
  int base = 10;
  if (text.size() > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
    base = 16;
    text.remove_prefix(2);
  } else if (text.size() > 1 && text[0] == '0') {
    base = 8;
  }
  auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value, base);
  return code == std::errc() && end == text.data() + text.size();
}

bool readFloat(std::string_view text, uint64_t &bits, int &width) {
  if (text.size() < 2 || text[0] != '0')
    return false;
  char kind = tolower(text[1]);
  width = kind == 'f' ? 32 : kind == 'd' ? 64 : 0;
  if (!width || text.size() != size_t(2 + width / 4))
    return false;
  auto [end, code] = std::from_chars(text.data() + 2, text.data() + text.size(), bits, 16);
  return code == std::errc() && end == text.data() + text.size();
}

} // namespace standin
