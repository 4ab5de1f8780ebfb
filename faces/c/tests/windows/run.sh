#!/bin/sh
# The C library as programs for Windows use it: run.sh PREFIX WORK LIBRARY.., where PREFIX is what package/install.sh has made
# of a library for Windows, and each LIBRARY is one that Wine lacks. Programs are linked with MinGW-w64 and run under Wine.
set -eu

prefix=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
cp "$prefix/bin/isoform_capi.dll" "$@" "$work"
export WINEDEBUG=-all

# A long double has 8 bytes on Windows, but 16 by MinGW-w64 unless it is told.
cc="x86_64-w64-mingw32-gcc -std=c99 -mlong-double-64 -Wall -Wextra -Werror -Wno-format -I$prefix/include -I$here/../c"
for program in formats records strided; do
  $cc "$here/../c/$program.c" -L"$prefix/lib" -lisoform -o "$work/$program.exe"
  (cd "$work" && wine "./$program.exe")
  echo "c on Windows: $program runs"
done
$cc "$root/examples/c/stream.c" -L"$prefix/lib" -lisoform -o "$work/stream.exe"
(cd "$work" && wine ./stream.exe river.iso | tr -d '\r' | tail -n 1 | grep -qx 'Old Mill: step 2, depth 0.5 0.5 2 m, 11.5 degrees')
echo 'c on Windows: the example runs'

# A channel between two programs, over TCP. What sleeps in MinGW-w64 is in a library of its own.
for program in source sink; do
  $cc -std=gnu99 "$root/examples/c/$program.c" -L"$prefix/lib" -lisoform -Wl,-Bstatic -lwinpthread -o "$work/$program.exe"
done
(
  cd "$work"
  wine ./source.exe 127.0.0.1:0 > id.txt 2> account.txt &
  left=600
  until grep -q '^iso:' id.txt; do
    left=$((left - 1))
    [ $left -gt 0 ]
    sleep 0.1
  done
  wine ./sink.exe "$(tr -d '\r' < id.txt)" | tr -d '\r' | tail -n 1 | grep -qx '{"step":29,"station":"Old Mill","n":3,"depth":\[0.5,7.25,2.0\]}'
  wait
  tr -d '\r' < account.txt | grep -qx 'submitted 30, taken 30, lost 0'
)
echo 'c on Windows: a channel between two programs'
