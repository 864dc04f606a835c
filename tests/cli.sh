#!/bin/sh
# What a transcript cannot show: streams, pipes, files, colour, exit statuses through the scripts.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
[ -x "$BUILD_DIR/qkv" ] || die "there is no $BUILD_DIR/qkv yet: run sh tests/run.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cp "$root/examples/hand.qkv" "$work"
cd "$work"
unset QKV_LANG LANGUAGE LC_ALL LC_MESSAGES NO_COLOR CLICOLOR_FORCE FORCE_COLOR COLUMNS
export LANG=C TERM=xterm-256color PATH="$BUILD_DIR:$PATH"

# it SENTENCE; run STATUS COMMAND... (its streams are then in the files out and err); that CONDITION...
sentences=0 failed=0 sentence=
it() {
  sentence=$*
  sentences=$((sentences + 1))
}
fail() {
  failed=$((failed + 1))
  printf 'FAILED: it %s\n        %s\n' "$sentence" "$*"
  if [ -s err ]; then sed 's/^/        stderr: /;5q' err; fi
}
run() {
  want=$1 code=0
  shift
  "$@" >out 2>err </dev/null || code=$?
  [ "$code" = "$want" ] || fail "exit status $code instead of $want: $*"
}
that() { "$@" || fail "not so: $*"; }
empty() { [ ! -s "$1" ]; }
missing() { [ ! -e "$1" ]; }
says_error() { grep -q 'error:' err; }
coloured() { grep -q "$(printf '\033')\\[" out; }
plain() { ! coloured; }

# --- Large problems

it 'shows the same digits of a large problem traced and not, with any instructions and any number of threads'
awk 'BEGIN { for (i = 1; i <= 700; i++) { for (j = 1; j <= 6; j++) printf "%.3f ", (i * 7919 + j * 104729) * (i + j) % 997 / 400 - 1
  print "" } }' >x.txt
large() { qkv trace --q x.txt --k x.txt --v x.txt --mask 'causal window:300 sinks:2' --heads 2 --only-output "$@"; }
run 0 qkv trace --q x.txt --k x.txt --v x.txt --mask 'causal window:300 sinks:2' --heads 2 --steps concat --color never
sed -n 's/^    \(t[0-9]\)/\1/p' out >traced.txt
that [ "$(wc -l <traced.txt)" = 700 ]
for options in '' '--threads 1' '--threads 3' '--isa baseline' '--isa avx2 --threads 2' '--isa avx512' '--fast' '--fast --isa baseline'; do
  # shellcheck disable=SC2086  # a list of words
  run 0 large $options
  sed 1d out >alone.txt
  that cmp alone.txt traced.txt
done
rm -f x.txt traced.txt alone.txt

# --- Streams

it 'prints a trace on stdout and nothing on stderr'
run 0 qkv trace hand.qkv
that [ -s out ]
that empty err
cp out trace.txt

it 'takes a file as its first word for trace'
run 0 qkv hand.qkv
that cmp out trace.txt

it 'reads a problem from stdin'
run 0 sh -c 'qkv trace - --only-output <hand.qkv'
that [ -s out ]

it 'keeps stdout empty when the input is wrong'
run 2 qkv trace no-such-file.qkv
that empty out
that says_error

it 'reads a line as if every option existed, although it makes only those that are named'
run 0 qkv trace hand.qkv --quiet --decimals 3 --mask causal
cp out named.txt
run 0 qkv trace --mask=causal -qp3 hand.qkv
that cmp out named.txt
run 2 qkv trace hand.qkv --maks causal
that grep -q "did you mean '--mask'" err
run 2 qkv trace hand.qkv --mask --decode
that grep -q 'mask lacks its value' err
run 0 qkv trace hand.qkv --mask causal --help
that grep -q -e --decimals out

it 'answers --help and --version on stdout, with status 0'
run 0 qkv --help
that [ -s out ]
that empty err
run 0 qkv -V
that grep -q '[0-9]\.[0-9]' out
that empty err

it 'tells its version in the first line, and those of the libraries that did the work below'
run 0 qkv --version
that [ "$(sed 1q out)" = "qkv $(sed -n 's/^project(qkv VERSION \([0-9.]*\) .*/\1/p' "$root/CMakeLists.txt")" ]
for library in fmt Eigen CLI11 nlohmann-json Boost GMP MPFR MPFI utf8proc; do
  that grep -Eq "^$library [0-9]+(\.[0-9]+)+$" out
done
that [ "$(wc -l <out)" = 10 ]

it 'tells its version after a command or other options too'
cp out version.txt
for words in 'trace -V' '-q -V' 'trace --version' '--lang zh --version' 'softmax --version' 'hand.qkv -V'; do
  # shellcheck disable=SC2086  # words
  run 0 qkv $words
  that cmp out version.txt
done
run 2 qkv --verison
that grep -q "did you mean '--version'" err

it 'ends with status 2, and never with 105 to 109, after wrong usage'
for words in 'tarce' 'trace' 'trace hand.qkv --no-such-option' 'trace hand.qkv -p 99' 'trace hand.qkv -p x' \
  'trace hand.qkv --lang fr' 'trace hand.qkv extra.qkv' 'explain hand.qkv' 'softmax'; do
  # shellcheck disable=SC2086  # words
  run 2 qkv $words
  that [ -s err ]
done

it 'is silent when the reader goes away, and dies of SIGPIPE as other programs do'
{ { sleep 1; code=0; qkv trace hand.qkv --detail full 2>err || code=$?; echo $code >status; } | :; } 2>&1
that empty err
that [ "$(cat status)" = 141 ]

it 'reports a full disk'
if [ -w /dev/full ]; then
  for words in 'trace hand.qkv' 'trace hand.qkv --format json' 'softmax 1,2' '--help' '--version'; do
    run 2 sh -c "qkv $words >/dev/full"
    that says_error
  done
else
  echo 'skipped: no /dev/full here'
fi

it 'reports a closed stdout and a closed stdin'
run 2 sh -c 'qkv trace hand.qkv >&-'
run 2 sh -c 'qkv trace - <&-'
that empty out
that says_error

# --- The same command, the same bytes

it 'prints the same bytes twice, whatever the terminal is called'
run 0 qkv trace hand.qkv --detail full
cp out first
run 0 env TERM=dumb COLUMNS=20 LINES=5 qkv trace hand.qkv --detail full
that cmp out first

it 'prints nothing but ASCII with --ascii, in English'
sed -e /^title/d -e /^source/d hand.qkv >no-title.qkv  # what the user wrote stays as it is
run 0 qkv trace no-title.qkv --detail full --ascii
cp out ascii.txt
run 1 env LC_ALL=C grep -n '[^ -~]' ascii.txt

it 'writes JSON that another program reads'
run 0 qkv trace hand.qkv --format json
if command -v python3 >/dev/null; then
  run 0 sh -c 'qkv trace hand.qkv --format json | python3 -m json.tool'
  that [ -s out ]
else
  echo 'skipped: python3 is not installed'
fi

it 'prints as text what it writes as JSON, for every example'
for example in "$root"/examples/*.qkv; do
  run 0 qkv trace "$example" --lang zh -q
  cp out as-text.txt
  run 0 sh -c "qkv trace '$example' -q -f json | qkv diff as-text.txt -"
done

it 'writes a key that it marks all right, for every example that asks for something'
keys=0
for example in "$root"/examples/*.qkv; do
  qkv worksheet "$example" --key --detail full >key.qkv 2>/dev/null || continue
  keys=$((keys + 1))
  run 0 qkv check "$example" key.qkv
done
that [ $keys -gt 40 ]

# --- Colour: --color, then NO_COLOR, then CLICOLOR_FORCE and FORCE_COLOR, then TERM=dumb, then the terminal

it 'colours a pipe only when asked to'
run 0 qkv trace hand.qkv
that plain
run 0 qkv trace hand.qkv --color always
that coloured
run 0 env NO_COLOR=1 qkv trace hand.qkv --color always
that coloured
run 0 env CLICOLOR_FORCE=1 qkv trace hand.qkv
that coloured
run 0 env FORCE_COLOR=1 TERM=dumb qkv trace hand.qkv
that coloured
run 0 env NO_COLOR=1 FORCE_COLOR=1 qkv trace hand.qkv
that plain
run 0 env FORCE_COLOR=1 qkv trace hand.qkv --color never
that plain

it 'shows heat in as many colours as the terminal says it has, and as shades where it has none'
run 0 env COLORTERM=truecolor qkv trace hand.qkv --heat --color always
that grep -q '48;2;' out
run 0 qkv trace hand.qkv --heat --color always
that grep -q '48;5;' out
run 0 env COLORTERM=truecolor qkv trace hand.qkv --heat
that plain
that grep -q '█' out
run 0 env COLORTERM=truecolor qkv trace hand.qkv --heat --color always -o heat.txt
that grep -q '█' heat.txt
if command -v script >/dev/null; then
  run 0 env COLORTERM= TERM=linux script -qec 'qkv trace hand.qkv --heat' /dev/null
  that coloured
  that grep -q '█' out
  run 0 env COLORTERM= TERM=screen-256color script -qec 'qkv trace hand.qkv --heat' /dev/null
  that grep -q '48;5;' out

  it 'writes no array to a terminal, and says how to have it'
  run 2 script -qec 'qkv trace hand.qkv --only-output -f npy' /dev/null
  that grep -q 'output.npy' out
  run 1 grep -q NUMPY out
else
  echo 'skipped: there is no script(1) to play a terminal'
fi

# --- Language: --lang, QKV_LANG, LANGUAGE, LC_ALL, LC_MESSAGES, LANG

it 'finds the language where the manual says, the first one set deciding'
run 0 qkv trace hand.qkv --lang zh
cp out chinese.txt
run 1 cmp -s chinese.txt trace.txt
for setting in 'QKV_LANG=zh LANG=en_US.UTF-8' 'LANGUAGE=zh_CN:en LC_ALL=en_US.UTF-8' 'LC_ALL=zh_CN.UTF-8 LANG=C' \
  'LC_MESSAGES=zh_CN.UTF-8 LANG=C' 'LANG=zh_CN.UTF-8' 'LANG=zh_TW'; do
  # shellcheck disable=SC2086  # words
  run 0 env $setting qkv trace hand.qkv
  that cmp out chinese.txt
done
for setting in 'LANG=C' 'LANG=POSIX' 'LANG=fr_FR.UTF-8' 'QKV_LANG=en LANG=zh_CN.UTF-8' 'LC_ALL=C LANG=zh_CN.UTF-8'; do
  # shellcheck disable=SC2086
  run 0 env $setting qkv trace hand.qkv
  that cmp out trace.txt
done
run 0 env QKV_LANG=zh qkv trace hand.qkv --lang en
that cmp out trace.txt

# --- -o: written whole or not at all

it 'writes with -o what it prints without, and leaves no other file'
mkdir fresh
run 0 qkv trace hand.qkv -o fresh/trace.txt
that empty out
that cmp fresh/trace.txt trace.txt
that [ "$(ls -A fresh)" = trace.txt ]

it 'gives a new output the permissions that the shell would give, and keeps those of an old one'
run 0 sh -c 'umask 027; qkv trace hand.qkv -o fresh/new.txt; ls -l fresh/new.txt'
that grep -q '^-rw-r-----' out
chmod 604 fresh/new.txt
run 0 sh -c 'qkv trace hand.qkv -o fresh/new.txt; ls -l fresh/new.txt'
that grep -q '^-rw----r--' out
rm fresh/new.txt

it 'writes through a symbolic link, not over it'
ln -s trace.txt fresh/link.txt
run 0 qkv trace hand.qkv --lang zh -o fresh/link.txt
that [ -h fresh/link.txt ]
that cmp fresh/trace.txt chinese.txt
rm fresh/link.txt

it 'leaves an old output alone when the input is wrong'
run 2 qkv trace no-such-file.qkv -o fresh/trace.txt
that cmp fresh/trace.txt chinese.txt
run 2 qkv trace no-such-file.qkv -o fresh/other.txt
that missing fresh/other.txt

it 'leaves an old output alone, and no half file, when writing breaks off'
# A file size limit of zero stands for the full disk: the first byte fails, with a signal that we ignore.
run 2 sh -c 'trap "" XFSZ; ulimit -f 0; qkv trace hand.qkv -o fresh/trace.txt 2>/dev/null'
that cmp fresh/trace.txt chinese.txt
run 2 sh -c 'trap "" XFSZ; ulimit -f 0; qkv trace hand.qkv -o fresh/other.txt 2>/dev/null'
that [ "$(ls -A fresh)" = trace.txt ]

it 'refuses an output that cannot be'
run 2 qkv trace hand.qkv -o no/such/folder/trace.txt
that says_error
run 2 qkv trace hand.qkv -o fresh
that says_error

it 'refuses an output that is its input, however spelt'
cp hand.qkv copy.qkv
ln -s hand.qkv symbolic.qkv
ln hand.qkv hard.qkv
for spelling in hand.qkv ./hand.qkv "$work/hand.qkv" fresh/../hand.qkv symbolic.qkv hard.qkv; do
  run 2 qkv trace hand.qkv -o "$spelling"
  that says_error
  that cmp hand.qkv copy.qkv
done
printf '1 0\n0 1\n' >q.txt
run 2 qkv trace hand.qkv --q q.txt -o q.txt
that [ "$(cat q.txt)" = '1 0
0 1' ]

it 'writes into a pipe that has a name, instead of replacing it'
mkfifo fresh/fifo
cat fresh/fifo >fresh/read &
reader=$!
run 0 qkv trace hand.qkv -o fresh/fifo
if [ -p fresh/fifo ]; then
  wait $reader
  that cmp fresh/read trace.txt
else
  kill $reader
  fail 'the pipe is gone'
fi

# --- Two ways to read a command line

# Most lines are simple and take their values themselves; behind "--", which says "no options from here on", a line is
# read by CLI11.  A value that is missing would be that "--".
it 'means by a simple line what CLI11 means by it'
lines=0
while IFS= read -r line; do
  lines=$((lines + 1))
  simple=0 read=0
  (cd "$root" && eval "$line") >simple.txt 2>&1 </dev/null || simple=$?
  (cd "$root" && eval "$line --") >read.txt 2>&1 </dev/null || read=$?
  [ "$simple" = "$read" ] && cmp -s simple.txt read.txt || fail "not the same with -- behind it: $line"
done <<END
$(sed -n 's/^\$ \(qkv [^|<>;&$()`]*\)$/\1/p' "$root"/golden/*.txt | grep -v -e ' --$' -e ' --row$' -e ' -o' -e ' --help' | sort -u |
  awk 'NR % 4 == 0')
END
that [ "$lines" -gt 100 ]

# --- The scripts

it 'runs through examples/run.sh in the caller folder, with its status, its stdin and a quiet stderr'
run 0 sh "$root/examples/run.sh" trace hand.qkv
that cmp out trace.txt
that empty err
run 2 sh "$root/examples/run.sh" trace no-such-file.qkv
that empty out
# shellcheck disable=SC2016  # the inner shell expands it
run 0 sh -c 'sh "$1" trace - <hand.qkv' sh "$root/examples/run.sh"
that [ -s out ]
run 0 sh "$root/examples/run.sh"
that [ -s out ]
that empty err

echo "$sentences sentences, $failed failures"
[ $failed = 0 ]
