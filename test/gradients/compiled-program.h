//===- compiled-program.h - .tplan text through the compiler --------------===//
#ifndef TPLAN_TEST_GRADIENTS_COMPILED_PROGRAM_H
#define TPLAN_TEST_GRADIENTS_COMPILED_PROGRAM_H

#include "lib/Driver/Driver.h"
#include <string>

namespace gradients {

/// Up to `last`; diagnostics go to `errors`.
tplan::Result compileText(const std::string &text, tplan::Phase last, std::string &errors,
                          const std::string &target = "cpu");

} // namespace gradients

#endif // TPLAN_TEST_GRADIENTS_COMPILED_PROGRAM_H
