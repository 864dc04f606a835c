#!/bin/sh
# Installs what is missing, builds, and traces the first worked example; arguments go to qkv instead.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"

# Tests are not needed here; but what tests/run.sh has switched on stays on, to spare another build.
tested=OFF
if grep -qs BUILD_TESTING:BOOL=ON "$BUILD_DIR/CMakeCache.txt"; then tested=ON; fi
build "$BUILD_DIR" qkv "-DBUILD_TESTING=$tested" "-DQKV_DEVELOPER=$tested"

if [ $# = 0 ]; then
  cd "$root"
  set -- trace examples/hand.qkv
fi
exec "$BUILD_DIR/qkv" "$@"
