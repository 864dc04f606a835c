#!/bin/sh
# Makes the Debian package, installs it, runs it and removes it again.  Not part of run.sh: it needs dpkg-dev, and root
# for the installing, which happens in a root of its own.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
for program in cpack dpkg-deb dpkg-shlibdeps; do
  command -v $program >/dev/null || die "$program is missing (Debian: apt-get install cmake dpkg-dev)"
done

# A package uses the shared libraries of its system, so that a repaired one reaches it: a build of its own.
BUILD_DIR=$BUILD_DIR/shared
build "$BUILD_DIR" qkv -DBUILD_TESTING=OFF -DQKV_STATIC=OFF

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}

(cd "$BUILD_DIR" && cpack -G DEB -B "$work") >"$work/log" 2>&1 || { cat "$work/log"; die 'cpack failed'; }
package=$(echo "$work"/qkv_*_*.deb)
version=$("$BUILD_DIR/qkv" --version | sed -n '1s/qkv //p')

field() { dpkg-deb -f "$package" "$1"; }
[ "$(field Package) $(field Version) $(field Section)" = "qkv $version math" ] || fail "$(dpkg-deb -f "$package")"
for library in libc6 libfmt libgmp libmpfi libmpfr libutf8proc; do
  field Depends | grep -q "\b$library" || fail "it does not depend on $library: $(field Depends)"
done
field Description | grep -q 'attention that shows every step' || fail 'no English description'
field Description | grep -q '注意力' || fail 'no Chinese description'
dpkg-deb -c "$package" | sed 's/.* \.\//\//' >"$work/files"
for file in /usr/bin/qkv /usr/share/man/man1/qkv.1.gz /usr/share/qkv/examples/hand.qkv \
  /usr/share/bash-completion/completions/qkv /usr/share/zsh/vendor-completions/_qkv \
  /usr/share/fish/vendor_completions.d/qkv.fish; do
  grep -qx "$file" "$work/files" || fail "it does not hold $file"
done

# A root with nothing in it but dpkg's own list, which says that the libraries are there.
if [ "$(id -u)" = 0 ]; then
  mkdir -p "$work/root/var/lib/dpkg/info" "$work/root/var/lib/dpkg/updates"
  : >"$work/root/var/lib/dpkg/status"
  packages() { dpkg --root="$work/root" --force-depends --log=/dev/null "$@" >"$work/log" 2>&1 || fail "dpkg $*: $(cat "$work/log")"; }
  packages -i "$package"
  usr=$work/root/usr
  [ "$("$usr/bin/qkv" --version | sed 1q)" = "qkv $version" ] || fail 'the installed program does not run'
  "$usr/bin/qkv" "$usr/share/qkv/examples/hand.qkv" >/dev/null || fail 'an installed example does not run'
  packages -r qkv
  [ ! -e "$usr/bin/qkv" ] && [ ! -e "$usr/share/qkv" ] || fail 'something is left after removing it'
else
  echo 'skipped: installing needs root'
fi

# A licence is for the owners to choose, so there is no copyright file yet; nor is there a changelog.
if command -v lintian >/dev/null; then
  lintian --allow-root --fail-on error,warning --suppress-tags no-copyright-file,no-changelog "$package" ||
    fail 'lintian finds fault with it'
else
  echo 'skipped: lintian is not installed'
fi
echo "$(basename "$package"): $failed failures"
[ $failed = 0 ]
