#!/bin/sh
# Runs a command in namespaces of its own, as the tests are run: `sh hack/sandbox.sh COMMAND…`
#
# However it ends, and also when whoever started it is killed, the kernel ends every process of it and takes down its mounts, network links and
# firewall rules. Files and loop devices, which no namespace holds, stand in a folder that carries the number and the start time of its owner: it goes
# when the command has ended, and the next run removes those of owners that are gone.
#
# Without root it keeps its processes together, and no more; where not even that is allowed, the command runs as it is.
set -eu

# Again below whoever started us, whose death is a signal from here on.
[ "${1-}" = --held ] || exec setpriv --pdeathsig TERM sh "$0" --held "$@"
shift

places=${TMPDIR:-/tmp}

# The name of the folder of a process: its number, and when it was started, since numbers come again.
name_folder() {
  stat=$(cat "/proc/$1/stat" 2>/dev/null) || return 1
  # The name of the program, which may hold blanks, ends with the last bracket: what started when is the twentieth field after it.
  set -- "$1" ${stat##*) }
  [ "$2" != Z ] || return 1 # it has ended, and nobody has asked how
  printf 'mooring-run-%s-%s' "$1" "${21}"
}

# Detaches the loop devices of a folder and removes it. What was just killed may take a moment to let go of it.
remove_folder() {
  for wait in 0 0.2 1 3; do
    sleep "$wait"
    for device in /sys/block/loop*/loop/backing_file; do
      case $(cat "$device" 2>/dev/null) in
        "$1"/*)
          device=${device#/sys/block/}
          losetup --detach "/dev/${device%%/*}" 2>/dev/null || true
          ;;
      esac
    done
    ! rm -rf "$1" 2>/dev/null || return 0
  done
  echo "sandbox: $1 was left by a run that is gone, and cannot be removed by this user" >&2
}

for left in "$places"/mooring-run-*; do
  [ -d "$left" ] || continue
  owner=${left##*/mooring-run-}
  [ "$(name_folder "${owner%%-*}")" = "${left##*/}" ] || remove_folder "$left"
done

TMPDIR=$places/$(name_folder $$)
export TMPDIR
mkdir -m 1777 "$TMPDIR" # as that of everybody: tests also run programs as other users

apart='--pid --mount-proc --fork --kill-child'
if [ "$(id -u)" -eq 0 ]; then
  apart="$apart --mount --net --ipc"
else
  apart="--user --map-current-user $apart"
fi
if unshare $apart true 2>/dev/null; then
  # The first process of a namespace collects those that lost their parents, which a shell does and Node does not.
  setpriv --pdeathsig KILL unshare $apart sh -c '
set -eu
if [ "$(id -u)" -eq 0 ]; then
  mount --make-rshared / # as systemd has it: what is unmounted here is so for a process with mounts of its own, which keeps no loop device
  ip link set lo up
  echo 1 >/proc/sys/net/ipv4/ip_forward # an engine that has to do so itself also drops what others forward
  for place in /run/netns /run/containerd /run/docker /run/mooring /dev/shm; do
    mkdir -p "$place"
    mount -t tmpfs -o mode=1777 tmpfs "$place"
  done
fi
status=0
"$@" || status=$?
exit "$status"' sh "$@" &
else
  echo 'sandbox: no namespaces can be made here: what a run leaves when it is killed has to be removed by hand' >&2
  "$@" &
fi
child=$!
trap 'kill -KILL $child 2>/dev/null' TERM INT HUP
status=0
wait "$child" || status=$?
trap '' TERM INT HUP
wait "$child" 2>/dev/null || true # a signal ends the first wait before the child has ended
remove_folder "$TMPDIR"
exit "$status"
