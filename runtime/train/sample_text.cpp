//===- sample_text.cpp - what --sample continues, as tokens, and back --------===//

#include "runtime/train/sample_text.h"

#include <cerrno>
#include <cstdlib>
#include <limits>

using namespace tplan::runtime;

static constexpr int64_t byteIds = 256;

static const TokenFormat &bytes() { return tokenFormats()[0]; }

SampleText::SampleText(const Options &options, const tp_program &program)
    : isBytes(!program.num_inputs || program.inputs[0].vocabulary <= byteIds) {
  for (const DataSource &source : options.sources)
    if (const TokenFormat *format = statedFormat(source.files[0]))
      isBytes = format == &bytes();
}

int64_t SampleText::vocabulary() const {
  return isBytes ? byteIds : std::numeric_limits<int64_t>::max();
}

Status SampleText::read(const std::string &text, std::vector<int32_t> &tokens) const {
  if (isBytes) {
    tokens.push_back((int32_t)bytes().separator);
    for (unsigned char byte : text)
      tokens.push_back(byte);
    return {};
  }
  for (size_t at = 0; (at = text.find_first_not_of(" ,\t\n", at)) != std::string::npos;) {
    size_t end = std::min(text.find_first_of(" ,\t\n", at), text.size());
    std::string word = text.substr(at, end - at);
    char *rest = nullptr;
    errno = 0;
    long long id = strtoll(word.c_str(), &rest, 10);
    if (*rest || errno || id < 0 || id > std::numeric_limits<int32_t>::max())
      return errorf("the tokens of this training are no bytes, so --sample takes their ids, as a "
                    "tokenizer makes them, \"464 3290\": found '%s'",
                    word.c_str());
    tokens.push_back((int32_t)id);
    at = end;
  }
  return {};
}

std::string SampleText::write(const std::vector<int32_t> &tokens) const {
  std::string text;
  for (size_t i = isBytes ? 1 : 0; i < tokens.size(); ++i) {
    if (isBytes)
      text += (char)tokens[i];
    else
      text += format("%s%d", text.empty() ? "" : " ", tokens[i]);
  }
  return text;
}
