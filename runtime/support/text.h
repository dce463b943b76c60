//===- text.h - what others wrote, as a terminal may have it ---------------===//
//
// Names in files, and files' own names, come from anywhere. One decision: every error goes through
// printable(), so that no place has to remember it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_TEXT_H
#define TPLAN_RUNTIME_SUPPORT_TEXT_H

#include <cstdint>
#include <string>
#include <string_view>

namespace tplan::runtime {

/// Characters that a terminal obeys, characters that turn text around and bytes that are none, are
/// shown by their numbers, as <U+001B> and <0xff>; beyond `most` characters the middle is left out.
std::string printable(std::string_view text, size_t most = 4000);

/// A name from a file, as long as a line of an error may be.
inline std::string shown(std::string_view name) { return printable(name, 100); }

/// "800 bytes", "5.3 MiB".
std::string bytesText(int64_t bytes);

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_TEXT_H
