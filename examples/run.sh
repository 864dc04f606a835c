#!/bin/sh
# Installs what is missing, builds, and traces the first worked example; arguments go to qkv instead.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"

# Tests are not needed here; but once tests/run.sh has switched them on they stay on, to spare a reconfiguration.
testing=OFF
if grep -qs BUILD_TESTING:BOOL=ON "$BUILD_DIR/CMakeCache.txt"; then testing=ON; fi
build "$BUILD_DIR" qkv "-DBUILD_TESTING=$testing"

if [ $# = 0 ]; then
  cd "$root"
  set -- trace examples/hand.qkv
fi
exec "$BUILD_DIR/qkv" "$@"
