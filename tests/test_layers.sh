#!/bin/sh
# A folder of src/ includes itself and the folders after its arrow, and no other: the only guard of the design's shape.
set -eu
cd -- "$(dirname -- "$0")/.."

layers='
base    ->
input   -> base
plan    -> base
problem -> base input
ops     -> base plan fast
run     -> base plan
fast    -> base
methods -> base input problem plan ops fast
report  -> base plan run
calc    -> base plan report
check   -> base problem plan ops run report
render  -> base plan run report
cli     -> base input plan problem ops run fast methods report calc check render
'

# Reads `src/FOLDER/file:  #include "…"` lines, prints the forbidden ones.
forbidden() {
  awk -v table="$(printf %s "$layers" | tr '\n' ';')" '
    BEGIN {
      rows = split(table, row, ";")
      for (i = 1; i <= rows; i++) {
        n = split(row[i], word, " ")
        if (n < 2) continue
        known[word[1]] = 1
        allowed[word[1], word[1]] = 1
        for (j = 3; j <= n; j++) allowed[word[1], word[j]] = 1
      }
    }
    {
      split($0, path, "/"); from = path[2]
      split($0, quoted, "\""); to = quoted[2]
      why = ""
      if (!(from in known)) why = "the folder is not in the table of tests/test_layers.sh"
      else if (to !~ /\//) why = "write the folder: \"" from "/" to "\""
      else { sub(/\/.*/, "", to); if (!((from, to) in allowed)) why = from " must not include " to }
      if (why != "") print $0 ": " why
    }'
}

bad=$(grep -E '^[[:space:]]*#[[:space:]]*include[[:space:]]*"' src/*/*.h src/*/*.cpp | forbidden)
if grep -lE '#[[:space:]]*include[[:space:]]*<CLI/' src/*/* | grep -v '^src/cli/'; then
  bad="$bad
CLI11 belongs in src/cli"
fi

# A guard that cannot fail guards nothing.
planted=$(printf 'src/base/a.h:#include "%s"\n' base/b.h plan/op.h b.h | forbidden | wc -l)
[ "$planted" -eq 2 ] || bad="$bad
the test itself overlooks a wrong include"

if [ -n "$bad" ]; then
  printf '%s\n' "$bad"
  exit 1
fi
echo "every include keeps to the table"
