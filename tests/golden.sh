#!/bin/sh
# Compares the transcripts with what qkv prints now.
#
#   sh tests/golden.sh [FILE...]              golden/*.txt, or the files named
#   sh tests/golden.sh --update [FILE...]     rewrites them: read the difference before you accept it
#
# A transcript is what a terminal shows, and a new one needs no more than its `$ ` lines:
#
#   # comments, kept, before the first command
#   $ qkv softmax "8 16"
#   …stdout and stderr together, exactly as printed…
#   [exit 2]                                  when the status is not 0
#
# Commands run in the checkout, in English, without a terminal; $TMPDIR is an empty folder for each file.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
[ -x "$BUILD_DIR/qkv" ] || die "there is no $BUILD_DIR/qkv yet: run sh tests/run.sh"

update=no
if [ "${1:-}" = --update ]; then
  update=yes
  shift
fi
for file; do # the caller's folder is about to be left
  shift
  case $file in /*) ;; *) file=$PWD/$file ;; esac
  set -- "$@" "$file"
done
cd "$root"
[ $# != 0 ] || set -- golden/*.txt

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
unset QKV_LANG LANGUAGE LC_ALL LC_MESSAGES NO_COLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS
export LANG=C TERM=dumb PATH="$BUILD_DIR:$PATH" TMPDIR="$work/tmp"
newline='
'

transcribe() { # FILE
  sed '/^\$ /,$d' "$1"
  sed -n '/^\$ /p' "$1" | while IFS= read -r line; do
    printf '%s\n' "$line"
    # The x keeps $(...) from dropping newlines at the end.
    out=$(
      code=0
      sh -c "${line#??}" 2>&1 </dev/null || code=$?
      echo "x$code"
    )
    code=${out##*x}
    out=${out%x"$code"}
    case $out in
      '' | *"$newline") printf '%s' "$out" ;;
      *) printf '%s\n[no newline at the end]\n' "$out" ;;
    esac
    [ "$code" = 0 ] || printf '[exit %s]\n' "$code"
  done
}

bad=0 commands=0
for file; do
  label=${file#"$root"/}
  case $label in /*) label=${label##*/} ;; esac
  count=$(grep -c '^\$ ' "$file") || :
  if [ "${count:-0}" = 0 ]; then
    echo "$label: no command (a line that starts with '\$ ')"
    bad=$((bad + 1))
    continue
  fi
  commands=$((commands + count))
  mkdir "$work/tmp"
  transcribe "$file" >"$work/now"
  rm -rf "$work/tmp"

  if [ $update = yes ] && ! cmp -s "$file" "$work/now"; then
    echo "rewritten: $label"
    cat "$work/now" >"$file"
  fi
  if ! diff -u "$file" "$work/now" >"$work/diff"; then
    { echo "--- $label" && echo "+++ now" && sed 1,2d "$work/diff"; }
    bad=$((bad + 1))
  elif grep -nE '^\[exit (3|12[6-9]|1[3-9].|2..)\]$' "$work/now"; then
    echo "$label: a crash or a missing command stands in it as the right answer"
    bad=$((bad + 1))
  fi
done
echo "$# transcripts, $commands commands, $bad bad"
[ $bad = 0 ]
