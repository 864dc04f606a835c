#!/bin/sh
# Runs every command in the ```console blocks of README.md and compares what it prints: the README cannot go stale.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
awk '/^```console$/ { on = 1; next }
     /^```$/        { on = 0 }
     on' "$root/README.md" >"$work/README.md"
sh "$root/tests/golden.sh" "$work/README.md"
