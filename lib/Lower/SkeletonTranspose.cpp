#include "lib/Lower/Skeletons.h"
using namespace mlir;
using namespace tplan;
using namespace tplan::lower;
LogicalResult lower::emitTranspose(Body &body, Value rowCount) {
  return emitMap(body, rowCount);
}
