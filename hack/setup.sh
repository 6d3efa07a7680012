#!/bin/sh
# Installs what is missing for what is about to run, and says nothing when nothing is.
#
#   sh hack/setup.sh [up] [test] [deep] [database] [chaos] [verify] [bench]
#
# npm packages are always seen to, and our programs are compiled into dist/. Debian packages are installed as root or through sudo; otherwise the command
# to run is printed. A program that is already there is used as it is, wherever it came from.
set -eu

root=$(CDPATH='' cd -- "$(dirname -- "$0")/.." && pwd -P)

fail() {
  printf 'setup: %s\n' "$@" >&2
  exit 1
}

check_node() {
  command -v node >/dev/null 2>&1 || fail 'Node.js is not on the PATH.' 'Install Node 20.19 or newer, then run this again.'
  node -e 'const [a, b] = process.versions.node.split(".").map(Number); process.exit((a === 20 && b >= 19) || (a === 22 && b >= 12) || a > 22 ? 0 : 1)' ||
    fail "Node $(node --version) is too old." 'Install Node 20.19 or newer, or 22.12 or newer, then run this again.'
}

# npm writes node_modules/.package-lock.json last, so that an interrupted installation is done again.
install_npm_packages() {
  mark=$root/node_modules/.package-lock.json
  if [ -f "$mark" ] && [ ! "$root/package-lock.json" -nt "$mark" ]; then return; fi
  printf 'setup: installing npm packages\n' >&2
  log=$(mktemp)
  if ! (cd "$root" && npm ci --ignore-scripts --no-audit --no-fund >"$log" 2>&1); then
    cat "$log" >&2
    rm -f "$log"
    fail 'npm ci failed.' "Mend what is named above, then run: sh $root/hack/setup.sh"
  fi
  rm -f "$log"
  touch "$mark"
}

# build_step WHAT_FAILED NODE_ARGUMENTS...
build_step() {
  what=$1
  shift
  if (cd "$root" && node "$@" >"$log" 2>&1); then return; fi
  cat "$log" >&2
  rm -rf "$log" "$fresh"
  fail "$what" 'Mend what is named above, then run this again.'
}

# The mark is as old as the beginning: what is changed meanwhile is compiled next time.
build() {
  . "$root/hack/built.sh"
  if is_built api bridge controllers crds dashboard dev docs e2e hack packaging pkg up; then return; fi
  mkdir -p "$root/.cache"
  fresh=$(mktemp -d "$root/.cache/dist-XXXXXX")
  chmod 755 "$fresh" # other users run it, too
  touch "$fresh/.built"
  log=$(mktemp)
  build_step 'The programs could not be compiled.' \
    node_modules/typescript/bin/tsc -p . --noCheck --noEmit false --sourceMap --sourceRoot "$root" --outDir "$fresh"
  build_step 'The programs could not be bundled.' "$fresh/hack/bundle-programs.js" "$fresh"
  build_step 'The dashboard could not be bundled.' "$fresh/dashboard/bundle/main.js" "$fresh/dashboard/assets"
  build_step 'The documentation could not be rendered.' "$fresh/hack/site/main.js" "$fresh/site"
  # A program that runs still may load the rest of what it was built from: that of the last build stays, and of none before it.
  [ ! -d "$root/dist/chunks" ] || find "$root/dist/chunks" -type f -newer "$root/dist/.built" -exec cp -pn {} "$fresh/chunks" \;
  rm -rf "$log" "$root/dist"
  mv "$fresh" "$root/dist"
}

# One line for each program: the file that shows it is there, and the Debian package that brings it.
programs_for() {
  case $1 in
    up | test | bench)
      cat <<'LIST'
etcd etcd-server
dockerd docker.io
iptables iptables
docker-registry docker-registry
busybox busybox-static
LIST
      ;;
  esac
  case $1 in
    test) printf "etcdctl etcd-client\nip iproute2\nmkfs.btrfs btrfs-progs\n" ;;
    database) printf "initdb postgresql\n" ;;
    chaos) printf "strace strace\n" ;;
    bench) printf "wrk wrk\nmkfs.btrfs btrfs-progs\n" ;;
  esac
}

# What only some suites need, which are skipped by name where it cannot be had.
extras_for() {
  case $1 in
    test) printf "chromium chromium\nfaketime faketime\npromtool prometheus\nsystemctl systemd\ncurl curl\n" ;;
  esac
}

# A busybox that needs libraries is of no use in an image that has none.
is_there() {
  case $1 in
    busybox) [ -x /bin/busybox ] && ! head -c 4096 /bin/busybox | grep -q ld-linux ;;
    initdb) ls /usr/lib/postgresql/*/bin/initdb >/dev/null 2>&1 ;; # beside those of other versions, not on the PATH
    *) command -v "$1" >/dev/null 2>&1 || [ -x "/usr/sbin/$1" ] || [ -x "/sbin/$1" ] ;;
  esac
}

# Reads lines of a program and its package, and says which packages are missing.
missing_packages() {
  sort -u | while read -r program package; do
    is_there "$program" || printf '%s ' "$package"
  done
}

# sudo that needs a password is of use only to a person at a terminal.
may_become_root() {
  command -v sudo >/dev/null 2>&1 && { [ -t 0 ] || sudo -n true 2>/dev/null; }
}

install_debian_packages() {
  packages=$(for need in "$@"; do programs_for "$need"; done | missing_packages)
  [ -n "$packages" ] || return 0
  by_hand="apt-get update && apt-get install -y --no-install-recommends $packages"
  command -v apt-get >/dev/null 2>&1 ||
    fail "Missing: $packages" 'This is not Debian or Ubuntu: install them with your own package manager.'
  sudo=
  if [ "$(id -u)" -ne 0 ]; then
    may_become_root || fail "Missing: $packages" "Run as root: $by_hand"
    sudo=sudo
  fi
  printf 'setup: installing %s\n' "$packages" >&2
  install="$sudo env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages"
  log=$(mktemp)
  # The lists of packages may be absent or too old: fetch them only when the first attempt says so.
  if ! $install >"$log" 2>&1; then
    if ! $sudo apt-get update -qq >>"$log" 2>&1 || ! $install >>"$log" 2>&1; then
      cat "$log" >&2
      rm -f "$log"
      fail 'The packages could not be installed.' 'Mend what is named above, then run this again.'
    fi
  fi
  rm -f "$log"
}

install_extras() {
  packages=$(for need in "$@"; do extras_for "$need"; done | missing_packages)
  [ -n "$packages" ] && [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null 2>&1 || return 0
  printf 'setup: installing %s\n' "$packages" >&2
  install="env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $packages"
  $install >/dev/null 2>&1 || { apt-get update -qq && $install; } >/dev/null 2>&1 ||
    printf 'setup: could not install %s: what needs it is skipped by name\n' "$packages" >&2
}

# The client of Kubernetes for Python: the newest that was tried. A machine that has no Python, or cannot reach its registry, is not waited for.
install_python_client() {
  place=$root/.cache/python
  [ -z "${MOORING_PYTHON-}" ] && command -v python3 >/dev/null 2>&1 || return 0
  ! "$place/bin/python3" -c 'import kubernetes' 2>/dev/null || return 0
  python3 -m venv "$place" >/dev/null 2>&1 &&
    timeout 240 "$place/bin/python3" -m pip install --quiet --retries 0 --disable-pip-version-check 'kubernetes==37.*' >/dev/null 2>&1 ||
    rm -rf "$place"
}

for need in "$@"; do
  case $need in
    up | test | deep | database | chaos | verify | bench) ;;
    *) fail "\"$need\" is not known. Choose from: up, test, deep, database, chaos, verify, bench." ;;
  esac
done
check_node
install_debian_packages "$@"
install_extras "$@"
install_npm_packages
case " $* " in *' deep '*) install_python_client ;; esac
build
