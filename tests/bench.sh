#!/bin/sh
# How fast is qkv beside the programs one would use instead?  One table, every row measured in the same run.
#
#   sh tests/bench.sh [--quick] [ROW...]        all rows, or those of these numbers; --quick: small sizes, in a few minutes; all of it takes about half an hour
#
# A ratio is the other program's time divided by qkv's: 5.0 means that qkv takes a fifth of it.  Contenders take turns, and
# every time is the median of its turns, so that a busy machine slows all alike; still, believe ratios and not milliseconds,
# and no ratio while something else runs.  What is not installed is left out, and said.  NumPy multiplies with whatever BLAS
# the system has; the reference BLAS of a bare Debian is many times slower than libopenblas0-pthread.  QKV_BLAS=FOLDER
# takes libblas.so.3 from there.  onnxruntime and ggml, worth comparing with, are not in Debian.
#
# Share of GEMM: the operations of attention (4·n²·d, causal 2·n·(n + 1)·d) in the time it takes, by the rate of the
# fastest matrix product at hand: Eigen for each instruction set, and NumPy's.  The exact order multiplies and adds
# separately, as the steps on paper do.  Where a processor does both at once on the same units as either (Intel's), no more
# than half of the rate of a product can be reached so; where it has units for each (AMD's), all of it.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"

quick=no rows=
for word; do
  case $word in
    --quick) quick=yes ;;
    [1-9] | 10) rows="$rows $word" ;;
    *) die "unknown word $word (there are --quick and the rows 1 to 10)" ;;
  esac
done
wanted() { case "${rows:- $1} " in *" $1 "*) return 0 ;; esac; return 1; }
# SMALL where --quick is asked for, else LARGE
size() { if [ $quick = yes ]; then echo "$1"; else echo "$2"; fi; }

build "$BUILD_DIR" 'qkv qkv_bench qkv_gemm_baseline' -DBUILD_TESTING=ON
cmake --build "$BUILD_DIR" --target qkv_hello >/dev/null 2>&1 || say 'no static hello: row 1 goes without it'
cmake --build "$BUILD_DIR" --target qkv_gemm_avx2 qkv_gemm_avx512 >/dev/null 2>&1 || :
qkv=$BUILD_DIR/qkv bench=$BUILD_DIR/qkv_bench peers=$root/tests/bench/peers.py
# The slowest instruction set has nothing to say where others are.
case $("$bench" isa) in
  avx512) products='avx2 avx512' ;;
  avx2) products=avx2 ;;
  *) products=baseline ;;
esac

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
trap 'exit 130' INT TERM

# As they are installed: a file that a linker wrote lies in the system's memory in small pieces, and starts more slowly.
cp "$qkv" "$work/qkv"
qkv=$work/qkv hello=$work/hello
cp "$BUILD_DIR/qkv_hello" "$hello" 2>/dev/null || :

export LC_ALL=C OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 MKL_NUM_THREADS=1
if [ -n "${QKV_BLAS:-}" ]; then export LD_LIBRARY_PATH="$QKV_BLAS${LD_LIBRARY_PATH:+:$LD_LIBRARY_PATH}"; fi
threads() { env OPENBLAS_NUM_THREADS="$1" OMP_NUM_THREADS="$1" MKL_NUM_THREADS="$1" "$2" "$3" "$4" "$5" "$6" "$7" "$8" "$9"; }

python=$(python_with_numpy) || python=
has_torch=no
if [ -n "$python" ] && "$python" -c 'import torch' 2>/dev/null; then has_torch=yes; fi
octave=$(command -v octave-cli || command -v octave || :)
has_option() { "$qkv" trace --help | grep -q -e "$1\\b"; }
has_large=no has_threads=no has_fast=no
if has_option --threads; then has_threads=yes has_large=yes; fi
if has_option --fast; then has_fast=yes has_large=yes; fi

# --- Measuring: every contender of a row appends to a file of its own

# program NAME COMMAND...: one run of a process → seconds and peak KiB
program() {
  name=$1
  shift
  "$bench" time 1 "$@" >>"$work/$name" 2>"$work/$name.why" || echo failed >>"$work/$name"
}
# number NAME COMMAND...: what a command prints
number() {
  name=$1
  shift
  "$@" >>"$work/$name" 2>"$work/$name.why" || echo failed >>"$work/$name"
}
# of NAME [COLUMN]: the median of its turns; nothing when it failed or is not there
of() {
  [ -f "$work/$1" ] && ! grep -q failed "$work/$1" || return 0
  awk -v column="${2:-1}" '{ print $column }' "$work/$1" | sort -g | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'
}
# turns COUNT FUNCTION: the contenders of a row, one after the other, so many times
turns() {
  rm -f "$work"/*.why "$work"/t_*
  count=$1
  while [ "$count" -gt 0 ]; do
    "$2"
    count=$((count - 1))
  done
}

# --- The table

time_text() {
  awk -v s="$1" 'BEGIN {
    if (s == "") print "-"; else if (s < 0.001) printf "%.1f us\n", s * 1e6; else if (s < 1) printf "%.2f ms\n", s * 1e3; else printf "%.2f s\n", s
  }'
}
# awk over numbers that may be missing: calculate FORMAT EXPRESSION a=… b=…
calculate() {
  format=$1 expression=$2
  shift 2
  for pair; do case $pair in *=) echo -; return ;; esac; done
  assignments=
  for pair; do assignments="$assignments${pair%%=*} = ${pair#*=}; "; done
  awk "BEGIN { $assignments printf \"$format\\n\", $expression }"
}
line() { printf '%-3s %-44s %11s   %-34s %11s %8s\n' "$@"; }
row_title='' row_number=''
title() { row_number=$1 row_title=$2; }
# against NAME "words": qkv's time in t_qkv beside that of NAME
against() {
  theirs=$(of "$1") mine=$(of t_qkv)
  if [ -f "$work/$1" ] && [ -z "$theirs" ]; then
    line "$row_number" "$row_title" "$(time_text "$mine")" "$2" "failed" ''
  elif [ -n "$theirs" ]; then
    line "$row_number" "$row_title" "$(time_text "$mine")" "$2" "$(time_text "$theirs")" \
      "$(calculate '%.2f' 'a / b' a="$theirs" b="$mine")"
  fi
  row_number='' row_title=''
}
figure() { # "words" VALUE
  line '' "  $1" "$2" '' '' ''
}
later() { line "$1" "$2" - "$3" '' ''; }

# --- What is compared

n_text=$(size 512 4096) n_long=$(size 2048 16384) n_kernel=$(size 1024 4096)
d=64
data() { # ROWS → the files q.ROWS, k.ROWS and v.ROWS
  for matrix in q k v; do
    case $matrix in q) seed=1 ;; k) seed=2 ;; v) seed=3 ;; esac
    [ -f "$work/$matrix.$1" ] || "$bench" data "$1" "${2:-$d}" "$seed" >"$work/$matrix.$1"
  done
}
traced() { # NAME ROWS OPTION...
  name=$1 n=$2
  shift 2
  program "$name" "$qkv" trace --q "$work/q.$n" --k "$work/k.$n" --v "$work/v.$n" --mask causal "$@"
}
numpy_program() { # NAME MODE ROWS [THREADS]
  [ -z "$python" ] || program "$1" "$python" "$peers" "$2" "$work/q.$3" "$work/k.$3" "$work/v.$3" "${4:-1}"
}
octave_program() { # NAME ROWS
  [ -z "$octave" ] || program "$1" "$octave" --no-gui --norc --eval "
    q = load('$work/q.$2'); k = load('$work/k.$2'); v = load('$work/v.$2');
    s = q * k' / sqrt(columns(q)); s(triu(true(size(s)), 1)) = -Inf;
    e = exp(s - max(s, [], 2)); o = (e ./ sum(e, 2)) * v;
    printf([repmat('%.4f ', 1, columns(o)) '\n'], o');"
}

gemm_rate() { # double|float: the turns of each product
  for isa in $products; do number "t_gemm_$isa" "$BUILD_DIR/qkv_gemm_$isa" "$1" 1; done
  [ -z "$python" ] || number t_gemm_numpy "$python" "$peers" gemm "$1"
}
best_gemm() {
  for name in $products numpy; do
    rate=$(of "t_gemm_$name")
    [ -z "$rate" ] || echo "$rate Eigen-$name"
  done | sort -g | tail -n 1 | sed 's/Eigen-numpy/NumPy/'
}

# --- Start

printf 'qkv beside others: %s, best kernel %s; %s\n' "$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo 2>/dev/null | head -n 1)" \
  "$("$bench" isa)" "$(date -u +%F)"
if [ -n "$python" ]; then
  printf 'NumPy %s multiplies with %s\n' "$("$python" -c 'import numpy; print(numpy.__version__)')" "$("$python" "$peers" blas)"
else
  echo 'NumPy: not installed, left out'
fi
[ $has_torch = yes ] || echo 'PyTorch: not installed, left out'
[ -n "$octave" ] || echo 'Octave: not installed, left out'
awk '{ if ($1 > 0.5) print "Something else runs here (load " $1 "): do not believe these figures" }' /proc/loadavg 2>/dev/null || :
echo
line row what qkv 'beside' theirs ratio

if wanted 1; then
  data 3 2
  # Whoever comes after NumPy finds the caches full of it: the two take turns with that, too.
  is_first=yes
  round() {
    [ "$is_first" = no ] || traced t_qkv 3
    [ ! -x "$hello" ] || program t_hello "$hello"
    [ "$is_first" = yes ] || traced t_qkv 3
    numpy_program t_numpy steps 3
    if [ "$is_first" = yes ]; then is_first=no; else is_first=yes; fi
  }
  turns "$(size 11 51)" round
  title 1 '3 tokens, every step printed'
  against t_hello 'static fmt+CLI11 hello'
  against t_numpy 'NumPy, the same steps'
  figure 'peak memory' "$(calculate '%.1f MiB' 'a / 1024' a="$(of t_qkv 2)")"
fi

steps_row() { # ROW ROWS-OF-THE-PROBLEM TURNS
  n_steps=$2
  data "$n_steps"
  round() {
    traced t_qkv "$n_steps" --threads 1
    [ $has_threads = no ] || traced t_two "$n_steps" --threads 2
    numpy_program t_numpy steps "$n_steps"
    number t_print "$bench" print "$n_steps" "$n_steps"
  }
  turns "$3" round
  title "$1" "$n_steps tokens, every step printed"
  against t_numpy 'NumPy, the same steps'
  rate='(5 * n * n + 4 * n * 64) / s / 1e6'
  figure 'numbers printed, whole process' "$(calculate '%.1f M/s' "$rate" n="$n_steps" s="$(of t_qkv)")"
  figure '… laid out alone' "$(calculate '%.0f M/s' 'r / 1e6' r="$(of t_print)")"
  if [ $has_threads = yes ]; then
    figure 'two threads' "$(time_text "$(of t_two)")"
    figure 'ratio to NumPy with two' "$(calculate '%.2f' 'a / b' a="$(of t_numpy)" b="$(of t_two)")"
  fi
}
if wanted 2; then steps_row 2 64 "$(size 5 21)"; fi
if wanted 3; then steps_row 3 "$(size 128 512)" "$(size 3 7)"; fi

if wanted 4; then
  what="text to text, n = $n_text, causal, 1 thread"
  if [ $has_large = no ]; then
    later 4 "$what" 'this qkv traces every step: too slow'
  else
    data "$n_text"
    round() {
      traced t_qkv "$n_text" --only-output --threads 1
      [ $has_fast = no ] || traced t_fast "$n_text" --only-output --fast --threads 1
      numpy_program t_numpy text "$n_text"
      numpy_program t_strips text-strips "$n_text"
      [ $has_torch = no ] || numpy_program t_torch text-torch "$n_text" 1
      octave_program t_octave "$n_text"
    }
    turns "$(size 3 5)" round
    title 4 "$what"
    against t_numpy 'NumPy n x n'
    against t_strips 'NumPy in strips of 256'
    against t_torch 'PyTorch softmax(QK)V'
    against t_octave 'Octave'
    against t_fast 'qkv --fast'
  fi
fi

share_row() { # ROW double|float exact|online causal|full
  kind=$2 way=$3 mask=$4
  round() {
    number t_qkv "$bench" attend "$kind" "$n_kernel" $d "$mask" "$way" 1
    gemm_rate "$kind"
    if [ -n "$python" ]; then
      for peer in numpy strips; do number "t_$peer" "$python" "$peers" $peer "$kind" "$n_kernel" $d "$mask" 1; done
      if [ $has_torch = yes ]; then
        for peer in torch sdpa; do number "t_$peer" "$python" "$peers" $peer "$kind" "$n_kernel" $d "$mask" 1; done
      fi
    fi
  }
  turns "$(size 1 3)" round
  gemm=$(best_gemm)
  operations="4 * n * n * $d"
  [ "$mask" = full ] || operations="2 * n * (n + 1) * $d"
  title "$1" "$way kernel, $kind, $mask, n = $n_kernel"
  line "$row_number" "$row_title" "$(time_text "$(of t_qkv)")" \
    "share of GEMM ($(calculate '%.1f' 'g / 1e9' g="${gemm% *}") GF/s, ${gemm#* })" '' \
    "$(calculate '%.0f%%' "100 * $operations / s / g" n="$n_kernel" s="$(of t_qkv)" g="${gemm% *}")"
  row_number='' row_title=''
  against t_numpy 'NumPy n x n'
  against t_strips 'NumPy in strips of 256'
  against t_torch 'PyTorch softmax(QK)V'
  against t_sdpa 'PyTorch sdpa'
}
if wanted 5; then
  share_row 5 double exact full
  share_row '' double exact causal
fi
if wanted 6; then
  share_row 6 double online causal
  share_row '' float online causal
  share_row '' float online full
fi

if wanted 7; then
  round() {
    for n in $((n_long / 8)) $((n_long / 4)) $((n_long / 2)) "$n_long"; do
      number "t_exact_$n" "$bench" attend double "$n" $d causal exact 1
    done
    cp "$work/t_exact_$n_long" "$work/t_qkv"
    [ -z "$python" ] || number t_strips "$python" "$peers" strips double "$n_long" $d causal 1
  }
  turns "$(size 1 3)" round
  title 7 "exact kernel, causal, n = $n_long"
  against t_strips 'NumPy in strips of 256'
  figure "growth of time, n^x, from n = $((n_long / 8))" \
    "$(calculate '%.2f' 'log(b / a) / log(8)' a="$(of "t_exact_$((n_long / 8))")" b="$(of t_qkv)")"
  if [ $has_large = no ]; then
    later '' '  whole process, peak memory' 'this qkv traces every step: too slow'
  else
    data $((n_long / 4))
    data "$n_long"
    round() {
      traced t_qkv "$n_long" --only-output --threads 1
      traced t_quarter $((n_long / 4)) --only-output --threads 1
      numpy_program t_numpy text "$n_long"
      numpy_program t_strips text-strips "$n_long"
    }
    turns 1 round
    title '' "text to text, causal, n = $n_long"
    against t_numpy 'NumPy n x n'
    against t_strips 'NumPy in strips of 256'
    figure 'peak memory' "$(calculate '%.0f MiB' 'a / 1024' a="$(of t_qkv 2)")"
    figure 'peak memory of NumPy n x n' "$(calculate '%.0f MiB' 'a / 1024' a="$(of t_numpy 2)")"
    figure "growth of memory, n^x, from n = $((n_long / 4))" \
      "$(calculate '%.2f' 'log(b / a) / log(4)' a="$(of t_quarter 2)" b="$(of t_qkv 2)")"
  fi
fi

if wanted 8; then
  rows_read=$(size 10000 240000)
  what="reading $(size 4 100) MB of text"
  "$bench" data "$rows_read" $d 1 >"$work/q.read"
  sync # or the system writes it to the disk while it is read
  round() {
    program t_qkv "$qkv" convert "$work/q.read" --to npy
    [ -z "$python" ] || program t_numpy "$python" "$peers" loadtxt "$work/q.read"
  }
  turns "$(size 2 5)" round
  title 8 "$what, written as an array"
  against t_numpy 'numpy.loadtxt, reading only'
  figure 'read, whole process' "$(calculate '%.0f MB/s' 'b / s / 1e6' b="$(wc -c <"$work/q.read")" s="$(of t_qkv)")"
  figure 'peak memory, of the numbers' "$(calculate '%.2f' "m * 1024 / (n * $d * 8)" m="$(of t_qkv 2)" n="$rows_read")"
  rm -f "$work/q.read"
fi

if wanted 9; then
  # Beyond the caches of most machines: 512 MiB.
  keys=$(size 65536 524288)
  round() {
    number t_qkv "$bench" decode double "$keys" $d
    number t_read "$bench" read $((keys * d * 16))
  }
  turns "$(size 1 5)" round
  title 9 "one query, $keys keys, double"
  line "$row_number" "$row_title" "$(time_text "$(of t_qkv)")" \
    "share of reading ($(calculate '%.1f' 'g / 1e9' g="$(of t_read)") GB/s, 1 core)" '' \
    "$(calculate '%.0f%%' "100 * k * $d * 16 / s / g" k="$keys" s="$(of t_qkv)" g="$(of t_read)")"
fi

if wanted 10; then
  round() {
    number t_one "$bench" attend double "$n_kernel" $d causal exact 1
    number t_qkv "$bench" attend double "$n_kernel" $d causal exact 2
    [ -z "$python" ] || number t_strips threads 2 "$python" "$peers" strips double "$n_kernel" $d causal 2
  }
  turns "$(size 1 5)" round
  title 10 "exact kernel, causal, n = $n_kernel, 2 threads"
  against t_one 'one thread'
  against t_strips 'NumPy in strips of 256, 2 threads'
  if [ $has_threads = yes ]; then
    data "$n_text"
    round() {
      traced t_one "$n_text" --only-output --threads 1
      traced t_qkv "$n_text" --only-output --threads 2
    }
    turns "$(size 3 7)" round
    title '' "text to text, n = $n_text, 2 threads"
    against t_one 'one thread'
  fi
fi
