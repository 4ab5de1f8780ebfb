#!/bin/sh
# Installs what the machines of this folder need: cross compilers and emulators by Debian's packages, Rust's libraries by
# rustup; and what the tests of the C library, the models and the format service use. Where it may not, it says what is missing and leaves it at that; what is missing is then skipped, and said so.
#
#   sh tests/machines/install.sh
cd "$(dirname "$0")" || exit 1

packages() {
  echo qemu-user valgrind cmake pkg-config spin clang-19
  echo dwz llvm-19 gfortran gnat
  [ "$(uname -m)" != x86_64 ] || echo g++-i686-linux-gnu gfortran-i686-linux-gnu gnat-12-i686-linux-gnu
  echo chromium nginx-light mosquitto
  for machine in x86-64-linux-gnu i686-linux-gnu arm-linux-gnueabihf aarch64-linux-gnu riscv64-linux-gnu powerpc-linux-gnu \
    powerpc64-linux-gnu s390x-linux-gnu sparc64-linux-gnu mips-linux-gnu; do
    [ "$machine" = "$(uname -m | tr _ -)-linux-gnu" ] || echo "gcc-$machine"
  done
  [ "$(uname -m)" = x86_64 ] || echo libc6-dev-amd64-cross
  echo libc6-dev-i386-cross libc6-dev-armhf-cross libc6-dev-arm64-cross libc6-dev-riscv64-cross libc6-dev-powerpc-cross \
    libc6-dev-ppc64-cross libc6-dev-s390x-cross libc6-dev-sparc64-cross gcc-multilib-sparc64-linux-gnu libc6-dev-mips-cross gcc-mingw-w64-x86-64
  [ "$(uname -m)" != x86_64 ] || echo wine64 wine
}

missing=
if command -v dpkg-query >/dev/null 2>&1; then
  for package in $(packages); do
    dpkg-query -W -f '${Status}' "$package" 2>/dev/null | grep -q 'ok installed' || missing="$missing $package"
  done
  if [ -n "$missing" ] && [ "$(id -u)" = 0 ]; then
    apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -qq -y --no-install-recommends $missing >/dev/null &&
      missing=
  fi
  [ -z "$missing" ] || echo "*** SKIPPED: packages that are not installed (as root: apt-get install$missing) ***"
else
  echo '*** SKIPPED: the compilers and emulators of other machines; this script knows only Debian'"'"'s packages ***'
fi

# In the folder of the pinned toolchain, so that its libraries are meant.
targets=$(sed -n 's/.*Some("\(.*-.*\)"), ".*/\1/p' src/lib.rs)
rustup target add $targets aarch64-apple-darwin wasm32-unknown-unknown >/dev/null 2>&1 || echo "*** SKIPPED: rustup target add" $targets '***'
