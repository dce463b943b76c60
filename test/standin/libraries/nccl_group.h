//===- nccl_group.h - what a thread has issued and not yet launched ------------------===//
//
// Decision: a single operation is a group of one, so that there is one way to launch.
//
//===----------------------------------------------------------------------===//
#ifndef TPLAN_TEST_STANDIN_NCCL_GROUP_H
#define TPLAN_TEST_STANDIN_NCCL_GROUP_H

#include "nccl_communicator.h"

namespace standin::nccl {

void startGroup();
int endGroup();

/// Begins, at the end of the group, what makes or ends a communicator.
int begin(Comm comm, std::function<void()> how);

/// Checks an operation, and adds it to the group.
int add(const char *function, Comm comm, void *stream, const Operation &operation);
/// After one was added: launches it unless a group is open. An error counts for the group.
int finish(int result);

} // namespace standin::nccl

#endif // TPLAN_TEST_STANDIN_NCCL_GROUP_H
