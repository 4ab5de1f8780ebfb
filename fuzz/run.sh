#!/bin/sh
# Runs targets for so many minutes each, as many at once as there are processors, and prints what came of it.
#
#   sh fuzz/run.sh MINUTES [TARGET..]
#
# `make fuzz` calls it. What a target has found stays in fuzz/corpus/, what made it fail in fuzz/artifacts/.
set -u
cd "$(dirname "$0")" || exit 1

# One target: the limits are tight, so that what takes too much memory or time is a finding.
if [ "${1:-}" = --one ]; then
  seconds=$2 target=$3
  mkdir -p "corpus/$target" artifacts
  "$PROGRAMS/$target" "corpus/$target" -artifact_prefix="artifacts/$target-" -max_total_time="$seconds" -max_len=16384 \
    -timeout=5 -rss_limit_mb=1024 -malloc_limit_mb=64 -print_final_stats=1 ${WORDS:+-dict="$WORDS"} \
    >"artifacts/$target.log" 2>&1
  exit 0
fi

minutes=${1:-20}
[ $# -eq 0 ] || shift
[ $# -gt 0 ] || set -- description message conversion stream field_list json handshake frames query rules document program body
# A sum that overflows is a finding.
export CARGO_PROFILE_RELEASE_DEBUG_ASSERTIONS=true CARGO_PROFILE_RELEASE_OVERFLOW_CHECKS=true
cargo +nightly fuzz build --fuzz-dir . --target-dir target --features libfuzzer || exit 1
cargo run --quiet --example seeds -- corpus || exit 1
export PROGRAMS="target/$(rustc -vV | sed -n 's/^host: //p')/release" WORDS=words.dict
mkdir -p artifacts
before=$(ls artifacts | grep -cv '\.log$')
printf '%s\n' "$@" | xargs -P "$(nproc 2>/dev/null || echo 2)" -I{} sh "$PWD/run.sh" --one $((minutes * 60)) {}

# The last line on which libFuzzer has its counters, and the number of counters in the program.
for target in "$@"; do
  awk -v target="$target" '
    /INFO: Loaded 1 modules/ { match($0, /\([0-9]+/); edges = substr($0, RSTART + 1, RLENGTH - 1) }
    / cov: / { for (i = 2; i < NF; i++) value[$i] = $(i + 1) }
    /^stat::number_of_executed_units/ { executions = $2 }
    /^stat::average_exec_per_sec/ { rate = $2 }
    /^SUMMARY: / { failure = $0 }
    END {
      split(value["corp:"], corpus, "/")
      printf "fuzz %-12s %9d executions, %5d/s, %5d of %d edges, %6d features, %5d inputs kept, %s\n", target ":",
        executions, rate, value["cov:"], edges, value["ft:"], corpus[1], failure == "" ? "no failure" : failure
      exit executions == 0 || failure != ""
    }' "artifacts/$target.log" || failed=1
done
failures=$(($(ls artifacts | grep -cv '\.log$') - before))
echo "fuzz: $failures failures"
[ "$failures" -eq 0 ] && [ -z "${failed:-}" ]
