#!/bin/sh
# The set-up, then every test; the last line counts the suites.   --quick: unit tests and transcripts only
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
export BUILD_DIR

quick=no
case ${1:-} in
  '') ;;
  --quick) quick=yes ;;
  *) die "unknown option $1 (there is only --quick)" ;;
esac

build "$BUILD_DIR" qkv_tests -DBUILD_TESTING=ON
build "$BUILD_DIR" qkv -DBUILD_TESTING=ON

# Without NumPy one test is skipped, and says so; no reason to stop where it cannot be installed.
if [ $quick = no ] && ! python_with_numpy >/dev/null; then
  (install_packages "$(numpy_package)") || say 'NumPy cannot be installed; going on without it'
fi

passed=0 failed=0 summary=
suite() { # NAME COMMAND...
  name=$1
  shift
  printf '\n== %s\n' "$name"
  start=$(date +%s)
  if "$@"; then
    word='ok     ' passed=$((passed + 1))
  else
    word='FAILED ' failed=$((failed + 1))
  fi
  summary="$summary$word $name ($(($(date +%s) - start)) s)
"
}
skip() { # NAME REASON
  printf '\n== %s\nskipped: %s\n' "$1" "$2"
  summary="${summary}skipped $1: $2
"
}

unit_tests() { ctest --test-dir "$1" --no-tests=error --output-on-failure --parallel "$jobs"; }

# The same unit tests in a build folder of their own, which must also compile without a warning where the
# compiler is the one we know; newer ones find new things to warn about.
build_and_test() ( # DIR COMPILER KNOWN-VERSION CMAKE-OPTION...
  dir=$1 compiler=$2 known=$3
  shift 3
  case $("$compiler" -dumpversion) in
    "$known" | "$known".*) strict=ON ;;
    *) strict=OFF ;;
  esac
  for program in $programs; do
    build "$dir" $program -DBUILD_TESTING=ON -DCMAKE_CXX_COMPILER="$compiler" -DQKV_DEVELOPER="$strict" "$@"
  done
  unit_tests "$dir"
)

install_tree() (
  to=$(mktemp -d)
  trap 'rm -rf "$to"' EXIT
  cmake --install "$BUILD_DIR" --prefix "$to" >&2 &&
    "$to/bin/qkv" --version && "$to/bin/qkv" trace "$to/share/qkv/examples/hand.qkv" >/dev/null &&
    [ -s "$to/share/man/man1/qkv.1" ]
)

suite 'unit tests' unit_tests "$BUILD_DIR"
if ! python_with_numpy >/dev/null; then skip 'unit test detect' 'NumPy is not installed'; fi
if [ ! -d "$root/../shared/onnx" ]; then skip 'unit test onnx' 'the ONNX cases are not here'; fi
suite transcripts sh "$root/tests/golden.sh"
if [ $quick = no ]; then
  suite 'README' sh "$root/tests/readme.sh"
  suite 'command line' sh "$root/tests/cli.sh"
  suite 'layers' sh "$root/tests/test_layers.sh"
  suite 'installed tree' install_tree
  # Debug keeps assert(), and compiles in half the time.  Instrumented and unoptimised arithmetic is many times slower, so
  # the random tests do less of it.
  export QKV_CELLS=5000 QKV_SHEETS=4 QKV_RANDOM=5 QKV_SECONDS=10
  programs=qkv_tests  # the program adds only src/cli, and takes a minute to build
  suite 'unit tests with sanitizers' build_and_test "$BUILD_DIR/asan" g++ 12 \
    -DQKV_SANITIZE=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG=-g1
  if command -v clang++ >/dev/null; then
    programs='qkv_tests qkv'
    suite 'unit tests with clang++' build_and_test "$BUILD_DIR/clang" clang++ 14 \
      -DCMAKE_CXX_FLAGS_RELEASE=-O0 -DCMAKE_DISABLE_PRECOMPILE_HEADERS=ON
  else
    skip 'unit tests with clang++' 'clang++ is not installed'
  fi
  unset QKV_CELLS QKV_SHEETS QKV_RANDOM QKV_SECONDS
fi

printf '\n%s\n%d passed, %d failed\n' "$summary" "$passed" "$failed"
[ "$failed" = 0 ]
