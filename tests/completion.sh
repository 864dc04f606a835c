#!/bin/sh
# Completes as a user does: each shell sources its script and is asked what it would offer after a Tab.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"
[ -x "$BUILD_DIR/qkv" ] || die "there is no $BUILD_DIR/qkv yet: run sh tests/run.sh"

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"
unset QKV_LANG LANGUAGE LC_ALL LC_MESSAGES
export LANG=C.UTF-8 PATH="$BUILD_DIR:$PATH" HOME="$work" XDG_CONFIG_HOME="$work" XDG_DATA_HOME="$work"
for shell in bash zsh fish; do qkv completion $shell >$shell.script; done
mkdir files files/folder
touch files/tea.qkv 'files/two words.qkv' files/notes.txt
cd files

# What SHELL offers for a command line that ends at the cursor, one a line, sorted.
in_bash() {
  bash --norc --noprofile -c '
    . ../bash.script
    read -ra COMP_WORDS <<<"${1//=/ = }"
    [[ $1 == *[\ =] ]] && COMP_WORDS+=("")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    _qkv
    printf "%s\n" "${COMPREPLY[@]}"' bash "$1"
}
# Zsh completes in its line editor alone, so it gets a terminal.  What would be added to the list is written to a file.
cat >../inner.zsh <<'END'
PROMPT=
autoload -Uz compinit && compinit -D -u
. ../zsh.script
bindkey '^I' complete-word
compadd() {
  if [[ " ${@[1,(i)(-|--)]} " == *\ -[a-zA-Z]#[OAD]\ * ]]; then
    builtin compadd "$@"
  else
    local -a found
    builtin compadd -A found "$@"
    print -rl -- $found >>../zsh.out
    builtin compadd "$@"
  fi
}
ended() { print ended >>../zsh.ended }
comppostfuncs=(ended)
print ready >../zsh.ready
END
cat >../outer.zsh <<'END'
zmodload zsh/zpty
appears() { repeat 100; do [[ -s $1 ]] && return; sleep 0.1; done }
zpty qkv zsh -f -i
zpty -w qkv '. ../inner.zsh'
appears ../zsh.ready
zpty -n -w qkv "$1"$'\t'
appears ../zsh.ended
zpty -d qkv
END
in_zsh() {
  rm -f ../zsh.out ../zsh.ended ../zsh.ready
  zsh -f ../outer.zsh "$1" >/dev/null
  cat ../zsh.out 2>/dev/null || :
}
in_fish() {
  # shellcheck disable=SC2016  # fish expands it
  fish -N -c 'source ../fish.script; complete -C "$argv[1]"' "$1" | cut -f 1
}

cases=0 failed=0
offers() { # LINE WORD... : all these words and no others;   + for "and others too"
  line=$1
  shift
  want=$(printf '%s\n' "$@" | grep -vx + | sort)
  got=$("in_$shell" "$line" | grep . | sort -u) || :
  case $* in *+) got=$(printf '%s\n' "$want" | while IFS= read -r word; do printf '%s\n' "$got" | grep -Fx -e "$word"; done | sort) ;; esac
  cases=$((cases + 1))
  [ "$want" = "$got" ] && return
  failed=$((failed + 1))
  printf 'FAILED: %s offers for "%s":\n%s\ninstead of\n%s\n' "$shell" "$line" "$got" "$want"
}

for shell in bash zsh fish; do
  if ! command -v $shell >/dev/null; then
    echo "skipped: $shell is not installed"
    continue
  fi
  offers 'qkv wo' worksheet
  offers 'qkv trace --det' --detail +
  offers 'qkv trace --arithmetic ' fp16 bf16 fp32 fp64
  offers 'qkv trace tea.qkv --lang ' auto en zh
  offers 'qkv tea.qkv --detail s' summary steps
  offers 'qkv trace --tile o' off
  offers 'qkv exercise --mask ' none causal
  offers 'qkv trace --mask win' window:
  offers 'qkv completion ' bash zsh fish
  offers 'qkv check -f c' csv
  offers 'qkv trace --heat cividi'
done
# Each of its own manner.
shell=bash
if command -v bash >/dev/null; then
  offers 'qkv trace ' folder tea.qkv 'two words.qkv'
  offers 'qkv t' tea.qkv trace 'two words.qkv'
  offers 'qkv trace --format=j' json
  offers 'qkv trace --heat=' viridis cividis gray
  offers 'qkv trace --heat=c' cividis
  offers 'qkv trace --scale ' 1/d_k '1/sqrt\(d_k\)' none
  offers 'qkv check tea.qkv n' notes.txt
  offers 'qkv trace -o n' notes.txt
  offers 'qkv explain tea.qkv '
  offers 'qkv trace --row '
fi
shell=zsh
if command -v zsh >/dev/null; then
  offers 'qkv check tea.qkv n' notes.txt +
  offers 'qkv trace --scale ' 1/d_k '1/sqrt\(d_k\)' none
  offers 'qkv trace --format=j' json
  offers 'qkv trace --heat=c' cividis
fi
shell=fish
if command -v fish >/dev/null; then
  offers 'qkv check tea.qkv n' notes.txt +
  offers 'qkv trace --scale ' 1/d_k '1/sqrt(d_k)' none
  offers 'qkv trace --format=j' --format=json
  offers 'qkv trace --heat=c' --heat=cividis
fi

echo "$cases completions, $failed failures"
[ $failed = 0 ]
