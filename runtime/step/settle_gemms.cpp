//===- settle_gemms.cpp - all ranks choose one algorithm for each GEMM ----===//

#include "runtime/step/settle_gemms.h"

#include "runtime/ranks/member.h"
#include "runtime/step/trace_device.h"
#include "runtime/support/files.h"

#include <cinttypes>
#include <set>

using namespace tplan::runtime;

namespace {

/// Bytes of a file of choices, at most.
constexpr int64_t maxText = int64_t(1) << 24;

int64_t alignmentOfWork(const StreamEvent &work) {
  uint64_t bits = 0;
  for (const std::vector<Extent> *extents : {&work.reads, &work.writes})
    for (Extent extent : *extents)
      bits |= extent.begin;
  return alignmentOf(bits);
}

} // namespace

Status tplan::runtime::gemmsOf(const tp_program &program, std::vector<GemmUse> &uses) {
  std::set<GemmKey> keys;
  for (int64_t number = 0; number < programCount(program); ++number)
    TP_TRY(traceProgram(program, (int)firstRankOf(program, number),
                        [&](const StreamEvent &work) -> Status {
                          if (work.gemm)
                            keys.insert(keyOf({*work.gemm, alignmentOfWork(work),
                                               work.scales ? *work.scales : tp_scales{}}));
                          return {};
                        }));
  for (const GemmKey &key : keys)
    uses.push_back(useOf(key));
  return {};
}

namespace {

/// A file that the command line names must be usable, because it was made to be read here.
Status takeNamed(Device &device, const std::string &file) {
  std::string text;
  GemmChoices choices;
  TP_TRY(readText(file, text, maxText));
  TP_TRY(choices.parse(text, file, "remove it to measure anew, or name another file"));
  std::string here = device.gemmChoices().madeBy;
  if (choices.madeBy != here)
    return errorf("'%s' holds GEMM algorithms of another library or GPU: name another file, and it "
                  "is written for %s; found %s",
                  file.c_str(), here.c_str(), choices.madeBy.c_str());
  int64_t refused = 0;
  TP_TRY(device.setGemmChoices(choices, refused));
  if (!refused)
    return {};
  return errorf("'%s' holds GEMM algorithms that the library refuses, or that need a larger "
                "workspace: remove it to measure anew; found %" PRId64 " of %zu",
                file.c_str(), refused, choices.chosen.size());
}

/// The choices in a checkpoint may have been made elsewhere: then the run goes on with others.
Status takeSaved(Device &device, const std::string &file, std::string &madeBy) {
  std::string text;
  GemmChoices choices;
  TP_TRY(readText(file, text, maxText));
  TP_TRY(
      choices.parse(text, file, "go on from an earlier checkpoint, or --load the weights of this"));
  madeBy = choices.madeBy;
  int64_t refused = 0;
  return madeBy == device.gemmChoices().madeBy ? device.setGemmChoices(choices, refused) : Status();
}

void tellMeasured(const Sink &sink, int64_t measured, size_t all, const std::string &saved,
                  const std::string &here) {
  std::string why = saved == here
                        ? "it has none of use for them"
                        : format("it has those of %s, and here is %s", saved.c_str(), here.c_str());
  if (sink)
    sink(Tone::warning,
         format("note: the algorithms of %" PRId64 " of %zu GEMMs are not those of the checkpoint, "
                "so bits may differ from those of a run that was not interrupted: %s\n",
                measured, all, why.c_str()));
}

/// Rank 0 does this for all of them.
Status choose(tp_rank &rank, const std::string &file, const std::string &saved) {
  Device &device = *rank.device;
  std::vector<GemmUse> uses;
  TP_TRY(gemmsOf(*rank.program, uses));
  if (uses.empty())
    return {};
  bool isNamed = !file.empty() && pathExists(file);
  int64_t measured = 0;
  std::string madeBy;
  if (isNamed)
    TP_TRY(takeNamed(device, file));
  else if (!saved.empty())
    TP_TRY(takeSaved(device, saved, madeBy));
  TP_TRY(device.chooseGemms(uses, measured));
  if (!madeBy.empty() && measured)
    tellMeasured(rank.sink, measured, uses.size(), madeBy, device.gemmChoices().madeBy);
  bool isWhole = isNamed && !measured;
  return file.empty() || isWhole ? Status() : writeText(file, device.gemmChoices().text());
}

/// Another rank takes what rank 0 has chosen.
Status follow(tp_rank &rank, const std::string &text) {
  Device &device = *rank.device;
  GemmChoices choices;
  TP_TRY(choices.parse(text, "what rank 0 has sent", "start again"));
  int64_t refused = 0;
  std::string here = device.gemmChoices().madeBy;
  if (choices.madeBy == here)
    TP_TRY(device.setGemmChoices(choices, refused));
  if (choices.madeBy == here && !refused)
    return {};
  return errorf("GEMMs of all ranks must have the same algorithms: give each the same library and "
                "the same kind of GPU; rank 0 has %s, and here is %s",
                choices.madeBy.c_str(), here.c_str());
}

} // namespace

Status tplan::runtime::settleGemms(tp_rank &rank, const std::string &file,
                                   const std::string &saved) {
  TP_TRY(rank.peers.agree(rank.peers.leads() ? choose(rank, file, saved) : Status()));
  if (rank.peers.size() == 1)
    return {};
  std::string text = rank.peers.leads() ? rank.device->gemmChoices().text() : "";
  TP_TRY(rank.peers.broadcast(text));
  return rank.peers.agree(rank.peers.leads() ? Status() : follow(rank, text));
}
