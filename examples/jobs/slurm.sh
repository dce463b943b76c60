#!/usr/bin/env bash
# Trains on two nodes of a Slurm cluster; submitted in the root of the repository:
#
#   sbatch examples/jobs/slurm.sh --data FILE --eval FILE [OPTION of the binary...]
#
# The folder must be one that all nodes see, as home directories mostly are.
#
#SBATCH --job-name=tiny_llama_2x2
#SBATCH --nodes=2
#SBATCH --ntasks-per-node=2
#SBATCH --cpus-per-task=8
#SBATCH --time=01:00:00
#SBATCH --requeue
# Ranks get this so many seconds before the time is up, more than --save-within. `scancel --signal=USR1 JOB`
# ends one before that; plain scancel leaves no more than the site's KillWait (often 30 seconds).
#SBATCH --signal=USR1@90
set -euo pipefail
cd "$SLURM_SUBMIT_DIR"

mkdir -p job
# On a node of the job, whose CPUs are those of the training: login nodes may be older.
tplanc examples/tiny_llama_2x2.tplan -o job/train

options=(
  # Open MPI of Debian and of most sites learns its ranks by PMIx.
  --mpi=pmix
  # srun does not take this from sbatch (Slurm 22.05 and later).
  --cpus-per-task="$SLURM_CPUS_PER_TASK"
  # Each rank has cores of its own, because a rank that waits for a core makes all others wait.
  --cpu-bind=cores
  # One node is filled before the next, so that ranks of a tensor group share one.
  --distribution=block:block
  # A lost rank ends the job, which otherwise would wait for its time limit.
  --kill-on-bad-exit=1
)
train=(job/train --save job/checkpoint --save-within 60)
# A job that is queued again goes on.
if [[ -e job/checkpoint/latest ]]; then train+=(--resume); fi

code=0
srun "${options[@]}" "${train[@]}" "$@" || code=$?
# The job was asked to end, and its state is saved: it is queued again.
if ((code == 75)); then scontrol requeue "$SLURM_JOB_ID"; fi
exit $code
