//===- old-nccl.cpp - an NCCL that is too old ----------------------------------===//
//
// It tells its version, and has nothing that came later.
//
//===----------------------------------------------------------------------===//

extern "C" int ncclGetVersion(int *version) {
  *version = 22505;
  return 0;
}
