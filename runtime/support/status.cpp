//===- status.cpp - messages by printf ------------------------------------===//

#include "runtime/support/status.h"

#include "runtime/support/text.h"

#include <cstdarg>
#include <cstdio>

using namespace tplan::runtime;

static std::string formatList(const char *format, va_list list) {
  va_list again;
  va_copy(again, list);
  int length = vsnprintf(nullptr, 0, format, list);
  std::string text(length > 0 ? length : 0, '\0');
  vsnprintf(text.data(), text.size() + 1, format, again);
  va_end(again);
  return text;
}

std::string tplan::runtime::format(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = formatList(format, list);
  va_end(list);
  return text;
}

Status tplan::runtime::errorf(const char *format, ...) {
  va_list list;
  va_start(list, format);
  std::string text = formatList(format, list);
  va_end(list);
  return Status::error(printable(text));
}
