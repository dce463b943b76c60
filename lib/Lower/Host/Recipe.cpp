//===- Host/Recipe.cpp - what a recipe says, as tables --------------------===//
#include "lib/Lower/Host/Recipe.h"

using namespace mlir;
using namespace tplan;
using namespace tplan::lower;

static tp_lr_shape shapeOf(lang::RateShape shape) {
  switch (shape) {
  case lang::RateShape::Flat:
    return TP_FLAT;
  case lang::RateShape::Linear:
    return TP_LINEAR;
  case lang::RateShape::Cosine:
    return TP_COSINE;
  }
  llvm_unreachable("a shape of the learning rate that no case has");
}

std::vector<Record<tp_lr_piece>> lower::ratesOf(const lang::Settings &settings) {
  std::vector<Record<tp_lr_piece>> table;
  for (const lang::RatePiece &piece : settings.recipe.lr)
    table.push_back({.begin = piece.begin,
                     .end = piece.end,
                     .from = piece.from,
                     .to = piece.to,
                     .shape = shapeOf(piece.shape)});
  return table;
}

/// The runtime's number of a format; -1 where the source states none.
static int64_t formatOf(StringRef stated) {
  static constexpr StringRef formats[] = {
#define FORMAT(name, bytes, hasSign, separator, meaning) name,
#include "include/tplan/token_formats.def"
  };
  const auto *format = llvm::find(formats, stated);
  return format == std::end(formats) ? -1 : format - std::begin(formats);
}

std::vector<Record<tp_source>> lower::sourcesOf(const lang::Settings &settings) {
  std::vector<Record<tp_source>> table;
  for (const lang::DataFiles &files : settings.recipe.data)
    table.push_back({.name = files.name,
                     .path = files.path,
                     .format = formatOf(files.format),
                     .weight = files.weight});
  return table;
}

std::optional<Record<tp_source>> lower::evaluatedSource(const lang::Settings &settings) {
  const std::optional<lang::Evaluation> &eval = settings.recipe.eval;
  if (!eval || eval->path.empty())
    return std::nullopt;
  return Record<tp_source>{
      .name = "", .path = eval->path, .format = formatOf(eval->format), .weight = 1.0};
}

Cell<const char *> lower::saveFolder(const lang::Settings &settings) {
  const std::optional<lang::Saving> &save = settings.recipe.save;
  if (!save)
    return nullptr;
  return save->path.empty() ? (settings.planName + ".checkpoint").str() : save->path;
}
