//===- headers-agree-cudnn.cpp - our list of facts equals cuDNN's headers ------------===//
//
// Compiled only where the headers are; to compile is the test.
//
//===----------------------------------------------------------------------===//

#include "cudnn_api.h"
#include "headers-agree.h"

#include <cudnn_graph.h>

namespace standin::dnn {
STANDIN_CUDNN_FUNCTIONS(COMPARE)
#define COMPARE_NUMBER(OURS, VALUE, THEIRS) SAME(OURS, CUDNN_##THEIRS)
STANDIN_CUDNN_NUMBERS(COMPARE_NUMBER)
} // namespace standin::dnn
