#!/bin/sh
# Fuzzes the reader with clang's libFuzzer and both sanitizers:   sh tests/fuzz.sh [SECONDS]   (default 60)
# What it finds lies in $BUILD_DIR/fuzz/found; its growing corpus beside it is kept for the next run.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
seconds=${1:-60}

# Does a fuzzer link?  clang++ alone is not enough, its runtime is a package of its own.
fuzzer_links() {
  echo 'extern "C" int LLVMFuzzerTestOneInput(const unsigned char*, unsigned long) { return 0; }' |
    clang++ -x c++ -fsanitize=fuzzer,address,undefined - -o "$BUILD_DIR/fuzz/links" 2>/dev/null
}
mkdir -p "$BUILD_DIR/fuzz"
fuzzer_links || install_packages clang libclang-rt-dev

build "$BUILD_DIR/fuzz" fuzz_reader -DCMAKE_CXX_COMPILER=clang++ -DQKV_FUZZ=ON -DQKV_SANITIZE=ON \
  -DCMAKE_BUILD_TYPE=Debug "-DCMAKE_CXX_FLAGS_DEBUG=-O1 -g1"

cd "$BUILD_DIR/fuzz"
mkdir -p corpus found seeds
find "$root/examples" "$root/tests" '(' -name '*.qkv' -o -name '*.npy' ')' -exec cp {} seeds \;
if [ -d "$root/tests/fuzz/corpus" ]; then cp "$root"/tests/fuzz/corpus/* seeds; fi
exec ./fuzz_reader -max_total_time="$seconds" -max_len=4096 -timeout=10 -rss_limit_mb=2048 \
  -artifact_prefix=found/ -print_final_stats=1 corpus seeds
