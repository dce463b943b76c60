//===- Attention/Score.h - how a score is made, and its derivative --------===//
//
// The scalar body of attention, for CPUs and GPUs alike. A score is made in two
// steps, because only tiles that the mask cuts ask it for each element: from the
// product of a query and a key comes the score, then the mask hides it.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_LOWER_ATTENTION_SCORE_H
#define TPLAN_LOWER_ATTENTION_SCORE_H

#include "lib/Lower/Attention/Mask.h"

namespace tplan::lower {

/// The score of a product q . k. All numbers are of one type, which may be a vector.
mlir::Value emitScore(Code &code, nn::AttentionAttr spec, mlir::Value product);

/// The score, or -infinity where the mask hides the key at position k from the query at position q.
/// `inside`, unless it is null, must hold as well.
mlir::Value emitMaskedScore(Code &code, nn::AttentionAttr spec, mlir::Value score, mlir::Value q,
                            mlir::Value k, mlir::Value inside = {});

/// The derivative of the score by the product q . k, at a score before or after the mask: it is
/// finite where the score is -infinity. `score` makes the score's code, and is called only where
/// the derivative depends on it: a GPU has overwritten the score by its probability.
mlir::Value emitScoreDerivative(Code &code, nn::AttentionAttr spec, mlir::Type type,
                                llvm::function_ref<mlir::Value()> score);

/// Makes the scores that the mask hides -inf. The lanes are queries or keys;
/// `rows` counts the rows of the other side.
void emitHide(TileCode &code, nn::AttentionAttr spec, const Scratch &scores,
              const Positions &rowSide, const Positions &laneSide, mlir::Value rows,
              bool lanesAreQueries);

} // namespace tplan::lower

#endif // TPLAN_LOWER_ATTENTION_SCORE_H
