#!/bin/sh
# The set-up, then every test; the last line counts the suites.
#   --quick  unit tests and transcripts only
#   --all    with clang++ also the program, which detects and computes with sanitizers, and every file of src/ without the
#            precompiled header
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
export BUILD_DIR

quick=no all=no
case ${1:-} in
  '') ;;
  --quick) quick=yes ;;
  --all) all=yes ;;
  *) die "unknown option $1 (there are --quick and --all)" ;;
esac

# A warning of a compiler we know fails the build.
build "$BUILD_DIR" 'qkv_tests qkv' -DBUILD_TESTING=ON -DQKV_DEVELOPER=ON

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

unit_tests() { # DIR CTEST-OPTION...
  dir=$1
  shift
  ctest --test-dir "$dir" --no-tests=error --output-on-failure --parallel "$jobs" "$@"
}

# The same unit tests from a build folder of their own.  Debug keeps assert(), and compiles in half the time, without
# line numbers for a debugger (the checks name their lines themselves) in less; its arithmetic is many times slower, so the
# random tests do less of it.
build_and_test() ( # DIR TARGETS CMAKE-OPTION...
  dir=$1 tested=$2
  shift 2
  export QKV_CELLS=5000 QKV_SHEETS=4 QKV_ROUNDS=1 QKV_RANDOM=5 QKV_SECONDS=10
  build "$dir" "$tested" -DBUILD_TESTING=ON -DQKV_DEVELOPER=ON -DCMAKE_BUILD_TYPE=Debug -DCMAKE_CXX_FLAGS_DEBUG= "$@"
  # Other programs read what the first build writes; once is enough, and a program with sanitizers is slow.
  others='forms|export|html|written'
  if [ $all = no ]; then others="$others|detect|onnx"; fi
  unit_tests "$dir" --exclude-regex "^($others)\$"
)
# A second compiler reads what the tests read.  The precompiled header saves it two minutes, and hides a forgotten include:
# --all goes without, and reads the program too.
with_clang() { # SANITIZE
  targets=qkv_tests headers=OFF
  if [ $all = yes ]; then targets='qkv_tests qkv' headers=ON; fi
  build_and_test "$BUILD_DIR/clang" "$targets" -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_DISABLE_PRECOMPILE_HEADERS=$headers \
    -DQKV_SANITIZE="$1"
}

# clang++ alone is not enough, the sanitizers are a package of their own.
clang_sanitizes() {
  echo 'int main() {}' | clang++ -fsanitize=address,undefined -x c++ - -o /dev/null 2>/dev/null
}

install_tree() (
  to=$(mktemp -d)
  trap 'rm -rf "$to"' EXIT
  cmake --install "$BUILD_DIR" --prefix "$to" >&2 &&
    "$to/bin/qkv" --version && "$to/bin/qkv" trace "$to/share/qkv/examples/hand.qkv" >/dev/null &&
    [ -s "$to/share/man/man1/qkv.1" ] && [ -s "$to/share/bash-completion/completions/qkv" ]
)

suite 'unit tests' unit_tests "$BUILD_DIR"
if ! python_with_numpy >/dev/null; then skip 'unit test detect' 'NumPy is not installed'; fi
if [ ! -d "$root/../shared/onnx" ]; then skip 'unit test onnx' 'the ONNX cases are not here'; fi
if ! command -v chromium >/dev/null && ! command -v google-chrome >/dev/null; then
  skip 'unit test html' 'Chromium is not installed; the page was read, but not driven'
fi
for program in octave-cli soffice; do
  command -v $program >/dev/null || skip 'part of unit test export' "$program is not installed"
done
if ! /usr/bin/python3 -c 'import torch' 2>/dev/null; then skip 'part of unit test export' 'PyTorch is not installed'; fi
# It keeps one core busy for half a minute, and the suites that run meanwhile the other.
if [ $quick = no ]; then
  in_background=$(mktemp)
  sh "$root/tests/progress.sh" >"$in_background" 2>&1 &
  background=$!
fi
come_back() {
  code=0
  wait "$background" || code=$?
  cat "$in_background"
  rm -f "$in_background"
  return $code
}
suite transcripts sh "$root/tests/golden.sh"
if [ $quick = no ]; then
  suite 'README' sh "$root/tests/readme.sh"
  suite 'command line' sh "$root/tests/cli.sh"
  suite 'completion' sh "$root/tests/completion.sh"
  suite 'manual page' sh "$root/tests/man.sh"
  suite 'layers' sh "$root/tests/test_layers.sh"
  suite 'installed tree' install_tree
  suite 'progress and interruption' come_back
  if clang_sanitizes; then # one build for both
    suite 'unit tests with clang++ and sanitizers' with_clang ON
  else
    suite 'unit tests with sanitizers' build_and_test "$BUILD_DIR/asan" qkv_tests -DCMAKE_CXX_COMPILER=g++ -DQKV_SANITIZE=ON
    if command -v clang++ >/dev/null; then
      suite 'unit tests with clang++' with_clang OFF
    else
      skip 'unit tests with clang++' 'clang++ is not installed'
    fi
  fi
fi

printf '\n%s\n%d passed, %d failed\n' "$summary" "$passed" "$failed"
[ "$failed" = 0 ]
