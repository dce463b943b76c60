#!/usr/bin/env bash
# Trains on the GPUs of two machines, by torchrun; started on each of them:
#
#   examples/jobs/torchrun.sh HOST:PORT --data FILE --eval FILE [OPTION of the binary...]
#
# HOST is one of the two, where torchrun meets at a free PORT. On one machine with four GPUs it is
# NODES=1 examples/jobs/torchrun.sh localhost:29400 --data FILE --eval FILE. These variables change the job:
#
#   SHARED    a folder that all machines see under this name (./job)
#   NODES     how many machines there are (2)
#   ARCH      what the GPUs are (sm_90)
#   JOB       its name, another one for each job that meets there at the same time (tiny_llama_2x2)
set -euo pipefail
cd "$(dirname "$0")/../.."

meeting=${1:?first comes where the machines meet, as HOST:PORT}
shift
shared=${SHARED:-$PWD/job}
nodes=${NODES:-2}
ranks=4 # those of the mesh, 2 x 2

mkdir -p "$shared"
# All machines compile at the same time, so each has a file of its own; machines of one kind, with
# one tplanc, make the same file to the byte, as ranks need it.
train=$shared/train.$(uname -n)
tplanc examples/tiny_llama_2x2.tplan --target="cuda:${ARCH:-sm_90}" -o "$train"

options=(
  --no-python # a binary
  --nnodes="$nodes" --nproc-per-node=$((ranks / nodes))
  --rdzv-backend=c10d --rdzv-endpoint="$meeting" --rdzv-id="${JOB:-tiny_llama_2x2}"
  # One process that fails ends all of them, and all are started again, three times at most.
  --max-restarts=3
)
# Processes that are started again go on. torchrun hands on SIGTERM and SIGINT, and gives 30 seconds.
# shellcheck disable=SC2016
start='train=$1 folder=$2; shift 2
  if [[ -e $folder/latest ]]; then set -- --resume "$@"; fi
  exec "$train" --save "$folder" --save-within 25 "$@"'

exec torchrun "${options[@]}" bash -c "$start" rank "$train" "$shared/checkpoint" "$@"
