#!/bin/sh
# tests/written.py with a Python that has NumPy, else with any; where there is none, says so and is skipped (status 77).
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
python=$(python_with_numpy) || python=$(command -v python3) || skip 'Python is not installed'
TMPDIR=$(mktemp -d)
export TMPDIR
trap 'rm -rf "$TMPDIR"' EXIT
"$python" "$root/tests/written.py"
