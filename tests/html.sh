#!/bin/sh
# tests/browser.py; where there is no Python or no Chromium, says so and is skipped (status 77).
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
command -v python3 >/dev/null || skip 'Python is not installed'
exec python3 "$root/tests/browser.py" "$@"
