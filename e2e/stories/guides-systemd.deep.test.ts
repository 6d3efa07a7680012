import { execFileSync } from 'node:child_process';
import { existsSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';

import { buildDemoImage, RegistryProcess } from '../../dev/processes/index.js';
import { skip, until } from '../../dev/testing/index.js';
import { programArguments, readProductVersion } from '../../pkg/version/index.js';
import { explainNoMachine, SystemdMachine, wire } from '../lab/systemd-machine.js';
import { readGuide } from '../lab/guide.js';

/** The next minor version. */
const NEXT = readProductVersion().replace(/\.(\d+)\..*/, (_, minor) => `.${Number(minor) + 1}.0`);
const REGISTRY = 'mooring.example.org:5000';
const missing = explainNoMachine();

/** The blocks of a page, all of which are run here: as many as the story knows. */
function read(file: string, known: number): readonly string[] {
  const blocks = readGuide(file).map(({ commands, skipped }) => {
    if (skipped !== undefined) throw new Error(`${file}: a block says why it is not run, and this story runs all`);
    return commands.trim();
  });
  if (blocks.length !== known) throw new Error(`${file} has ${blocks.length} blocks, and this story runs ${known}`);
  return blocks;
}

/** The file of the package that a block installs. */
const packageIn = (block: string) => /\S+_all\.deb/.exec(block)![0];

/** What no machine of a story may change here: the formats of programs that the kernel knows, and the links among devices. */
function readHost() {
  const [formats, devices] = ['/proc/sys/fs/binfmt_misc', '/dev'];
  const links = readdirSync(devices, { withFileTypes: true }).filter(entry => entry.isSymbolicLink());
  return { formats: existsSync(formats) ? readdirSync(formats) : [], links: links.map(({ name }) => name) };
}

describe('the guides of systemd, from their pages, on two machines', function () {
  this.timeout(600_000);

  const [install, issue, settings, start, access] = read('how-to/systemd.md', 5);
  const [joinToken, enrol, byHand, order] = read('how-to/enrol-a-node.md', 4);
  const [upgrade, look] = read('how-to/upgrade.md', 2);
  const folder = mkdtempSync(join(tmpdir(), 'mooring-systemd-'));
  const host = readHost();
  const control = new SystemdMachine('control');
  const shop = new SystemdMachine('shop-1');

  /** Runs what must succeed, and answers what it printed. */
  const on = async (machine: SystemdMachine, script: string, input?: Buffer | string) => {
    const { status, out, err } = await machine.run(`set -eu\n${script}`, input);
    expect(status, `${script}\n${out}\n${err}`).to.equal(0);
    return out;
  };
  const isReady = async () => /^shop-1 +ready /m.test((await control.run('moor get nodes')).out);
  const container = () => on(shop, `docker ps --no-trunc --format '{{.ID}}' --filter name=web`);
  const pidOf = async (machine: SystemdMachine, unit: string) =>
    Number(await on(machine, `systemctl show --property MainPID --value ${unit}`));
  const bounds = async (machine: SystemdMachine, unit: string) =>
    on(machine, `grep -E '^(Uid|CapBnd|NoNewPrivs|Seccomp):' /proc/${await pidOf(machine, unit)}/status`);

  before(async function () {
    if (missing) skip(this, missing);
    const built = execFileSync(process.execPath, [...programArguments('packaging/build-deb.ts'), folder], {
      encoding: 'utf8',
    }).trim();
    await Promise.all([control.start(), shop.start()]);
    wire([control, '192.168.113.7'], [shop, '192.168.113.8']);
    for (const machine of [control, shop]) {
      await on(machine, `echo '192.168.113.7 mooring.example.org' >>/etc/hosts`);
      await machine.put(packageIn(install!), readFileSync(built));
    }
    await on(control, 'systemctl enable --now etcd'); // as its package does where it is not installed yet
    await control.put('/etc/docker/registry/config.yml', await fillRegistry(join(folder, 'registry')));
    execFileSync('tar', ['-C', join(folder, 'registry/images'), '-cf', join(folder, 'images.tar'), '.']);
    const unpack = 'tar -x -C /var/lib/docker-registry && chown -R docker-registry: /var/lib/docker-registry';
    await on(control, unpack, readFileSync(join(folder, 'images.tar')));
    await on(control, 'systemctl start docker-registry');
    await shop.put('/etc/docker/daemon.json', JSON.stringify({ 'insecure-registries': [REGISTRY] }));
    await on(shop, 'systemctl enable --now docker');
  });
  after(async () => {
    try {
      await Promise.all([control.stop(), shop.stop()]);
    } finally {
      rmSync(folder, { recursive: true, force: true });
    }
  });

  it('systemd.md: a control plane whose units are bounded as they say, and a tenant of it', async () => {
    for (const block of [install!, issue!, settings!]) await on(control, block);
    await on(control, `printf 'registryInsecure: [%s]\\n' ${REGISTRY} >>/etc/mooring/server.yaml`);
    const administrator = await on(control, start!);
    await on(control, 'cp /var/lib/mooring/certificates/server/ca.pem .');
    const id = `"$(moor tenants list | awk '$1 == "shop" { print $2 }')"`;
    const printed = await on(control, access!.replace('<id>', id), administrator);
    expect(printed).to.match(/^tenant\/\S+ created$/m);
    const token = printed.trimEnd().split('\n').at(-1)!;
    await on(control, 'moor login --server https://mooring.example.org:7070 --ca-file ca.pem', token);
    expect(await on(control, 'moor context list')).to.contain('shop');
    for (const unit of ['mooring-server', 'mooring-controllers']) {
      const shown = await bounds(control, unit);
      expect(shown)
        .to.match(/^CapBnd:\t0+$/m)
        .and.match(/^NoNewPrivs:\t1$/m)
        .and.match(/^Seccomp:\t2$/m);
      expect(shown).to.not.match(/^Uid:\t0/m);
    }
  });

  it('enrol-a-node.md: a machine without systemd, which is forgotten again', async () => {
    await on(shop, install!.replace(' etcd-server etcd-client', ''));
    const agent = byHand!.replace('…', (await on(control, joinToken!)).trim());
    await on(shop, `${agent} >agent.log 2>&1 & echo $! >agent.pid`);
    await until('the node to be ready', isReady, 120_000);
    await on(shop, 'kill "$(cat agent.pid)"');
    await on(control, 'moor nodes fence shop-1 && moor delete node shop-1');
  });

  it('enrol-a-node.md: a machine with systemd, which runs a deployment with a volume', async () => {
    await shop.put('join-token', await on(control, joinToken!));
    await on(shop, enrol!);
    await until('the node to be ready', isReady, 120_000);
    const shown = await bounds(shop, 'mooring-agent');
    expect(shown)
      .to.match(/^CapBnd:\t0{6}(?!1ff)[\da-f]{10}$/m)
      .and.match(/^NoNewPrivs:\t1$/m)
      .and.match(/^Seccomp:\t2$/m);

    expect(await on(shop, 'systemctl is-active mooring-fencer')).to.equal('active\n');
    expect(await on(control, order!)).to.match(/^Schedulable: +yes/m);

    await on(control, 'moor volumes create data --size 128Mi --class ephemeral');
    const volume = () => on(control, 'moor volumes describe data');
    await until('the volume', async () => /Phase: *Ready/.test(await volume()), 120_000);
    const [, volumeId] = /^Id: *(\S+)/m.exec(await volume())!;
    const web = { kind: 'Deployment', name: 'web', image: `${REGISTRY}/mooring/demo:1`, replicas: 1 };
    await control.put('web.yaml', JSON.stringify({ ...web, volumes: [{ volumeId, mountPath: '/data' }] }));
    await on(control, 'moor apply -f web.yaml && moor status web --until-ready --timeout 3m');
    expect(await on(shop, `docker exec ${(await container()).trim()} cat /proc/mounts`)).to.match(/ \/data btrfs /);
    await until('its log', async () => (await on(control, 'moor logs web')).includes('listens on port 8080'));
  });

  it('upgrade.md: the units that run are replaced, no client is refused, and the container goes on', async () => {
    const next = makeNext(folder);
    for (const machine of [control, shop]) await machine.put(packageIn(upgrade!), readFileSync(next));
    const [ran, agent] = [await container(), await pidOf(shop, 'mooring-agent')];
    // 7: nobody listens.
    const asked = shop.run(`while [ ! -e enough ]; do
  curl -s -o answer --cacert /var/lib/mooring-agent/server-ca.pem https://mooring.example.org:7070/healthz; echo $?
done`);
    await on(control, upgrade!);
    await on(shop, upgrade!);
    await until('an answer of the new server', async () => (await control.run('moor get nodes')).status === 0);
    await on(shop, 'touch enough');
    const codes = (await asked).out.trim().split('\n');
    expect(codes).to.include('0').and.not.include('7');
    expect(await pidOf(shop, 'mooring-agent')).to.not.equal(agent);
    await until('the new agent', async () =>
      (await on(control, 'moor describe node shop-1')).includes(`Agent:          ${NEXT}`),
    );
    expect(await on(control, look!))
      .to.contain(NEXT)
      .and.match(/^shop-1 +ready /m);
    expect(await container()).to.equal(ran);
    for (const machine of [control, shop])
      expect(await on(machine, 'systemctl is-system-running')).to.equal('running\n');
  });

  it('a machine that loses the package has no unit of it left, and its containers go on', async () => {
    const ran = await container();
    await on(shop, 'apt-get purge mooring');
    expect(await on(shop, `systemctl list-units --all --plain --no-legend 'mooring*'`)).to.equal('');
    expect(await on(shop, 'systemctl is-system-running')).to.equal('running\n');
    expect(await container()).to.equal(ran);
  });

  it('the machine that they all run on is as it was', () => {
    expect(readHost()).to.deep.equal(host);
  });
});

/** Puts an image into the folder of a registry, and answers the settings of one that serves it without a login. */
async function fillRegistry(folder: string): Promise<string> {
  const registry = await RegistryProcess.start({ folder });
  await buildDemoImage(registry.address);
  await registry.kill();
  const storage = { filesystem: { rootdirectory: '/var/lib/docker-registry' } };
  return JSON.stringify({ version: 0.1, storage, http: { addr: ':5000' } });
}

/** The package again, as the next version of it. */
function makeNext(folder: string): string {
  const [root, file] = [join(folder, 'next'), join(folder, 'next.deb')];
  execFileSync('dpkg-deb', ['-R', join(folder, `mooring_${readProductVersion()}_all.deb`), root]);
  for (const path of ['DEBIAN/control', 'usr/lib/mooring/package.json']) {
    const before = readFileSync(join(root, path), 'utf8');
    writeFileSync(join(root, path), before.replace(/^(Version: |\s*"version": ")\d+\.\d+\.\d+/m, `$1${NEXT}`));
  }
  execFileSync('dpkg-deb', ['-Znone', '--root-owner-group', '-b', root, file]);
  return file;
}
