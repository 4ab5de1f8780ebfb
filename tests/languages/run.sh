#!/bin/sh
# Every language with every other: run.sh DIRECTORY ISOFORM, where programs are, named after their language: languages-c,
# languages-rust .., and the command. Prints which has understood which.
#
# The programs do the same: `write FILE` and `source` send samples, `read FILE` and `sink ID` want them as another struct - wider
# numbers, another order, nested records, a field more, one less - and print what came. `writer` only writes. A language whose
# program is not there is passed over, which whoever builds them has said. With a certificate of the command, they speak TLS; then
# the command is a reader, too.
set -u

programs=$(cd "$1" && pwd)
isoform=$(realpath "$2")
work=$programs/work
mkdir -p "$work"

languages=
for program in "$programs"/languages-*; do
  languages="$languages ${program##*/languages-}"
done
writers=
[ -x "$programs/writer" ] && writers=writer

# The program of a language, or a writer.
program() {
  [ -x "$programs/languages-$1" ] && echo "$programs/languages-$1" || echo "$programs/$1"
}

cat > "$work/expected" << 'LINES'
0 Old Mill 7 0.125 11.5
1 Old Mill 0.25 7 0.125 11.5
2 Old Mill 0.5 0.75 7 0.125 11.5
3 Old Mill 0.75 1 1.25 7 0.125 11.5
4 Old Mill 1 1.25 1.5 1.75 7 0.125 11.5
LINES

stream() {
  "$(program "$1")" write "$work/$1.iso" && "$(program "$2")" read "$work/$1.iso" > "$work/came" && cmp "$work/expected" "$work/came"
}

# channel FROM TO [CERTIFICATE]
channel() {
  rm -f "$work/id"
  "$(program "$1")" source ${3:+"$3"} > "$work/id" &
  source=$!
  tries=0
  while [ ! -s "$work/id" ] && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  if [ "$2" = command ]; then
    "$isoform" echo --once --tls-on-loopback --identity "$3" --json "$(cat "$work/id")" > "$work/came" &&
      [ "$(grep -c '"station":"Old Mill"' "$work/came")" = 5 ]
  else
    "$(program "$2")" sink "$(cat "$work/id")" ${3:+"$3"} > "$work/came" && cmp "$work/expected" "$work/came"
  fi || {
    kill $source
    return 1
  }
  wait $source
}

# A format service, and the URL at which it is.
serve() {
  rm -f "$work/formats.redb" "$work/service"
  "$isoform" serve --store "$work/formats.redb" --listen 127.0.0.1:0 2> "$work/service" &
  server=$!
  tries=0
  while ! grep -q '^-- http' "$work/service" && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  url=$(sed -n 's/^-- \(http[^ ]*\) has .*/\1/p' "$work/service")
}

# Without descriptions: what one language has registered at the service, another one finds there.
service() {
  "$(program "$1")" write "$work/$1.bare" "$url" || return
  # Two programs that know their formats by other means would see the same bytes, without descriptions.
  ! "$(program "$2")" read "$work/$1.bare" > "$work/came" 2> "$work/unknown" || return
  "$(program "$2")" read "$work/$1.bare" "http://127.0.0.1:1,$url" > "$work/came" && cmp "$work/expected" "$work/came"
}

# The service is gone: the error says which servers were asked.
gone() {
  ! "$(program "$2")" read "$work/$1.bare" "http://127.0.0.1:1,$url" > "$work/came" 2> "$work/unknown" || return
  grep -q 'http://127.0.0.1:1: .*efused' "$work/unknown" && grep -q "$url: .*efused" "$work/unknown" ||
    { cat "$work/unknown"; return 1; }
}

encrypted() {
  channel "$1" "$2" "$work/isoform/identity.pem"
}

agreed=0
all=0
# A table of how each sends to each.
table() {
  how=$1
  shift
  printf '%-10s' "$how"
  printf '%8s' $languages
  echo
  for from in "$@"; do
    printf '%-10s' "$from"
    for to in $languages; do
      all=$((all + 1))
      if $how "$from" "$to" > "$work/log" 2>&1; then
        agreed=$((agreed + 1))
        printf '%8s' yes
      else
        printf '%8s' FAIL
        sed "s/^/$how from $from to $to: /" "$work/log" >&2
      fi
    done
    echo
  done
}

table stream $languages $writers
table channel $languages
# The command may have been built without the service.
if "$isoform" help serve > /dev/null 2>&1; then
  serve
  table service $languages
  kill $server
  wait $server
  table gone $languages
fi
# The command may have been built without TLS.
if "$isoform" help keys > /dev/null 2>&1; then
  rm -rf "$work/isoform"
  XDG_CONFIG_HOME="$work" "$isoform" keys init --name localhost > "$work/log" || exit
  languages="$languages command"
  # shellcheck disable=SC2086 # they are several
  table encrypted ${languages% command}
fi
echo "languages: $agreed of $all pairs agree"
[ $agreed -eq $all ]
