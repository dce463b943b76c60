//===- cudnn_call.h - an execution on its way through a stream ----------------------===//
#ifndef TPLAN_TEST_STANDIN_CUDNN_CALL_H
#define TPLAN_TEST_STANDIN_CUDNN_CALL_H

#include "cudnn_graph.h"

#include <memory>

namespace standin::dnn {

struct Call {
  Engine engine;
  std::map<int64_t, char *> arrays; // addresses of the device, by id
  std::map<int64_t, float> numbers; // by value, as they are when the call is made
  char *workspace = nullptr;
  bool isKept = false; // for graphs that run it again
};

/// Pointers of a variant pack: each array and number of the graph once, and no other.
Verdict bind(const Descriptor &pack, Call &call);
/// Whether all of its memory is there, aligned, and apart.
Verdict checkMemory(const Call &call);
Verdict enqueue(std::unique_ptr<Call> call, void *stream);

/// Complains where it is not success; its status.
int report(const char *function, const Verdict &verdict);

} // namespace standin::dnn

#endif // TPLAN_TEST_STANDIN_CUDNN_CALL_H
