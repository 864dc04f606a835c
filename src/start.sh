#!/bin/sh
# Writes src/start.ld anew, by looking at what small traces run; for once in a while, after the program has changed much.
# Needs valgrind, and the program in its build folder.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
command -v valgrind >/dev/null || die 'valgrind is missing (Debian: apt-get install valgrind)'
[ -x "$BUILD_DIR/qkv" ] || die "there is no $BUILD_DIR/qkv yet: run sh examples/run.sh"

export LC_ALL=C
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$root"
for words in hand.qkv hand-causal.qkv 'hand-scaled.qkv --mask causal'; do
  # shellcheck disable=SC2086  # a list of words
  valgrind --tool=callgrind --demangle=no --callgrind-out-file="$work/calls" \
    "$BUILD_DIR/qkv" trace examples/$words >/dev/null 2>&1 || die "valgrind cannot run qkv trace examples/$words"
  sed -n "s/^c\{0,1\}fn=([0-9]*) \([^']*\).*/\1/p" "$work/calls"
done | sort -u >"$work/functions"

# Ours and those of the C++ library have a section each, a constructor (C1, C2) or destructor under either of its names;
# of the C library whole files are taken.  A name that is very long is one of many alike, and its beginning will do.
{
  cat <<'END'
/* What a small trace runs stands side by side in the program, which is loaded in pieces of 64 KiB as it is run: spread
   over all of it, the same functions would be three times as many pieces, and as much memory.
   Written by sh src/start.sh.  Names that are no longer there do no harm, new ones are looked for in the rest. */
SECTIONS
{
  .text.start :
  {
END
  sed -n 's/^_Z[A-Za-z0-9_.]*$/&/p' "$work/functions" | awk '{
    print "    *(.text." (length($0) > 120 ? substr($0, 1, 120) "*" : $0) ")"
  }' | sed 's/\([CD]\)[12]E/\1[12]E/g' | sort -u
  archive=$(g++ -print-file-name=libc.a)
  nm -A --defined-only "$archive" 2>/dev/null | awk -v functions="$work/functions" '
    BEGIN { while ((getline name < functions) > 0) is_run[name] = 1 }
    $2 ~ /[TtWi]/ && $3 in is_run { split($1, place, ":"); print "    *libc.a:" place[2] "(.text .text.*)" }' | sort -u
  cat <<'END'
  }
}
INSERT BEFORE .text;
END
} >"$work/start.ld"
mv "$work/start.ld" "$root/src/start.ld"
say "src/start.ld names $(grep -c '^    \*' "$root/src/start.ld") places; build again"
