import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { createSocket } from 'node:dgram';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { DockerdProcess, buildDemoImage, RegistryProcess } from '../../../../dev/processes/index.js';
import { itDeep, skip, until } from '../../../../dev/testing/index.js';
import { type ContainerSpec, NameConflictFault, type NetworkSpec } from '../engine.js';
import { DockerApi } from './docker-api.js';
import { DockerEngine } from './docker-engine.js';

const run = promisify(execFile);
/** Another machine: a network namespace beyond a link of ours. */
const AWAY = `moor-away-${process.pid}`;
const LINK = `moorf${process.pid}`;
const WAY = [
  `link add ${LINK} type veth peer name far netns ${AWAY}`,
  `address add 10.214.77.1/24 dev ${LINK}`,
  `link set ${LINK} up`,
  `-n ${AWAY} address add 10.214.77.2/24 dev far`,
  `-n ${AWAY} link set far up`,
  `-n ${AWAY} route add default via 10.214.77.1`,
];
const ANSWER = "require('net').createServer(s => s.on('error', () => {}).end('away\\n')).listen(7777, '0.0.0.0')";
/** Sends its first argument to everyone on its networks, at the port of the second. */
const SHOUT = `const [text, port] = process.argv.slice(1);
for (const { address, netmask, family, internal } of Object.values(require('os').networkInterfaces()).flat()) {
  if (family !== 'IPv4' || internal) continue;
  const mask = netmask.split('.');
  const broadcast = address.split('.').map((part, at) => Number(part) | (255 - Number(mask[at]))).join('.');
  const socket = require('dgram').createSocket('udp4').bind(0, address, () => {
    socket.setBroadcast(true);
    socket.setMulticastInterface(address);
    socket.send('broadcast from ' + text, port, broadcast, () =>
      socket.send('multicast from ' + text, port, '224.0.0.1', () => socket.close()));
  });
}`;
const SHOP = '0b0f7a0e-0000-4000-8000-00000000000a';
const BANK = '0b0f7a0e-0000-4000-8000-00000000000b';

const network = (name: string, change: Partial<NetworkSpec> = {}): NetworkSpec => ({
  name: `mooring-${change.tenant ?? SHOP}-${name}`,
  network: name,
  tenant: SHOP,
  nodeId: 'node_1',
  labels: { team: 'shop' },
  internal: false,
  ...change,
});

describe('networks on the docker engine', function () {
  let folder: string;
  let dockerd: DockerdProcess;
  let registry: RegistryProcess;
  let engine: DockerEngine;
  let api: DockerApi;
  let image: string;
  let count = 0;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moor-'));
    registry = await RegistryProcess.start({ folder: join(folder, 'registry') });
    image = await buildDemoImage(registry.address);
    dockerd = await DockerdProcess.start({ folder: join(folder, 'engine') });
    engine = new DockerEngine({ host: dockerd.host });
    api = new DockerApi(dockerd.host);
    await engine.pull(image);
  });
  after(async () => {
    await api?.close();
    await engine?.close();
    await registry?.kill();
    await dockerd?.destroy();
    await rm(folder, { recursive: true, force: true });
  });
  afterEach(async () => {
    for (const { id } of await engine.list('node_1')) await engine.remove(id);
    expect(await engine.removeNetworks('node_1', () => false)).to.equal(0);
  });

  /** Speaks to the engine behind the driver's back, as a person on the machine can. */
  const ask = async <T>(method: 'GET' | 'POST' | 'DELETE', path: string, body?: unknown): Promise<T> =>
    (await api.call<T>(method, path, body === undefined ? {} : { body })).body;
  const removeNetwork = ({ name }: NetworkSpec): Promise<unknown> => ask('DELETE', `/networks/${name}`);
  const disconnect = ({ name }: NetworkSpec, container: string): Promise<unknown> =>
    ask('POST', `/networks/${name}/disconnect`, { Container: container, Force: true });
  const inspectNetwork = ({ name }: NetworkSpec) =>
    ask<{ Labels: Record<string, string>; IPAM: { Config: { Gateway: string }[] } }>('GET', `/networks/${name}`);
  const inspect = (id: string) =>
    ask<{
      State: { StartedAt: string; Pid: number };
      HostConfig: { Dns: string[] };
      NetworkSettings: { Networks: Readonly<Record<string, { IPAddress: string }>> };
    }>('GET', `/containers/${id}/json`);

  /** Creates a container of a deployment on networks; not started. */
  const create = (deployment: string, networks: readonly NetworkSpec[], change: Partial<ContainerSpec> = {}) => {
    count++;
    return engine.create({
      name: `${deployment}-${count}`,
      image,
      environment: {},
      ports: [],
      network: `mooring-${SHOP}`,
      ...(networks.length > 0 && {
        networks: networks.map(({ name }) => name),
        isInternal: networks.every(({ internal }) => internal),
      }),
      alias: deployment,
      owner: {
        nodeId: 'node_1',
        tenant: networks[0]?.tenant ?? SHOP,
        deployment,
        deploymentUid: `dep_${deployment}`,
        replica: `rep_${count}`,
        slot: count,
        generation: 1,
        templateHash: 'h1',
      },
      ...change,
    });
  };
  const start = async (deployment: string, networks: readonly NetworkSpec[]): Promise<string> => {
    const id = await create(deployment, networks);
    await engine.start(id);
    return id;
  };
  const succeeds = async (id: string, line: string): Promise<boolean> =>
    (await engine.exec(id, ['/bin/sh', '-c', line], 20_000)) === 0;
  const reaches = (from: string, host: string): Promise<boolean> => succeeds(from, `echo | nc -w 2 ${host} 8080`);
  const untilReached = (from: string, host: string): Promise<unknown> =>
    until(`${host} to be reached`, () => reaches(from, host));
  const addressOf = async (id: string, { name }: NetworkSpec): Promise<string> =>
    (await inspect(id)).NetworkSettings.Networks[name]!.IPAddress;

  it('exist once, with the labels of the tenant beside ours, and go when nothing holds them', async () => {
    const backend = network('backend');
    await Promise.all([engine.ensureNetwork(backend), engine.ensureNetwork(backend)]);
    await engine.ensureNetwork(backend);
    const all = await ask<{ Name: string }[]>('GET', '/networks');
    expect(all.filter(({ Name }) => Name === backend.name)).to.have.length(1);
    expect((await inspectNetwork(backend)).Labels).to.include({
      team: 'shop',
      'mooring.io/tenant': SHOP,
      'mooring.io/node': 'node_1',
    });
    expect(await engine.listNodeIds(SHOP)).to.deep.equal(['node_1']);

    const id = await start('web', [backend]);
    expect(await engine.removeNetworks('node_2', () => false)).to.equal(0);
    expect(await engine.removeNetworks('node_1', () => false)).to.equal(1);
    await engine.remove(id);
    expect(await engine.removeNetworks('node_1', () => false)).to.equal(0);
    const left = await ask<{ Name: string }[]>('GET', '/networks');
    expect(left.map(({ Name }) => Name)).not.to.include(backend.name);
  });

  describe('that the engine has twice, which it refuses to tell from each other', () => {
    const name = `mooring-${SHOP}`;
    const createTwin = async () =>
      (await ask<{ Id: string }>('POST', '/networks/create', { Name: name, Labels: { 'mooring.io/tenant': SHOP } })).Id;
    const listTwins = async () =>
      (await ask<{ Id: string; Name: string }[]>('GET', '/networks')).filter(({ Name }) => Name === name);
    beforeEach(async () => {
      for (const { Id } of await listTwins()) await ask('DELETE', `/networks/${Id}`);
    });

    it('are one again before a container starts', async () => {
      const id = await create('web', []);
      await createTwin();
      await engine.start(id);
      expect(await listTwins()).to.have.length(1);
      await start('more', []);
    });

    it('are one again where a container holds the younger', async () => {
      await createTwin();
      const held = await createTwin();
      await engine.ensureNetwork(network('own'));
      await ask('POST', `/networks/${held}/connect`, { Container: await start('web', [network('own')]) });
      await start('more', []);
      expect((await listTwins()).map(({ Id }) => Id)).to.deep.equal([held]);
    });
  });

  it('are refused when something else has the name', async () => {
    const foreign = network('foreign');
    await ask('POST', '/networks/create', { Name: foreign.name });
    const thrown = await engine.ensureNetwork(foreign).catch((error: unknown) => error);
    expect(thrown)
      .to.be.instanceOf(NameConflictFault)
      .with.property('message')
      .that.matches(/another network: remove it/);
    await removeNetwork(foreign);
  });

  it('resolve deployments by name for those that are on them, and keep others out', async function () {
    if (!dockerd.separates) {
      skip(this, 'iptables cannot be used here (run as root, on a kernel with netfilter)');
    }
    const [front, back] = [network('front'), network('back')];
    const other = network('front', { tenant: BANK });
    for (const each of [front, back, other]) await engine.ensureNetwork(each);
    const web = await start('web', [front]);
    const proxy = await start('proxy', [front, back]);
    const db = await start('db', [back]);
    const bank = await start('web', [other]);
    const plain = await start('plain', []);

    await untilReached(proxy, 'web');
    await untilReached(proxy, 'db');
    await untilReached(web, 'proxy');
    expect(await succeeds(web, 'nslookup db')).to.equal(false);
    expect(await reaches(web, await addressOf(db, back))).to.equal(false);
    expect(await reaches(bank, await addressOf(web, front))).to.equal(false);
    expect(await reaches(plain, await addressOf(web, front))).to.equal(false);
    // The name of its own tenant's deployment, not of another's.
    expect(await succeeds(bank, `nslookup web | grep -q ${await addressOf(bank, other)}`)).to.equal(true);
  });

  it('that are internal have no way out: no route, no machine, no resolver', async function () {
    const closed = network('closed', { internal: true });
    if (!dockerd.separates) {
      skip(this, 'iptables cannot be used here (run as root, on a kernel with netfilter)');
    }
    await engine.ensureNetwork(closed);
    let machine: Server | undefined;
    let away: ChildProcess | undefined;
    try {
      machine = createServer(socket => socket.on('error', () => undefined).end('machine\n'));
      await new Promise<void>(resolve => machine?.listen(0, '0.0.0.0', resolve));
      const { port } = machine.address() as AddressInfo;
      const open = network('open');
      await engine.ensureNetwork(open);
      const [inside, peer, outside] = [
        await start('inside', [closed]),
        await start('peer', [closed]),
        await start('outside', [open]),
      ];
      const gatewayOf = async (spec: NetworkSpec) => (await inspectNetwork(spec)).IPAM.Config[0]!.Gateway;
      const calls = async (from: string, host: string) => succeeds(from, `nc -w 2 ${host} ${port} < /dev/null`);

      await untilReached(inside, 'peer');
      expect(await calls(outside, await gatewayOf(open)), 'the machine, from an open network').to.equal(true);
      expect(await calls(inside, await gatewayOf(closed)), 'the machine').to.equal(false);
      // Routed by the machine, as the way to the outside is.
      await run('ip', ['netns', 'add', AWAY]);
      for (const words of WAY) await run('ip', words.split(' '));
      away = spawn('ip', ['netns', 'exec', AWAY, process.execPath, '-e', ANSWER]);
      const goes = (from: string) => succeeds(from, 'nc -w 2 10.214.77.2 7777 < /dev/null | grep -q away');
      await until('the outside to be reached from an open network', () => goes(outside));
      expect(await goes(inside), 'the outside').to.equal(false);
      expect(await succeeds(inside, 'nslookup example.test'), 'a resolver').to.equal(false);
      expect((await inspect(inside)).HostConfig.Dns).to.deep.equal(['192.0.2.1']);
      expect(peer).to.be.a('string');
    } finally {
      machine?.close();
      away?.kill();
      await run('ip', ['netns', 'del', AWAY]).catch(() => undefined);
    }
  });

  it('that are internal do not reach the machine by what is sent to everyone either', async function () {
    if (!dockerd.separates) {
      skip(this, 'iptables cannot be used here (run as root, on a kernel with netfilter)');
    }
    const [closed, open] = [network('closed', { internal: true }), network('open')];
    for (const each of [closed, open]) await engine.ensureNetwork(each);
    const [inside, outside] = [await start('inside', [closed]), await start('outside', [open])];
    const heard = new Set<string>();
    const machine = createSocket('udp4').on('message', text => heard.add(String(text)));
    try {
      await new Promise<void>(resolve => machine.bind(0, '0.0.0.0', resolve));
      const shout = async (id: string, text: string) => {
        const words = [process.execPath, '-e', SHOUT, text, String(machine.address().port)];
        await run('nsenter', ['-t', String((await inspect(id)).State.Pid), '-n', ...words]);
      };
      await until('both to be heard from an open network', async () => {
        await shout(inside, 'inside');
        await shout(outside, 'outside');
        return heard.has('broadcast from outside') && heard.has('multicast from outside');
      });
      expect([...heard].sort()).to.deep.equal(['broadcast from outside', 'multicast from outside']);
    } finally {
      machine.close();
    }
  });

  itDeep('are joined again by a container that was taken off them, without a restart', async () => {
    const [front, back] = [network('front'), network('back')];
    for (const each of [front, back]) await engine.ensureNetwork(each);
    const web = await start('web', [front, back]);
    const peer = await start('peer', [front]);
    await untilReached(peer, 'web');
    const before = (await inspect(web)).State.StartedAt;
    await disconnect(front, web);
    await disconnect(front, peer);
    await removeNetwork(front);

    const lacking = await engine.inspect(web);
    expect(lacking?.lacksNetworks).to.deep.equal([front.name]);
    await engine.ensureNetwork(front);
    for (const id of [web, peer]) await engine.joinNetworks((await engine.inspect(id))!, [front.name]);
    await engine.joinNetworks(lacking!, [front.name]);
    expect((await engine.inspect(web))?.lacksNetworks).to.equal(undefined);
    await untilReached(peer, 'web');
    expect((await inspect(web)).State.StartedAt).to.equal(before);
  });

  itDeep(
    'are all joined by a container that was created and not attached further, once it is found by its name',
    async () => {
      const [front, back] = [network('front'), network('back')];
      for (const each of [front, back]) await engine.ensureNetwork(each);
      const cut = await create('web', [front]);
      const { name, owner } = (await engine.inspect(cut))!;
      for (const _ of ['after a crash', 'and once more']) {
        expect(await create('web', [front, back], { name, owner })).to.equal(cut);
        expect(Object.keys((await inspect(cut)).NetworkSettings.Networks)).to.have.members([front.name, back.name]);
      }
    },
  );

  itDeep('may be removed and created anew under a container that is stopped', async () => {
    const [front, back] = [network('front'), network('back')];
    for (const each of [front, back]) await engine.ensureNetwork(each);
    const web = await start('web', [front, back]);
    await engine.stop(web, 0);
    await removeNetwork(front);
    await removeNetwork(back);
    for (const each of [front, back]) await engine.ensureNetwork(each);
    await engine.start(web);
    expect((await engine.inspect(web))?.lacksNetworks).to.equal(undefined);
    const peer = await start('peer', [back]);
    await untilReached(peer, 'web');
  });

  itDeep('of the tenant itself may be removed under a container that is stopped, too', async () => {
    const id = await start('web', []);
    await engine.stop(id, 0);
    await ask('DELETE', `/networks/mooring-${SHOP}`);
    await engine.start(id);
    const peer = await start('peer', []);
    await untilReached(peer, 'web');
  });

  itDeep('survive a kill of the engine, and a restart of it', async () => {
    const front = network('front');
    await engine.ensureNetwork(front);
    const [web, peer] = [await start('web', [front]), await start('peer', [front])];
    await dockerd.kill();
    await dockerd.restart();
    await engine.ensureNetwork(front);
    for (const id of [web, peer]) await engine.start(id);
    await untilReached(peer, 'web');
  });
});
