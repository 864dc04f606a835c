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
printf '0.25 -0.5\n1 0.125\n-0.75 2\n' >"$work/rows"
number=0
for words in "--q $work/rows --k $work/rows --v $work/rows --mask causal" \
  examples/hand.qkv examples/hand-causal.qkv 'examples/hand-scaled.qkv --mask causal'; do
  number=$((number + 1))
  # shellcheck disable=SC2086  # a list of words
  valgrind --tool=callgrind --demangle=no --callgrind-out-file="$work/calls" \
    "$BUILD_DIR/qkv" trace $words >/dev/null 2>&1 || die "valgrind cannot run qkv trace $words"
  sed -n "s/^c\{0,1\}fn=([0-9]*) \([A-Za-z_][A-Za-z0-9_.]*\).*/$number \1/p" "$work/calls"
done | sort -u | sort -s -k 2,2 -k 1,1 | awk '!seen[$2]++' | sort -s -k 1,1 >"$work/functions"

for archive in libc.a libgcc.a libgcc_eh.a libutf8proc.a libgmp.a libmpfr.a libmpfi.a; do
  nm -A --defined-only "$(g++ -print-file-name=$archive)" 2>/dev/null
done >"$work/archives"
nm -A --defined-only "$(dirname "$(g++ -print-file-name=libc.a)")"/libm-*.a 2>/dev/null >>"$work/archives"

# Ours and those of the C++ library have a section each, a constructor (C1, C2) or destructor under either of its names;
# of the other libraries whole files are taken.  Two things valgrind does not run: what the C library has for AVX-512,
# and how it finds the functions of the kernel (dl-).  The simplest trace comes first, and then what others add to it.
{
  cat <<'END'
/* What a small trace runs stands side by side in the program, which is loaded in pieces of 64 KiB as it is run: spread
   over all of it, the same functions would be three times as many pieces, and as much memory.
   Written by sh src/start.sh.  Names that are no longer there do no harm, new ones are looked for in the rest. */
SECTIONS
{
  .text.start :
  {
    *crt1.o(.text)
    *(.text.startup .text.startup.*)
END
  awk '
    function take(archive, file) {
      if (!taken[archive, file]++) print "    *" archive ":" file "(.text .text.*)"
    }
    BEGIN {
      take("libc.a", "dl-lookup.o")
      take("libc.a", "dl-object.o")
      take("libc.a", "dl-setup_hash.o")
    }
    FILENAME == ARGV[1] {
      split($1, place, ":")
      sub(/.*\//, "", place[1])
      sub(/libm-.*\.a/, "libm-*.a", place[1])
      if ($2 ~ /[TtWi]/) home[$3] = home[$3] " " place[1] ":" place[2]
      if (place[1] == "libc.a" && place[2] ~ /-(evex|avx512-unaligned|avx512\.o)/ && !(place[2] in known)) {
        known[place[2]] = 1
        stem = place[2]
        sub(/-(evex|avx512).*/, "", stem)
        wide[stem] = wide[stem] " " place[2]
      }
      next
    }
    {
      count = split(home[$2], homes, " ")
      for (i = 1; i <= count; i++) {
        split(homes[i], place, ":")
        take(place[1], place[2])
        stem = place[2]
        if (place[1] != "libc.a" || !sub(/-(sse|avx).*/, "", stem)) continue
        more = split(wide[stem], file, " ")
        for (j = 1; j <= more; j++) take("libc.a", file[j])
      }
      if (count > 0) next
      print "    *(.text." $2 ")"
      if (gsub(/C1E/, "C2E", $2) + gsub(/D1E/, "D2E", $2) + gsub(/C1I/, "C2I", $2) > 0) print "    *(.text." $2 ")"
    }' "$work/archives" "$work/functions"
  cat <<'END'
  }
}
INSERT BEFORE .text;
END
} >"$work/start.ld"
mv "$work/start.ld" "$root/src/start.ld"
say "src/start.ld names $(grep -c '^    \*' "$root/src/start.ld") places; build again"
