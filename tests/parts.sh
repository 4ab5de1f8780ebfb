#!/usr/bin/env bash
# parts.sh JOBS PART ..: makes parts of `make check` or `make test`: one after another until one fails; or all of them, so
# many at a time. Then what a part says is shown when it has ended, and at the end, what each has cost.
#
# Many parts keep a single processor busy for long. Where two build in the same folder, cargo lets one wait.
set -uo pipefail

jobs=$1
shift
if [ "$jobs" -le 1 ]; then
  for part; do make --no-print-directory "$part" || exit 1; done
  exit 0
fi

log=$(mktemp -d)
trap 'rm -rf "$log"' EXIT

part() {
  TIMEFORMAT='after %R s, with %U + %S s of processors'
  { time make --no-print-directory "$1" >"$log/$1" 2>&1 </dev/null; } 2>"$log/time-$1"
  result=$?
  {
    flock 9
    printf '\n== make %s\n' "$1"
    cat "$log/$1"
    printf 'make %s: exit status %d %s\n' "$1" "$result" "$(tail -n 1 "$log/time-$1")" | tee -a "$log/ended"
  } 9>"$log/lock"
  return "$result"
}
export -f part
export log

printf '%s\n' "$@" | xargs -P "$jobs" -I{} bash -c 'part {}'
status=$?
printf '\n'
cat "$log/ended"
exit "$status"
