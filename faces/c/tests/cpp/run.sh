#!/bin/sh
# The tests of the C++ headers, as whoever has installed them would compile them: run.sh PREFIX, where they were installed,
# and a directory to work in.
#
# Every program is compiled as C++20 by each compiler that is here, with all warnings, and run, also under AddressSanitizer
# and UBSan. What is not here is named.
set -eu

prefix=$(cd "$1" && pwd)
here=$(cd "$(dirname "$0")" && pwd)
root=$(cd "$here/../../../.." && pwd)
mkdir -p "$2"
work=$(cd "$2" && pwd)
failed=0
ran=0

# Runs a step, and says which it was if it fails.
step() {
  what=$1
  shift
  if "$@" > "$work/log" 2>&1; then
    echo "c++: $what"
  else
    echo "c++: $what FAILED: $*" >&2
    cat "$work/log" >&2
    failed=1
    return 1
  fi
}

link="-L$prefix/lib -lisoform -lpthread -Wl,-rpath,$prefix/lib"
# What the command writes for C++, and the records of its vectors.
generated=$root/crates/xmit/tests/generated
warnings='-std=c++20 -Wall -Wextra -pedantic -Werror'
sanitize='-fsanitize=address,undefined -fno-sanitize-recover=all'

# The program in the header's opening comment.
sed -n '/^       #include <isoform.hpp>/,/^       }$/p' "$prefix/include/isoform.hpp" > "$work/manual.cpp"
# And the example of the guide's part about C++.
{
  printf '#include <isoform.hpp>\n#include <cstdio>\nint main() {\n'
  sed '1,/^## C++$/d' "$root/docs/book/guides/c.md" | sed -n '/^```cpp$/,/^```$/p' | grep -v '^```'
  echo '}'
} > "$work/guide.cpp"
echo 'int main() {}' > "$work/empty.cpp"

# A source and a sink that knows nothing, in two processes.
channel() {
  rm -f "$work/id"
  "$work/source" > "$work/id" 2> "$work/account" &
  source=$!
  tries=0
  while [ ! -s "$work/id" ] && [ $tries -lt 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
  done
  if ! "$work/sink" "$(cat "$work/id")" step station 'depth[1]' > "$work/events"; then
    kill $source
    return 1
  fi
  wait $source
  [ "$(tail -n 1 "$work/events")" = '29 Old Mill 7.25' ] && [ "$(wc -l < "$work/events")" -eq 30 ] &&
    grep -qx 'submitted 30, taken 30, lost 0' "$work/account"
}

# A struct Bad that is no record does not compile, and the compiler says why, with one assertion and few lines:
# undefined DEFINITIONS REASON.
undefined() {
  printf '#include <isoform.hpp>\n%s\nint main() { isoform::format::of<Bad>(); }\n' "$1" > "$work/bad.cpp"
  if $compile -fsyntax-only "$work/bad.cpp" 2> "$work/log" || ! grep -q "$2" "$work/log" ||
    [ "$(grep -c 'error: ' "$work/log")" -ne 1 ] || [ "$(wc -l < "$work/log")" -gt 60 ]; then
    echo "c++: $1 FAILED to be refused with the reason by $compiler" >&2
    head -n 100 "$work/log" >&2
    failed=1
  fi
}

# The same for what the compiler cannot parse: the first error has the reason. unparsed DEFINITIONS REASON.
unparsed() {
  printf '#include <isoform.hpp>\n%s\nint main() {}\n' "$1" > "$work/bad.cpp"
  if $compile -fsyntax-only "$work/bad.cpp" 2> "$work/log" || ! grep 'error: ' "$work/log" | head -n 1 | grep -q "$2" ||
    [ "$(wc -l < "$work/log")" -gt 60 ]; then
    echo "c++: $1 FAILED to be refused first with the reason by $compiler" >&2
    head -n 100 "$work/log" >&2
    failed=1
  fi
}

# The same for a struct with this member: refused MEMBER REASON.
refused() {
  undefined "struct Bad { int step; $1 };" "static assertion failed.*$2"
}

clang=$(command -v clang++-19 || command -v clang++ || true)
for compiler in g++ "${clang:-clang++}"; do
  command -v $compiler > /dev/null 2>&1 && echo '#include <span>' > "$work/try.cpp" &&
    $compiler -std=c++20 -fsyntax-only "$work/try.cpp" 2> /dev/null || {
    echo "*** SKIPPED: C++ by $compiler, which is not here or knows no C++20 ***"
    continue
  }
  ran=1
  compile="$compiler $warnings -I$prefix/include -I$generated -g"
  refused 'std::string text;' 'as they are in memory'
  refused 'double values[3];' 'describe a struct with C arrays by ISOFORM_RECORD'
  refused 'double values[30];' 'describe a struct with C arrays by ISOFORM_RECORD'
  refused 'Bad() {}' 'describe a struct with constructors by ISOFORM_RECORD'
  refused 'struct { int x; double y[2]; } inner;' 'describe a struct with C arrays by ISOFORM_RECORD'
  refused 'std::string_view text;' 'instead of std::string_view'
  grep -q '{.*text.*}' "$work/log" || { echo "c++: the member text FAILED to be named by $compiler" >&2 && failed=1; }
  refused 'std::optional<int> value;' 'instead of std::optional'
  refused 'std::variant<int, float> value;' 'instead of std::variant'
  refused 'std::chrono::seconds time;' 'instead of std::chrono'
  refused 'std::span<const std::span<const int>> rows;' 'a std::span must be a member itself'
  refused 'std::array<std::span<const int>, 2> rows;' 'a std::span must be a member itself'
  refused 'std::array<double *, 2> rows;' 'no array or span of pointers'
  refused 'double **rows;' 'no pointer to a pointer'
  refused 'void *any;' 'does not say what it points at'
  refused 'void (*call)(int);' 'a pointer to a function'
  refused 'union { int whole; float part; } value;' 'a union does not say'
  refused 'virtual void call() {}' 'virtual functions'
  refused 'virtual ~Bad() {}' 'virtual functions'
  refused '~Bad() {}' 'has a destructor'
  refused 'int get() const { return hidden; } private: int hidden = 0;' 'all are public or all private'
  refused 'int part : 4;' 'a bit-field has no address'
  undefined 'struct Base { int step; }; struct Bad : Base { int more; };' 'none are in a base'
  undefined 'struct Bad { int step; double level; }; ISOFORM_RECORD(Bad, step, levels)' 'no public member of the struct'
  grep -q '{.*levels.*}' "$work/log" || { echo "c++: the member levels FAILED to be named by $compiler" >&2 && failed=1; }
  undefined 'struct Bad { int step : 4; }; ISOFORM_RECORD(Bad, step)' 'or a bit-field'
  undefined 'struct Bad { int step; }; ISOFORM_RECORD(Bad, (step, .units = "m"))' 'the properties of a member are'
  undefined 'struct Bad { int step; }; ISOFORM_RECORD(Bad, (step, .unit = "m", .name = "s"))' 'the properties of a member are'
  undefined 'struct Bad { int step; }; ISOFORM_RECORD(Bad, (step, .standard = 1.5))' 'the properties of a member are'
  refused 'std::span<float, 3> values;' 'use std::array instead of a std::span of a fixed size'
  undefined 'struct Bad { int step; }; ISOFORM_RECORD(Bad)' 'list the members in ISOFORM_RECORD'
  undefined 'struct Bad { int step; int &other; };' 'none is a reference'
  undefined 'struct Good { int step; }; using Bad = Good *;' 'give the struct itself'
  undefined 'struct Good { int step; }; using Bad = std::vector<Good>;' 'write_many'
  undefined 'enum Light { off, on }; ISOFORM_ENUMERATION(Light, off, onn) struct Bad { Light light; };' 'no symbol of the enumeration'
  unparsed 'struct Bad { int step; }; ISOFORM_RECORD(Bad, (step, .default = "1"))' 'the default of a member is .standard'
  unparsed 'struct Bad { int step; }; ISOFORM_RECORD(Bad, "step")' 'without quotes'
  for program in records strided kinds generated servers channels; do
    step "$program by $compiler" $compile "$here/$program.cpp" $link -o "$work/$program" &&
      step "$program by $compiler runs" "$work/$program" "$generated" || true
    if $compiler $sanitize "$work/empty.cpp" -o "$work/empty" 2> /dev/null && "$work/empty" 2> /dev/null; then
      step "$program under AddressSanitizer and UBSan by $compiler" $compile $sanitize "$here/$program.cpp" $link -o "$work/$program-san" &&
        step "$program under AddressSanitizer and UBSan by $compiler runs" "$work/$program-san" "$generated" || true
    else
      echo "*** SKIPPED: C++ under AddressSanitizer and UBSan: $compiler has none ***"
    fi
  done
  for example in stream source sink; do
    step "$example by $compiler" $compile "$root/examples/cpp/$example.cpp" $link -o "$work/$example" || true
  done
  step "languages by $compiler" $compile "$root/tests/languages/cpp.cpp" $link -o "$work/languages" || true
  (cd "$work" && step "stream by $compiler runs" sh -c './stream river.iso | tail -n 1 | grep -qx "Old Mill: step 2, depth 0.5 0.5 2 m, 11.5 degrees"') || failed=1
  step "source and sink by $compiler" channel || true
  step "the guide by $compiler" $compile -fsyntax-only "$work/guide.cpp" || true
  step "the manual by $compiler" $compile "$work/manual.cpp" $link -o "$work/manual" &&
    (cd "$work" && step "the manual by $compiler runs" sh -c './manual | grep -qx "7: 2"') || failed=1
done

# The rules of Microsoft's compiler, as far as Clang has them: its dialect of C++, over the standard library that is here (whose
# own headers need these macros there), and its machines for C. Microsoft's own compiler and library are not here.
atomics=-D__GCC_ATOMIC_TEST_AND_SET_TRUEVAL=1
for type in BOOL CHAR CHAR8_T CHAR16_T CHAR32_T WCHAR_T SHORT INT LONG LLONG POINTER; do
  atomics="$atomics -D__GCC_ATOMIC_${type}_LOCK_FREE=2"
done
dialect="-fms-compatibility -fms-extensions -fms-compatibility-version=19.40 -D__STRICT_ANSI__ -U__SIZEOF_INT128__ -Wno-#warnings"
if [ -n "$clang" ] && echo '#include <memory>' > "$work/try.cpp" &&
  $clang -std=c++20 $dialect $atomics -fsyntax-only "$work/try.cpp" 2> /dev/null; then
  for program in "$here"/*.cpp "$root"/examples/cpp/*.cpp; do
    step "$(basename "$program" .cpp) by the rules of Microsoft's compiler" $clang $warnings $dialect $atomics -I"$prefix/include" \
      -I"$generated" -fsyntax-only "$program" || true
  done
  cat > "$work/header.c" << 'TABLES'
#include <isoform.h>
typedef struct { double x, y; } Point;
typedef struct { Point ends[2][3]; float cube[2][3][4]; const char *name; unsigned long count; } Track;
static const iso_field point[] = { ISO_FIELD(Point, x, "double"), ISO_FIELD(Point, y, "double") };
static const iso_field track[] = { ISO_FIELD_STRUCT(Track, ends, "Point[2][3]", Point), ISO_FIELD(Track, cube, "float[2][3][4]"),
                                   ISO_FIELD(Track, name, "string"), ISO_FIELD(Track, count, "unsigned long") };
const iso_structure structures[] = { ISO_STRUCTURE(Point, point), ISO_STRUCTURE(Track, track) };
TABLES
  {
    printf '#define ISOFORM_WRITER_IMPLEMENTATION\n'
    sed 's/isoform\.h/isoform_writer.h/' "$work/header.c"
  } > "$work/writer.c"
  cat > "$work/reader.c" << 'WANTS'
#define ISOFORM_READER_IMPLEMENTATION
#include <isoform_reader.h>
typedef struct { double x, y; } Point;
typedef struct { Point ends[2][3]; float cube[2][3][4]; const char *name; unsigned long count; } Track;
static const iso_want point[] = { ISO_WANT(Point, x, "double"), ISO_WANT(Point, y, "double") };
static const iso_wants points = ISO_WANTS(Point, point);
static const iso_want track[] = { ISO_WANT_STRUCT(Track, ends, "struct[2][3]", &points), ISO_WANT(Track, cube, "float[2][3][4]"),
                                  ISO_WANT(Track, name, "string"), ISO_WANT(Track, count, "unsigned long") };
const iso_wants tracks = ISO_WANTS(Track, track);
WANTS
  # What the headers need of a C library.
  mkdir -p "$work/library"
  cat > "$work/library/string.h" << 'LIBRARY'
#include <stddef.h>
void *memcpy(void *, const void *, size_t);
void *memmove(void *, const void *, size_t);
void *memset(void *, int, size_t);
int memcmp(const void *, const void *, size_t);
void *memchr(const void *, int, size_t);
size_t strlen(const char *), strcspn(const char *, const char *), strspn(const char *, const char *);
int strcmp(const char *, const char *), strncmp(const char *, const char *, size_t);
char *strchr(const char *, int), *strrchr(const char *, int);
LIBRARY
  cat > "$work/library/stdio.h" << 'LIBRARY'
#include <stdarg.h>
#include <stddef.h>
typedef struct file FILE;
size_t fwrite(const void *, size_t, size_t, FILE *);
int snprintf(char *, size_t, const char *, ...), vsnprintf(char *, size_t, const char *, va_list);
LIBRARY
  cat > "$work/library/stdlib.h" << 'LIBRARY'
#include <stddef.h>
void *malloc(size_t);
void free(void *), qsort(void *, size_t, size_t, int (*)(const void *, const void *));
LIBRARY
  printf 'double ldexp(double, int), frexp(double, int *), floor(double);\n' > "$work/library/math.h"
  for machine in x86_64 i686 aarch64; do
    for header in header writer reader; do
      step "$header.c by the rules of Microsoft's compiler for $machine" "${clang%++*}${clang##*++}" -std=c11 -Wall -Wextra -pedantic \
        -Werror --target=$machine-pc-windows-msvc -fms-compatibility-version=19.40 -I"$prefix/include" -isystem "$work/library" \
        -fsyntax-only "$work/$header.c" || true
    done
  done
else
  echo "*** SKIPPED: the rules of Microsoft's compiler. They need clang++ with a standard library ***"
fi

[ $failed -eq 0 ] && [ $ran -eq 1 ] && echo 'c++: passed'
exit $failed
