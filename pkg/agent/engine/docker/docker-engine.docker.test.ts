import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { expect } from 'chai';
import { Agent as Dispatcher, request } from 'undici';

import { replica } from '../../../link/dispatcher-lab.testing.js';
import { buildContainerSpec } from '../../containers/container-spec.js';
import { sleep, systemClock } from '../../../clock/index.js';
import { DockerdProcess, buildDemoImage, findFreePort, RegistryProcess } from '../../../../dev/processes/index.js';
import { until } from '../../../../dev/testing/index.js';
import { RegistryLogins } from '../../../registry/index.js';
import { Secret } from '../../../secrets/index.js';
import { type ContainerSpec, ImagePullFault } from '../engine.js';
import { engineContract } from '../engine.contract.js';
import { fixedHostConfig } from './docker-container.js';
import { DockerEngine } from './docker-engine.js';

const TENANT = '0b0f7a0e-0000-4000-8000-000000000002';

/** A real engine and a real registry, both our own. */
async function openLab() {
  const folder = await mkdtemp(join(tmpdir(), 'moor-'));
  const login = { username: 'robot', password: 'sesame' };
  const registry = await RegistryProcess.start({ folder: join(folder, 'registry'), login });
  const image = await buildDemoImage(registry.address, { login });
  const auths = { [registry.address]: { auth: btoa(`${login.username}:${login.password}`) } };
  await writeFile(join(folder, 'logins.json'), JSON.stringify({ auths }));
  const logins = new RegistryLogins(join(folder, 'logins.json'));
  const dockerd = await DockerdProcess.start({ folder: join(folder, 'engine') });
  const engine = new DockerEngine({ host: dockerd.host, hostPortAddress: '127.0.0.1', logins });
  return {
    engine,
    dockerd,
    image,
    absentImage: `${registry.address}/mooring/absent:1`,
    away: () => dockerd.kill('SIGKILL'),
    back: () => dockerd.restart(),
    pass: (ms: number) => sleep(systemClock, ms),
    async close() {
      await engine.close();
      await registry.kill();
      await dockerd.destroy();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

engineContract('docker', openLab);

describe('the docker engine', () => {
  let lab: Awaited<ReturnType<typeof openLab>>;

  before(async () => {
    lab = await openLab();
    await lab.engine.pull(lab.image);
  });

  after(() => lab?.close());

  afterEach(async () => {
    for (const { id } of await lab.engine.list('node_1')) await lab.engine.remove(id);
  });

  const order = (slot: number, change: Partial<ContainerSpec> = {}): ContainerSpec => ({
    name: slot === 0 ? 'web' : `web-${slot}`,
    image: lab.image,
    environment: { MODE: 'test', EMPTY: '' },
    ports: [],
    network: `mooring-${TENANT}`,
    alias: 'web',
    owner: {
      nodeId: 'node_1',
      tenant: TENANT,
      deployment: 'web',
      deploymentUid: 'dep_1',
      replica: `rep_${slot}`,
      slot,
      generation: 1,
      templateHash: 'h1',
    },
    ...change,
  });

  const run = async (slot: number, change: Partial<ContainerSpec> = {}): Promise<string> => {
    const id = await lab.engine.create(order(slot, change));
    await lab.engine.start(id);
    return id;
  };

  const inspectRaw = async (id: string) => {
    const dispatcher = new Dispatcher({ connect: { socketPath: lab.dockerd.host.slice('unix://'.length) } });
    const answer = await request(`http://engine/containers/${id}/json`, { dispatcher });
    const raw = (await answer.body.json()) as Record<
      'HostConfig' | 'Config' | 'NetworkSettings',
      Record<string, unknown>
    >;
    await dispatcher.destroy();
    return raw;
  };

  const output = async (id: string): Promise<string> => {
    await until('the container to end', async () => (await lab.engine.inspect(id))?.state === 'exited');
    let text = '';
    for await (const { bytes } of lab.engine.logs(id, { tail: 100 }, AbortSignal.timeout(20_000))) {
      text += bytes.toString();
    }
    return text;
  };

  it('[2.4.17 3.31] makes every container from the one security template', async () => {
    const { HostConfig } = await inspectRaw(await run(0));

    const bare = (names: unknown) => (names as string[]).map(name => name.replace(/^CAP_/, '')).toSorted();
    expect(bare(HostConfig['CapAdd'])).to.deep.equal([...fixedHostConfig.CapAdd].toSorted());
    // The engine stores an empty list or map as null or leaves it out.
    const empty = (value: unknown) =>
      value && typeof value === 'object' && Object.keys(value).length === 0 ? null : value;
    for (const [name, value] of Object.entries(fixedHostConfig)) {
      if (name !== 'CapAdd') expect(empty(HostConfig[name]) ?? null, name).to.deep.equal(empty(value) ?? null);
    }
    const granted = { Binds: null, Devices: null, DeviceRequests: null, GroupAdd: null, Dns: null, VolumesFrom: null };
    for (const name of Object.keys(granted)) expect(empty(HostConfig[name]) ?? null, name).to.equal(null);
    expect(HostConfig['NetworkMode']).to.equal(`mooring-${TENANT}`);
    expect(HostConfig['Memory']).to.equal(0);
    expect(HostConfig['NanoCpus']).to.equal(0);
  });

  it('[2.2.8] lets containers of a tenant find each other by name', async () => {
    await run(0);
    const id = await run(1, {
      entrypoint: ['/bin/sh', '-c'],
      command: ['for i in 1 2 3 4 5; do wget -q -O - http://web:8080/ && break; sleep 1; done'],
      alias: 'client',
    });

    expect(await output(id)).to.include('Moored.');
  });

  it('answers the name of a deployment with its own containers, also beside one that is called like a replica of another', async () => {
    const place = (deployment: string, slot: number) =>
      buildContainerSpec(
        replica({
          tenant: TENANT,
          deployment,
          slot,
          uid: `rep_${deployment}_${slot}`,
          template: { image: lab.image, secretsVersion: 0 },
        }),
        { nodeId: 'node_1', prefix: '', secrets: new Map() },
      );
    const addresses = new Map<string, string>();
    for (const spec of [place('web', 0), place('web', 1), place('web-1', 0)]) {
      const id = await lab.engine.create(spec);
      await lab.engine.start(id);
      const { NetworkSettings } = await inspectRaw(id);
      const networks = NetworkSettings['Networks'] as Record<string, { IPAddress: string }>;
      addresses.set(spec.name, networks[spec.network]!.IPAddress);
    }
    const asking = await run(9, {
      entrypoint: ['/bin/sh', '-c'],
      command: ['for name in web web-1; do echo "of $name:"; /bin/busybox nslookup $name; done'],
      alias: 'client',
    });
    const [, web = '', other = ''] = (await output(asking)).split(/^of .*:$/m);
    const found = (text: string) => {
      const words = new Set(text.split(/\s+/));
      return [...addresses].filter(([, ip]) => words.has(ip)).map(([name]) => name);
    };
    expect(found(web), web).to.deep.equal(['web', 'web.1']);
    expect(found(other), other).to.deep.equal(['web-1']);
  });

  it('pulls nothing without the login that a registry requires', async () => {
    const stranger = new DockerEngine({ host: lab.dockerd.host });
    const fault = await stranger.pull(lab.absentImage).catch((thrown: unknown) => thrown);
    await stranger.close();

    expect(fault).to.be.instanceOf(ImagePullFault);
    expect((fault as ImagePullFault).failure).to.equal('denied');
  });

  it('publishes a port of the host, at the configured address alone', async () => {
    const hostPort = await findFreePort();
    const id = await run(0, { ports: [{ containerPort: 8080, hostPort, protocol: 'tcp' }] });
    let page = '';
    for (let turn = 0; turn < 50 && page === ''; turn++) {
      const answer = await fetch(`http://127.0.0.1:${hostPort}/`).catch(() => undefined);
      page = (await answer?.text()) ?? '';
      if (page === '') await lab.pass(100);
    }

    expect(page).to.include('Moored.');
    const { HostConfig } = await inspectRaw(id);
    const bindings = [{ HostIp: '127.0.0.1', HostPort: String(hostPort) }];
    expect(HostConfig['PortBindings']).to.deep.equal({ '8080/tcp': bindings });
  });

  it('gives a container its environment and takes down how it ended', async () => {
    const id = await run(0, {
      entrypoint: ['/bin/sh', '-c'],
      command: ['echo "[$MODE][$EMPTY]"; echo oh >&2; exit 3'],
    });
    expect(await output(id))
      .to.include('[test][]\n')
      .and.to.include('oh\n');

    expect(await lab.engine.inspect(id)).to.include({ state: 'exited', exitCode: 3 });
  });

  const SECRET = 'canary "of" a secret/variable';
  const secrets = new Map([['DB_password', new Secret(SECRET)]]);

  it('reads the last lines of a container without the values of its secrets', async () => {
    const command = [
      'i=0; while [ $i -lt 40 ]; do i=$((i+1)); echo "line $i"; done; echo "login $DB_password"; exit 1',
    ];
    const id = await run(0, { entrypoint: ['/bin/sh', '-c'], command, secrets });
    await output(id);
    const ended = (await lab.engine.inspect(id))!;
    const { output: text = '' } = await lab.engine.readLastLines(id);

    expect(ended.exitCode).to.equal(1);
    expect(Date.parse(ended.endedAt!)).to.be.greaterThan(0);
    expect(text.split('\n')).to.have.length(20);
    expect(text).to.match(/line 40\nlogin \[redacted\]$/);
    expect(text).to.not.include('canary');
  });

  it('shows no part of a value that a running container has not written to its end', async () => {
    const command = ['echo ready; echo "canary \\"of\\" a"; sleep 60'];
    const id = await run(0, { entrypoint: ['/bin/sh', '-c'], command, secrets });
    await until('it to have begun to write', async () => {
      for await (const { bytes } of lab.engine.logs(id, { tail: 100 }, AbortSignal.timeout(20_000))) {
        if (bytes.includes('canary')) return true;
      }
      return false;
    });
    expect(await lab.engine.readLastLines(id)).to.deep.equal({ output: 'ready' });
  });

  it('tells a container that ran out of memory from one that was killed', async () => {
    const entrypoint = ['/bin/sh', '-c'];
    const hungry = await run(0, {
      entrypoint,
      command: ['x=0123456789; while :; do x=$x$x; done'],
      limits: { memory: 16 * 2 ** 20 },
    });
    await output(hungry);
    const killed = await run(1, { entrypoint, command: ['kill -9 $$; sleep 9'] });
    await lab.engine.stop(killed, 0);

    // The engine hears of the end from the process, and of its cause from the kernel: the one may come before the other.
    const isTold = async () => (await lab.engine.inspect(hungry))?.oomKilled === true;
    await until('the engine to know that the memory ran out', isTold);
    expect(await lab.engine.inspect(hungry)).to.include({ state: 'exited' });
    expect(await lab.engine.inspect(killed))
      .to.include({ state: 'exited' })
      .and.to.not.have.property('oomKilled');
  });

  it('measures what a container has written to its own file system', async () => {
    const command = ['dd if=/dev/zero of=/big bs=1048576 count=4 2>/dev/null'];
    const id = await run(0, { entrypoint: ['/bin/sh', '-c'], command });
    await output(id);
    const sizes = await lab.engine.measureDisk('node_1');
    expect(sizes.get(id)).to.be.within(4 * 2 ** 20, 5 * 2 ** 20);
    expect((await lab.engine.measureDisk('node_other')).size).to.equal(0);
  });

  it('shows the user that a container runs as', async () => {
    expect((await lab.engine.inspect(await run(0)))?.user).to.equal('');
    expect((await lab.engine.inspect(await run(1, { user: '1000:1000' })))?.user).to.equal('1000:1000');
  });

  it('runs a command in a container, waits for it as long as it may take, and outlives one that cannot be run', async () => {
    const id = await run(0);
    const { engine } = lab;
    expect(await engine.exec(id, ['/bin/sh', '-c', 'exit 3'], 20_000)).to.equal(3);
    expect(await engine.exec(id, ['/bin/sh', '-c', 'echo done > /tmp/ran'], 20_000)).to.equal(0);
    expect(await engine.exec(id, ['/bin/sh', '-c', 'test -f /tmp/ran'], 20_000)).to.equal(0);
    expect(await engine.exec(id, ['/bin/sh', '-c', 'sleep 60'], 300)).to.equal(undefined);
    expect(await engine.exec(id, ['/bin/absent'], 20_000)).to.be.oneOf([undefined, 126, 127]);
    await engine.stop(id, 1);
    expect(await engine.exec(id, ['/bin/sh', '-c', 'exit 0'], 20_000)).to.equal(undefined);
  });

  it('[2.3.9] reports an unhealthy container', async () => {
    const command = ['echo "no answer for $DB_password"; exit 7'];
    const healthCheck = { type: 'exec', command, interval: '1s', timeout: '10s', retries: 1 } as const;
    const id = await run(0, { healthCheck, secrets });
    let health = '';
    for (let turn = 0; turn < 100 && health !== 'unhealthy'; turn++) {
      health = (await lab.engine.inspect(id))?.health ?? '';
      await lab.pass(100);
    }

    expect(health).to.equal('unhealthy');
    const { failedCheck } = (await lab.engine.inspect(id))!;
    expect(failedCheck).to.include({ exitCode: 7, output: 'no answer for [redacted]' });
  });

  it('[2.3.13] kills a health check that exceeds its timeout with SIGKILL', async () => {
    const command = ["trap '' TERM INT HUP; echo $$ > /tmp/check; while :; do sleep 1; done"];
    const healthCheck = { type: 'exec', command, interval: '1s', timeout: '1s', retries: 3 } as const;
    const watching =
      'until pid=$(cat /tmp/check 2>/dev/null) && [ -n "$pid" ]; do sleep 0.1; done; ' +
      'echo begun; while kill -0 $pid 2>/dev/null; do sleep 0.2; done; echo killed';
    const id = await run(0, { healthCheck, entrypoint: ['/bin/sh', '-c'], command: [watching] });

    expect(await output(id)).to.match(/begun\s+killed/);
    const slow = await run(1, { healthCheck: { ...healthCheck, command: ['sleep 9'] } });
    for (let turn = 0; turn < 100 && !(await lab.engine.inspect(slow))?.failedCheck; turn++) await lab.pass(100);
    expect((await lab.engine.inspect(slow))?.failedCheck).to.include({ exitCode: -1, timedOut: true });
  });

  it('makes one network however many ask for it at once', async () => {
    const network = 'mooring-together';
    const engines = Array.from({ length: 4 }, () => new DockerEngine({ host: lab.dockerd.host }));
    await Promise.all(engines.map((engine, slot) => engine.create(order(slot, { network }))));
    await Promise.all((await lab.engine.list('node_1')).map(({ id }) => lab.engine.start(id)));
    await Promise.all(engines.map(engine => engine.close()));

    expect((await lab.engine.list('node_1')).map(({ state }) => state)).to.deep.equal(Array(4).fill('running'));
  });
});
