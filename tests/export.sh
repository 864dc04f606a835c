#!/bin/sh
# tests/export.py over every example; skipped (status 77) where nothing is installed that could run what is written
# (Debian: python3-numpy, python3-torch, octave).
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
skip() {
  echo "skipped: $*"
  exit 77
}
QKV=${QKV:-$BUILD_DIR/qkv}
[ -x "$QKV" ] || skip "there is no $QKV yet"
# Debian's own Python is the one that its packages of NumPy and PyTorch are for.
python=/usr/bin/python3
[ -x "$python" ] || python=python3
command -v "$python" >/dev/null || skip 'Python is not installed'
cd "$root"
exec "$python" tests/export.py "$QKV" examples/*.qkv
