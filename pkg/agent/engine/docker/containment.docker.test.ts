import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { type AddressInfo, createServer, type Server } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';

import { expect } from 'chai';

import { skip, until } from '../../../../dev/testing/index.js';
import { DockerdProcess, buildDemoImage, RegistryProcess } from '../../../../dev/processes/index.js';
import type { ContainerSpec } from '../engine.js';
import { DockerEngine } from './docker-engine.js';

const TENANT = '0b0f7a0e-0000-4000-8000-000000000003';
const run = promisify(execFile);

describe('what a container on the docker engine can do', function () {
  let folder: string;
  let dockerd: DockerdProcess;
  let registry: RegistryProcess;
  let engine: DockerEngine;
  let image: string;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moor-'));
    registry = await RegistryProcess.start({ folder: join(folder, 'registry') });
    image = await buildDemoImage(registry.address);
    dockerd = await DockerdProcess.start({ folder: join(folder, 'engine') });
    engine = new DockerEngine({ host: dockerd.host });
    await engine.pull(image);
  });
  after(async () => {
    await engine?.close();
    await registry?.kill();
    await dockerd?.destroy();
    await rm(folder, { recursive: true, force: true });
  });

  /** Runs a shell line in a container of its own and returns what it printed. */
  const shell = async (line: string, change: Partial<ContainerSpec> = {}): Promise<string> => {
    const id = await engine.create({
      name: 'web',
      image,
      entrypoint: ['/bin/sh', '-c'],
      command: [line],
      environment: {},
      ports: [],
      network: `mooring-${TENANT}`,
      alias: 'web',
      owner: {
        nodeId: 'node_1',
        tenant: TENANT,
        deployment: 'web',
        deploymentUid: 'dep_1',
        replica: 'rep_1',
        slot: 0,
        generation: 1,
        templateHash: 'h1',
      },
      ...change,
    });
    try {
      await engine.start(id);
      await until('the container to end', async () => (await engine.inspect(id))?.state === 'exited');
      let text = '';
      for await (const { bytes } of engine.logs(id, { tail: 100 }, AbortSignal.timeout(30_000))) {
        text += bytes.toString();
      }
      return text;
    } finally {
      await engine.remove(id);
    }
  };

  it('is held by no-new-privileges, seccomp and few capabilities', async () => {
    const status = await shell('cat /proc/self/status');
    expect(status).to.match(/^NoNewPrivs:\s+1$/m);
    expect(status).to.match(/^Seccomp:\s+2$/m);
    const bits = BigInt(`0x${/^CapBnd:\s+([0-9a-f]+)$/m.exec(status)?.[1]}`);
    const [sysAdmin, netAdmin, netRaw, sysPtrace, mknod] = [21n, 12n, 13n, 19n, 27n];
    for (const each of [sysAdmin, netAdmin, netRaw, sysPtrace, mknod])
      expect((bits >> each) & 1n, `capability ${each}`).to.equal(0n);
  });

  it('is run as the user that is named', async () => {
    const status = await shell('cat /proc/self/status', { user: '1000:1001' });
    expect(status).to.match(/^Uid:\s+1000\s/m);
    expect(status).to.match(/^Gid:\s+1001\s/m);
  });

  it('writes nothing outside /tmp and /run with a read-only root file system', async () => {
    const line = 'for f in /file /bin/file /tmp/file /run/file; do (echo x > $f) 2>/dev/null && echo wrote $f; done';
    const written = (text: string) => text.split('\n').filter(Boolean);
    expect(written(await shell(line))).to.include('wrote /file');
    const held = await shell(line, { readOnlyRootFilesystem: true });
    expect(written(held)).to.deep.equal(['wrote /tmp/file', 'wrote /run/file']);
  });

  it('is held to its limits of memory, CPU and processes', async () => {
    const files = [
      'memory.max',
      'cpu.max',
      'pids.max',
      'memory/memory.limit_in_bytes',
      'cpu/cpu.cfs_quota_us',
      'pids/pids.max',
    ];
    const line = files.map(file => `cat /sys/fs/cgroup/${file} 2>/dev/null`).join('; ');
    const text = await shell(line, { limits: { cpu: 500, memory: 64 * 2 ** 20, pids: 32 } });
    expect(text.split('\n'))
      .to.include(String(64 * 2 ** 20))
      .and.to.include('32');
    expect(text).to.contain('50000');
  });

  describe('with a listener on a link-local address of the machine', () => {
    const ADDRESS = '169.254.77.77';
    let server: Server | undefined;

    before(async function () {
      await engine.facts();
      if (!engine.conditions().some(({ status }) => status === 'True')) {
        skip(this, 'iptables cannot be used here: run as root, on a kernel with netfilter');
      }
      await run('ip', ['address', 'add', `${ADDRESS}/32`, 'dev', 'lo']);
      server = createServer(socket => socket.on('error', () => undefined).end('credentials\n'));
      await new Promise<void>(resolve => server?.listen(0, '0.0.0.0', resolve));
    });
    after(async () => {
      server?.close();
      if (server) await run('ip', ['address', 'del', `${ADDRESS}/32`, 'dev', 'lo']);
    });

    it('does not reach it, and reaches the same listener at another address', async () => {
      const { port } = server!.address() as AddressInfo;
      const fetchFrom = (host: string) => `nc -w 3 ${host} ${port} < /dev/null || echo unreached`;
      expect(await shell(fetchFrom(ADDRESS)))
        .to.contain('unreached')
        .and.not.to.contain('credentials');
      // The gateway is the machine itself. It is written in hexadecimal, the last byte first.
      const routes = await shell('cat /proc/net/route');
      const [, , hex = ''] =
        routes
          .split('\n')
          .find(line => /\t00000000\t/.test(line))
          ?.split('\t') ?? [];
      const dotted =
        hex
          .match(/../g)
          ?.reverse()
          .map(byte => Number.parseInt(byte, 16))
          .join('.') ?? '';
      expect(await shell(fetchFrom(dotted))).to.contain('credentials');
    });
  });

  it('leaves no image behind when the machine changes hands', async () => {
    await engine.pull(image);
    expect(await engine.findImage(image)).to.match(/^sha256:/);
    await engine.pruneImages();
    expect(await engine.findImage(image)).to.equal(undefined);
    await engine.pull(image);
  });
});
