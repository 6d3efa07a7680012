import { spawn } from 'node:child_process';
import { access, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

import { expect } from 'chai';
import { Agent, request } from 'undici';

import { skip } from '../../dev/testing/index.js';
import { buildDemoImage } from './demo-image.js';
import { DockerdProcess } from './dockerd.js';
import { RegistryProcess } from './registry.js';

describe('an engine of our own', function () {
  let folder: string;
  let registry: RegistryProcess;
  let dockerd: DockerdProcess;

  before(async () => {
    folder = await mkdtemp(join(tmpdir(), 'moor-'));
    registry = await RegistryProcess.start({ folder: join(folder, 'registry') });
    dockerd = await DockerdProcess.start({ folder: join(folder, 'engine'), liveRestore: true });
  });

  after(async () => {
    await registry?.kill();
    await dockerd?.destroy();
    await rm(folder, { recursive: true, force: true });
  });

  const ask = async <T>(method: 'GET' | 'POST', path: string, body?: unknown): Promise<T> => {
    const dispatcher = new Agent({ connect: { socketPath: dockerd.host.slice('unix://'.length) } });
    const headers = { 'content-type': 'application/json' };
    const answer = await request(`http://engine${path}`, {
      method,
      dispatcher,
      headers,
      body: body === undefined ? null : JSON.stringify(body),
    });
    const text = await answer.body.text();
    await dispatcher.destroy();
    return (text.startsWith('{') && !text.includes('\n{') ? JSON.parse(text) : {}) as T;
  };

  const runContainer = async (): Promise<{ readonly id: string; readonly pid: number }> => {
    const image = await buildDemoImage(registry.address);
    await ask('POST', `/images/create?fromImage=${image}`);
    await ask('POST', '/networks/create', { Name: 'test' });
    const { Id } = await ask<{ Id: string }>('POST', '/containers/create', {
      Image: image,
      HostConfig: { NetworkMode: 'test' },
    });
    await ask('POST', `/containers/${Id}/start`);
    return { id: Id, pid: (await readState(Id)).Pid };
  };

  const readState = async (id: string) =>
    (await ask<{ State: { Running: boolean; Pid: number } }>('GET', `/containers/${id}/json`)).State;

  it('is taken over, not doubled, when it is started again', async () => {
    const second = await DockerdProcess.start({ folder: join(folder, 'engine'), liveRestore: true });

    expect(second.pid).to.equal(dockerd.pid);
  });

  it('starts again while the containerd of its last life is still dying', async () => {
    const runDir = dirname(dockerd.host.slice('unix://'.length));
    await dockerd.kill('SIGKILL');
    const dying = spawn(process.execPath, ['-e', 'setTimeout(() => {}, 60_000)', `${runDir}/`], { stdio: 'ignore' });
    await writeFile(join(runDir, 'exec/containerd/containerd.pid'), String(dying.pid));
    try {
      await dockerd.restart();
    } finally {
      dying.kill('SIGKILL');
    }
    expect(await ask('GET', '/info')).to.have.property('Containers', 0);
  });

  it('puts the same image into the registry twice', async () => {
    const digest = async () => {
      const [address, name, tag] = /^([^/]+)\/(.+):(.+)$/.exec(await buildDemoImage(registry.address))!.slice(1);
      const headers = { accept: 'application/vnd.docker.distribution.manifest.v2+json' };
      return (await fetch(`http://${address}/v2/${name}/manifests/${tag}`, { headers })).headers.get(
        'docker-content-digest',
      );
    };

    expect(await digest())
      .to.be.a('string')
      .and.to.equal(await digest());
  });

  it('keeps the containers of different networks apart, and those of one together', async function () {
    if (!dockerd.separates) {
      skip(this, 'iptables cannot be used here (run as root, on a kernel with netfilter)');
    }
    const image = await buildDemoImage(registry.address);
    await ask('POST', `/images/create?fromImage=${image}`);
    for (const Name of ['here', 'there']) await ask('POST', '/networks/create', { Name });
    const start = async (network: string, more: Record<string, unknown> = {}): Promise<string> => {
      const HostConfig = { NetworkMode: network };
      const { Id } = await ask<{ Id: string }>('POST', '/containers/create', { Image: image, HostConfig, ...more });
      await ask('POST', `/containers/${Id}/start`);
      return Id;
    };
    const server = await start('here');
    const { NetworkSettings } = await ask<{
      NetworkSettings: { Networks: Readonly<Record<string, { IPAddress: string }>> };
    }>('GET', `/containers/${server}/json`);
    const address = NetworkSettings.Networks['here']!.IPAddress;
    const reaches = async (network: string, seconds: number): Promise<boolean> => {
      const tries = `for i in $(seq ${seconds}); do echo | nc -w 1 ${address} 8080 && exit; sleep 1; done; exit 1`;
      const probe = await start(network, { Entrypoint: ['busybox', 'sh', '-c', tries], Cmd: [] });
      return (await ask<{ StatusCode: number }>('POST', `/containers/${probe}/wait`)).StatusCode === 0;
    };

    // It may not listen yet: the first is patient.
    expect([await reaches('here', 10), await reaches('there', 1)]).to.deep.equal([true, false]);
    await ask('POST', `/containers/${server}/stop?t=0`);
  });

  it('keeps its containers over kill -9 with live-restore, and leaves nothing behind when destroyed', async () => {
    const { id, pid } = await runContainer();
    await dockerd.kill('SIGKILL');
    await access(`/proc/${pid}`);
    await dockerd.restart();
    expect(await readState(id)).to.include({ Running: true, Pid: pid });

    await dockerd.kill('SIGKILL');
    await dockerd.destroy();
    const left = await Promise.all(
      (await readdir('/proc'))
        .filter(name => /^\d+$/.test(name))
        .map(async name => readFile(`/proc/${name}/cmdline`, 'utf8').catch(() => '')),
    );
    expect(left.filter(command => command.includes(`${folder}/engine`))).to.deep.equal([]);
    expect(await readFile('/proc/self/mounts', 'utf8')).not.to.include(folder);
    expect(await readdir(folder)).to.deep.equal(['registry']);
    expect(await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')).to.equal('');
  });
});
