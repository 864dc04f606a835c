#!/bin/sh
# The manual page names every command, option and list of values that --help lists, no others, and is well formed.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
[ -x "$BUILD_DIR/qkv" ] || die "there is no $BUILD_DIR/qkv yet: run sh tests/run.sh"
page=$root/src/cli/qkv.1

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
qkv() { "$BUILD_DIR/qkv" "$@" --lang en; }
failed=0
fail() {
  failed=$((failed + 1))
  printf 'FAILED: %s\n' "$*"
}

# The page without its markup.
sed -e 's/\\f[A-Z]//g' -e 's/\\-/-/g' -e 's/" " //g' "$page" >plain
commands=$(qkv --help | sed -n '/^Commands:/,$ s/^  \([a-z]*\) .*/\1/p')
[ "$(echo "$commands" | wc -l)" -ge 12 ] || fail "--help lists only: $commands"
for command in $commands; do
  grep -Eq "^(\.B )?(qkv |\[)?\[?$command\b" plain || fail "the page has no command $command"
  qkv "$command" --help >"help.$command"
done
# An option and what it takes: -o,--output FILE, then the meaning after two spaces or on the next line.
# A flag that may take a value stands with what it means without one: --heat[=viridis].
sed -n 's/^  \(-.,\)\{0,1\}\(--[a-z-]*\)/\2/p' help.* | sed -e 's/   *.*//' -e 's/\[=[^]]*\]//' | sort -u >options
while read -r option values; do
  grep -q -e "$option\([^a-z-]\|\$\)" plain || fail "the page has no option $option"
  case $option in
    --format) ;; # the commands differ; the page has the longest list
    *) case $values in *' | '*) grep -qF -e "$values" plain || fail "$option takes $values, says --help" ;; esac ;;
  esac
done <options
[ "$(wc -l <options)" -gt 80 ] || fail "--help has only $(wc -l <options) options"
grep -oE -e '--[a-z][a-z-]*' plain | sort -u | while read -r option; do
  case $option in --version) continue ;; esac # of qkv itself
  grep -q -e "^$option\( \|\$\)" options || echo "$option"
done >strangers
[ ! -s strangers ] || fail "the page has options that --help has not: $(tr '\n' ' ' <strangers)"
grep -q "\"$("$BUILD_DIR/qkv" --version | sed 1q)\"" "$page" || fail 'the page is of another version'

if command -v mandoc >/dev/null; then
  mandoc -T lint -W warning "$page" || fail 'mandoc finds fault with the page'
else
  echo 'skipped: mandoc is not installed'
fi
if command -v groff >/dev/null; then
  groff -t -man -Tutf8 -ww "$page" 2>faults >/dev/null || :
  [ ! -s faults ] || fail "groff: $(cat faults)"
else
  echo 'skipped: groff is not installed'
fi
echo "$(wc -l <options) options, $failed failures"
[ $failed = 0 ]
