# Sourced by the tests of jobs that lose a rank: how they start, and what must hold when they end.
# shellcheck shell=bash

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
launch=(mpirun --oversubscribe)
((EUID == 0)) && launch+=(--allow-run-as-root)
# Seconds: the hang limit of the jobs, and until all processes of one are gone.
limit=3 bound=5
passed=0 failed=0

now() { awk '{ print $1 }' /proc/uptime; }

verdict() { # NAME PROBLEM: none passes
  if [[ -z $2 ]]; then
    passed=$((passed + 1))
  else
    failed=$((failed + 1))
    echo "$1: $2"
    sed 's/^/    /' "$scratch/log"
  fi
}

# Judges a job that has ended with `code`, `seconds` after it was struck, and wrote $scratch/log.
judge() { # NAME MOST PROCESSES PATTERN...
  local name=$1 most=$2 processes=$3 problem=
  shift 3
  ((code != 0)) || problem="the job ended well"
  awk -v s="$seconds" -v most="$most" 'BEGIN { exit !(s <= most) }' || problem="it took $seconds s"
  pgrep -f "$processes" >/dev/null && problem="processes are left"
  for pattern in "$@"; do
    grep -qE "$pattern" "$scratch/log" || problem="nothing says '$pattern'"
  done
  verdict "$name ($seconds s)" "$problem"
}

# Rank R among those that a line waits for. A launcher may end ranks while messages between living
# ones are on their way: then these are missed too, and the line says of which ranks nothing is
# heard.
among() { echo "for rank ([0-9]+, )*$1(, [0-9]+)*( to receive)?(; nothing is heard of rank $1)?\$"; }

finish() {
  echo "$passed passed, $failed failed"
  ((failed == 0))
}
