//===- old-nccl.cpp - an NCCL that is too old ----------------------------------===//
//
// It has a function for its version, and none of the functions that came later.
//
//===----------------------------------------------------------------------===//

extern "C" int ncclGetVersion(int *version) {
  *version = 22505;
  return 0;
}
