//===- DataSizes.cpp - sizes that the recipe's line `data` lacks -----------===//
#include "lib/Parse/DataSizes.h"
#include "lib/Parse/Foreign.h"

using namespace tplan::parse;
using llvm::StringRef;

/// Whether a size of the data called `given` may be meant as `name`.
static bool isMeant(StringRef given, StringRef name) {
  return ours(Habit::Size, given) == name ||
         (given.size() + name.size() > 2 && given.edit_distance(name, true, 2) < 2);
}

void tplan::parse::fixDataSize(Report::Error &error, const Setting *dataLine, StringRef name) {
  // The length of a row where nothing is said: that of GPT-2.
  constexpr llvm::StringLiteral standard = "1024";
  if (!dataLine)
    return;
  for (const Item &item : dataLine->items)
    if (item.expr && isMeant(item.name.text, name)) {
      error.say("; here it is `{0}`, not {1}", name, item.name.text);
      error.fix({{item.name.text, name.str()}});
    }
  for (const Item &item : llvm::reverse(dataLine->items))
    if (item.hasString) {
      error.fix({{StringRef(item.string.end() + 1, 0), (", " + name + " = " + standard).str()}});
      return;
    }
}
