#!/bin/sh
# The tests of the C library, as whoever has installed it would compile them: run.sh PREFIX, where it was installed, and a
# directory to work in.
#
# Every program is compiled as C99, C11 and C++11 with all warnings, and run; then under AddressSanitizer, which finds leaks, too, and UBSan,
# and with VALGRIND=yes under valgrind, where they are. What is not here is named.
set -eu

prefix=$(cd "$1" && pwd)
work=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
mkdir -p "$work"
work=$(cd "$work" && pwd)
failed=0

skipped() {
  echo "*** SKIPPED: $1 ***"
}

# Runs a step, and says which it was if it fails.
step() {
  what=$1
  shift
  if "$@" > "$work/log" 2>&1; then
    echo "c: $what"
  else
    echo "c: $what FAILED: $*" >&2
    cat "$work/log" >&2
    failed=1
    return 1
  fi
}

has() {
  command -v "$1" > /dev/null 2>&1
}

if ! has cc; then
  skipped 'the tests of the C library. They need a C compiler'
  exit 0
fi

warnings='-Wall -Wextra -pedantic -Werror'
link="-L$prefix/lib -lisoform -lpthread -Wl,-rpath,$prefix/lib"
cc="cc -I$prefix/include -I$here -g $warnings"
cxx="c++ -x c++ -std=c++11 -I$prefix/include -I$here -g $warnings"
programs='formats documents served records strided columns kinds servers channels'
examples='stream source sink'

# The program in the header's opening comment.
sed -n '/^       #include <isoform.h>/,/^       }$/p' "$prefix/include/isoform.h" > "$work/manual.c"

for standard in c99 c11; do
  for program in $programs; do
    step "$program as $standard" $cc -std=$standard "$here/$program.c" $link -o "$work/$program-$standard" || continue
    step "$program as $standard runs" "$work/$program-$standard" || true
  done
done
step 'emit as c11' $cc -std=c11 "$here/emit.c" $link -o "$work/emit-c11" && step 'emit as c11 runs' "$work/emit-c11" || failed=1
for example in $examples; do
  # C99 has no nanosleep; POSIX does.
  step "$example as c99" $cc -std=c99 -D_POSIX_C_SOURCE=200112L "$root/examples/c/$example.c" $link -o "$work/$example" || true
done
# What tests/languages/run.sh compares.
step 'languages as c99' $cc -std=c99 "$root/tests/languages/c.c" $link -o "$work/languages" || true
step 'the writer as c99' $cc -std=c99 "$root/tests/languages/writer.c" -o "$work/writer" || true
step 'the manual as c99' $cc -std=c99 "$work/manual.c" $link -o "$work/manual" &&
  (cd "$work" && step 'the manual runs' sh -c './manual | grep -qx "7: 2"') || failed=1

if has c++; then
  for program in $programs emit; do
    step "$program as c++11" $cxx "$here/$program.c" $link -o "$work/$program-c++" || continue
    step "$program as c++11 runs" "$work/$program-c++" || true
  done
  for example in $examples; do
    step "$example as c++11" $cxx "$root/examples/c/$example.c" $link -o "$work/$example-c++" || true
  done
else
  skipped 'C++. It needs a compiler, c++'
fi

# The guide's functions, in its order.
{
  printf '#define _POSIX_C_SOURCE 200112L\n#include <isoform.h>\n#include <poll.h>\n#include <stdio.h>\n#include <string.h>\n'
  sed -n '/^```c$/,/^```$/p' "$root/docs/book/guides/c.md" | sed '/^```/d'
} > "$work/guide.c"
step 'the guide as c99' $cc -std=c99 -c "$work/guide.c" -o "$work/guide.o" || true
# The programs of the guide to format services, which ../../../../tests/languages/formats.py runs.
awk -v work="$work" '/^```c$/ { on = 1; ++number; next } /^```$/ { on = 0 } on { print > (work "/formats-" number ".c") }' \
  "$root/docs/book/guides/formats.md"
for number in 1 2; do
  step "program $number of the guide to formats as c99" $cc -std=c99 "$work/formats-$number.c" $link -o "$work/formats-$number" || true
done

# The static library, without a shared one.
step 'linked statically' cc -std=c99 -I"$prefix/include" -I"$here" "$here/records.c" "$prefix/lib/libisoform.a" -lpthread -ldl -lm \
  -o "$work/static" && step 'linked statically runs' "$work/static" || failed=1

# Every vector.
if has python3; then
  step 'a reader as c99' $cc -std=c99 "$here/read.c" $link -o "$work/read" &&
    step 'every vector' python3 "$here/vectors.py" "$work/read" || failed=1
else
  skipped 'the vectors, read by C. They need python3'
fi

# A program that moves from the writer to the library.
step 'by the writer' $cc -std=c99 -DBY_WRITER "$here/moved.c" -o "$work/by-writer" &&
  step 'by the library' $cc -std=c99 "$here/moved.c" $link -o "$work/by-library" &&
  step 'the same stream by both' sh -c "'$work/by-writer' > '$work/writer.iso' && '$work/by-library' > '$work/library.iso' && \
    cmp '$work/writer.iso' '$work/library.iso' && test -s '$work/library.iso'" || failed=1

# Tables that differ from their structs, by each compiler that is here.
for compiler in cc clang-19 clang; do
  has $compiler || continue
  for language in c99 c11 c17 c++11 c++17 c++20; do
    case $language in
      c++*) has c++ || continue; lies="$compiler -x c++"; last=-lstdc++ ;;
      *) lies=$compiler; last= ;;
    esac
    lies="$lies -std=$language -I$prefix/include -g $warnings"
    step "lies by the reader, $compiler, $language" $lies "$here/reader_lies.c" -o "$work/lies" $last &&
      step 'they are refused' "$work/lies" || failed=1
    lies="$lies $here/lies.c"
    step "lies by the writer, $compiler, $language" $lies -DBY_WRITER -o "$work/lies" $last &&
      step 'they are refused' "$work/lies" || failed=1
    step "lies by the library, $compiler, $language" $lies $link -o "$work/lies" $last &&
      step 'they are refused' "$work/lies" || failed=1
  done
done

# Both headers in one file say why that does not go.
for order in 'isoform.h isoform_writer.h' 'isoform_writer.h isoform.h'; do
  for header in $order; do echo "#include \"$header\""; done > "$work/both.c"
  if cc -fsyntax-only -I"$prefix/include" "$work/both.c" 2> "$work/log" || ! grep -q 'include one of them' "$work/log"; then
    echo "c: $order in one file FAILED to be refused with the reason" >&2
    failed=1
  fi
done

# What the header declares is what the library exports.
if has nm; then
  sed -n '/^template/d;/^static/d;s/^[a-z].*[ *]\(iso_[a-z_]*\)(.*/\1/p' "$prefix/include/isoform.h" | grep -v '^typedef' | sort -u > "$work/declared"
  nm -D --defined-only "$prefix/lib/libisoform.so" 2> /dev/null | sed -n 's/.* T \(iso_.*\)/\1/p' | sort -u > "$work/exported"
  step 'exported is what is declared' diff "$work/declared" "$work/exported" || true
  # Also in comments. These functions are in the header itself.
  grep -o 'iso_[a-z_]*(' "$prefix/include/isoform.h" | tr -d '(' | sort -u |
    grep -vx 'iso_is_complex\|iso_kind_of\|iso_struct_name\|iso_place_begin_\|iso_values\{0,1\}_.*' > "$work/named"
  step 'no other function is named' sh -c "! comm -23 '$work/named' '$work/exported' | grep ." || true
else
  skipped 'comparing the header with what is exported. It needs nm'
fi

sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'
echo 'int main(void) { return 0; }' > "$work/empty.c"
if cc $sanitize "$work/empty.c" -o "$work/empty" 2> /dev/null && "$work/empty" 2> /dev/null; then
  for program in $programs; do
    step "$program under AddressSanitizer and UBSan" $cc -std=c99 $sanitize "$here/$program.c" $link -o "$work/$program-san" || continue
    step "$program under AddressSanitizer and UBSan runs" "$work/$program-san" || true
  done
else
  skipped 'C under AddressSanitizer and UBSan. The compiler has none'
fi

if [ -z "${VALGRIND:-}" ]; then
  :
elif has valgrind; then
  for program in $programs; do
    step "$program under valgrind" valgrind --quiet --error-exitcode=9 --leak-check=full --show-leak-kinds=definite \
      --errors-for-leak-kinds=definite "$work/$program-c99" || true
  done
else
  skipped 'C under valgrind: sh tests/machines/install.sh installs it'
fi

if has pkg-config; then
  step 'pkg-config' sh -c "PKG_CONFIG_PATH='$prefix/lib/pkgconfig' && export PKG_CONFIG_PATH && \
    cc -std=c99 '$work/manual.c' \$(pkg-config --cflags --libs isoform) -Wl,-rpath,'$prefix/lib' -o '$work/packaged' && \
    cd '$work' && ./packaged" || true
else
  skipped 'pkg-config, which is not here'
fi

if has cmake && has c++; then
  cat > "$work/CMakeLists.txt" << 'LISTS'
cmake_minimum_required(VERSION 3.13)
project(river C)
find_package(isoform 0.1 REQUIRED)
foreach(library isoform static)
  add_executable(river-${library} manual.c)
  target_link_libraries(river-${library} isoform::${library})
endforeach()
LISTS
  step 'find_package of CMake' sh -c "rm -rf '$work/cmake' && cmake -S '$work' -B '$work/cmake' -DCMAKE_PREFIX_PATH='$prefix' && \
    cmake --build '$work/cmake' && cd '$work' && ./cmake/river-isoform && ./cmake/river-static" || true
else
  skipped "CMake's find_package, which is not here"
fi

[ $failed -eq 0 ] && echo 'c: passed'
exit $failed
