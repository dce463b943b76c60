//===- exit_codes.h - how a training ends, for whatever started it -------===//
#ifndef TPLAN_RUNTIME_TRAIN_EXIT_CODES_H
#define TPLAN_RUNTIME_TRAIN_EXIT_CODES_H

namespace tplan::runtime {

/// A training that a signal ends has codes of its own, so that a job can be started again.
enum ExitCode {
  exitSuccess = 0,
  exitFailure = 1,
  exitUsage = 2,
  exitAsked = 75,  // EX_TEMPFAIL of sysexits.h: later it may succeed
  exitUnsaved = 76 // a job that asks for it loses what it has not saved
};

struct ExitMeaning {
  ExitCode code;
  const char *meaning;
};
/// The text for --help, which the documentation repeats.
inline constexpr ExitMeaning exitMeanings[] = {
    {exitSuccess, "the training has ended, or what was asked for is printed"},
    {exitFailure, "a failure while running"},
    {exitUsage, "a wrong command line"},
    {exitAsked, "a signal asked for the end: saved where --save is, --resume goes on"},
    {exitUnsaved, "a signal asked for the end, and nothing was saved within --save-within"},
};

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_TRAIN_EXIT_CODES_H
