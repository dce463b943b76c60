//===- sink.h - where text for people goes --------------------------------===//
//
// One decision: nothing below tp_main knows of standard output: the owner of a training says where
// its lines go.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_SUPPORT_SINK_H
#define TPLAN_RUNTIME_SUPPORT_SINK_H

#include <functional>
#include <string>

namespace tplan::runtime {

enum class Tone { news, warning };

/// Called with whole lines, by any rank's thread. An empty one drops them.
using Sink = std::function<void(Tone, const std::string &lines)>;

/// News to standard output, warnings to standard error, at once.
Sink standardSink();

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_SUPPORT_SINK_H
