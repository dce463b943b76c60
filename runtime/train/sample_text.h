//===- sample_text.h - what --sample continues, as tokens, and back ---------===//
//
// One decision: the runtime has no tokenizer. Where tokens are bytes, text is text; elsewhere it is
// a list of ids, which the user's tokenizer makes and reads.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_RUNTIME_TRAIN_SAMPLE_TEXT_H
#define TPLAN_RUNTIME_TRAIN_SAMPLE_TEXT_H

#include "runtime/train/options.h"

namespace tplan::runtime {

class SampleText {
public:
  /// Tokens are what the data's files say; where no file says anything, tokens of a small
  /// vocabulary are bytes.
  SampleText(const Options &options, const tp_program &program);

  Status read(const std::string &text, std::vector<int32_t> &tokens) const;
  /// Without the separator at the beginning of bytes.
  std::string write(const std::vector<int32_t> &tokens) const;
  /// Ids beyond a byte are no text: a model of bytes may have some.
  int64_t vocabulary() const;

private:
  bool isBytes;
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_SAMPLE_TEXT_H
