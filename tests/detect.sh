#!/bin/sh
# tests/detect.py with a Python that has NumPy; where there is none, says so and is skipped (status 77).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
skip() {
  echo "skipped: $*"
  exit 77
}
QKV=${QKV:-$BUILD_DIR/qkv}
export QKV
[ -x "$QKV" ] || skip "there is no $QKV yet"
python=$(python_with_numpy) || skip 'NumPy is not installed'
exec "$python" "$root/tests/detect.py"
