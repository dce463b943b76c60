//===- Features.cpp - what the grammar knows and no phase implements -------===//
#include "lib/Parse/Features.h"

using namespace tplan::parse;

llvm::StringRef tplan::parse::sentence(Feature feature) {
  static const llvm::StringLiteral sentences[] = {
#define NOT_BUILT(id, sentence) sentence,
#include "lib/Parse/NotBuilt.def"
  };
  return sentences[static_cast<size_t>(feature)];
}

void tplan::parse::refuse(Report &report, llvm::SMLoc loc, Feature feature) {
  report.error(loc, "{0}", sentence(feature));
}
