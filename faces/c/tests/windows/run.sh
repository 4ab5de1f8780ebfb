#!/bin/sh
# The archive for Windows as its users use it: run.sh ARCHIVE WORK LIBRARY.., where each LIBRARY is one that Wine lacks. It is
# unpacked; programs are linked to its C library with MinGW-w64, as its pkg-config file says, and run under Wine.
set -eu

archive=$1
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
shift 2
rm -rf "$work"/isoform-*
python3 -m zipfile -e "$archive" "$work"
prefix=$(echo "$work"/isoform-*)
for file in LICENSE-APACHE LICENSE-MIT README.md bin/isoform.exe lib/libisoform.a lib/cmake/isoform/isoform-config.cmake; do
  [ -s "$prefix/$file" ]
done
cp "$prefix/bin/isoform.exe" "$prefix/bin/isoform_capi.dll" "$@" "$work"
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
(cd "$work" && wine ./isoform.exe dump --json --count 1 river.iso | tr -d '\r' | grep -q '"Old Mill"')
echo 'c on Windows: the example runs, and the command shows what it wrote'
# Linked with the static library, it needs none beside it.
mkdir -p "$work/static"
$cc "$root/examples/c/stream.c" "$prefix/lib/libisoform.a" \
  $(PKG_CONFIG_PATH="$prefix/lib/pkgconfig" pkg-config --static --libs-only-l isoform | sed 's/-lisoform //') -o "$work/static/stream.exe"
cp "$@" "$work/static"
(cd "$work/static" && wine ./stream.exe river.iso > /dev/null)
echo 'c on Windows: the example runs with the static library'

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
