#!/bin/sh
# Do other compilers, other standard libraries and other processors print every transcript byte for byte alike?
#
#   sh tests/machines.sh [NAME...]            all machines, or the ones named
#   sh tests/machines.sh --list               their names
#
# Builds the program once for each and runs tests/golden.sh with it; foreign processors are played by qemu-user.
# For Debian 12 on amd64.  Not part of tests/run.sh: all of it takes one core 25 minutes the first time, and about 5
# when nothing is to be built, most of them in qemu; one machine takes 2 minutes.  What is built, 3 GB, is kept for the
# next run in ${MACHINES_DIR:-${TMPDIR:-/tmp}/qkv-machines}.
# It downloads 260 MB of compiler packages (960 MB installed), and 13 MB for each foreign processor: libraries, which
# stay in the work folder, so that this system's dpkg never hears of another architecture.
set -eu
root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd)
. "$root/src/setup.sh"

native='gcc-O0 gcc-O2 gcc-O3-native gcc-contract clang clang-libc++'
foreign='aarch64 armhf ppc64el s390x i386'
case ${1:-} in
  --list)
    # shellcheck disable=SC2086  # lists of words
    printf '%s\n' $native $foreign
    exit ;;
  -*) die "unknown option $1 (there is only --list)" ;;
esac
# shellcheck disable=SC2086  # a list of words
[ $# != 0 ] || set -- $native $foreign
for name; do
  case " $native $foreign " in
    *" $name "*) ;;
    *) die "there is no machine $name; there are: $native $foreign" ;;
  esac
done

work=${MACHINES_DIR:-${TMPDIR:-/tmp}/qkv-machines}
mkdir -p "$work"
work=$(CDPATH='' cd -- "$work" && pwd)

# What a foreign machine is called by Debian, by its compiler, by the folders of its libraries, and by qemu.
names_of() {
  case $1 in
    aarch64) architecture=arm64 triplet=aarch64-linux-gnu multiarch=$triplet qemu=qemu-aarch64 ;;
    armhf) architecture=armhf triplet=arm-linux-gnueabihf multiarch=$triplet qemu=qemu-arm ;;
    ppc64el) architecture=ppc64el triplet=powerpc64le-linux-gnu multiarch=$triplet qemu=qemu-ppc64le ;;
    s390x) architecture=s390x triplet=s390x-linux-gnu multiarch=$triplet qemu=qemu-s390x ;;
    i386) architecture=i386 triplet=i686-linux-gnu multiarch=i386-linux-gnu qemu=qemu-i386 ;;
    *) return 1 ;;
  esac
}

# --- Packages, for all machines in one go

missing=
need() { # PACKAGE COMMAND...: the package is missing when the command fails
  package=$1
  shift
  case " $missing " in *" $package "*) return ;; esac
  "$@" >/dev/null 2>&1 || missing="$missing $package"
}
libcxx_links() {
  echo '#include <string>
int main() { return static_cast<int>(std::string().size()); }' |
    clang++ -x c++ -stdlib=libc++ - -o "$work/links"
}
need cmake command -v cmake
for name; do
  case $name in
    clang) need clang command -v clang++ ;;
    clang-libc++)
      need clang command -v clang++
      need libc++-dev libcxx_links
      need libc++abi-dev libcxx_links ;;
    gcc-*) need g++ command -v g++ ;;
    *)
      names_of "$name"
      need "g++-$triplet" command -v "$triplet-g++"
      need qemu-user command -v "$qemu"
      need libboost-dev test -d /usr/include/boost ;;
  esac
done
if [ -n "$missing" ]; then
  say "compilers or libraries are missing, to be installed:$missing"
  # shellcheck disable=SC2086  # a list of words
  install_packages $missing
fi

# --- The libraries of a foreign architecture, unpacked into a folder

# apt-get with a memory of its own; the mirror is this machine's.
private_apt() (
  from=$work/$name/apt
  mkdir -p "$from/lists/partial" "$from/cache/archives/partial"
  : >"$from/status"
  mirror=$(cat /etc/apt/sources.list /etc/apt/sources.list.d/*.sources 2>/dev/null |
    sed -n 's/^deb \(\[[^]]*\] \)\{0,1\}\([^ ]*\) .*/\2/p; s/^URIs: *\([^ ]*\).*/\1/p' | head -n 1)
  echo "deb [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg]" \
    "${mirror:-http://deb.debian.org/debian} bookworm main" >"$from/sources.list"
  cat >"$from/apt.conf" <<END
APT::Architecture "$architecture";
APT::Architectures { "$architecture"; };
APT::Sandbox::User "root";
Acquire::Languages "none";
Dir::State "$from";
Dir::State::lists "$from/lists";
Dir::State::status "$from/status";
Dir::Cache "$from/cache";
Dir::Etc::sourcelist "$from/sources.list";
Dir::Etc::sourceparts "-";
END
  export APT_CONFIG="$from/apt.conf"
  cd "$from" && apt-get "$@"
)

fetch_libraries() {
  if [ -f "$libraries/complete" ]; then return; fi
  rm -rf "$libraries" "$work/$name/apt"
  private_apt update && private_apt download libfmt-dev libfmt9 libutf8proc-dev libutf8proc2 \
    libmpfi-dev libmpfi-dev-common libmpfi0 libmpfr-dev libmpfr6 libgmp-dev libgmp10 \
    libeigen3-dev libcli11-dev nlohmann-json3-dev || return
  for package in "$work/$name"/apt/*.deb; do
    dpkg -x "$package" "$libraries" || return
  done
  # Headers only, the same for all, and large.  Not the whole /usr/include: this machine's C library is in there.
  ln -s /usr/include/boost "$libraries/usr/include/boost"
  rm -rf "$work/$name/apt"
  : >"$libraries/complete"
}

# --- Building; $program is then the folder with a qkv that runs here

build_native() { # CMAKE-OPTION...
  program=$work/$name
  build "$program" qkv -DBUILD_TESTING=OFF "$@"
}

build_foreign() { # CMAKE-OPTION...
  names_of "$name"
  libraries=$work/$name/libraries
  mkdir -p "$work/$name"
  fetch_libraries || die "the libraries for $name cannot be had"
  build "$work/$name" qkv -DBUILD_TESTING=OFF -DCMAKE_SYSTEM_NAME=Linux "-DCMAKE_CXX_COMPILER=$triplet-g++" \
    "-DCMAKE_LIBRARY_ARCHITECTURE=$multiarch" "-DCMAKE_FIND_ROOT_PATH=$libraries" \
    -DCMAKE_FIND_ROOT_PATH_MODE_LIBRARY=ONLY -DCMAKE_FIND_ROOT_PATH_MODE_INCLUDE=ONLY \
    -DCMAKE_FIND_ROOT_PATH_MODE_PACKAGE=ONLY "$@"
  program=$work/$name/run
  mkdir -p "$program"
  cat >"$program/qkv" <<END
#!/bin/sh
exec $qemu -L /usr/$triplet "\${0%/*}/../qkv" "\$@"
END
  chmod +x "$program/qkv"
}

build_machine() {
  case $name in
    gcc-O0) build_native -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS_RELEASE=-O0 ;;
    gcc-O2) build_native -DCMAKE_CXX_COMPILER=g++ -DCMAKE_CXX_FLAGS_RELEASE=-O2 ;;
    gcc-O3-native) build_native -DCMAKE_CXX_COMPILER=g++ '-DCMAKE_CXX_FLAGS_RELEASE=-O3 -march=native' ;;
    gcc-contract)
      # Fused multiply-add in spite of CMakeLists.txt, whose -ffp-contract=off stands behind all other flags.
      build_native -DCMAKE_CXX_COMPILER=g++ '-DCMAKE_CXX_FLAGS_RELEASE=-O2 -march=native' \
        "-DCMAKE_CXX_COMPILE_OBJECT=<CMAKE_CXX_COMPILER> <DEFINES> <INCLUDES> <FLAGS> -ffp-contract=fast \
-o <OBJECT> -c <SOURCE>" ;;
    clang) build_native -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS_RELEASE=-O2 ;;
    clang-libc++)
      # Debian's libfmt speaks the other standard library, so fmt comes from its headers here.
      build_native -DCMAKE_CXX_COMPILER=clang++ -DCMAKE_CXX_FLAGS_RELEASE=-O2 \
        '-DCMAKE_CXX_FLAGS=-stdlib=libc++ -DFMT_HEADER_ONLY' ;;
    i386) build_foreign -DCMAKE_CXX_FLAGS=-mfpmath=387 ;;  # 80 bits between two operations
    *) build_foreign ;;
  esac
}

# --- Each machine in turn; what it printed stays in build.log and golden.log

check() {
  log=$work/$name/build.log
  mkdir -p "$work/$name"
  # A shell of its own: build ends it when something fails.
  program=$(build_machine >"$log" 2>&1 && printf '%s' "$program") || {
    echo "$name: NOT BUILT (all of it: $log)"
    grep -e 'error: ' -e '^E: ' "$log" | head -n 5 || :
    return 1
  }
  log=$work/$name/golden.log
  if BUILD_DIR=$program sh "$root/tests/golden.sh" >"$log" 2>&1; then
    echo "$name: $(sed -n '$s/ .*//p' "$log") transcripts identical"
  else
    echo "$name: DIFFERENT: $(tail -n 1 "$log") (all of it: $log)"
    head -n 40 "$log"
    return 1
  fi
}

bad=0
for name; do
  say "$name"
  check || bad=$((bad + 1))
done
echo "$# machines, $bad bad"
[ $bad = 0 ]
