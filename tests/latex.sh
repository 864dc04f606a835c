#!/bin/sh
# Every example in LaTeX, in both languages, compiled by TeX; and a page of labels that would like to be commands.
# Installs TeX with Chinese (some 700 MB).  Not part of tests/run.sh.
#
#   sh tests/latex.sh [FOLDER]     the PDF files stay there
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
build "$BUILD_DIR" qkv -DBUILD_TESTING=ON
if ! command -v xelatex >/dev/null || ! kpsewhich ctexart.cls >/dev/null; then
  install_packages 'texlive-latex-recommended texlive-xetex texlive-lang-chinese fonts-noto-cjk lmodern'
fi
work=${1:-$(mktemp -d)}
[ $# != 0 ] || trap 'rm -rf "$work"' EXIT
mkdir -p "$work"
cd "$work"

compiled=0 bad=0
compile() { # NAME PROBLEM OPTION...
  name=$1 problem=$2
  shift 2
  "$BUILD_DIR/qkv" trace "$problem" -q -f latex --standalone "$@" >"$name.tex"
  compiled=$((compiled + 1))
  if xelatex -interaction=nonstopmode -halt-on-error "$name.tex" >"$name.out" 2>&1 &&
    ! grep -q 'Missing character' "$name.log"; then return; fi
  bad=$((bad + 1))
  echo "$name.tex does not compile, or lacks a character:"
  grep -A 3 -e '^!' -e 'Missing character' "$name.log" | head -n 6
}

for example in "$root"/examples/*.qkv; do
  name=$(basename "$example" .qkv)
  compile "$name-en" "$example" --lang en --detail full
  compile "$name-zh" "$example" --lang zh --latex-tables bmatrix
done

cat >hostile.qkv <<'END'
title  = \input{/etc/passwd} $x^2$ 50% #1 & ~ { } \end{document}
tokens = "\par" "$" "%{}" "a_b^c" "\end{tabular}"
K      = Q
[Q]
1 0
0 1
1 1
0 0
1 2
END
compile hostile hostile.qkv --lang en --detail full

echo "$compiled documents, $bad bad"
[ "$bad" = 0 ]
