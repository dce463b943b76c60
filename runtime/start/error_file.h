//===- error_file.h - what torchrun shows of a process that failed --------===//
#ifndef TPLAN_RUNTIME_START_ERROR_FILE_H
#define TPLAN_RUNTIME_START_ERROR_FILE_H

#include "runtime/start/launcher.h"

namespace tplan::runtime {

/// Leaves the message where torchrun looks for it (TORCHELASTIC_ERROR_FILE), so that its summary
/// names the cause and not the exit code alone. Nothing under other launchers.
Status writeErrorFile(const std::string &message,
                      const Environment &environment = ownEnvironment());

} // namespace tplan::runtime

#endif // TPLAN_RUNTIME_START_ERROR_FILE_H
