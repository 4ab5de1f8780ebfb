#!/bin/sh
# The three small programs of examples/, in every language that is there: each writes and reads the stream, each reads what every
# other has written as far as a tool can tell, and every source is heard by every sink.
#
#   run.sh DIRECTORY, where programs are, named after what they do and their language: stream-c, source-rust, sink-rust ..
#
# A language whose programs are not there is passed over, which whoever builds them has said.
set -u

programs=$(cd "$1" && pwd)
work=$programs/work
mkdir -p "$work"
failed=0

complain() {
  echo "examples: $1" >&2
  failed=1
}

languages=
for program in "$programs"/stream-*; do
  languages="$languages ${program##*/stream-}"
done

for language in $languages; do
  stream=$work/$language.iso
  printf 'Old Mill: step %s m, 11.5 degrees\n' '0, depth 0.5 0 2' '1, depth 0.5 0.25 2' '2, depth 0.5 0.5 2' > "$work/expected"
  "$programs/stream-$language" "$stream" > "$work/seen" || complain "stream-$language failed"
  cmp -s "$work/expected" "$work/seen" || complain "stream-$language says: $(cat "$work/seen")"
done

for source in $languages; do
  for sink in $languages; do
    rm -f "$work/id"
    "$programs/source-$source" > "$work/id" 2> "$work/account" &
    submitting=$!
    tries=0
    while [ ! -s "$work/id" ] && [ $tries -lt 100 ]; do
      sleep 0.1
      tries=$((tries + 1))
    done
    "$programs/sink-$sink" "$(cat "$work/id")" step station 'depth[1]' > "$work/events" || kill $submitting
    wait $submitting || complain "source-$source or sink-$sink failed"
    [ "$(wc -l < "$work/events")" -eq 30 ] && [ "$(tail -n 1 "$work/events")" = '29 Old Mill 7.25' ] ||
      complain "source-$source to sink-$sink: $(tail -n 1 "$work/events")"
    grep -qx 'submitted 30, taken 30, lost 0' "$work/account" || complain "source-$source to sink-$sink: $(cat "$work/account")"
  done
done

[ $failed -eq 0 ] && echo "examples: passed, in$languages"
exit $failed
