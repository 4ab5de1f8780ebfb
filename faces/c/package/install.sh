#!/bin/sh
# Installs the C library: install.sh PREFIX DIRECTORY, where the second is that of cargo in which it was built.
#
# Both libraries, the headers, what pkg-config asks for and what CMake's find_package does. Nothing of it names PREFIX, so that
# the whole may be moved.
set -eu

prefix=$1
built=$2
here=$(cd "$(dirname "$0")" && pwd)
root=$here/../../..
version=$(sed -n 's/^version = "\(.*\)"/\1/p' "$root/Cargo.toml" | head -n 1)
major=${version%%.*}

mkdir -p "$prefix/lib/pkgconfig" "$prefix/lib/cmake/isoform" "$prefix/include"
import=
static='pthread dl m'
if [ -f "$built/isoform_capi.dll" ]; then
  # Programs look for the library beside themselves, by the name that the import library has.
  mkdir -p "$prefix/bin"
  shared=../bin/isoform_capi.dll
  cp -f "$built/isoform_capi.dll" "$prefix/bin/"
  cp -f "$built/libisoform_capi.dll.a" "$prefix/lib/libisoform.dll.a"
  import=' IMPORTED_IMPLIB "${_isoform_prefix}/lib/libisoform.dll.a"'
  static='ws2_32 ntdll userenv bcrypt'
elif [ -f "$built/libisoform_capi.dylib" ]; then
  shared=libisoform.$version.dylib
  cp -f "$built/libisoform_capi.dylib" "$prefix/lib/$shared"
  ln -sf "$shared" "$prefix/lib/libisoform.$major.dylib"
  ln -sf "libisoform.$major.dylib" "$prefix/lib/libisoform.dylib"
else
  shared=libisoform.so.$version
  cp -f "$built/libisoform_capi.so" "$prefix/lib/$shared"
  ln -sf "$shared" "$prefix/lib/libisoform.so.$major"
  ln -sf "libisoform.so.$major" "$prefix/lib/libisoform.so"
fi
cp -f "$built/libisoform_capi.a" "$prefix/lib/libisoform.a"
cp -f "$here"/../include/*.h "$here"/../include/*.hpp "$prefix/include/"

# What is only for debuggers would be four fifths of it. Who wants that builds without --release.
case $built in
  *release) "${STRIP:-strip}" -S "$prefix/lib/$shared" "$prefix/lib/libisoform.a" 2>/dev/null || true ;;
esac

# What packages say of it.
fill() {
  sed -e "s/@VERSION@/$version/g" -e "s/@SERIES@/${version%.*}/g" -e "s,@SHARED@,$shared,g" -e "s,@IMPORT@,$import,g" -e "s/@STATIC@/$(echo " $static" | sed 's/ / -l/g')/g" \
    -e "s/@LIBRARIES@/$(echo "$static" | tr ' ' ';')/g" "$here/$1" > "$prefix/lib/$2/$1"
}
fill isoform.pc pkgconfig
fill isoform-config.cmake cmake/isoform
fill isoform-config-version.cmake cmake/isoform
echo "installed in $prefix: lib/$shared, lib/libisoform.a, include/isoform.h, include/isoform.hpp, include/isoform_writer.h, include/isoform_reader.h"
