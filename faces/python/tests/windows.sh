#!/bin/sh
# The wheel for Windows, installed by pip into a Python for Windows, and tested under Wine:
# windows.sh WHEEL PYTHON WHEELS WORK LIBRARY..
#
# PYTHON is an archive with CPython for Windows, WHEELS a folder with the wheels of NumPy and pytest for it, and each LIBRARY one
# that Wine lacks.
set -eu

here=$(cd "$(dirname "$0")" && pwd)
wheel=$1
python=$2
wheels=$3
rm -rf "$4"
mkdir -p "$4"
work=$(cd "$4" && pwd)
shift 4
export WINEDEBUG=-all PYTHONDONTWRITEBYTECODE=1

python3 -m zipfile -e "$python" "$work"
folder=$work/org/bytedeco/cpython/windows-x86_64
cp "$@" "$folder"

# Python's stable interface is a library that only passes calls on. This Python comes without it.
(
  echo 'LIBRARY python3.dll'
  echo EXPORTS
  python3 -m zipfile -e "$wheel" "$work/wheel"
  x86_64-w64-mingw32-objdump -p "$work/wheel/isoform/_isoform.pyd" |
    awk '/DLL Name:/ {ours = $3 == "python3.dll"} ours && NF == 3 && $3 ~ /^_?Py/ {print $3 " = python311." $3}' | sort -u
) > "$work/python3.def"
x86_64-w64-mingw32-gcc -shared -nostdlib -Wl,--entry=0 -o "$folder/python3.dll" "$work/python3.def"

# What Python prints and reads are pipes: Wine's files are no standard streams for it.
run() {
  { wine "$folder/python.exe" "$@" 2>&1 < /dev/null || echo failed; } | tr -d '\r' > "$work/out"
  if [ "$(tail -n 1 "$work/out")" = failed ]; then
    cat "$work/out"
    exit 1
  fi
}

run -m pip install --quiet --no-index --find-links "$wheels" "$wheel" pytest
cd "$here"
# The small build, which is quick to make, has no TLS.
run -m pytest --quiet -p no:cacheprovider test_channels.py test_records.py test_streams.py \
  -k "not test_a_certificate_that_is_not_there"
echo "python on Windows: $(tail -n 1 "$work/out")"
