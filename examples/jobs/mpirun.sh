#!/usr/bin/env bash
# Trains on the machines of a hostfile, by Open MPI's mpirun:
#
#   examples/jobs/mpirun.sh HOSTFILE --data FILE --eval FILE [OPTION of the binary...]
#
# The hostfile has a line `NAME slots=2` for each machine, a slot for each rank there. These
# variables change the job:
#
#   SHARED    a folder that all machines see under this name (./job)
#   NETWORK   the interface, or the subnet, that connects the machines (mpirun tries them all)
#   CPUS      cores of each rank (1)
#   WITHIN    seconds in which a training that is to end may save (20)
#
# It ends well by `kill` or Ctrl-C, with code 75 after its step is saved; started again, it goes on.
set -euo pipefail
cd "$(dirname "$0")/../.."

hosts=${1:?a hostfile comes first, with lines like: node0 slots=2}
shift
shared=${SHARED:-$PWD/job}
ranks=4 # those of the mesh, 2 x 2
within=${WITHIN:-20}

mkdir -p "$shared"
tplanc examples/tiny_llama_2x2.tplan -o "$shared/train"

options=(
  --hostfile "$hosts" -n "$ranks"
  # One machine is filled before the next, so that ranks of a tensor group share one. Each rank has
  # cores of its own, because a rank that waits for a core makes all others wait.
  --map-by "slot:PE=${CPUS:-1}" --bind-to core
  # Seconds from SIGTERM to SIGKILL, more than --save-within. mpirun waits for so long once before
  # it sends SIGTERM, and twice after a rank has ended with a code; so it is not much longer.
  --mca odls_base_sigkill_timeout $((within + 5))
  # Variables reach other machines only by name.
  -x TPLAN_HANG_LIMIT="${TPLAN_HANG_LIMIT:-60}"
)
# A machine may have interfaces that lead nowhere (docker0), and trying them takes minutes.
# The first is for mpirun's own messages, the second for those between ranks.
if [[ -n ${NETWORK:-} ]]; then
  options+=(--mca oob_tcp_if_include "$NETWORK" --mca btl_tcp_if_include "$NETWORK")
fi

train=("$shared/train" --save "$shared/checkpoint" --save-within "$within")
# A job that is started again goes on.
if [[ -e $shared/checkpoint/latest ]]; then train+=(--resume); fi

# mpirun hands SIGUSR1 on at once. It has a process group of its own, because otherwise Ctrl-C would
# reach it, too.
set -m
mpirun "${options[@]}" "${train[@]}" "$@" </dev/null &
trap 'kill -USR1 $!' TERM INT
code=0
wait $! || code=$?
trap - TERM INT
# A signal ends the first wait.
if ((code > 128)) && kill -0 $! 2>/dev/null; then
  code=0
  wait $! || code=$?
fi
exit $code
