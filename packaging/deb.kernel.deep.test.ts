import { execFileSync, spawn, spawnSync } from 'node:child_process';
import { copyFileSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';

import { expect } from 'chai';

import { bundleDashboard } from '../dashboard/bundle/bundle.js';
import { EtcdProcess, findFreePort } from '../dev/processes/index.js';
import { skip, until } from '../dev/testing/index.js';
import { clone, programArguments, readProductVersion } from '../pkg/version/index.js';

/** In a mount namespace of its own: this machine as it is, with changes that only the namespace sees, and without the clone. */
const ENTER = `set -eu
mount --make-rprivate /
mount -t tmpfs tmpfs "$LAB/space"
cd "$LAB/space" && mkdir upper work root
mount -t overlay overlay -o lowerdir=/,upperdir=upper,workdir=work root
mount -t proc proc root/proc && mount --rbind /dev root/dev && mount -t tmpfs tmpfs root/run && mkdir -p "root$CLONE" && mount -t tmpfs tmpfs "root$CLONE"
cp "$LAB/mooring.deb" "$LAB/inside.sh" root/root/
chroot root dpkg --purge mooring >/dev/null 2>&1 || true
chroot root userdel mooring >/dev/null 2>&1 || true
rm -rf root/var/lib/mooring
exec chroot root /bin/sh /root/inside.sh
`;

/** Installs, looks, runs both units as their files say, and removes. Sections of what is printed begin with two signs of equality. */
const INSIDE = `set -eu
export DEBIAN_FRONTEND=noninteractive
dpkg -i /root/mooring.deb >&2
caps=$(sed -n 's/^CapabilityBoundingSet=//p' /usr/lib/systemd/system/mooring-agent.service | tr 'A-Z' 'a-z' | sed 's/cap_/+/g; s/ /,/g')
echo "== agent"; setpriv --no-new-privs --bounding-set="-all,$caps" sh -c 'grep CapBnd /proc/self/status; chroot / mount -t tmpfs t /mnt && mknod /mnt/device c 1 3 && echo able'
echo "== user"; getent passwd mooring | cut -d: -f1,6,7; stat -c '%U %a' /var/lib/mooring
echo "== version"; moor --version
echo "== altered"; dpkg --verify mooring
echo "== manual"; dpkg-deb --fsys-tarfile /root/mooring.deb | tar -xO ./usr/share/man/man1/moor.1.gz | zcat | sed -n 1p
echo "== units"
if command -v systemd-analyze >/dev/null; then
  systemd-analyze verify --man=no /usr/lib/systemd/system/mooring-*.service /usr/lib/systemd/system/mooring-*.socket 2>&1 || true
fi
echo "== exposed"
if command -v systemd-analyze >/dev/null; then
  for unit in server controllers; do systemd-analyze security --offline=true --threshold=20 mooring-$unit.service 2>&1 | grep 'Overall' || true; done
fi
sed -i "s,^etcdEndpoints:.*,etcdEndpoints: [$ETCD]," /etc/mooring/server.yaml
sed -i "s,^listen:.*,listen: 127.0.0.1:$PORT," /etc/mooring/server.yaml

# As ProtectSystem=strict and StateDirectory have it: nothing but the state folder is written.
mount --bind /var/lib/mooring /var/lib/mooring
mount -o remount,bind,ro /
start() {
  command=$(sed -n 's/^ExecStart=//p' "/usr/lib/systemd/system/mooring-$1.service"); shift
  cd /var/lib/mooring
  exec setpriv --reuid mooring --regid mooring --clear-groups --no-new-privs --inh-caps=-all --bounding-set=-all env -i PATH=/usr/bin:/bin "$@" $command >&2
}
if command -v systemd-socket-activate >/dev/null; then (start server systemd-socket-activate -l 127.0.0.1:$PORT) & else (start server) & fi
server=$!
(start controllers) &
controllers=$!
echo "== started"
read -r _
echo "== process"; for part in $server $controllers; do grep -E '^(Uid|CapBnd|NoNewPrivs):' /proc/$part/status | tr '\\t\\n' '  '; echo; done
kill $server $controllers
echo "== ended"; for part in $server $controllers; do wait $part && echo 0 || echo $?; done
mount -o remount,bind,rw /
umount /var/lib/mooring
echo "== kept"; stat -c '%a %U %n' /var/lib/mooring/keys
dpkg --purge mooring >&2
echo "== left"; ls -d /usr/lib/mooring /usr/bin/moor /etc/mooring /usr/lib/systemd/system/mooring* /usr/lib/modules-load.d/mooring.conf /var/lib/mooring 2>/dev/null || true
`;

const missing = ((): string | undefined => {
  if (process.getuid?.() !== 0) return 'it needs root: run the tests as root';
  const absent = ['dpkg-deb', 'unshare', 'setpriv'].find(program => spawnSync(program, ['--version']).error);
  if (absent !== undefined) return `${absent} is missing (apt-get install dpkg util-linux)`;
  const node = spawnSync('dpkg-query', ['-W', '-f=${Status} ${Version}', 'nodejs'], { encoding: 'utf8' }).stdout;
  const [, major = 0] = /^install ok installed (?:\d+:)?(\d+)\./.exec(node ?? '') ?? [];
  if (Number(major) < 20) return 'Node.js 20 is no Debian package here (apt-get install nodejs, on Debian 13 or later)';
  const overlay = `mkdir -p a b c && mount -t tmpfs t a && mkdir a/u a/w && mount -t overlay o -o lowerdir=/,upperdir=a/u,workdir=a/w b`;
  const folder = mkdtempSync(join(tmpdir(), 'mooring-overlay-'));
  const tried = spawnSync('unshare', ['--mount', 'sh', '-c', overlay], { cwd: folder });
  rmSync(folder, { recursive: true, force: true });
  return tried.status === 0 ? undefined : 'overlays cannot be mounted: run the tests on a kernel with overlayfs';
})();

describe('the Debian package', function () {
  this.timeout(300_000);

  const lab = mkdtempSync(join(tmpdir(), 'mooring-deb-'));
  let etcd: EtcdProcess | undefined;
  let section: (name: string) => string;

  before(async function () {
    if (missing) skip(this, missing);
    const assets = join(clone, 'dist', 'dashboard', 'assets');
    await bundleDashboard(assets);
    execFileSync(process.execPath, [...programArguments('packaging/build-deb.ts'), lab]);
    copyFileSync(join(lab, readdirSync(lab).find(name => name.endsWith('.deb'))!), join(lab, 'mooring.deb'));
    execFileSync('mkdir', [join(lab, 'space')]);
    writeFileSync(join(lab, 'enter.sh'), ENTER);
    writeFileSync(join(lab, 'inside.sh'), INSIDE);
    etcd = await EtcdProcess.start({ dataDir: join(lab, 'etcd') });
    const port = await findFreePort();
    const child = spawn('unshare', ['--mount', '--pid', '--fork', '--kill-child', 'sh', join(lab, 'enter.sh')], {
      env: { PATH: process.env['PATH'], LAB: lab, CLONE: clone, ETCD: etcd.endpoint, PORT: String(port) },
      stdio: ['pipe', 'pipe', 'pipe'],
    });
    const [errors, printing] = [text(child.stderr), text(child.stdout)];
    const ended = new Promise<number | null>(resolve => child.once('close', resolve));
    const isLed = async () => {
      if (child.exitCode !== null) return true;
      const answer = await fetch(`http://127.0.0.1:${port}/healthz`);
      const { controllers } = (await answer.json()) as { controllers: Record<string, { leader: unknown }> };
      const loops = Object.values(controllers);
      return loops.length > 0 && loops.every(({ leader }) => Boolean(leader));
    };
    await until('every loop to be led', isLed, 120_000).finally(() => child.stdin.end('\n'));
    expect(await ended, await errors).to.equal(0);
    const printed = await printing;
    section = name => new RegExp(`^== ${name}\\n((?:(?!== ).*\\n)*)`, 'm').exec(printed)?.[1]?.trimEnd() ?? 'absent';
  });

  after(async () => {
    await etcd?.kill();
    rmSync(lab, { recursive: true, force: true });
  });

  it('installs a command that runs, and a user of its own for the control plane', () => {
    expect(section('version')).to.equal(readProductVersion());
    expect(section('user')).to.equal('mooring:/var/lib/mooring:/usr/sbin/nologin\nmooring 700');
    expect(section('altered')).to.equal('');
    expect(section('manual')).to.match(/^\.TH MOOR 1 /);
  });

  it('has units that systemd understands, and that leave little open', () => {
    expect(section('units').replaceAll(/^(?!.*mooring).*\n?/gm, '')).to.equal('');
    for (const line of section('exposed').split('\n').filter(Boolean)) expect(line).to.match(/: [01]\.\d (?:OK|SAFE)/);
  });

  it('serves as its units say: without any capability, on a socket that was handed over, writing to its state folder only', () => {
    const [server, controllers] = section('process').split('\n');
    for (const shown of [server, controllers]) {
      expect(shown)
        .to.match(/CapBnd: 0+ /)
        .and.match(/NoNewPrivs: 1/);
      expect(shown).to.not.match(/Uid: 0 /);
    }
    expect(section('ended')).to.equal('0\n0');
    expect(section('kept')).to.equal('600 mooring /var/lib/mooring/keys');
  });

  it('gives the agent what volumes and their copies need, and not every capability', () => {
    expect(section('agent')).to.match(/^CapBnd:\t0{6}(?!1ff)[\da-f]{10}\nable$/);
  });

  it('leaves nothing after a purge but the keys', () => {
    expect(section('left')).to.equal('/var/lib/mooring');
  });
});
