# Set-up shared by examples/run.sh and the scripts in tests/, which set $root and source this file.
#
# There is no list of things to look for: whether CMake configures is the test for what is missing.
# Everything said here goes to stderr, and nothing reads stdin: both belong to qkv.
# shellcheck shell=sh

# A relative BUILD_DIR is meant from the caller's folder; the default stands in the checkout.
case ${BUILD_DIR:=$root/build} in
  /*) ;;
  *) BUILD_DIR=$PWD/$BUILD_DIR ;;
esac
jobs=$(getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)

say() { printf 'qkv: %s\n' "$*" >&2; }
die() {
  printf 'error: %s\n' "$*" >&2
  exit 2
}

# build DIR "TARGET..." [CMAKE-OPTION...] brings each DIR/TARGET up to date, installing packages if it must.
build() {
  dir=$1 targets=$2
  shift 2
  if are_current "$root $*"; then return; fi

  mkdir -p "$dir" 2>/dev/null || :
  [ -w "$dir" ] || die "cannot write to $dir; set BUILD_DIR to a folder that can be written"
  # A build folder from another checkout, generator or CMake needs the fresh start.
  configure "$@" || configure --fresh "$@" || {
    say "CMake does not configure yet (why: $dir/configure.log): installing what it needs"
    # shellcheck disable=SC2046  # a list of words
    install_packages $(build_packages)
    configure --fresh "$@" || {
      cat "$dir/configure.log" >&2
      die "CMake does not configure, although everything is installed; its output stands above"
    }
  }
  say "building $targets in $dir"
  # Before the build: a file edited meanwhile is newer.
  for target in $targets; do printf '%s\n' "$root $*" >"$dir/.built-$target.$$"; done
  # shellcheck disable=SC2086  # a list of words
  cmake --build "$dir" --target $targets --parallel "$jobs" </dev/null >&2 || die "the build failed"
  for target in $targets; do mv "$dir/.built-$target.$$" "$dir/.built-$target"; done
}

# Asking CMake and the build tool takes most of a second; this takes a hundredth of one.
are_current() {
  for target in $targets; do
    stamp=$dir/.built-$target
    [ -x "$dir/$target" ] && [ -f "$stamp" ] && [ "$(cat "$stamp")" = "$1" ] &&
      [ -z "$(find "$root/CMakeLists.txt" "$root/src" "$root/tests" -newer "$stamp")" ] || return 1
  done
}

configure() {
  if [ -z "${CMAKE_GENERATOR:-}" ] && command -v ninja >/dev/null; then set -- -G Ninja "$@"; fi
  cmake -S "$root" -B "$dir" "$@" </dev/null >"$dir/configure.log" 2>&1
}

package_manager() {
  for manager in apt-get dnf apk pacman brew; do
    if command -v "$manager" >/dev/null; then
      echo "$manager"
      return
    fi
  done
}

# What CMakeLists.txt looks for, by each manager's names.  Tried on Debian 12; the other rows are untried.
build_packages() {
  case $(package_manager) in
    dnf)
      echo gcc-c++ cmake ninja-build fmt-devel cli11-devel eigen3-devel doctest-devel json-devel \
        utf8proc-devel mpfi-devel mpfr-devel gmp-devel boost-devel ;;
    apk)
      echo g++ cmake ninja fmt-dev cli11-dev eigen-dev doctest-dev nlohmann-json \
        utf8proc-dev mpfi-dev mpfr-dev gmp-dev boost-dev ;;
    pacman)
      echo gcc cmake ninja fmt cli11 eigen doctest nlohmann-json libutf8proc mpfi mpfr gmp boost ;;
    brew)
      echo cmake ninja fmt cli11 eigen doctest nlohmann-json utf8proc mpfi mpfr gmp boost ;;
    *)
      echo g++ cmake ninja-build libfmt-dev libcli11-dev libeigen3-dev doctest-dev nlohmann-json3-dev \
        libutf8proc-dev libmpfi-dev libmpfr-dev libgmp-dev libboost-dev ;;
  esac
}

# NumPy by each manager's name; only the tests use it.
numpy_package() {
  case $(package_manager) in
    apk) echo py3-numpy ;;
    pacman) echo python-numpy ;;
    brew) echo numpy ;;
    *) echo python3-numpy ;;
  esac
}

# The first in the path may be another Python than the system's.
python_with_numpy() {
  for python in python3 /usr/bin/python3; do
    if "$python" -c 'import numpy' 2>/dev/null; then
      echo "$python"
      return
    fi
  done
  return 1
}

# install_packages NAME... with the system's manager, as root, through sudo or through doas.
install_packages() {
  manager=$(package_manager)
  case $manager in
    apt-get) by_hand="apt-get update; apt-get install -y --fix-broken --no-install-recommends $*" ;;
    dnf) by_hand="dnf install -y $*" ;;
    apk) by_hand="apk add $*" ;;
    pacman) by_hand="pacman -Sy --needed --noconfirm $*" ;;
    brew) by_hand="brew install $*" ;;
    *) die "no known package manager here. Install these (Debian's names), then repeat:
  $*" ;;
  esac

  if [ "$(id -u)" = 0 ] || [ "$manager" = brew ]; then
    as_root=
  elif command -v sudo >/dev/null; then
    as_root=sudo
  elif command -v doas >/dev/null; then
    as_root=doas
  else
    die "packages are missing, and installing them needs root. Run this as root, then repeat:
  $by_hand"
  fi

  # A root shell from plain `su` lacks the sbin folders that dpkg needs; and nobody is there to be asked.
  # apt-get: first finish what was broken off earlier, and wait for another program that is installing.
  # shellcheck disable=SC2016  # the inner shell expands it
  prepare='export PATH="$PATH:/usr/sbin:/sbin" DEBIAN_FRONTEND=noninteractive'
  options=
  if [ "$manager" = apt-get ]; then
    prepare="$prepare; dpkg --configure -a"
    options="-qq -o DPkg::Lock::Timeout=300"
  fi
  $as_root sh -c "$prepare; $by_hand $options" </dev/null >&2 ||
    die "installing packages failed. Run this as root, then repeat:
  $by_hand"
}
