//===- count-mpi.h - bytes that a process sends by MPI --------------------------===//
#ifndef TPLAN_TEST_COUNT_MPI_H
#define TPLAN_TEST_COUNT_MPI_H

#include <cstdint>

int64_t mpiBytesSent();

#endif // TPLAN_TEST_COUNT_MPI_H
