#!/bin/sh
# Every language with every language: run.sh PREFIX RUST PYTHON DIRECTORY, where the C library is installed, the program of rust.rs,
# a Python that has the package, or "", and a directory to work in. Prints who has understood whom.
#
# The programs do the same: `write FILE` and `source` send samples, `read FILE` and `sink ID` want them as another struct - wider
# numbers, another order, nested records, a field more, one less - and print what came. What is not here is named.
set -u

prefix=$1
rust=$2
python=$3
here=$(cd "$(dirname "$0")" && pwd)
mkdir -p "$4"
work=$(cd "$4" && pwd)
rm -f "$work"/*

skipped() {
  echo "*** SKIPPED: languages: $1 ***"
}

# A program NAME, which runs the rest of the arguments.
program() {
  name=$1
  shift
  printf '#!/bin/sh\nexec %s "$@"\n' "$*" > "$work/$name" && chmod +x "$work/$name"
}

flags="-O1 -Wall -Wextra -pedantic -Werror -I$prefix/include"
link="-L$prefix/lib -lisoform -lpthread -Wl,-rpath,$(cd "$prefix/lib" && pwd)"
languages=rust
program rust "$(cd "$(dirname "$rust")" && pwd)/$(basename "$rust")"
if command -v cc > /dev/null 2>&1; then
  cc -std=c99 $flags "$here/c.c" $link -o "$work/c" && cc -std=c99 $flags "$here/writer.c" -o "$work/writer" || exit 1
  languages="$languages c"
  writers=writer
else
  writers=
  skipped 'C. It needs a compiler, cc'
fi
if command -v c++ > /dev/null 2>&1 && [ -x "$work/c" ]; then
  c++ -std=c++20 $flags "$here/cpp.cpp" $link -o "$work/cpp" || exit 1
  languages="$languages cpp"
else
  skipped 'C++. It needs a compiler, c++'
fi
if [ -n "$python" ] && "$python" -c 'import isoform' 2> /dev/null; then
  program python "$python" "$here/python.py"
  languages="$languages python"
else
  skipped 'Python. It needs the package: make python-tests'
fi

cat > "$work/expected" << 'LINES'
0 Old Mill 7 0.125 11.5
1 Old Mill 0.25 7 0.125 11.5
2 Old Mill 0.5 0.75 7 0.125 11.5
3 Old Mill 0.75 1 1.25 7 0.125 11.5
4 Old Mill 1 1.25 1.5 1.75 7 0.125 11.5
LINES

stream() {
  "$work/$1" write "$work/$1.iso" && "$work/$2" read "$work/$1.iso" > "$work/came" && cmp "$work/expected" "$work/came"
}

channel() {
  rm -f "$work/id"
  "$work/$1" source > "$work/id" &
  source=$!
  tries=0
  while [ ! -s "$work/id" ] && [ $tries -lt 300 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  if ! "$work/$2" sink "$(cat "$work/id")" > "$work/came"; then
    kill $source
    return 1
  fi
  wait $source && cmp "$work/expected" "$work/came"
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
echo "languages: $agreed of $all pairs agree"
[ $agreed -eq $all ]
