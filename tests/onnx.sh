#!/bin/sh
# tests/onnx.py on the ONNX operator cases; they are large and stand beside the project, if at all.  Without
# them, or without Python, says so and is skipped (status 77).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
skip() {
  echo "skipped: $*"
  exit 77
}
QKV=${QKV:-$BUILD_DIR/qkv}
cases=$root/../shared/onnx
[ -x "$QKV" ] || skip "there is no $QKV yet"
[ -d "$cases" ] || skip 'the ONNX cases are not here'
command -v python3 >/dev/null 2>&1 || skip 'Python is not installed'
exec python3 "$root/tests/onnx.py" "$QKV" "$cases"
