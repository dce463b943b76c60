//===- old-nccl.cpp - an NCCL that is too old ----------------------------------===//
//
// It tells its version, and has nothing that came later.
//
//===----------------------------------------------------------------------===//

extern "C" int ncclGetVersion(int *version) {
  *version = 21701;
  return 0;
}
