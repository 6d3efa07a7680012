/**
 * A control group by the name of the first argument wherever this machine has a hierarchy, and in it, with namespaces of its own, the
 * rest. Whoever waits for it stays outside: a group that others are in hands no controller on to its children (version 2).
 */
export const BOOT = `set -eu
group=$1
shift
entries=
for place in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/self/mounts); do
  mkdir -p "$place/$group" # an empty one may be left of a run that was killed
  for own in cpuset.cpus cpuset.mems; do
    if [ -f "$place/$group/$own" ] && [ -f "$place/$own" ]; then cat "$place/$own" >"$place/$group/$own"; fi
  done
  entries="$entries $place/$group/cgroup.procs"
done
export entries
exec unshare --pid --fork --kill-child sh -euc '
for entry in $entries; do echo 0 >"$entry"; done # 0: whoever writes it
exec unshare --mount --net --uts --ipc --cgroup "$@"' sh "$@"
`;

/** Removes the control groups of that name, once their processes are gone. */
export const END = `for place in $(awk '$3 ~ /^cgroup2?$/ { print $2 }' /proc/self/mounts); do
  tries=0
  while [ -d "$place/$1" ] && [ $tries -lt 50 ]; do
    find "$place/$1" -depth -type d -exec rmdir {} + 2>/dev/null || sleep 0.1
    tries=$((tries + 1))
  done
done
`;

/** What a machine that was just installed has nothing in. */
const EMPTY =
  '/root /tmp /run /home /var/tmp /var/lib/docker /var/lib/containerd /var/lib/etcd /var/lib/docker-registry /var/log/journal';

/** What would change the kernel or the devices, which are not the machine's own, or wait for somebody at its console. */
const MASKED = [
  'console-getty.service systemd-logind.service systemd-udevd.service systemd-tmpfiles-setup-dev.service',
  'systemd-binfmt.service proc-sys-fs-binfmt_misc.automount proc-sys-fs-binfmt_misc.mount',
  'systemd-sysctl.service systemd-modules-load.service',
].join(' ');

/** Within the namespaces: the root of the machine, and then its first process. */
export const ENTER = `set -eu
hierarchies=$(awk '$3 ~ /^cgroup2?$/ { print $2 "," $3 "," $4 }' /proc/self/mounts)
mount --make-rprivate /
mount -t tmpfs tmpfs "$LAB/space"
cd "$LAB/space"
mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc
mount -t sysfs -o ro sysfs root/sys
# The kernel has one /proc/sys for all, but for the part of a network.
for part in sys sys/net; do mount --bind root/proc/$part root/proc/$part; done
mount -o remount,bind,ro root/proc/sys
# The devices of this machine, also those that the kernel adds later; what the machine writes beside them only it sees.
mkdir dev-upper dev-work
mount -t overlay overlay -o lowerdir=/dev,upperdir=dev-upper,workdir=dev-work root/dev
# What the machine says on its console, and what the kernel says, is not its own.
for device in console kmsg; do if [ -e root/dev/$device ]; then mount --bind /dev/null root/dev/$device; fi; done
mount -t tmpfs tmpfs root/sys/fs/cgroup
for hierarchy in $hierarchies; do
  options=
  type=\${hierarchy#*,}
  place=\${hierarchy%%,*}
  if [ "\${type%%,*}" = cgroup ]; then
    options=$(echo "\${type#*,}" | tr , '\\n' | grep -vxE 'rw|ro|relatime|nosuid|nodev|noexec|xattr|release_agent=.*' | paste -sd,)
  fi
  mkdir -p "root$place"
  mount -t "\${type%%,*}" \${options:+-o "$options"} cgroup "root$place"
done
for folder in ${EMPTY}; do
  if [ -d "root$folder" ]; then
    mode=$(stat -c mode=%a,uid=%u,gid=%g "root$folder")
    mount -t tmpfs -o "$mode" tmpfs "root$folder"
  fi
done
mkdir -p "root$CLONE"
mount -t tmpfs tmpfs "root$CLONE"
mkdir -p root/etc/apt/apt.conf.d
echo 'APT::Get::Assume-Yes "true";' >root/etc/apt/apt.conf.d/99yes
rm -rf root/etc/systemd/system/*.wants root/var/lib/mooring root/var/lib/mooring-agent root/etc/machine-id root/var/lib/man-db/auto-update
systemd-machine-id-setup --root=root >/dev/null 2>&1 || true
for unit in ${MASKED}; do
  ln -sf /dev/null "root/etc/systemd/system/$unit"
done
echo "$NAME" >root/etc/hostname
hostname "$NAME"
cd root
mkdir -p .before
pivot_root . .before
umount -l .before
rmdir .before
dpkg --purge mooring >/dev/null 2>&1 || true
userdel mooring >/dev/null 2>&1 || true
exec env -i container=mooring PATH=/usr/sbin:/usr/bin:/sbin:/bin /lib/systemd/systemd --unit=multi-user.target --log-target=journal
`;

/** Within: has the kernel detach the loop devices of volumes once nothing uses them. */
export const DETACH = `for image in /var/lib/mooring-agent/volumes/*/image; do
  [ ! -e "$image" ] || losetup -j "$image" | cut -d: -f1 | xargs -r -n 1 losetup -d
done
`;
