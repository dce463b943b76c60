//===- logits.cpp - what a model predicts, as numbers -----------------------===//
//
// For comparing with another implementation of the same model. As in sample.cpp, all ranks predict
// the same row. Ranks that have logits write the file.
//
//===----------------------------------------------------------------------===//

#include "runtime/disk/safetensors.h"
#include "runtime/ranks/programs.h"
#include "runtime/step/evaluate.h"
#include "runtime/step/scalars.h"

#include <algorithm>

using namespace tplan::runtime;

/// The first tokens of the file: as many as a row has, or fewer if the file has fewer.
static Status readTokens(const std::string &name, const tp_input &input,
                         std::vector<int32_t> &tokens) {
  TokenFile file;
  TP_TRY(file.open(name));
  tokens.resize(std::min(input.positions, file.size()));
  if (tokens.empty())
    return errorf("'%s' holds no tokens for which --dump-logits could predict",
                  file.path().c_str());
  return file.read(0, (int64_t)tokens.size(), input.vocabulary, tokens.data());
}

Status tplan::runtime::dumpLogits(tp_rank &rank, const std::string &name, const std::string &path) {
  const tp_program &program = *rank.program;
  if (!program.predict || !program.num_inputs)
    return rank.peers.alike(
        errorf("the plan '%s' was compiled without prediction: it has no logits", program.plan));
  const tp_input &input = program.inputs[0];
  std::vector<int32_t> tokens;
  TP_TRY(rank.peers.agree(readTokens(name, input, tokens)));
  char *given = givenBase(rank);
  setRowsInUse(program, given, 1);
  for (int64_t i = 0; i < program.num_inputs; ++i) {
    const tp_input &to = program.inputs[i];
    auto *row = (int32_t *)(given + to.offset);
    std::fill_n(row, to.rows * to.length, 0);
    std::copy_n(tokens.begin(), std::min<int64_t>(tokens.size(), to.length), row);
  }
  TP_TRY(give(rank));
  TP_TRY(prepareCopies(rank));
  TP_TRY(runEntry(rank, program.predict, "prediction"));
  // Rows may be longer than the vocabulary, by padding.
  const tp_program &predicting = programOf(program, std::max<int64_t>(rankOfLogits(program), 0));
  int64_t count = (int64_t)tokens.size(), held = predicting.logits_vocabulary,
          wanted = std::min(held, input.vocabulary);
  std::vector<int64_t> shape = {count, wanted};
  auto write = [&](char *data, const Share &share) {
    return writeSafetensors(rank.peers, rank.team, path,
                            {LogicalTensor{"logits", TP_F32, shape, data, share}});
  };
  if (program.logits_offset < 0) {
    TP_TRY(rank.device ? rank.device->finish() : Status());
    return write(nullptr, Share::none(shape));
  }
  std::vector<char> numbers(count * held * bytesOf(program.logits_type));
  TP_TRY(readArena(rank, program.logits_offset, numbers.data(), (int64_t)numbers.size()));
  std::vector<float> logits(count * wanted);
  for (int64_t i = 0; i < count * wanted; ++i)
    logits[i] =
        (float)getElement(numbers.data(), program.logits_type, i / wanted * held + i % wanted);
  return write((char *)logits.data(), Share(shape));
}
