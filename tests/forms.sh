#!/bin/sh
# tests/forms.py over every example; skipped (status 77) where there is no Python.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
skip() {
  echo "skipped: $*"
  exit 77
}
QKV=${QKV:-$BUILD_DIR/qkv}
[ -x "$QKV" ] || skip "there is no $QKV yet"
command -v python3 >/dev/null || skip 'Python is not installed'
cd "$root"
exec python3 tests/forms.py "$QKV" examples/*.qkv
