#!/bin/sh
# What a terminal sees of long work, and what an interrupted qkv leaves behind.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
[ -x "$BUILD_DIR/qkv" ] || die "there is no $BUILD_DIR/qkv yet: run sh tests/run.sh"
command -v script >/dev/null || { echo 'skipped: script (of util-linux) is not installed'; exit 0; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset QKV_LANG LANGUAGE LC_ALL LC_MESSAGES
export LANG=C TERM=xterm PATH="$BUILD_DIR:$PATH"
failed=0
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}
erase=$(printf '\r\033[K')
long='qkv variance --dim 64 --pairs 3000000' # some seconds
on_terminal() { script -qec "$*" /dev/null </dev/null >seen || fail "exit status $?: $*"; }

on_terminal "$long -o result.txt"
grep -q 'qkv: working, 1 s, [0-9]*%' seen || fail "a terminal sees no progress: $(cat -v seen)"
[ "$(tail -c 4 seen)" = "$erase" ] || fail 'the line is not erased at the end'
on_terminal "$long --lang zh -o result.txt"
grep -q '正在计算，1 秒，' seen || fail 'a terminal sees no progress in Chinese'

on_terminal "$long -q -o result.txt"
[ ! -s seen ] || fail "--quiet is not quiet: $(cat -v seen)"
on_terminal "qkv softmax '1 2' -o result.txt"
[ ! -s seen ] || fail "short work shows progress: $(cat -v seen)"
on_terminal "TERM=dumb $long -o result.txt"
[ ! -s seen ] || fail "a terminal that cannot erase is written to: $(cat -v seen)"
$long >out 2>err
[ ! -s err ] || fail "a pipe sees progress: $(cat -v err)"

# Ctrl-C: status by signal, the line erased, no file begun.  A script in the background ignores
# SIGINT, one under nohup SIGHUP; that is undone.
rm result.txt
interrupt='import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGHUP, signal.SIG_DFL)
process = subprocess.Popen(sys.argv[2:])
time.sleep(1.6)
process.send_signal(getattr(signal, sys.argv[1]))
sys.exit(0 if process.wait() == -getattr(signal, sys.argv[1]) else 1)'
mkdir empty
if command -v python3 >/dev/null; then
  for signal in SIGINT SIGTERM SIGHUP; do
    # shellcheck disable=SC2086  # words
    python3 -c "$interrupt" $signal $long -o empty/result.txt || fail "it does not die of $signal"
    [ -z "$(ls -A empty)" ] || fail "$signal leaves $(ls -A empty)"
  done
  on_terminal "python3 -c '$interrupt' SIGINT $long -o empty/result.txt"
  [ "$(tail -c 4 seen)" = "$erase" ] || fail "Ctrl-C leaves the line: $(cat -v seen)"
else
  echo 'skipped: python3 is not installed'
fi
echo "$failed failures"
[ $failed = 0 ]
