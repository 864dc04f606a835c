#!/bin/sh
# Each of the two commands alone, as the first one on an empty Debian 12; and what they say without root.
# Needs root, debootstrap and a network; about 3 GB under ${1:-/var/tmp}.  Not part of tests/run.sh.
#
#   sh tests/bare.sh [FOLDER]
#
# Mirror and apt settings are this machine's own, read when it runs.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
[ "$(id -u)" = 0 ] || { echo 'error: debootstrap and chroot need root' >&2; exit 2; }
work=$(mktemp -d "${1:-/var/tmp}/qkv-bare.XXXXXX")
unmount() { for bare in "$work"/*/proc; do umount "$bare" 2>/dev/null || :; done; }
trap 'unmount; rm -rf --one-file-system "$work"' EXIT

mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
  sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p; s/^URIs: *\([^ ]*\).*/\1/p' | head -n 1)
debootstrap --variant=minbase bookworm "$work/base" ${mirror:+"$mirror"} >"$work/log" 2>&1 ||
  { cat "$work/log"; exit 1; }
for file in /etc/resolv.conf /etc/apt/sources.list /etc/apt/apt.conf /etc/apt/sources.list.d/debian.sources \
  /etc/apt/apt.conf.d/*; do
  # Settings that start programs of this machine would fail in there.
  if [ -f "$file" ] && ! grep -q 'Invoke\|Pre-Install' "$file"; then
    if [ "$file" = /etc/apt/sources.list.d/debian.sources ]; then rm -f "$work/base/etc/apt/sources.list"; fi
    cp -L "$file" "$work/base$file"
  fi
done
rm -rf "$work"/base/var/lib/apt/lists/* "$work"/base/var/cache/apt/*.bin

bad=0
# try NAME WANTED-STATUS COMMAND, in a fresh copy of the empty system; the log stays on failure.
try() {
  name=$1 want=$2 code=0
  bare=$work/$name
  cp -a "$work/base" "$bare"
  mkdir "$bare/root/a checkout"
  # The working tree, without build folders and history.
  tar -C "$root" --exclude=./.git --exclude='./build*' -cf - . | tar -C "$bare/root/a checkout" -xf -
  mount -t proc proc "$bare/proc"  # the leak checker looks into it
  start=$(date +%s)
  chroot "$bare" env -i PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LANG=C sh -c "$3" \
    >"$bare/out" 2>"$bare/err" </dev/null || code=$?
  seconds=$(($(date +%s) - start))
  if [ "$code" = "$want" ]; then
    echo "ok     $name: status $code after $seconds s"
  else
    echo "FAILED $name: status $code instead of $want after $seconds s"
    tail -n 40 "$bare/err" "$bare/out"
    bad=$((bad + 1))
  fi
}
finish() {
  umount "$bare/proc"
  rm -rf --one-file-system "$bare"
}

try without-root 2 "cp -a '/root/a checkout' /tmp/q; chown -R nobody /tmp/q
  exec setpriv --reuid=nobody --regid=nogroup --clear-groups sh /tmp/q/examples/run.sh"
grep -q 'apt-get install .*g++' "$bare/err" || { echo 'FAILED: no command to run in:'; cat "$bare/err"; bad=$((bad + 1)); }
[ ! -s "$bare/out" ] || { echo 'FAILED: something on stdout'; bad=$((bad + 1)); }
cat "$bare/err"
finish

try examples-run 0 "sh '/root/a checkout/examples/run.sh'"
head -n 20 "$bare/out"
start=$(date +%s%N)
chroot "$bare" sh "/root/a checkout/examples/run.sh" >/dev/null
echo "       once more: $((($(date +%s%N) - start) / 1000000)) ms"
finish

try tests-run 0 "sh '/root/a checkout/tests/run.sh'"
tail -n 12 "$bare/out"
finish

# A set-up that was killed in the middle of unpacking, then the same command again.
# shellcheck disable=SC2016  # the inner shell expands it
try broken-off 0 'rm -f /var/log/dpkg.log
  setsid sh "/root/a checkout/examples/run.sh" & first=$!
  until [ "$(grep -c "status half-installed" /var/log/dpkg.log 2>/dev/null)" -ge 30 ] 2>/dev/null; do sleep 0.1; done
  kill -s KILL -- "-$first"
  echo "--- killed; dpkg is left with:" >&2
  dpkg --audit | head -n 3 >&2
  exec sh "/root/a checkout/examples/run.sh"'
grep -A 4 -e '--- killed' "$bare/err"
finish

[ $bad = 0 ]
