//===- text.cpp - what others wrote, as a terminal may have it -------------===//

#include "runtime/support/text.h"

#include <cstdint>
#include <cstdio>

using namespace tplan::runtime;

namespace {

/// The first character of a text that is not empty: its number, or -1 for a byte that begins none.
struct Character {
  int32_t code;
  size_t size;
};

Character first(std::string_view text) {
  auto byte = [&](size_t i) { return i < text.size() ? (unsigned char)text[i] : 0u; };
  unsigned lead = byte(0);
  if (lead < 0x80)
    return {(int32_t)lead, 1};
  size_t size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : 2;
  static constexpr int32_t least[] = {0, 0, 0x80, 0x800, 0x10000}; // of so many bytes
  auto code = (int32_t)(lead & (0x7f >> size));
  bool sound = lead >= 0xc2 && lead <= 0xf4;
  for (size_t i = 1; i < size; ++i) {
    sound &= (byte(i) & 0xc0) == 0x80;
    code = code << 6 | (int32_t)(byte(i) & 0x3f);
  }
  sound &= code >= least[size] && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff);
  return sound ? Character{code, size} : Character{-1, 1};
}

bool isObeyed(int32_t code) {
  return (code < 0x20 && code != '\n' && code != '\t') || (code >= 0x7f && code < 0xa0) ||
         code == 0x61c || (code >= 0x200b && code <= 0x200f) ||
         (code >= 0x2028 && code <= 0x202e) || (code >= 0x2060 && code <= 0x206f) || code == 0xfeff;
}

} // namespace

std::string tplan::runtime::printable(std::string_view text, size_t most) {
  std::string result;
  size_t cutAt = 0, cutFrom = 0; // what lies between in `text` is left out
  if (text.size() > most) {
    auto isInside = [&](size_t at) { return ((unsigned char)text[at] & 0xc0) == 0x80; };
    for (cutAt = most / 2; cutAt > 0 && isInside(cutAt);)
      --cutAt;
    for (cutFrom = text.size() - most / 2; cutFrom < text.size() && isInside(cutFrom);)
      ++cutFrom;
  }
  for (size_t i = 0; i < text.size();) {
    if (i == cutAt && cutFrom) {
      result += "...";
      i = cutFrom;
      cutFrom = 0;
      continue;
    }
    auto [code, size] = first(text.substr(i));
    char number[16];
    if (code < 0)
      snprintf(number, sizeof number, "<0x%02x>", (unsigned char)text[i]);
    else if (isObeyed(code))
      snprintf(number, sizeof number, "<U+%04X>", (unsigned)code);
    else
      number[0] = 0;
    result += number[0] ? number : text.substr(i, size);
    i += size;
  }
  return result;
}

std::string tplan::runtime::bytesText(int64_t bytes) {
  static constexpr const char *units[] = {"KiB", "MiB", "GiB", "TiB"};
  double size = (double)bytes;
  const char *unit = nullptr;
  for (const char *larger : units) {
    // What would be shown as 1024 is shown as one of the next unit.
    if (size < (unit ? 1023.95 : 1024))
      break;
    size /= 1024, unit = larger;
  }
  char text[32];
  if (unit)
    snprintf(text, sizeof text, "%.1f %s", size, unit);
  else
    snprintf(text, sizeof text, "%lld bytes", (long long)bytes);
  return text;
}
